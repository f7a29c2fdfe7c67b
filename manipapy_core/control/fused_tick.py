"""Fused tick: the common tick (along a segment at full speed, under computed torque) as one compiled call.

A tick of many small calls takes five times as long in a loop that sleeps between ticks as in one that does not, because
code and data of every call have left the processor caches. Here one call computes state, reference, efforts and the
measures of the guard, and one number tells by how much the worst limit is exceeded. If that number is not below zero by
`LIMIT_TOLERANCE`, the result is dropped, no state has changed, and the tick takes the slow path, which alone decides.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from ..compiler import GRAVITY_INPUT, PAYLOAD_INPUT, Input, Mechanism, absolute, compile_formula, largest, mechanism_of
from ..compiler.algorithms import dynamics as algorithms
from ..model.chain import Chain
from ..trajectory.spline import TERMS
from ..typing import Array
from .execution.execution import Execution
from .execution.tolerances import follow
from .guard.guard import Guard
from .guard.measures import LARGEST, measures_of_all
from .laws.law import Law
from .laws.model_based import ComputedTorque, desired_acceleration
from .state import State

LIMIT_TOLERANCE = 1e-8
"""Nearer to a limit than this the slow path decides: far above the difference in rounding between the two paths, and
below the noise tolerance of the guard."""
BOUNDS_PER_JOINT = 8
"""Columns of the guard's bounds."""
PER_RATE = 6
"""The column with one over the torque rate."""


def fused_tick(mechanism: Mechanism, loaded: bool, *values: Sequence[Any]) -> list[Any]:
    """State, motion at full speed, reference, efforts, and the largest excess over a limit.

    Args:
        values: q, qd, when (time within the segment over its length, one over that length [1/s], reaction time of a
            stop [s], one over the time between ticks [1/s], time between joint states, and reaction time
            plus age of the joint state [s]),
            positions of the last joint state, coefficients of the segment, path tolerance, efforts of the last tick,
            and for each joint kp, kd, speed of the largest plausible step, speed that efforts may cause, the guard's
            bounds, and a step that is always plausible; then gravity and payload.
    """
    q, qd, when, q_last, coefficients, allowed, last, constants, gravity = values[:9]
    n, (share, per_length, reaction, per_tick, gap, ahead) = mechanism.n, when
    moved = follow(n, [share, per_length, 1.0, 0.0], coefficients, q, allowed)
    motion, excess = moved[:-1], moved[-1]
    q_ref, qd_ref, qdd_ref = (motion[3 * n + row * n : 3 * n + row * n + n] for row in range(3))
    kp, kd, step_speed, fastest = (constants[row * n : row * n + n] for row in range(4))
    bounds, tolerance = constants[4 * n : -1], constants[-1]
    desired = [desired_acceleration(*numbers) for numbers in zip(q, qd, q_ref, qd_ref, qdd_ref, kp, kd)]
    payload = values[9] if loaded else None
    tau = list(algorithms.inverse_dynamics(mechanism, q, qd, desired, gravity, payload=payload))
    worst = measures_of_all(q, qd, tau, last, q_ref, bounds, [reaction, per_tick])[LARGEST]
    steps = [absolute(now - before) - speed * gap for now, before, speed in zip(q, q_last, step_speed)]
    # As SpeedAhead, by the model alone: the efforts are those of the desired acceleration.
    rest = algorithms.inverse_dynamics(mechanism, q, qd, [0.0] * n, gravity, payload=payload)
    per_rate = bounds[PER_RATE::BOUNDS_PER_JOINT]
    undo = largest(absolute(effort - without) * rate for effort, without, rate in zip(tau, rest, per_rate))
    time = ahead + 0.5 * undo
    caused = [absolute(v + time * a) - speed for v, a, speed in zip(qd, desired, fastest)]
    return [*q, *qd, *motion, *tau, largest([worst - 1.0, excess, largest(steps) - tolerance, largest(caused)])]


