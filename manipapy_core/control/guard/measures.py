"""What the guard measures in every tick, for all joints in one compiled call."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...model.chain import Chain
from ..bounds import MotionBounds
from ..execution.stopping import BUILD_UP, PEAK
from ..kernels import UNLIMITED, Input, absolute, clamp, compile_formula, compile_per_joint, positive_part
from ..state import Array
from .settings import GuardSettings

POSITION, VELOCITY, EFFORT, RATE, TRACKING = range(5)
"""Columns of the result."""
NOISE = 1e-7
"""Outward speed times distance beyond the last point to brake [rad²/s or m²/s] that sensor noise of a joint at rest
may show. A joint two milliradians beyond it is caught at 0.05 mrad/s."""
_FAR = 1e8
"""Stands for a position limit that does not exist."""


def measures(
    q: Sequence[Any],
    qd: Sequence[Any],
    tau: Sequence[Any],
    last: Sequence[Any],
    q_ref: Sequence[Any],
    bounds: Sequence[Any],
    tick: Sequence[Any],
) -> list[Any]:
    """Five numbers for one joint, each above 1 if its limit is exceeded; straight-line code over any scalar.

    A position counts as exceeded if the joint moves outwards and could no longer stop before the limit.

    Args:
        bounds: Lower, upper, stopping distance per squared speed, one over the velocity limit, the effort limit, and
            one over the limits of effort, torque rate and tracking error.
        tick: Time lost before the stop takes effect [s], and one over the time of the tick [1/s].
    """
    lower, upper, per_square, per_velocity, effort, per_effort, per_rate, per_error = bounds
    reaction, per_tick = tick
    speed = absolute(qd[0])
    way = qd[0] * reaction + qd[0] * speed * per_square
    out_up = positive_part(qd[0]) * positive_part(q[0] + way - upper)
    out_down = positive_part(-qd[0]) * positive_part(lower - q[0] - way)
    return [
        1.0 + out_up + out_down - NOISE,
        speed * per_velocity,
        absolute(tau[0]) * per_effort,
        absolute(clamp(tau[0], effort) - last[0]) * per_tick * per_rate,
        absolute(q_ref[0] - q[0]) * per_error,
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


@functools.cache
def measures_kernel() -> Any:
    """Compiled `measures`, one row per joint: kernel(q, qd, tau, last, q_ref, bounds, tick, out)."""
    numbers = [Input(name, (1,)) for name in ("q", "qd", "tau", "tau_last", "q_ref")]
    inputs = [*numbers, Input("bounds", (8,)), Input("tick", (2,), shared=True)]
    return compile_formula("guard_measures", inputs, (5,), measures)


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
