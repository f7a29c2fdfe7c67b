"""Rigid-body dynamics of a chain, for one configuration or any batch shape.

    tau = M(q) qdd + C(q, qd) qd + g(q) + J_body(q)^T wrench_tip

The base link is fixed to the world and gravity is given in its frame. float32 arrays are computed in float32,
everything else in float64. `threads` splits large batches over that many threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import lie
from .compiler import kernels_of
from .errors import InputError
from .model.chain import Chain
from .typing import AnyArray

GRAVITY = np.array([0.0, 0.0, -9.81])
"""On Earth, for a base whose z axis points up [m/s²]."""
GRAVITY.setflags(write=False)


@dataclass(frozen=True, eq=False)
class Payload:
    """Something held by the tip, in the tip frame."""

    mass: float
    """[kg]"""
    com: ArrayLike = (0.0, 0.0, 0.0)
    """Centre of mass [m], shape (3,)."""
    inertia: ArrayLike = field(default_factory=lambda: np.zeros((3, 3)))
    """About its centre of mass [kg m²], shape (3, 3), symmetric."""

    def __post_init__(self) -> None:
        mass = float(_checked(self.mass, "payload mass", ()))
        com = np.array(_checked(self.com, "payload com", (3,)), dtype=float)
        inertia = np.array(_checked(self.inertia, "payload inertia", (3, 3)), dtype=float)
        if mass < 0.0:
            raise InputError(f"payload mass is {mass}; give a mass ≥ 0")
        if not np.allclose(inertia, inertia.T, atol=1e-12) or np.linalg.eigvalsh(inertia)[0] < -1e-12:
            raise InputError("payload inertia must be symmetric and positive; give it about the centre of mass")
        about_tip = inertia - mass * lie.hat(com) @ lie.hat(com)
        parameters = np.r_[mass, mass * com, about_tip[np.triu_indices(3)]]
        for array in (com, inertia, parameters):
            array.setflags(write=False)
        object.__setattr__(self, "com", com)
        object.__setattr__(self, "inertia", inertia)
        object.__setattr__(self, "parameters", parameters)

    parameters: AnyArray = field(init=False, repr=False)
    """Mass, first moment, inertia about the tip origin as xx, xy, xz, yy, yz, zz; shape (10,)."""


def mass_matrix(chain: Chain, q: ArrayLike, *, threads: int = 1) -> AnyArray:
    """Joint-space inertia M(q), symmetric and positive definite.

    Args:
        q: Joint positions [rad or m], shape (..., n).

    Returns:
        Mass matrix, shape (..., n, n).
    """
    return kernels_of(chain).mass_matrix.run(q, threads=threads)


def coriolis_matrix(chain: Chain, q: ArrayLike, qd: ArrayLike, *, threads: int = 1) -> AnyArray:
    """C(q, qd) of the Christoffel symbols: dM/dt − 2 C is skew-symmetric.

    Args:
        q: Joint positions [rad or m], shape (..., n).
        qd: Joint velocities [rad/s or m/s], shape (..., n).

    Returns:
        Coriolis matrix, shape (..., n, n).
    """
    return kernels_of(chain).coriolis_matrix.run(q, qd, threads=threads)


def coriolis_forces(chain: Chain, q: ArrayLike, qd: ArrayLike, *, threads: int = 1) -> AnyArray:
    """Joint efforts due to velocity: C(q, qd) qd [N m or N], shape (..., n)."""
    return kernels_of(chain).coriolis_forces.run(q, qd, threads=threads)


def gravity_forces(chain: Chain, q: ArrayLike, *, gravity: ArrayLike = GRAVITY, threads: int = 1) -> AnyArray:
    """Joint efforts that hold the arm against gravity [N m or N], shape (..., n)."""
    return kernels_of(chain).gravity_forces.run(q, gravity, threads=threads)


def inverse_dynamics(
    chain: Chain,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
    wrench_tip: ArrayLike | None = None,
    payload: Payload | None = None,
    joint_friction: bool = False,
    threads: int = 1,
) -> AnyArray:
    """Joint efforts for a motion.

    Args:
        q: Joint positions [rad or m], shape (..., n).
        qd: Joint velocities [rad/s or m/s], shape (..., n).
        qdd: Joint accelerations [rad/s² or m/s²], shape (..., n).
        gravity: In the base frame [m/s²], shape (3,).
        wrench_tip: Wrench that the tip exerts ON ITS ENVIRONMENT, in the tip frame, moment first
            [N m, N m, N m, N, N, N], shape (..., 6). Pressing down on a table takes a positive effort for it.
        payload: Held by the tip.
        joint_friction: Adds the damping and Coulomb friction of the robot description.

    Returns:
        Joint efforts [N m or N], shape (..., n).
    """
    if wrench_tip is None and payload is None and not joint_friction:  # the common case, with nothing to look up
        return kernels_of(chain).inverse_dynamics.run(q, qd, qdd, gravity, threads=threads)
    kernel, extras = _variant(chain, "inverse_dynamics", wrench_tip, payload)
    tau = kernel.run(q, qd, qdd, gravity, *extras, threads=threads)
    return tau + friction_forces(chain, qd) if joint_friction else tau


def forward_dynamics(
    chain: Chain,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    gravity: ArrayLike = GRAVITY,
    wrench_tip: ArrayLike | None = None,
    payload: Payload | None = None,
    joint_friction: bool = False,
    threads: int = 1,
) -> AnyArray:
    """Joint accelerations from efforts: the inverse of `inverse_dynamics`, with the same options.

    Args:
        tau: Joint efforts [N m or N], shape (..., n).

    Returns:
        Joint accelerations [rad/s² or m/s²], shape (..., n).

    Raises:
        InputError: A joint moves no inertia.
    """
    _require_inertia(chain, payload)
    if wrench_tip is None and payload is None and not joint_friction:
        return kernels_of(chain).forward_dynamics.run(q, qd, tau, gravity, threads=threads)
    kernel, extras = _variant(chain, "forward_dynamics", wrench_tip, payload)
    if joint_friction:
        tau = _checked(tau, "tau", (chain.n,)) - friction_forces(chain, qd)
    return kernel.run(q, qd, tau, gravity, *extras, threads=threads)


def regressor(
    chain: Chain,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    qd_ref: ArrayLike | None = None,
    gravity: ArrayLike = GRAVITY,
    threads: int = 1,
) -> AnyArray:
    """Y with Y π = M qdd + C(q, qd) qd_ref + g, where π is `chain.inertial_parameters`.

    Args:
        qd_ref: Velocity that C multiplies [rad/s or m/s], shape (..., n); qd itself if not given. Adaptive control
            uses a reference of its own here.

    Returns:
        Regressor, shape (..., n, 10 · bodies).
    """
    return kernels_of(chain).regressor.run(q, qd, qd if qd_ref is None else qd_ref, qdd, gravity, threads=threads)


def inverse_dynamics_derivatives(
    chain: Chain,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    by: Sequence[str] = ("q", "qd", "qdd"),
    gravity: ArrayLike = GRAVITY,
    wrench_tip: ArrayLike | None = None,
    payload: Payload | None = None,
    joint_friction: bool = False,
    threads: int = 1,
) -> dict[str, AnyArray]:
    """Exact partial derivatives of `inverse_dynamics`, with the same options.

    Args:
        by: What to differentiate by, of "q", "qd", "qdd", "wrench_tip", "payload" (its 10 `parameters`) and
            "inertial_parameters" (those of `chain.inertial_parameters`).

    Returns:
        ∂tau/∂x for each name x, shape (..., n, length of x). The one by qdd is the mass matrix. Coulomb friction is
        taken as constant.
    """
    wanted = _derivative_names(by, ("q", "qd", "qdd"))
    kernel, extras = _derivative_variant(chain, "inverse_dynamics_derivatives", wrench_tip, payload)
    blocks = kernel.run(q, qd, qdd, gravity, *extras, threads=threads)
    derivatives = dict(zip(("q", "qd", "qdd"), np.moveaxis(blocks, -3, 0)))
    if joint_friction:
        derivatives["qd"] = derivatives["qd"] + np.diag(chain.damping).astype(blocks.dtype)
    derivatives |= _parameter_derivatives(chain, q, qd, qdd, wanted, gravity, threads)
    return {name: derivatives[name] for name in wanted}


def forward_dynamics_derivatives(
    chain: Chain,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    by: Sequence[str] = ("q", "qd", "tau"),
    gravity: ArrayLike = GRAVITY,
    wrench_tip: ArrayLike | None = None,
    payload: Payload | None = None,
    joint_friction: bool = False,
    threads: int = 1,
) -> dict[str, AnyArray]:
    """Exact partial derivatives of `forward_dynamics`, with the same options.

    Args:
        by: What to differentiate by, of "q", "qd", "tau", "wrench_tip", "payload" and "inertial_parameters".

    Returns:
        ∂qdd/∂x for each name x, shape (..., n, length of x). The one by tau is the inverse of the mass matrix.
    """
    wanted = _derivative_names(by, ("q", "qd", "tau"))
    _require_inertia(chain, payload)
    if joint_friction:
        tau = _checked(tau, "tau", (chain.n,)) - friction_forces(chain, qd)
    kernel, extras = _derivative_variant(chain, "forward_dynamics_derivatives", wrench_tip, payload)
    blocks = kernel.run(q, qd, tau, gravity, *extras, threads=threads)
    derivatives = dict(zip(("q", "qd", "tau"), np.moveaxis(blocks, -3, 0)))
    inverse = derivatives["tau"]
    if joint_friction:
        derivatives["qd"] = derivatives["qd"] - inverse * chain.damping.astype(blocks.dtype)
    if set(wanted) - set(derivatives):
        kernel, extras = _variant(chain, "forward_dynamics", wrench_tip, payload)
        qdd = kernel.run(q, qd, tau, gravity, *extras, threads=threads)
        of_tau = _parameter_derivatives(chain, q, qd, qdd, wanted, gravity, threads)
        derivatives |= {name: -inverse @ block for name, block in of_tau.items()}
    return {name: derivatives[name] for name in wanted}


def friction_forces(chain: Chain, qd: ArrayLike) -> AnyArray:
    """Efforts that joint damping and Coulomb friction take [N m or N], shape (..., n); none at rest."""
    qd = _checked(qd, "qd", (chain.n,))
    return (chain.damping * qd + chain.friction * np.sign(qd)).astype(qd.dtype)


def _require_inertia(chain: Chain, payload: Payload | None) -> None:
    if chain.joints_without_inertia and payload is None:
        raise InputError(
            f"joint {chain.joints_without_inertia[0]!r} moves no inertia, so no effort determines its acceleration; "
            f"give the links behind it an <inertial> in the description of {chain.robot_name!r}, lock the joint by "
            "`fixed`, or pass a payload"
        )


def _derivative_names(by: Sequence[str], joint_names: tuple[str, ...]) -> tuple[str, ...]:
    known = (*joint_names, "wrench_tip", "payload", "inertial_parameters")
    names = (by,) if isinstance(by, str) else tuple(by)
    for name in names:
        if name not in known:
            raise InputError(f"there is no derivative by {name!r}; choose of {', '.join(known)}")
    return names


def _parameter_derivatives(
    chain: Chain,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wanted: tuple[str, ...],
    gravity: ArrayLike,
    threads: int,
) -> dict[str, AnyArray]:
    """Derivatives of the efforts by what they depend on linearly: wrench, payload, inertial parameters."""
    found: dict[str, AnyArray] = {}
    if "wrench_tip" in wanted:
        found["wrench_tip"] = np.swapaxes(kernels_of(chain).body_jacobian.run(q, threads=threads), -1, -2)
    if "payload" in wanted:
        found["payload"] = kernels_of(chain).payload_regressor.run(q, qd, qdd, gravity, threads=threads)
    if "inertial_parameters" in wanted:
        found["inertial_parameters"] = regressor(chain, q, qd, qdd, gravity=gravity, threads=threads)
    return found


def _checked(value: ArrayLike, name: str, shape: tuple[int, ...]) -> AnyArray:
    from .compiler.function import checked  # the compiler is loaded when it is first needed
    from .compiler.trace import Input

    return checked(value, Input(name, shape))


def _variant(
    chain: Chain, name: str, wrench_tip: ArrayLike | None, payload: Payload | None
) -> tuple[Any, tuple[ArrayLike, ...]]:
    """The kernel for these options and its extra arguments."""
    extras: tuple[ArrayLike, ...] = ()
    if wrench_tip is not None:
        name, extras = f"{name}_wrench", (wrench_tip,)
    if payload is not None:
        name, extras = f"{name}_payload", (*extras, payload.parameters)
    return getattr(kernels_of(chain), name), extras


def _derivative_variant(
    chain: Chain, name: str, wrench_tip: ArrayLike | None, payload: Payload | None
) -> tuple[Any, tuple[ArrayLike, ...]]:
    """The same for derivatives, which have one kernel for all options."""
    if wrench_tip is None and payload is None:
        return getattr(kernels_of(chain), name), ()
    wrench = np.zeros(6, np.float32) if wrench_tip is None else wrench_tip
    held = np.zeros(10) if payload is None else payload.parameters
    return getattr(kernels_of(chain), f"{name}_wrench_payload"), (wrench, held)