@functools.lru_cache(maxsize=16)
def fused_tick_kernel(chain: Chain, loaded: bool) -> Any:
    """Compiled `fused_tick`: kernel(values…, out), out of shape (9 n + 1,)."""
    mechanism = mechanism_of(chain)
    n = mechanism.n
    inputs = [
        Input("q", (n,), angle=True),
        Input("qd", (n,)),
        Input("when", (6,)),
        Input("q_last", (n,)),
        Input("coefficients", (TERMS, n)),
        Input("allowed", (n,)),
        Input("tau_last", (n,)),
        Input("constants", ((4 + BOUNDS_PER_JOINT) * n + 1,)),
        GRAVITY_INPUT,
        *((PAYLOAD_INPUT,) if loaded else ()),
    ]
    return compile_formula(
        "fused_tick_payload" if loaded else "fused_tick",
        inputs,
        (9 * n + 1,),
        functools.partial(fused_tick, mechanism, loaded),
    )


@dataclass(frozen=True, eq=False)
class Result:
    """Result of one fused tick: views of one block of numbers."""

    numbers: Array
    """The whole block, shape (9 n + 1,)."""
    state: State
    """Measured state."""
    motion: Array
    """Position, velocity and acceleration at full speed, then of the reference, shape (6 n,)."""
    tau: Array
    """Joint efforts [N m or N], shape (n,)."""

    @classmethod
    def of(cls, n: int) -> Result:
        """Allocates the result for an arm of n joints."""
        numbers = np.zeros(9 * n + 1)
        state = State.of_block(numbers[: 2 * n].reshape(2, n))
        return cls(numbers, state, numbers[2 * n : 8 * n], numbers[8 * n : 9 * n])


class FusedTick:
    """Runs a tick as one compiled call, if it is a common one.

    Args:
        law: The active law.
        execution: Gets the new reference.
        guard: Its bounds and timing checks are used.
    """

    def __init__(self, law: ComputedTorque, execution: Execution, guard: Guard):
        n = law.chain.n
        self._kernel: Any = fused_tick_kernel(law.chain, law.model.payload is not None)
        self._execution, self._guard = execution, guard
        plausible = self._plausibility = guard.plausibility
        per_joint = law.gains["kp"], law.gains["kd"], plausible.speed, guard.fastest, guard.bounds.ravel()
        self._constants = np.concatenate([*per_joint, [plausible.tolerance]])
        self._inputs = law.model.inputs
        self._reaction = guard.settings.reaction_time
        self._when = np.array([0.0, 0.0, guard.lost_time, 0.0, 0.0, 0.0])
        # Two, because the last measurement must outlive the next attempt.
        self._results = Result.of(n), Result.of(n)

    @classmethod
    def of(cls, law: Law, execution: Execution, guard: Guard) -> FusedTick | None:
        """The fused tick of a law; None if it has none. Cheap once `compile_fused_tick` has compiled its kernel."""
        return cls(law, execution, guard) if _is_common(law) else None

    def run(self, now: float, dt: float, q: Array, qd: Array, stamp: float, last: Array) -> Result | None:
        """One tick. None: no state has changed; take the slow path.

        Args:
            now: Time of the tick [s].
            dt: Since the last tick [s].
            q: Measured positions [rad or m], shape (n,).
            qd: Measured velocities [rad/s or m/s], shape (n,).
            stamp: When they were measured, on the clock of `now` [s].
            last: Efforts of the last tick [N m or N], shape (n,).
        """
        execution, guard, when = self._execution, self._guard, self._when
        if not guard.on_time(now, dt, stamp):
            return None
        segment = execution.plain_step(dt, when)
        if segment is None:
            return None
        when[3], when[4], when[5] = 1.0 / dt, self._plausibility.gap(stamp), self._reaction + max(now - stamp, 0.0)
        before, result = self._results
        out = result.numbers
        if not self._kernel(
            q,
            qd,
            when,
            self._plausibility.last,
            segment.coefficients,
            execution.path_tolerance,
            last,
            self._constants,
            *self._inputs,
            out,
        ):
            return None
        # Not `>`: NaN takes the slow path.
        if not out.item(-1) <= -LIMIT_TOLERANCE:
            return None
        self._results = result, before
        execution.moved(dt, result.motion)
        guard.passed(now, stamp, result.state.q)
        return result


def _is_common(law: Law) -> TypeGuard[ComputedTorque]:
    return type(law) is ComputedTorque and not law.has_friction


def compile_fused_tick(law: Law) -> None:
    """Compiles the kernel that `FusedTick.of` needs. Takes time: not for the loop."""
    if _is_common(law):
        fused_tick_kernel(law.chain, law.model.payload is not None)
