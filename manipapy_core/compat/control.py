"""`ManipulatorController`: joint efforts from errors, with ManipulaPy's names and signatures.

PD, computed torque and feedforward are the laws of `manipapy_core.control`. Intended differences from ManipulaPy: model
terms come from the exact dynamics; Cartesian control acts on the position of the end effector, not on its rotation;
integrals belong to a controller and are cleared by `reset`. New programs use `manipapy_core.control`, which adds
tolerances, a guard and the 1 kHz loop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import control, kinematics
from ..checks import joint_vector
from ..errors import InputError, ShapeError
from ..typing import Array
from .dynamics import ManipulatorDynamics
from .inputs import shaped, tip_wrench

CACHED_LAWS = 32
"""Laws kept per controller, one for each combination of gains and gravity; all are dropped when there are more."""


class ManipulatorController:
    """Control laws for one arm.

    Args:
        dynamics: Its dynamics.
    """

    def __init__(self, dynamics: ManipulatorDynamics):
        self.dynamics = dynamics
        self._laws: dict[tuple[str | bytes, ...], control.Law] = {}
        self.reset()

    def reset(self) -> None:
        """Clears integrals and estimates."""
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
        wanted, measured = self._vector(thetalistd, "thetalistd"), self._vector(thetalist, "thetalist")
        self.eint = self.eint + (wanted - measured) * dt
        acceleration = self._vector(ddthetalistd, "ddthetalistd") + self._gain(Ki, "Ki") * self.eint
        reference = control.Reference(wanted, self._vector(dthetalistd, "dthetalistd"), acceleration)
        state = control.State(measured, self._vector(dthetalist, "dthetalist"))
        return self._efforts("computed_torque", state, reference, Kp, Kd, g)

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
        wanted = self._vector(desired_position, "desired_position")
        reference = control.Reference(wanted, self._vector(desired_velocity, "desired_velocity"), np.zeros_like(wanted))
        measured = self._vector(current_position, "current_position")
        state = control.State(measured, self._vector(current_velocity, "current_velocity"))
        return self._efforts("pd", state, reference, Kp, Kd)

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
        """Inverse dynamics of the desired motion, without feedback [N m or N], shape (n,)."""
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
        reference = control.Reference(
            self._vector(desired_position, "desired_position"),
            self._vector(desired_velocity, "desired_velocity"),
            self._vector(desired_acceleration, "desired_acceleration"),
        )
        measured = self._vector(current_position, "current_position")
        state = control.State(measured, self._vector(current_velocity, "current_velocity"))
        tau, wrench = self._efforts("feedforward", state, reference, Kp, Kd, g), tip_wrench(Ftip)
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
        """Inverse dynamics plus an estimate that integrates the measured error [N m or N], shape (n,)."""
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
        at_rest = np.zeros(self.dynamics.chain.n)
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
            Kp: One number or three [N/m]; Kd likewise [N s/m].
        """
        theta = self._vector(current_joint_angles, "current_joint_angles")
        dtheta = self._vector(current_joint_velocities, "current_joint_velocities")
        wanted = shaped(desired_position, (3,), "desired_position")
        T = kinematics.forward(self.dynamics.chain, theta)
        # Rows of the linear velocity of the tip, in the base frame.
        J = T[:3, :3] @ kinematics.body_jacobian(self.dynamics.chain, theta)[3:]
        force = np.asarray(Kp, dtype=float) * (wanted - T[:3, 3]) - np.asarray(Kd, dtype=float) * (J @ dtheta)
        return J.T @ force

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

    def ziegler_nichols_tuning(self, Ku: ArrayLike, Tu: ArrayLike, kind: str = "PID") -> tuple[Array, Array, Array]:
        """Kp, Ki and Kd from the ultimate gain and the period of its oscillation [s].

        Args:
            Ku: Gain at which the proportional loop oscillates; one number or an array.
            Tu: Period of that oscillation [s], likewise.
            kind: "P", "PI" or "PID".
        """
        kinds = [choice.value for choice in control.Kind]
        if kind not in kinds:
            raise InputError(f"kind is {kind!r}; give one of {', '.join(kinds)}")
        gain, period = np.broadcast_arrays(np.asarray(Ku, dtype=np.float64), np.asarray(Tu, dtype=np.float64))
        ultimate = [control.UltimateGain(float(Ku), float(Tu)) for Ku, Tu in zip(gain.flat, period.flat)]
        tuned = [control.ziegler_nichols(each, control.Kind(kind)) for each in ultimate]
        Kp, Ki, Kd = (np.array([getattr(gains, name) for gains in tuned]) for name in ("kp", "ki", "kd"))
        return Kp.reshape(gain.shape), Ki.reshape(gain.shape), Kd.reshape(gain.shape)

    def _efforts(
        self,
        name: str,
        state: control.State,
        reference: control.Reference,
        Kp: ArrayLike,
        Kd: ArrayLike,
        g: ArrayLike = (0.0, 0.0, 0.0),
    ) -> Array:
        """Efforts of one step of a law of `manipapy_core.control` [N m or N], shape (n,)."""
        gains = {"kp": self._gain(Kp, "Kp"), "kd": self._gain(Kd, "Kd")}
        gravity = np.asarray(g, dtype=np.float64)
        key: tuple[str | bytes, ...] = name, *(values.tobytes() for values in (*gains.values(), gravity))
        law = self._laws.get(key)
        if law is None:
            if len(self._laws) >= CACHED_LAWS:
                self._laws.clear()
            law = self._laws[key] = control.make_law(name, self.dynamics.chain, gains, gravity=gravity)
        return law.step(state, reference, 0.0).copy()

    def _vector(self, values: ArrayLike, name: str) -> Array:
        return joint_vector(values, self.dynamics.chain, name)

    def _gain(self, values: ArrayLike, name: str) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.shape not in ((), (self.dynamics.chain.n,)):
            raise ShapeError(name, f"() or ({self.dynamics.chain.n},)", array.shape)
        return array
