"""What can be differentiated: each function of a chain with its derivatives by every input, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import dynamics, kinematics, lie
from ..model.chain import Chain
from ..typing import AnyArray


@dataclass(frozen=True)
class DifferentiableFunction:
    """A function of joint quantities, each of shape (..., n)."""

    name: str
    inputs: tuple[str, ...]
    value: Callable[..., AnyArray]
    """Of a chain and the inputs."""
    jacobians: Callable[..., tuple[AnyArray, ...]]
    """Derivative by each input, shape (..., *output_shape, n)."""
    output_shape: Callable[[Chain], tuple[int, ...]]
    """Per configuration."""


def _forward_jacobian(chain: Chain, q: AnyArray) -> tuple[AnyArray]:
    """∂T/∂q_k = T [J_k], with the columns J_k of the body Jacobian as se(3) matrices."""
    T, J = kinematics.forward(chain, q), kinematics.body_jacobian(chain, q)
    columns = np.zeros((*J.shape[:-2], chain.n, 4, 4), J.dtype)
    columns[..., :3, :3] = lie.hat(np.swapaxes(J[..., :3, :], -1, -2))
    columns[..., :3, 3] = np.swapaxes(J[..., 3:, :], -1, -2)
    return (np.moveaxis(T[..., None, :, :] @ columns, -3, -1),)


def _inverse_dynamics_jacobians(chain: Chain, *state: AnyArray) -> tuple[AnyArray, ...]:
    return tuple(dynamics.inverse_dynamics_derivatives(chain, *state).values())


def _forward_dynamics_jacobians(chain: Chain, *state: AnyArray) -> tuple[AnyArray, ...]:
    return tuple(dynamics.forward_dynamics_derivatives(chain, *state).values())


FUNCTIONS = (
    DifferentiableFunction("forward", ("q",), kinematics.forward, _forward_jacobian, lambda _: (4, 4)),
    DifferentiableFunction(
        "body_jacobian",
        ("q",),
        kinematics.body_jacobian,
        lambda chain, q: (kinematics.body_jacobian_partials(chain, q),),
        lambda chain: (6, chain.n),
    ),
    DifferentiableFunction(
        "inverse_dynamics",
        ("q", "qd", "qdd"),
        dynamics.inverse_dynamics,
        _inverse_dynamics_jacobians,
        lambda chain: (chain.n,),
    ),
    DifferentiableFunction(
        "forward_dynamics",
        ("q", "qd", "tau"),
        dynamics.forward_dynamics,
        _forward_dynamics_jacobians,
        lambda chain: (chain.n,),
    ),
)
"""The functions that `for_torch` and `for_jax` offer."""
"""Every function that PyTorch and JAX get."""
