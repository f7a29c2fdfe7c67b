"""`ManipulatorDynamics`: mass matrix, Coriolis, gravity, inverse and forward dynamics, with ManipulaPy's API.

    τ = M(θ) θ̈ + C(θ, θ̇) θ̇ + g(θ) + J_bᵀ(θ) Ftip

Intended differences from ManipulaPy: every link's inertia counts once and in its own frame, velocity terms are exact
instead of finite differences, Ftip is a wrench in the frame of the end effector, and cached arrays are returned as
copies.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .. import dynamics
from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array
from .ik_helpers import OpenLimits
from .inputs import shaped, tip_wrench
from .kinematics import SerialManipulator
from .screws import chain_from_screws

CACHED_CONFIGURATIONS = 128
"""Configurations per cache; the least recently used one is dropped first."""


class ManipulatorDynamics(SerialManipulator):
    """A serial arm with mass.

    Args:
        M_list: Pose of the end effector at θ = 0, shape (4, 4).
        omega_list: Joint axes, shape (3, n).
        r_list: A point on each axis in the space frame [m], shape (3, n).
        b_list: A point on each axis in the body frame [m], shape (3, n).
        S_list: Screw axes in the space frame, shape (6, n).
        B_list: Screw axes in the body frame, shape (6, n).
        Glist: Spatial inertia per link, angular first, shape (n, 6, 6).
        Mlist_per_link: Pose at θ = 0 of the frame in which each Glist is given (usually at the centre of mass),
            shape (n, 4, 4). Without it every Glist is taken in the frame of the end effector at θ = 0, with a warning.
        joint_limits: (lower, upper) per joint [rad or m]; no limits if not given.
        damping: Of each joint [N m s/rad or N s/m], shape (n,); Coulomb friction [N m or N] likewise. Both are for the
            controller, which compensates them; the equations above have no friction.
    """

    def __init__(
        self,
        M_list: ArrayLike,
        omega_list: ArrayLike | None,
        r_list: ArrayLike | None,
        b_list: ArrayLike | None,
        S_list: ArrayLike | None,
        B_list: ArrayLike | None,
        Glist: Sequence[ArrayLike] | ArrayLike,
        Mlist_per_link: Sequence[ArrayLike] | None = None,
        *,
        joint_limits: OpenLimits | None = None,
        damping: ArrayLike | None = None,
        friction: ArrayLike | None = None,
    ):
        if Glist is None:
            raise InputError("Glist is missing; give one spatial inertia (6, 6) per joint")
        self.Mlist_per_link: list[Array] | None = None
        if Mlist_per_link is not None:
            self.Mlist_per_link = [np.array(T, dtype=np.float64) for T in Mlist_per_link]
        self._friction = {"damping": damping, "friction": friction}
        super().__init__(M_list, omega_list, r_list, b_list, S_list, B_list, Glist, joint_limits)
        self.Glist = self.G_list
        chain = self.chain
        self._mass_matrix = _cached(lambda theta: dynamics.mass_matrix(chain, theta))
        self._derivatives = _cached(lambda theta: _mass_matrix_derivatives(chain, theta))

    def _build_chain(self, G_list: Sequence[ArrayLike] | ArrayLike | None) -> Chain:
        frames = self.Mlist_per_link
        if frames is None:
            warnings.warn(
                "Mlist_per_link is not given: every Glist is taken in the frame of the end effector at home; "
                "give the home pose of each link's centre of mass",
                DeprecationWarning,
                stacklevel=4,
            )
            frames = [self.M_list] * self.S_list.shape[1]
        return chain_from_screws(self.S_list, self.M_list, self._chain_limits(), G_list, frames, **self._friction)

    def mass_matrix(self, thetalist: ArrayLike) -> Array:
        """Joint-space inertia Σ J_kᵀ G_k J_k, symmetric, shape (n, n).

        Args:
            thetalist: Joint positions [rad or m], shape (n,).
        """
        return self._mass_matrix(self._vector(thetalist, "thetalist"))

    def partial_derivative(self, i: int, j: int, k: int, thetalist: ArrayLike) -> float:
        """∂M_ij / ∂θ_k at a configuration, exact.

        Args:
            i: Row, counted from 0.
            j: Column.
            k: Joint.
            thetalist: Joint positions [rad or m], shape (n,).
        """
        for name, index in (("i", i), ("j", j), ("k", k)):
            if not 0 <= index < self.chain.n:
                raise InputError(f"{name} is {index}; joints are counted from 0 to {self.chain.n - 1}")
        return float(self._derivatives(self._vector(thetalist, "thetalist"))[k, i, j])

    def velocity_quadratic_forces(self, thetalist: ArrayLike, dthetalist: ArrayLike) -> Array:
        """Coriolis and centripetal efforts C(θ, θ̇) θ̇ [N m or N], shape (n,).

        Args:
            thetalist: Joint positions [rad or m], shape (n,).
            dthetalist: Joint velocities [rad/s or m/s], shape (n,).
        """
        theta, dtheta = self._vector(thetalist, "thetalist"), self._vector(dthetalist, "dthetalist")
        return dynamics.coriolis_forces(self.chain, theta, dtheta)

    def gravity_forces(self, thetalist: ArrayLike, g: ArrayLike | None = None) -> Array:
        """Efforts that hold the arm against gravity [N m or N], shape (n,).

        Args:
            thetalist: Joint positions [rad or m], shape (n,).
            g: Gravity in the base frame [m/s²], shape (3,); (0, 0, -9.81) if not given.
        """
        return dynamics.gravity_forces(self.chain, self._vector(thetalist, "thetalist"), gravity=_gravity(g))

    def inverse_dynamics(
        self, thetalist: ArrayLike, dthetalist: ArrayLike, ddthetalist: ArrayLike, g: ArrayLike, Ftip: ArrayLike
    ) -> Array:
        """Efforts for a motion [N m or N], shape (n,).

        Args:
            thetalist: Joint positions [rad or m], shape (n,).
            dthetalist: Joint velocities [rad/s or m/s], shape (n,).
            ddthetalist: Joint accelerations [rad/s² or m/s²], shape (n,).
            g: Gravity in the base frame [m/s²], shape (3,).
            Ftip: Wrench that the end effector exerts on its environment, in its own frame, moment first
                [N m, N m, N m, N, N, N], shape (6,).
        """
        theta, dtheta = self._vector(thetalist, "thetalist"), self._vector(dthetalist, "dthetalist")
        ddtheta, gravity, wrench = self._vector(ddthetalist, "ddthetalist"), _gravity(g), tip_wrench(Ftip)
        return dynamics.inverse_dynamics(self.chain, theta, dtheta, ddtheta, gravity=gravity, wrench_tip=wrench)

    def forward_dynamics(
        self, thetalist: ArrayLike, dthetalist: ArrayLike, taulist: ArrayLike, g: ArrayLike, Ftip: ArrayLike
    ) -> Array:
        """Joint accelerations [rad/s² or m/s²] under efforts, shape (n,): the inverse of `inverse_dynamics`.

        Args:
            taulist: Efforts [N m or N], shape (n,). The others: see `inverse_dynamics`.
        """
        theta, dtheta = self._vector(thetalist, "thetalist"), self._vector(dthetalist, "dthetalist")
        tau, gravity, wrench = self._vector(taulist, "taulist"), _gravity(g), tip_wrench(Ftip)
        return dynamics.forward_dynamics(self.chain, theta, dtheta, tau, gravity=gravity, wrench_tip=wrench)


def _cached(compute: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The function with a least-recently-used cache; every call returns a copy."""

    @functools.lru_cache(maxsize=CACHED_CONFIGURATIONS)
    def lookup(key: bytes) -> Array:
        return compute(np.frombuffer(key))

    return lambda theta: lookup(theta.tobytes()).copy()


def _mass_matrix_derivatives(chain: Chain, theta: Array) -> Array:
    """∂M/∂θ_k for every k, shape (n, n, n), k first.

    With the Christoffel symbols, C(θ, e_k) + C(θ, e_k)ᵀ = ∂M/∂θ_k.
    """
    C = dynamics.coriolis_matrix(chain, np.tile(theta, (chain.n, 1)), np.eye(chain.n))
    return C + np.swapaxes(C, 1, 2)


def _gravity(g: ArrayLike | None) -> Array:
    return dynamics.GRAVITY if g is None else shaped(g, (3,), "g")
