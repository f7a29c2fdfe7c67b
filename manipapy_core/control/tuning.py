"""Ziegler–Nichols tuning: the ultimate gain of a simulated joint, and the gains from it.

The gain of a proportional controller is raised until the joint oscillates steadily; the rules need that gain and the
period of the oscillation. A rigid joint without damping or lag oscillates at any gain; the lag of its drive sets the
limit, so the simulated joint has one.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import dynamics
from ..checks import joint_vector, positive
from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array


class Kind(enum.Enum):
    """Terms of the controller."""

    P = "P"
    PI = "PI"
    PID = "PID"


@dataclass(frozen=True)
class TunedGains:
    """Gains of kp e + ki ∫ e dt + kd de/dt."""

    kp: float
    ki: float
    kd: float


@dataclass(frozen=True)
class UltimateGain:
    """Proportional gain at which the loop oscillates steadily."""

    gain: float
    """[N m/rad or N/m]"""
    period: float
    """Period of the oscillation [s]."""


def ziegler_nichols(ultimate: UltimateGain, kind: Kind = Kind.PID) -> TunedGains:
    """Gains from the ultimate gain and period (Ziegler and Nichols 1942, table for the oscillation method)."""
    gain = positive(ultimate.gain, "ultimate gain", "N m/rad or N/m")
    period = positive(ultimate.period, "ultimate period", "s")
    if kind is Kind.P:
        return TunedGains(0.5 * gain, 0.0, 0.0)
    if kind is Kind.PI:
        kp = 0.45 * gain
        return TunedGains(kp, kp / (period / 1.2), 0.0)
    kp = 0.6 * gain
    return TunedGains(kp, kp / (0.5 * period), kp * 0.125 * period)


class SimulatedJoint:
    """An inertia with damping behind a drive that follows its command with a lag.

    Args:
        inertia: [kg m² or kg]
        damping: [N m s/rad or N s/m]
        lag: Time constant of the drive [s].
    """

    def __init__(self, inertia: float, damping: float, lag: float):
        self.inertia = positive(inertia, "inertia", "kg m² or kg")
        self.damping = positive(damping, "damping", "N m s/rad or N s/m")
        self.lag = positive(lag, "lag", "s")
        self.q = self.qd = self.effort = 0.0

    @classmethod
    def of(cls, chain: Chain, joint: str, q: ArrayLike, *, damping: float, lag: float) -> SimulatedJoint:
        """A joint of an arm, all others held still.

        Args:
            joint: Its name.
            q: Configuration [rad or m], shape (n,).
            damping: [N m s/rad or N s/m]; descriptions rarely have it.
            lag: Time constant of the drive [s].
        """
        if joint not in chain.joint_names:
            raise InputError(f"no joint {joint!r}; available: {', '.join(chain.joint_names)}")
        j = chain.joint_names.index(joint)
        inertia = dynamics.mass_matrix(chain, joint_vector(q, chain, "q"))[j, j]
        return cls(float(inertia), damping, lag)

    def release(self, q: float) -> None:
        """Resets the joint to rest at a position [rad or m]."""
        self.q, self.qd, self.effort = q, 0.0, 0.0

    def step(self, command: float, dt: float) -> float:
        """Position after a time with a commanded effort [rad or m]."""
        self.effort += dt * (command - self.effort) / self.lag
        self.qd += dt * (self.effort - self.damping * self.qd) / self.inertia
        self.q += dt * self.qd
        return self.q


def find_ultimate_gain(
    joint: SimulatedJoint, *, dt: float = 1e-4, first_gain: float = 1.0, accuracy: float = 1e-3
) -> UltimateGain:
    """Finds the ultimate gain by bisection between decaying and growing oscillations.

    Args:
        joint: The simulated joint.
        dt: Step of the simulation [s].
        first_gain: Initial gain [N m/rad or N/m].
        accuracy: Relative accuracy of the gain.

    Raises:
        InputError: The joint does not oscillate, or oscillates at any gain.
    """
    positive(dt, "dt", "s")
    gain = positive(first_gain, "first_gain", "N m/rad or N/m")

    def grows(gain: float) -> bool:
        swing = _swing(joint.release, joint.step, gain, dt)
        return swing is not None and swing.growth > 1.0

    low, high = gain, gain
    for _ in range(60):
        if grows(high):
            break
        low, high = high, 2.0 * high
    else:
        raise InputError("the oscillation decays at any gain; the joint needs a lag to have an ultimate gain")
    for _ in range(60):
        if not grows(low):
            break
        low, high = 0.5 * low, low
    else:
        raise InputError("the joint oscillates at any gain; it needs damping to have an ultimate gain")
    while high - low > accuracy * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if grows(middle) else (middle, high)
    final = _swing(joint.release, joint.step, high, dt)
    assert final is not None
    return UltimateGain(high, final.period)


@dataclass(frozen=True)
class _Swing:
    growth: float
    """Ratio of successive amplitudes."""
    period: float
    """[s]"""


def _swing(
    release: Callable[[float], None], step: Callable[[float, float], float], gain: float, dt: float
) -> _Swing | None:
    """Oscillation of the closed loop after a release from 1; None if there is none."""
    release(1.0)
    q, crossings, peaks, peak = 1.0, [], [], 0.0
    for tick in range(2_000_000):
        before, q = q, step(-gain * q, dt)
        peak = max(peak, abs(q))
        if (before > 0.0) != (q > 0.0):
            crossings.append(dt * (tick + before / (before - q)))
            peaks.append(peak)
            peak = 0.0
            # The first half-periods depend on the start; the last ones give growth and period.
            if len(crossings) == 12:
                half_periods: Array = np.diff(crossings[4:])
                growth = (peaks[-1] / peaks[-5]) ** (1.0 / 4.0)
                return _Swing(growth, 2.0 * float(half_periods.mean()))
        if not math.isfinite(q):
            return _Swing(math.inf, math.nan)
        if tick * dt > 5.0 and (not crossings or tick * dt - crossings[-1] > 5.0):
            return None
    return None
