"""`ManipulatorController`: efforts from errors, in ManipulaPy's words and signatures.

What is different on purpose: model terms are those of the exact dynamics, computed in one pass; Cartesian control acts
on the position of the end effector, not on its rotation; integrals belong to a controller and are forgotten by `reset`.
New programs use `manipapy_core.control`, which adds tolerances, a guard and the loop at 1 kHz.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import dynamics as exact
from .. import kinematics
from ..errors import InputError, ShapeError
from ..typing import Array
from .dynamics import ManipulatorDynamics

RULES = {"P": (0.5, 0.0, 0.0), "PI": (0.45, 0.54, 0.0), "PID": (0.6, 1.2, 0.075)}
"""Ziegler and Nichols (1942): Kp = a Ku, Ki = b Ku / Tu, Kd = c Ku Tu."""


class ManipulatorController:
    """Laws for one arm.

    Args:
        dynamics: Its dynamics.
    """

    def __init__(self, dynamics: ManipulatorDynamics):
        self.dynamics = dynamics
        self.reset()

    def reset(self) -> None:
        """Forgets integrals and estimates."""
        n = self.dynamics.chain.n
        self.eint, self.parameter_estimate = np.zeros(n), np.zeros(n)

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
    ) -> Array:
        """M(θ) (θ̈d + Kp e + Ki ∫e + Kd ė) + C(θ, θ̇) + g(θ) [N m or N], shape (n,).

        Args:
            thetalistd: Desired positions [rad or m]; velocities and accelerations likewise, shape (n,) each.
            thetalist: Measured positions, shape (n,); velocities likewise.
            g: Gravity in the base frame [m/s²], shape (3,).
            dt: Time since the last call [s].
            Kp: One number or one per joint [1/s²]; Ki [1/s³] and Kd [1/s] likewise.
        """
        theta, dtheta = self._vector(thetalist, "thetalist"), self._vector(dthetalist, "dthetalist")
        error = self._vector(thetalistd, "thetalistd") - theta
        rate = self._vector(dthetalistd, "dthetalistd") - dtheta
        self.eint = self.eint + error * dt
        wanted = self._vector(ddthetalistd, "ddthetalistd")
        wanted = wanted + self._gain(Kp, "Kp") * error + self._gain(Ki, "Ki") * self.eint + self._gain(Kd, "Kd") * rate
        return exact.inverse_dynamics(self.dynamics.chain, theta, dtheta, wanted, gravity=np.asarray(g, dtype=float))

    def pd_control(
        self,
        desired_position: ArrayLike,
        desired_velocity: ArrayLike,
        current_position: ArrayLike,
        current_velocity: ArrayLike,
        Kp: ArrayLike,
        Kd: ArrayLike,
    ) -> Array:
        """Kp e + Kd ė [N m or N], shape (n,)."""
        error = self._vector(desired_position, "desired_position") - self._vector(current_position, "current_position")
        rate = self._vector(desired_velocity, "desired_velocity") - self._vector(current_velocity, "current_velocity")
        return self._gain(Kp, "Kp") * error + self._gain(Kd, "Kd") * rate

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
    ) -> Array:
        """Kp e + Ki ∫e + Kd ė [N m or N], shape (n,)."""
        self.eint = self.eint + (self._vector(thetalistd, "thetalistd") - self._vector(thetalist, "thetalist")) * dt
        proportional = self.pd_control(thetalistd, dthetalistd, thetalist, dthetalist, Kp, Kd)
        return proportional + self._gain(Ki, "Ki") * self.eint

    def feedforward_control(
        self,
        desired_position: ArrayLike,
        desired_velocity: ArrayLike,
        desired_acceleration: ArrayLike,
        g: ArrayLike,
        Ftip: ArrayLike,
    ) -> Array:
        """The efforts of the desired motion, whatever is measured [N m or N], shape (n,)."""
        return self.dynamics.inverse_dynamics(desired_position, desired_velocity, desired_acceleration, g, Ftip)

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
        return self.feedforward_control(
            desired_position, desired_velocity, desired_acceleration, g, Ftip
        ) + self.pd_control(desired_position, desired_velocity, current_position, current_velocity, Kp, Kd)

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
        """The efforts of a motion plus a gain times an estimated disturbance [N m or N], shape (n,)."""
        tau = self.dynamics.inverse_dynamics(thetalist, dthetalist, ddthetalist, g, Ftip)
        return tau + self._gain(adaptation_gain, "adaptation_gain") * self._vector(
            disturbance_estimate, "disturbance_estimate"
        )

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
        """The efforts of a motion plus an estimate that grows with the measured error [N m or N], shape (n,)."""
        error = self._vector(measurement_error, "measurement_error")
        self.parameter_estimate = self.parameter_estimate + self._gain(adaptation_gain, "adaptation_gain") * error
        return self.dynamics.inverse_dynamics(thetalist, dthetalist, ddthetalist, g, Ftip) + self.parameter_estimate

    def joint_space_control(
        self,
        desired_joint_angles: ArrayLike,
        current_joint_angles: ArrayLike,
        current_joint_velocities: ArrayLike,
        Kp: ArrayLike,
        Kd: ArrayLike,
    ) -> Array:
        """Kp e − Kd θ̇ [N m or N], shape (n,)."""
        still = np.zeros(self.dynamics.chain.n)
        return self.pd_control(desired_joint_angles, still, current_joint_angles, current_joint_velocities, Kp, Kd)

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
            Kp: One number or three [N/m]; Kd likewise [N s/m].
        """
        theta = self._vector(current_joint_angles, "current_joint_angles")
        dtheta = self._vector(current_joint_velocities, "current_joint_velocities")
        wanted = np.asarray(desired_position, dtype=np.float64)
        if wanted.shape != (3,):
            raise ShapeError("desired_position", "(3,)", wanted.shape)
        T = kinematics.forward(self.dynamics.chain, theta)
        # Rows of the linear velocity of the tip, in the base frame.
        J = T[:3, :3] @ kinematics.body_jacobian(self.dynamics.chain, theta)[3:]
        force = np.asarray(Kp, dtype=float) * (wanted - T[:3, 3]) - np.asarray(Kd, dtype=float) * (J @ dtheta)
        return J.T @ force

    @staticmethod
    def enforce_limits(
        thetalist: ArrayLike, dthetalist: ArrayLike, tau: ArrayLike, joint_limits: ArrayLike, torque_limits: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """Positions and efforts cut to (lower, upper) per joint; velocities as they are."""
        limits, efforts = np.asarray(joint_limits, dtype=float), np.asarray(torque_limits, dtype=float)
        return (
            np.clip(np.asarray(thetalist, dtype=float), limits[:, 0], limits[:, 1]),
            np.asarray(dthetalist, dtype=float),
            np.clip(np.asarray(tau, dtype=float), efforts[:, 0], efforts[:, 1]),
        )

    def ziegler_nichols_tuning(self, Ku: ArrayLike, Tu: ArrayLike, kind: str = "PID") -> tuple[Array, Array, Array]:
        """Kp, Ki and Kd from the gain at which a loop swings and the period of that [s]."""
        if kind not in RULES:
            raise InputError(f"kind is {kind!r}; give one of {', '.join(RULES)}")
        gain, period = np.asarray(Ku, dtype=float), np.asarray(Tu, dtype=float)
        if not (np.all(gain > 0.0) and np.all(period > 0.0)):
            raise InputError(f"Ku is {Ku!r} and Tu {Tu!r}; both must be positive")
        a, b, c = RULES[kind]
        return a * gain, b * gain / period, c * gain * period

    def _vector(self, values: ArrayLike, name: str) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (self.dynamics.chain.n,):
            raise ShapeError(name, f"({self.dynamics.chain.n},)", array.shape)
        return array

    def _gain(self, values: ArrayLike, name: str) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.shape not in ((), (self.dynamics.chain.n,)):
            raise ShapeError(name, f"() or ({self.dynamics.chain.n},)", array.shape)
        return array
