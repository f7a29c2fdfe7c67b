"""All public functions of kinematics and dynamics in one table, for the properties that all of them have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manipapy_core import dynamics, kinematics
from manipapy_core.model.chain import Chain
from reference.cases import states


@dataclass(frozen=True)
class PublicFunction:
    """A function of a chain and some operands of shape (..., n)."""

    name: str
    call: Callable[..., NDArray[np.floating]]
    operands: tuple[str, ...]
    tail: Callable[[Chain], tuple[int, ...]]
    """Shape of one result."""

    def arguments(self, chain: Chain, count: int, seed: int = 0) -> list[NDArray[np.float64]]:
        """Random operands, each (count, n)."""
        q, qd, qdd = states(chain, count, seed)
        return [q, qd, qdd][: len(self.operands)]


def _pose(_: Chain) -> tuple[int, ...]:
    return (4, 4)


def _poses(chain: Chain) -> tuple[int, ...]:
    return (len(chain.link_names), 4, 4)


def _jacobian(chain: Chain) -> tuple[int, ...]:
    return (6, chain.n)


def _matrix(chain: Chain) -> tuple[int, ...]:
    return (chain.n, chain.n)


def _vector(chain: Chain) -> tuple[int, ...]:
    return (chain.n,)


def _regressor(chain: Chain) -> tuple[int, ...]:
    return (chain.n, chain.inertial_parameters.size)


PUBLIC_FUNCTIONS = (
    PublicFunction("forward", kinematics.forward, ("q",), _pose),
    PublicFunction("link_poses", kinematics.link_poses, ("q",), _poses),
    PublicFunction("space_jacobian", kinematics.space_jacobian, ("q",), _jacobian),
    PublicFunction("body_jacobian", kinematics.body_jacobian, ("q",), _jacobian),
    PublicFunction("space_jacobian_derivative", kinematics.space_jacobian_derivative, ("q", "qd"), _jacobian),
    PublicFunction("body_jacobian_derivative", kinematics.body_jacobian_derivative, ("q", "qd"), _jacobian),
    PublicFunction("mass_matrix", dynamics.mass_matrix, ("q",), _matrix),
    PublicFunction("coriolis_matrix", dynamics.coriolis_matrix, ("q", "qd"), _matrix),
    PublicFunction("coriolis_forces", dynamics.coriolis_forces, ("q", "qd"), _vector),
    PublicFunction("gravity_forces", dynamics.gravity_forces, ("q",), _vector),
    PublicFunction("inverse_dynamics", dynamics.inverse_dynamics, ("q", "qd", "qdd"), _vector),
    PublicFunction("forward_dynamics", dynamics.forward_dynamics, ("q", "qd", "tau"), _vector),
    PublicFunction("regressor", dynamics.regressor, ("q", "qd", "qdd"), _regressor),
)


def function_name(function: PublicFunction) -> str:
    return function.name
