"""Functions of a chain as operations of JAX, for jit, vmap, grad, jvp and vjp."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import MissingPackage
from ..model.chain import Chain
from .functions import FUNCTIONS, DifferentiableFunction


def for_jax(chain: Chain) -> Any:
    """The functions of `FUNCTIONS` on JAX arrays, as attributes.

    The kernels run on the CPU through `jax.pure_callback`, in the type of the arrays; JAX itself computes in float64
    only if `jax_enable_x64` is set. Derivatives are of first order.

    Raises:
        MissingPackage: JAX is not installed.
    """
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        raise MissingPackage("jax", "differentiating with JAX", "jax") from None
    return SimpleNamespace(**{function.name: _operation(function, chain, jax, jnp) for function in FUNCTIONS})


def _operation(function: DifferentiableFunction, chain: Chain, jax: Any, jnp: Any) -> Any:
    shape, n = function.output_shape(chain), chain.n
    letters = "abcd"[: len(shape)]

    def numpy_value(*inputs: Any) -> Any:
        return function.value(chain, *(np.asarray(x) for x in inputs))

    def numpy_jacobians(*inputs: Any) -> Any:
        return tuple(
            np.ascontiguousarray(block) for block in function.jacobians(chain, *(np.asarray(x) for x in inputs))
        )

    def result(inputs: tuple[Any, ...], *tail: int) -> Any:
        batch = jnp.broadcast_shapes(*(x.shape[:-1] for x in inputs))
        return jax.ShapeDtypeStruct((*batch, *shape, *tail), jnp.result_type(*inputs))

    def alike(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        batch = jnp.broadcast_shapes(*(x.shape[:-1] for x in inputs))
        kind = jnp.result_type(*inputs, jnp.float32)
        return tuple(jnp.broadcast_to(jnp.asarray(x, kind), (*batch, x.shape[-1])) for x in inputs)

    @jax.custom_jvp
    def raw(*inputs: Any) -> Any:
        return jax.pure_callback(numpy_value, result(inputs), *inputs, vmap_method="broadcast_all")

    @raw.defjvp
    def raw_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        blocks = jax.pure_callback(
            numpy_jacobians, tuple(result(primals, n) for _ in primals), *primals, vmap_method="broadcast_all"
        )
        parts = [
            jnp.einsum(f"...{letters}n,...n->...{letters}", block, tangent) for block, tangent in zip(blocks, tangents)
        ]
        return raw(*primals), functools.reduce(jnp.add, parts)

    def operation(*inputs: Any) -> Any:
        return raw(*alike(tuple(jnp.asarray(x) for x in inputs)))

    operation.__name__ = function.name
    operation.__doc__ = f"`{function.name}` of the chain, of {', '.join(function.inputs)}, differentiable."
    return operation
