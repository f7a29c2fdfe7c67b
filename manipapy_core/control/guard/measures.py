"""Measures of the guard: joint limits of all joints in one compiled call, and the condition number of the tip."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import kinematics
from ...compiler import (
    UNLIMITED,
    Input,
    absolute,
    bind,
    clamp,
    compile_formula,
    compile_per_joint,
    largest,
    positive_part,
)
from ...compiler.algorithms.ldl import gram, inverse_trace, trace, with_ridge
from ...compiler.scalar import sqrt
from ...model.chain import Chain
from ...trajectory.bounds import BrakingLimits
from ...trajectory.stopping import BUILD_UP, PEAK
from ...typing import Array
from ..state import State
from .checks import GuardSettings

_RIDGE = 1e-9
"""Keeps the condition number of a singular configuration finite."""
LOOK_AHEAD = 0.01
"""Time over which the rise of the condition number is predicted [s]."""
RISE_TOLERANCE = 1e-3
"""A smaller relative rise within that time counts as noise."""


def condition_number(n: int, J: Sequence[Any], per_length: Sequence[Any]) -> list[Any]:
    """‖A‖ ‖A⁺‖ / k in the Frobenius norm, with A the Jacobian without units and k = min(6, n).

    1 if the tip is isotropic, infinite at a singularity. Smooth, and without the iterations of a singular value
    decomposition. For an arm of fewer than six joints only the directions in which its tip can move count.
    Straight-line code over any scalar.

    Args:
        J: Jacobian, angular rows first, 6×n row by row.
        per_length: One over the characteristic length, which scales rotations to translations [1/m], one number.
    """
    rows = [[J[n * r + j] * (per_length[0] if r > 2 else 1.0) for j in range(n)] for r in range(6)]
    if n < 6:
        rows = [[row[j] for row in rows] for j in range(n)]
    S = gram(rows)
    return [sqrt(trace(S) * inverse_trace(with_ridge(S, _RIDGE))) * (1.0 / len(S))]


@functools.cache
def condition_kernel(n: int) -> Any:
    """Compiled `condition_number`: kernel(J, per_length, out)."""
    inputs = [Input("J", (6, n)), Input("per_length", (1,), shared=True)]
    return compile_formula(f"condition_number_{n}", inputs, (1,), functools.partial(condition_number, n))


class ConditionNumber:
    """Condition number of an arm, and its trend along the present motion."""

    def __init__(self, chain: Chain):
        self._jacobian: Any = bind(chain, "body_jacobian")
        self._kernel: Any = condition_kernel(chain.n)
        self._per_length = np.array([1.0 / characteristic_length(chain)])
        self._J, self._number, self._ahead = np.zeros((6, chain.n)), np.zeros(1), np.zeros(chain.n)

    def at(self, q: Array) -> float:
        """Condition number at a configuration."""
        self._jacobian(q, self._J)
        self._kernel(self._J, self._per_length, self._number)
        return float(self._number[0])

    def rises(self, state: State, number: float) -> bool:
        """Whether the condition number rises along the present motion."""
        np.multiply(state.qd, LOOK_AHEAD, self._ahead)
        np.add(state.q, self._ahead, self._ahead)
        return self.at(self._ahead) > number * (1.0 + RISE_TOLERANCE)


@functools.lru_cache(maxsize=16)
def characteristic_length(chain: Chain) -> float:
    """Characteristic length of an arm [m]: typical tip displacement per joint rotation; scales rows of a Jacobian."""
    lower, upper = (np.clip(bound, -math.pi, math.pi) for bound in (chain.limits.lower, chain.limits.upper))
    J: Array = kinematics.body_jacobian(chain, np.random.default_rng(0).uniform(lower, upper, (256, chain.n)))
    angular, linear = float(np.sum(J[:, :3] ** 2)), float(np.sum(J[:, 3:] ** 2))
    return math.sqrt(linear / angular) if angular > 0.0 and linear > 0.0 else 1.0


POSITION, VELOCITY, EFFORT, RATE, TRACKING = range(5)
"""Columns of the measures."""
LARGEST, LARGEST_WITHOUT_TRACKING = -2, -1
"""Indices of the last two numbers of the result: largest measure of all, and without tracking."""
POSITION_NOISE = 1e-7
"""Tolerance for sensor noise of a joint at rest: outward speed times distance beyond the last point to brake [rad²/s or
m²/s]. Two milliradians beyond that point, 0.05 mrad/s exceed it."""
_NO_LIMIT = 1e8
"""Position limit of joints without one [rad or m]."""


def measures(q: Any, qd: Any, tau: Any, last: Any, q_ref: Any, bounds: Sequence[Any], tick: Sequence[Any]) -> list[Any]:
    """Five numbers for one joint, each above 1 if its limit is exceeded; straight-line code over any scalar.

    The position limit counts as exceeded if the joint moves outwards and can no longer stop before it.

    Args:
        bounds: Lower, upper, stopping distance per squared speed, one over the velocity limit, the effort limit, and
            one over the limits of effort, torque rate and tracking error.
        tick: Time before a stop takes effect [s], and one over the time between ticks [1/s].
    """
    lower, upper, per_square, per_velocity, effort, per_effort, per_rate, per_error = bounds
    reaction, per_tick = tick
    speed = absolute(qd)
    stopping = qd * reaction + qd * speed * per_square
    out_up = positive_part(qd) * positive_part(q + stopping - upper)
    out_down = positive_part(-qd) * positive_part(lower - q - stopping)
    return [
        1.0 + out_up + out_down - POSITION_NOISE,
        speed * per_velocity,
        absolute(tau) * per_effort,
        absolute(clamp(tau, effort) - last) * per_tick * per_rate,
        absolute(q_ref - q) * per_error,
    ]


def lost_time(settings: GuardSettings) -> float:
    """Equivalent time at full speed before a stop takes effect [s]."""
    return settings.reaction_time + 0.5 * BUILD_UP


def joint_bounds(chain: Chain, settings: GuardSettings, bounds: BrakingLimits) -> Array:
    """Constants of `measures`, shape (n, 8)."""
    margin = settings.position_margin
    with np.errstate(divide="ignore"):
        columns = [
            np.maximum(bounds.lower + margin, -_NO_LIMIT),
            np.minimum(bounds.upper - margin, _NO_LIMIT),
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
    """`measures` of all joints, then the largest of all and the largest without tracking."""
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
    """Effort of one joint, clipped to its limit and to the torque rate."""
    return last + clamp(clamp(tau, effort) - last, rate * dt)


@functools.cache
def clipping_kernel(n: int) -> Any:
    """Compiled `clipped`: kernel(tau, last, effort, rate, dt, out)."""
    return compile_per_joint("clipped", n, ("tau", "tau_last", "effort", "rate"), 1, clipped, scalars=("dt",))


@functools.cache
def copying_kernel(n: int) -> Any:
    """Copies two vectors into the rows of `out`; returns whether all their numbers are finite."""
    return compile_per_joint("copied", n, ("q", "qd"), 2, lambda q, qd: (q, qd))
