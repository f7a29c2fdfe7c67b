"""Measures of a step response, its plot, and tuning by Ziegler and Nichols, with ManipulaPy's names.

Intended differences from ManipulaPy: overshoot also counts below a negative set point; the PI rule is the published
one, Ki = 0.54 Ku / Tu; the ultimate gain is that of a simulated joint with damping and a lag of one time step, because
a rigid joint without them oscillates at any gain.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import control, draw
from ..errors import InputError, ShapeError
from ..model.chain import Chain
from ..typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DECAY = 1.0
"""Time in which a joint without known damping slows down [s]."""


_SUBSTEPS = 50
"""Steps of the simulated joint within a time step."""


class StepResponse:
    """The measures, as methods of a controller."""

    dynamics: Any

    @staticmethod
    def calculate_rise_time(time: ArrayLike, response: ArrayLike, set_point: float) -> float:
        """Time from the first sample at 10 % of the set point to the first at 90 % [s]; inf if it is never reached."""
        times, values = _samples(time, response)
        if set_point == 0.0:
            return 0.0
        share = values / set_point
        reached = [np.flatnonzero(share >= level) for level in (0.1, 0.9)]
        if not all(len(indices) for indices in reached):
            return math.inf
        return float(times[reached[1][0]] - times[reached[0][0]])

    @staticmethod
    def calculate_percent_overshoot(response: ArrayLike, set_point: float) -> float:
        """How far the response goes beyond the set point [% of it]; 0 if it does not, or for a set point of 0."""
        if set_point == 0.0:
            return 0.0
        return max(0.0, 100.0 * (float(np.max(np.asarray(response, dtype=np.float64) / set_point)) - 1.0))

    @staticmethod
    def calculate_settling_time(
        time: ArrayLike, response: ArrayLike, set_point: float, tolerance: float = 0.02
    ) -> float:
        """First time from which the response stays within `tolerance` times the set point [s]; inf if it does not."""
        times, values = _samples(time, response)
        outside = np.flatnonzero(np.abs(values - set_point) > tolerance * abs(set_point))
        first = outside[-1] + 1 if len(outside) else 0
        return float(times[first]) if first < len(times) else math.inf

    @staticmethod
    def calculate_steady_state_error(response: ArrayLike, set_point: float) -> float:
        """Set point minus the last sample."""
        return float(set_point - np.asarray(response, dtype=np.float64)[-1])

    def plot_steady_state_response(
        self, time: ArrayLike, response: ArrayLike, set_point: float, title: str = "Steady State Response"
    ) -> Figure:
        """Draws a response with its measures, in a window if there is a screen.

        Returns:
            The figure.
        """
        times, values = _samples(time, response)
        figure = draw.new_figure(figsize=(8, 5))
        axes = figure.add_subplot()
        axes.plot(times, values, label="response")
        axes.axhline(set_point, linestyle="--", color="tab:red", label="set point")
        settled = self.calculate_settling_time(times, values, set_point)
        if math.isfinite(settled):
            axes.axvline(settled, linestyle=":", color="tab:green", label=f"settled at {settled:.3g} s")
        rise, over = (
            self.calculate_rise_time(times, values, set_point),
            self.calculate_percent_overshoot(values, set_point),
        )
        axes.set_title(f"{title}: rise time {rise:.3g} s, overshoot {over:.3g} %")
        axes.set_xlabel("time [s]")
        axes.legend()
        if draw.has_screen():
            draw.show(figure)
        return figure

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
        if kind == control.Kind.P.value:
            Tu = np.ones_like(np.asarray(Tu, dtype=np.float64))  # the rule does not use it
        gain, period = np.broadcast_arrays(np.asarray(Ku, dtype=np.float64), np.asarray(Tu, dtype=np.float64))
        ultimate = [control.UltimateGain(float(Ku), float(Tu)) for Ku, Tu in zip(gain.flat, period.flat)]
        tuned = [control.ziegler_nichols(each, control.Kind(kind)) for each in ultimate]
        Kp, Ki, Kd = (np.array([getattr(gains, name) for gains in tuned]) for name in ("kp", "ki", "kd"))
        return Kp.reshape(gain.shape), Ki.reshape(gain.shape), Kd.reshape(gain.shape)

    def tune_controller(self, Ku: ArrayLike, Tu: ArrayLike, kind: str = "PID") -> tuple[Array, Array, Array]:
        """`ziegler_nichols_tuning`, with the gains logged."""
        gains = self.ziegler_nichols_tuning(Ku, Tu, kind)
        logging.getLogger(__name__).info("%s gains: Kp %s, Ki %s, Kd %s", kind, *gains)
        return gains

    def find_ultimate_gain_and_period(
        self, thetalist: ArrayLike, desired_joint_angles: ArrayLike, dt: float, max_steps: int = 1000
    ) -> tuple[float, float, list[float], list[Array]]:
        """Ultimate gain [N m/rad or N/m] and period [s] of the joint with the least inertia, the first to oscillate.

        The drive lags behind its command by `dt`; the damping is that of the description, or slows the joint down
        within a second.

        Args:
            thetalist: Configuration [rad or m], shape (n,); its inertia counts.
            desired_joint_angles: Goal of the step [rad or m], shape (n,).
            dt: Time step [s].
            max_steps: Length of the response that is returned.

        Returns:
            Gain, period, the gain again as a list, and the error of every joint at each step of the response.
        """
        theta, goal = np.asarray(thetalist, dtype=np.float64), np.asarray(desired_joint_angles, dtype=np.float64)
        if theta.shape != goal.shape:
            raise ShapeError("desired_joint_angles", f"{theta.shape}, the shape of thetalist", goal.shape)
        inertias = np.diagonal(np.asarray(self.dynamics.mass_matrix(theta), dtype=np.float64))
        chain = getattr(self.dynamics, "chain", None)
        known = chain.damping if isinstance(chain, Chain) else np.zeros(len(theta))
        joint = int(np.argmin(inertias))
        damping = known[joint] if known[joint] > 0.0 else inertias[joint] / _DECAY
        simulated = control.SimulatedJoint(float(inertias[joint]), float(damping), dt)
        ultimate = control.find_ultimate_gain(simulated, dt=dt / _SUBSTEPS)
        simulated.release(float(theta[joint]))
        errors: list[Array] = []
        for _ in range(max_steps):
            error = goal - theta
            error[joint] = goal[joint] - simulated.q
            errors.append(error)
            for _ in range(_SUBSTEPS):
                simulated.step(ultimate.gain * (float(goal[joint]) - simulated.q), dt / _SUBSTEPS)
        return ultimate.gain, ultimate.period, [ultimate.gain], errors


def _samples(time: ArrayLike, response: ArrayLike) -> tuple[Array, Array]:
    times, values = np.asarray(time, dtype=np.float64), np.asarray(response, dtype=np.float64)
    if times.ndim != 1 or times.shape != values.shape or not len(times):
        raise ShapeError("response", f"{times.shape}, the shape of time, with one axis", values.shape)
    return times, values
