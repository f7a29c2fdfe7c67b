"""Functions of a chain as operations of PyTorch, with gradients in reverse and forward mode."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import MissingPackage
from ..model.chain import Chain
from .functions import FUNCTIONS, DifferentiableFunction


def for_torch(chain: Chain) -> Any:
    """The functions of `FUNCTIONS` on tensors, as attributes.

    Tensors are computed on the CPU in their own type, float32 or float64, and results are on the device of the first
    input. Gradients can be taken once: they are not differentiable again.

    Raises:
        MissingPackage: PyTorch is not installed.
    """
    operation = _operation()
    names = {function.name: functools.partial(operation.apply, function, chain) for function in FUNCTIONS}
    return SimpleNamespace(**names)


@functools.cache
def _operation() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingPackage("torch", "differentiating with PyTorch", "torch") from None

    class Operation(torch.autograd.Function):
        """One function with the derivatives that its kernels compute."""

        @staticmethod
        def forward(ctx: Any, function: DifferentiableFunction, chain: Chain, *inputs: Any) -> Any:
            arrays = [tensor.detach().cpu().numpy() for tensor in inputs]
            value = function.value(chain, *arrays)
            ctx.function, ctx.chain, ctx.like = function, chain, inputs
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)
            return torch.from_numpy(np.ascontiguousarray(value)).to(inputs[0].device)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, gradient: Any) -> Any:
            rows = len(ctx.function.output_shape(ctx.chain))
            letters = "abcd"[:rows]
            found = []
            for tensor, jacobian in zip(ctx.saved_tensors, _jacobians(ctx, torch)):
                product = torch.einsum(f"...{letters},...{letters}n->...n", gradient, jacobian)
                found.append(_reduced(product, tensor.shape))
            return None, None, *found

        @staticmethod
        def jvp(ctx: Any, _function: Any, _chain: Any, *tangents: Any) -> Any:
            letters = "abcd"[: len(ctx.function.output_shape(ctx.chain))]
            parts = [
                torch.einsum(f"...{letters}n,...n->...{letters}", jacobian, tangent)
                for jacobian, tangent in zip(_jacobians(ctx, torch), tangents)
                if tangent is not None
            ]
            return sum(parts[1:], parts[0])

    return Operation


def _jacobians(ctx: Any, torch: Any) -> list[Any]:
    arrays = [tensor.detach().cpu().numpy() for tensor in ctx.saved_tensors]
    jacobians = ctx.function.jacobians(ctx.chain, *arrays)
    return [torch.from_numpy(np.ascontiguousarray(block)).to(ctx.saved_tensors[0].device) for block in jacobians]


def _reduced(product: Any, shape: Any) -> Any:
    """Sums over the axes along which the input was broadcast."""
    while product.ndim > len(shape):
        product = product.sum(0)
    for axis, length in enumerate(shape):
        if length == 1 and product.shape[axis] != 1:
            product = product.sum(axis, keepdim=True)
    return product
