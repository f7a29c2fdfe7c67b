"""The usual tick in one compiled call: along a segment at full speed, under computed torque, with nothing wrong.

A tick of many small calls takes five times as long in a loop that sleeps in between as in one that does not, because
every call fetches its code and its numbers from far away. Here the state, the reference, the efforts and all that the
guard measures come from one call, and one number says whether all is well. The quick way never decides anything: as
soon as that number is within a hair of a limit, nothing has happened and the tick goes the long way.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiler import GRAVITY_INPUT, PAYLOAD_INPUT, Input, Mechanism, compile_formula, largest, mechanism_of
from ..compiler.algorithms import dynamics as algorithms
from ..model.chain import Chain
from ..trajectory.spline import TERMS
from ..typing import Array
from .execution.execution import Execution
from .execution.tolerances import follow
from .guard.guard import Guard
from .guard.measures import LARGEST, measures_of_all
from .laws.law import Law
from .laws.model_based import ComputedTorque, wanted_acceleration
from .state import State

HAIR = 1e-8
"""Distance to a limit from which on the long way decides: far more than two ways of rounding differ by, and less than
the guard's own allowance for noise."""
BOUNDS = 8
"""Numbers per joint that the guard measures by."""


def fused_tick(mechanism: Mechanism, loaded: bool, *values: Sequence[Any]) -> list[Any]:
    """State, motion at full speed, reference, efforts, and by how much the worst limit is exceeded.

    Args:
        values: q, qd, when (share of the segment that is over, one over its length [1/s], time lost before a stop
            takes effect [s], one over the time of the tick [1/s]), coefficients of the segment, path tolerance,
            efforts of the last tick, and for each joint kp, kd and the guard's bounds; then gravity and payload.
    """
    q, qd, when, coefficients, allowed, last, constants, gravity = values[:8]
    n, (share, per_length, reaction, per_tick) = mechanism.n, when
    moved = follow(n, [share, per_length, 1.0, 0.0], coefficients, q, allowed)
    motion, excess = moved[:-1], moved[-1]
    q_ref, qd_ref, qdd_ref = (motion[3 * n + row * n : 3 * n + row * n + n] for row in range(3))
    kp, kd, bounds = constants[:n], constants[n : 2 * n], constants[2 * n :]
    wanted = [wanted_acceleration(*numbers) for numbers in zip(q, qd, q_ref, qd_ref, qdd_ref, kp, kd)]
    payload = values[8] if loaded else None
    tau = list(algorithms.inverse_dynamics(mechanism, q, qd, wanted, gravity, payload=payload))
    worst = measures_of_all(q, qd, tau, last, q_ref, bounds, [reaction, per_tick])[LARGEST]
    return [*q, *qd, *motion, *tau, largest([worst - 1.0, excess])]


@functools.lru_cache(maxsize=16)
def fused_tick_kernel(chain: Chain, loaded: bool) -> Any:
    """Compiled `steady`: kernel(values…, out), out of shape (9 n + 1,)."""
    mechanism = mechanism_of(chain)
    n = mechanism.n
    inputs = [
        Input("q", (n,), angle=True),
        Input("qd", (n,)),
        Input("when", (4,)),
        Input("coefficients", (TERMS, n)),
        Input("allowed", (n,)),
        Input("tau_last", (n,)),
        Input("constants", ((2 + BOUNDS) * n,)),
        GRAVITY_INPUT,
        *((PAYLOAD_INPUT,) if loaded else ()),
    ]
    return compile_formula(
        "steady_payload" if loaded else "steady",
        inputs,
        (9 * n + 1,),
        functools.partial(fused_tick, mechanism, loaded),
    )


@dataclass(frozen=True, eq=False)
class Result:
    """What one tick computed: views of one block of numbers."""

    numbers: Array
    """All of them, shape (9 n + 1,)."""
    state: State
    """What was measured."""
    motion: Array
    """Position, velocity and acceleration at full speed, then as the reference has them, shape (6 n,)."""
    tau: Array
    """[N m or N], shape (n,)."""

    @classmethod
    def of(cls, n: int) -> Result:
        """For an arm of n joints."""
        numbers = np.zeros(9 * n + 1)
        state = State.of_block(numbers[: 2 * n].reshape(2, n))
        return cls(numbers, state, numbers[2 * n : 8 * n], numbers[8 * n : 9 * n])


class FusedTick:
    """Runs usual ticks, and steps aside for all others.

    Args:
        law: In charge; `None` comes of `of` if it is not one that this file knows.
        execution: Whose reference is moved on.
        guard: Whose measures are taken.
    """

    def __init__(self, law: ComputedTorque, execution: Execution, guard: Guard):
        n = law.chain.n
        self._kernel: Any = fused_tick_kernel(law.chain, law.model.payload is not None)
        self._execution, self._guard = execution, guard
        self._constants = np.concatenate([law.gains["kp"], law.gains["kd"], guard.bounds.ravel()])
        self._inputs = law.model.inputs
        self._when = np.array([0.0, 0.0, guard.lost_time, 0.0])
        # Two, because what was measured last must outlive the next attempt.
        self._results = Result.of(n), Result.of(n)

    @classmethod
    def of(cls, law: Law, execution: Execution, guard: Guard) -> FusedTick | None:
        """For a law that can be run this way; None for others. Cheap for laws whose kernel `prepare` has compiled."""
        return cls(law, execution, guard) if type(law) is ComputedTorque else None

    def run(self, now: float, dt: float, q: Array, qd: Array, stamp: float, last: Array) -> Result | None:
        """One tick. None: nothing has happened; go the long way.

        Args:
            now: Time of the tick [s].
            dt: Since the last tick [s].
            q: Measured positions [rad or m], shape (n,).
            qd: Measured velocities [rad/s or m/s], shape (n,).
            stamp: When they were measured, on the clock of `now` [s].
            last: What the arm got last [N m or N], shape (n,).
        """
        execution, guard, when = self._execution, self._guard, self._when
        if not guard.on_time(now, dt, stamp):
            return None
        segment = execution.plain_step(dt, when)
        if segment is None:
            return None
        when[3] = 1.0 / dt
        before, result = self._results
        out = result.numbers
        if not self._kernel(
            q, qd, when, segment.coefficients, execution.path_tolerance, last, self._constants, *self._inputs, out
        ):
            return None
        # Not `>`: a number that is none goes the long way.
        if not out.item(-1) <= -HAIR:
            return None
        self._results = result, before
        execution.moved(dt, result.motion)
        guard.passed(now, stamp)
        return result


def prepare(law: Law) -> None:
    """Compiles what `SteadyTick.of` needs: away from the loop, because it takes time."""
    if type(law) is ComputedTorque:
        fused_tick_kernel(law.chain, law.model.payload is not None)
