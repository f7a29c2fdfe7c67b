"""`ManipulatorController`: joint efforts from errors, with ManipulaPy's names and signatures.

With `ManipulatorDynamics`, PD, computed torque and feedforward are the laws of `manipapy_core.control`, and the damping
and friction of the robot description are compensated. Any other object with ManipulaPy's methods is taken as well: its
own terms are put together. Intended differences from ManipulaPy: model terms come from the exact dynamics; Cartesian
control acts on the position of the end effector, not on its rotation; integrals belong to a controller and are cleared
by `reset`. New programs use `manipapy_core.control`, which adds tolerances, a guard and the 1 kHz loop.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import control, kinematics
from ..checks import joint_vector
from ..control.laws.friction import FrictionFeedforward
from ..errors import InputError, ShapeError
from ..model.chain import Chain
from ..typing import Array
from .inputs import finite_vector, shaped, tip_wrench
from .state_estimate import StateEstimate
from .step_response import StepResponse

CACHED_LAWS = 32
"""Laws kept per controller, one for each combination of gains and gravity; all are dropped when there are more."""


class ManipulatorController(StepResponse, StateEstimate):
    """Control laws for one arm.

    Args:
        dynamics: Its dynamics: `ManipulatorDynamics`, or any object with the methods that a law needs (`mass_matrix`,
            `inverse_dynamics`, …); None for the laws and measures that need none.
    """

    def __init__(self, dynamics: Any):
        self.dynamics = dynamics
        self.reset()

    def reset(self) -> None:
        """Clears integrals and estimates."""
        self._laws: dict[tuple[str | bytes, ...], control.Law] = {}
        self.eint: Array | None = None
        self.parameter_estimate: Array | None = None
        self.x_hat, self.P = None, None

    def computed_torque_control(
        self,
        thetalistd: ArrayLike,
        dthetalistd: ArrayLike,
        ddthetalistd: ArrayLike,
        thetalist: ArrayLike,
        dthetalist: ArrayLike,
        g: ArrayLike,
        dt: float,
        Kp: ArrayLike,
        Ki: ArrayLike,
        Kd: ArrayLike,
        i_clamp: float | None = None,
    ) -> Array:
        """M(θ) (θ̈d + Kp e + Ki ∫e + Kd ė) + C(θ, θ̇) + g(θ) [N m or N], shape (n,), plus the friction of the joints.

        Args:
            thetalistd: Desired positions [rad or m]; velocities and accelerations likewise, shape (n,) each.
            thetalist: Measured positions, shape (n,); velocities likewise.
            g: Gravity in the base frame [m/s²], shape (3,).
            dt: Time since the last call [s].
            Kp: One number, one per joint or a matrix [1/s²]; Ki [1/s³] and Kd [1/s] likewise.
            i_clamp: Bound of the integral [rad s or m s]; none if not given.
        """
        goal, measured = self._vector(thetalistd, "thetalistd"), self._vector(thetalist, "thetalist")
        velocity, moving = self._vector(dthetalistd, "dthetalistd"), self._vector(dthetalist, "dthetalist")
        integral = _product(Ki, self._integrated(goal - measured, dt, i_clamp), "Ki")
        wanted = self._vector(ddthetalistd, "ddthetalistd") + integral
        gains = self._law_gains(Kp, Kd)
        if gains is not None:
            reference, state = control.Reference(goal, velocity, wanted), control.State(measured, moving)
            return self._efforts("computed_torque", state, reference, gains, g)
        feedback = _product(Kp, goal - measured, "Kp") + _product(Kd, velocity - moving, "Kd") + integral
        model = self.dynamics.inverse_dynamics(measured, moving, wanted - integral, g, np.zeros(6))
        return np.asarray(model) + np.asarray(self.dynamics.mass_matrix(measured)) @ feedback

    def pd_control(
        self,
        desired_position: ArrayLike,
        desired_velocity: ArrayLike,
        current_position: ArrayLike,
        current_velocity: ArrayLike,
        Kp: ArrayLike,
        Kd: ArrayLike,
    ) -> Array:
        """Kp e + Kd ė [N m or N], shape (n,); gains are numbers, one per joint, or matrices."""
        goal, measured = (
            self._vector(desired_position, "desired_position"),
            self._vector(current_position, "current_position"),
        )
        velocity, moving = (
            self._vector(desired_velocity, "desired_velocity"),
            self._vector(current_velocity, "current_velocity"),
        )
        if not goal.shape == measured.shape == velocity.shape == moving.shape:
            raise ShapeError("current_position", f"{goal.shape}, the shape of desired_position", measured.shape)
        gains = self._law_gains(Kp, Kd)
        if gains is not None:
            reference = control.Reference(goal, velocity, np.zeros_like(goal))
            return self._efforts("pd", control.State(measured, moving), reference, gains)
        return _product(Kp, goal - measured, "Kp") + _product(Kd, velocity - moving, "Kd")

    def pid_control(
        self,
        thetalistd: ArrayLike,
        dthetalistd: ArrayLike,
        thetalist: ArrayLike,
        dthetalist: ArrayLike,
        dt: float,
        Kp: ArrayLike,
        Ki: ArrayLike,
        Kd: ArrayLike,
        i_clamp: float | None = None,
    ) -> Array:
        """Kp e + Ki ∫e + Kd ė [N m or N], shape (n,); `i_clamp` bounds the integral [rad s or m s]."""
        tau = self.pd_control(thetalistd, dthetalistd, thetalist, dthetalist, Kp, Kd)
        error = self._vector(thetalistd, "thetalistd") - self._vector(thetalist, "thetalist")
        return tau + _product(Ki, self._integrated(error, dt, i_clamp), "Ki")

    def feedforward_control(
        self,
        desired_position: ArrayLike,
        desired_velocity: ArrayLike,
        desired_acceleration: ArrayLike,
        g: ArrayLike,
        Ftip: ArrayLike,
    ) -> Array:
        """Inverse dynamics of the desired motion and friction of the joints [N m or N], shape (n,); no feedback."""
        position, velocity, acceleration = (
            self._vector(values, name)
            for values, name in (
                (desired_position, "desired_position"),
                (desired_velocity, "desired_velocity"),
                (desired_acceleration, "desired_acceleration"),
            )
        )
        tau = self.dynamics.inverse_dynamics(position, velocity, acceleration, g, Ftip)
        return np.asarray(tau) + self._friction(velocity)

    def pd_feedforward_control(
        self,
        desired_position: ArrayLike,
        desired_velocity: ArrayLike,
        desired_acceleration: ArrayLike,
        current_position: ArrayLike,
        current_velocity: ArrayLike,
        Kp: ArrayLike,
        Kd: ArrayLike,
        g: ArrayLike,
        Ftip: ArrayLike,
    ) -> Array:
        """Feedforward plus PD [N m or N], shape (n,)."""
        gains = self._law_gains(Kp, Kd)
        if gains is None:
            feedforward = self.feedforward_control(desired_position, desired_velocity, desired_acceleration, g, Ftip)
            return feedforward + self.pd_control(
                desired_position, desired_velocity, current_position, current_velocity, Kp, Kd
            )
        reference = control.Reference(
            self._vector(desired_position, "desired_position"),
            self._vector(desired_velocity, "desired_velocity"),
            self._vector(desired_acceleration, "desired_acceleration"),
        )
        measured = self._vector(current_position, "current_position")
        state = control.State(measured, self._vector(current_velocity, "current_velocity"))
        tau, wrench = self._efforts("feedforward", state, reference, gains, g), tip_wrench(Ftip)
        return tau if wrench is None else tau + kinematics.body_jacobian(self.dynamics.chain, reference.q).T @ wrench

    def robust_control(
        self,
        thetalist: ArrayLike,
        dthetalist: ArrayLike,
        ddthetalist: ArrayLike,
        g: ArrayLike,
        Ftip: ArrayLike,
        disturbance_estimate: ArrayLike,
        adaptation_gain: ArrayLike,
    ) -> Array:
        """Inverse dynamics plus a gain times an estimated disturbance [N m or N], shape (n,)."""
        estimate = self._vector(disturbance_estimate, "disturbance_estimate")
        tau = self._model_efforts(thetalist, dthetalist, ddthetalist, g, Ftip)
        return tau + _product(adaptation_gain, estimate, "adaptation_gain")

    def adaptive_control(
        self,
        thetalist: ArrayLike,
        dthetalist: ArrayLike,
        ddthetalist: ArrayLike,
        g: ArrayLike,
        Ftip: ArrayLike,
        measurement_error: ArrayLike,
        adaptation_gain: ArrayLike,
    ) -> Array:
        """Inverse dynamics plus an estimate that integrates the measured error [N m or N], shape (n,)."""
        error = self._vector(measurement_error, "measurement_error")
        estimate = self.parameter_estimate
        if estimate is None or estimate.shape != error.shape:
            estimate = np.zeros_like(error)
        self.parameter_estimate = estimate + _product(adaptation_gain, error, "adaptation_gain")
        return self._model_efforts(thetalist, dthetalist, ddthetalist, g, Ftip) + self.parameter_estimate

    def joint_space_control(
        self,
        desired_joint_angles: ArrayLike,
        current_joint_angles: ArrayLike,
        current_joint_velocities: ArrayLike,
        Kp: ArrayLike,
        Kd: ArrayLike,
    ) -> Array:
        """Kp e − Kd θ̇ [N m or N], shape (n,)."""
        at_rest = np.zeros_like(np.asarray(desired_joint_angles, dtype=np.float64))
        return self.pd_control(desired_joint_angles, at_rest, current_joint_angles, current_joint_velocities, Kp, Kd)

    def cartesian_space_control(
        self,
        desired_position: ArrayLike,
        current_joint_angles: ArrayLike,
        current_joint_velocities: ArrayLike,
        Kp: ArrayLike,
        Kd: ArrayLike,
    ) -> Array:
        """Jᵀ (Kp e − Kd v) for the position of the end effector in the base frame [N m or N], shape (n,).

        Args:
            desired_position: [m], shape (3,).
            Kp: One number, three or a matrix [N/m]; Kd likewise [N s/m].
        """
        theta = self._vector(current_joint_angles, "current_joint_angles")
        dtheta = self._vector(current_joint_velocities, "current_joint_velocities")
        goal = shaped(desired_position, (3,), "desired_position")
        T = np.asarray(self.dynamics.forward_kinematics(theta), dtype=np.float64)
        J = np.asarray(self.dynamics.jacobian(theta), dtype=np.float64)
        if len(J) == 6:
            # Of the space Jacobian, angular rows first: the velocity of the tip is v + ω × p.
            J = J[3:] - np.cross(T[:3, 3], J[:3].T).T
        return J.T @ (_product(Kp, goal - T[:3, 3], "Kp") - _product(Kd, J @ dtheta, "Kd"))

    @staticmethod
    def enforce_limits(
        thetalist: ArrayLike, dthetalist: ArrayLike, tau: ArrayLike, joint_limits: ArrayLike, torque_limits: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Positions and efforts clipped to (lower, upper) per joint; velocities unchanged."""
        limits, efforts = np.asarray(joint_limits, dtype=float), np.asarray(torque_limits, dtype=float)
        return (
            np.clip(np.asarray(thetalist, dtype=float), limits[:, 0], limits[:, 1]),
            np.asarray(dthetalist, dtype=float),
            np.clip(np.asarray(tau, dtype=float), efforts[:, 0], efforts[:, 1]),
        )

    def _law_gains(self, Kp: ArrayLike, Kd: ArrayLike) -> dict[str, Array] | None:
        """Gains for a law of `manipapy_core.control`; None if the dynamics or the gains are not of its kind."""
        if self._chain is None:
            return None
        gains = {"kp": np.asarray(Kp, dtype=np.float64), "kd": np.asarray(Kd, dtype=np.float64)}
        for name, values in gains.items():
            if values.ndim == 2 and np.array_equal(values, np.diag(np.diagonal(values))):
                gains[name] = np.diagonal(values).copy()
            elif values.shape == (self._chain.n, self._chain.n):
                return None
            if gains[name].shape not in ((), (self._chain.n,)):
                raise ShapeError(name.capitalize(), f"() or ({self._chain.n},)", values.shape)
        return gains

    def _efforts(
        self,
        name: str,
        state: control.State,
        reference: control.Reference,
        gains: dict[str, Array],
        g: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Array:
        """Efforts of one step of a law of `manipapy_core.control` [N m or N], shape (n,)."""
        gravity = np.asarray(g, dtype=np.float64)
        key: tuple[str | bytes, ...] = name, *(values.tobytes() for values in (*gains.values(), gravity))
        law = self._laws.get(key)
        if law is None:
            if len(self._laws) >= CACHED_LAWS:
                self._laws.clear()
            law = self._laws[key] = control.make_law(name, self.dynamics.chain, gains, gravity=gravity)
        return law.step(state, reference, 0.0).copy()

    def _model_efforts(
        self, theta: ArrayLike, dtheta: ArrayLike, ddtheta: ArrayLike, g: ArrayLike, Ftip: ArrayLike
    ) -> Array:
        """Inverse dynamics; of objects that are not ours, from their terms."""
        q, qd, qdd = self._vector(theta, "thetalist"), self._vector(dtheta, "dthetalist"), np.asarray(ddtheta)
        model = self.dynamics
        if self._chain is not None:
            return np.asarray(model.inverse_dynamics(q, qd, qdd, g, Ftip)) + self._friction(qd)
        terms = model.mass_matrix(q) @ qdd, model.velocity_quadratic_forces(q, qd), model.gravity_forces(q, g)
        return np.asarray(sum(np.asarray(term) for term in terms)) + model.jacobian(q).T @ np.asarray(Ftip)

    def _friction(self, velocity: Array) -> Array:
        """Efforts that the joints' damping and Coulomb friction take, as in our laws [N m or N], shape (n,)."""
        tau = np.zeros_like(velocity)
        if self._chain is not None and (friction := FrictionFeedforward.of(self._chain)) is not None:
            friction.add(velocity, tau)
        return tau

    def _integrated(self, error: Array, dt: float, bound: float | None) -> Array:
        if bound is not None and not (math.isfinite(bound) and bound > 0.0):
            raise InputError(f"i_clamp is {bound!r}; give a positive and finite number, or None for no bound")
        before = self.eint
        if before is None or before.shape != error.shape:
            before = np.zeros_like(error)
        self.eint = before + error * dt if bound is None else np.clip(before + error * dt, -bound, bound)
        return self.eint

    @property
    def _chain(self) -> Chain | None:
        """The arm of our own dynamics; None for other objects."""
        chain = getattr(self.dynamics, "chain", None)
        return chain if isinstance(chain, Chain) else None

    def _vector(self, values: ArrayLike, name: str) -> Array:
        chain = self._chain
        return joint_vector(values, chain, name) if chain is not None else finite_vector(values, name)


def _product(gain: ArrayLike, values: Array, name: str) -> Array:
    """A gain applied to a vector: one number, one per entry, or a matrix."""
    array = np.asarray(gain, dtype=np.float64)
    if array.shape == (len(values), len(values)):
        return array @ values
    if array.shape not in ((), values.shape):
        raise ShapeError(name, f"(), {values.shape} or {values.shape * 2}", array.shape)
    return array * values
