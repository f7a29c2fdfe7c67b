"""What the guard measures in every tick, for all joints in one compiled call."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...model.chain import Chain
from ..bounds import MotionBounds
from ..execution.stopping import BUILD_UP, PEAK
from ..kernels import UNLIMITED, Input, absolute, clamp, compile_formula, compile_per_joint, largest, positive_part
from ..state import Array
from .settings import GuardSettings

POSITION, VELOCITY, EFFORT, RATE, TRACKING = range(5)
"""Columns of the measures."""
LARGEST, LARGEST_BUT_TRACKING = -2, -1
"""The last two numbers of the result: whether anything at all is exceeded."""
NOISE = 1e-7
"""Outward speed times distance beyond the last point to brake [rad²/s or m²/s] that sensor noise of a joint at rest
may show. A joint two milliradians beyond it is caught at 0.05 mrad/s."""
_FAR = 1e8
"""Stands for a position limit that does not exist."""


def measures(q: Any, qd: Any, tau: Any, last: Any, q_ref: Any, bounds: Sequence[Any], tick: Sequence[Any]) -> list[Any]:
    """Five numbers for one joint, each above 1 if its limit is exceeded; straight-line code over any scalar.

    A position counts as exceeded if the joint moves outwards and could no longer stop before the limit.

    Args:
        bounds: Lower, upper, stopping distance per squared speed, one over the velocity limit, the effort limit, and
            one over the limits of effort, torque rate and tracking error.
        tick: Time lost before the stop takes effect [s], and one over the time of the tick [1/s].
    """
    lower, upper, per_square, per_velocity, effort, per_effort, per_rate, per_error = bounds
    reaction, per_tick = tick
    speed = absolute(qd)
    way = qd * reaction + qd * speed * per_square
    out_up = positive_part(qd) * positive_part(q + way - upper)
    out_down = positive_part(-qd) * positive_part(lower - q - way)
    return [
        1.0 + out_up + out_down - NOISE,
        speed * per_velocity,
        absolute(tau) * per_effort,
        absolute(clamp(tau, effort) - last) * per_tick * per_rate,
        absolute(q_ref - q) * per_error,
    ]


def lost_time(settings: GuardSettings) -> float:
    """Time that an outward motion goes on at full speed, in effect, before it slows down [s]."""
    return settings.reaction_time + 0.5 * BUILD_UP


def joint_bounds(chain: Chain, settings: GuardSettings, bounds: MotionBounds) -> Array:
    """The constants that `measures` needs, shape (n, 8)."""
    margin = settings.position_margin
    with np.errstate(divide="ignore"):
        columns = [
            np.maximum(bounds.lower + margin, -_FAR),
            np.minimum(bounds.upper - margin, _FAR),
            # The stop profile takes BUILD_UP + PEAK v / a of time and covers half of v times that.
            0.5 * PEAK / bounds.brake,
            1.0 / chain.limits.velocity,
            np.minimum(chain.limits.effort, UNLIMITED),
            1.0 / chain.limits.effort,
            1.0 / settings.torque_rates(chain),
            1.0 / settings.tracking_errors(chain),
        ]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def measures_of_all(
    q: Sequence[Any],
    qd: Sequence[Any],
    tau: Sequence[Any],
    last: Sequence[Any],
    q_ref: Sequence[Any],
    bounds: Sequence[Any],
    tick: Sequence[Any],
) -> list[Any]:
    """`measures` of one joint after the other, then the largest of all and the largest without those of tracking."""
    rows = [measures(q[j], qd[j], tau[j], last[j], q_ref[j], bounds[8 * j : 8 * j + 8], tick) for j in range(len(q))]
    every = [measure for row in rows for measure in row]
    return [*every, largest(every), largest(measure for row in rows for measure in row[:TRACKING])]


@functools.cache
def measures_kernel(n: int) -> Any:
    """Compiled `measures_of_all`: kernel(q, qd, tau, last, q_ref, bounds, tick, out), out of shape (5 n + 2,)."""
    numbers = [Input(name, (n,)) for name in ("q", "qd", "tau", "tau_last", "q_ref")]
    inputs = [*numbers, Input("bounds", (n, 8)), Input("tick", (2,))]
    return compile_formula(f"guard_measures_{n}", inputs, (5 * n + 2,), measures_of_all)


def clipped(tau: Any, last: Any, effort: Any, rate: Any, dt: Any) -> Any:
    """An effort within its limit and within reach of the last one, for one joint."""
    return last + clamp(clamp(tau, effort) - last, rate * dt)


@functools.cache
def clipping_kernel(n: int) -> Any:
    """Compiled `clipped`: kernel(tau, last, effort, rate, dt, out)."""
    return compile_per_joint("clipped", n, ("tau", "tau_last", "effort", "rate"), 1, clipped, scalars=("dt",))


@functools.cache
def copying_kernel(n: int) -> Any:
    """Copies two vectors into the rows of `out`, and says whether all their numbers are finite: one call for both."""
    return compile_per_joint("copied", n, ("q", "qd"), 2, lambda q, qd: (q, qd))
