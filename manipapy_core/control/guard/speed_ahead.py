"""Speed ahead: the largest speed that efforts would cause, even if the arm were braked right after them.

An effort that has been sent acts for the reaction time, and the torque rate then limits how fast it is taken back. The
speed continues to rise meanwhile. A check of the measured speed alone comes too late: light wrists with strong motors
reach twice their velocity limit. So every effort is checked before it is sent.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...compiler import (
    GRAVITY_INPUT,
    PAYLOAD_INPUT,
    Input,
    Mechanism,
    absolute,
    compile_formula,
    largest,
    mechanism_of,
    positive_part,
)
from ...compiler.algorithms import dynamics, ldl
from ...compiler.mechanism import joint_motions
from ...model.chain import Chain
from ...typing import Array
from ..arm_model import ArmModel
from ..state import State
from .checks import GuardSettings

MAX_TICKS = 8
"""Largest number of ticks whose changes of the efforts a measurement may not show yet."""


def peak_velocities(mechanism: Mechanism, ticks: int, loaded: bool, *values: Sequence[Any]) -> list[Any]:
    """Peak velocities and added accelerations of all joints; straight-line code over any scalar.

    Args:
        values: q, qd, tau, change of the efforts since the last tick that is not balanced by joint friction, measured
            acceleration, what the last 0, 1, … changes before this one have added to the acceleration, one over the
            torque rates, time until the efforts are taken back [s]; then gravity and payload.
    """
    q, qd, tau, change, measured, earlier, per_rate, when, gravity = values[:9]
    n, payload = mechanism.n, values[9] if loaded else None
    rest = dynamics.inverse_dynamics(mechanism, q, qd, [0.0] * n, gravity, payload=payload)
    inertias = dynamics.loaded_inertias(mechanism, payload)
    M = dynamics.mass_matrix_rows(mechanism, joint_motions(mechanism, q), inertias)
    excess = [effort - without for effort, without in zip(tau, rest)]
    modelled = ldl.solve(M, excess)
    added = ldl.solve(M, change)
    time = when[0] + 0.5 * largest(absolute(effort) * rate for effort, rate in zip(excess, per_rate))
    peaks = []
    for j in range(n):
        upper, lower = positive_part(modelled[j]), -positive_part(-modelled[j])
        estimates = [measured[j] + added[j] + earlier[k * n + j] for k in range(ticks)]
        between = [e - positive_part(e - upper) + positive_part(lower - e) for e in estimates]
        rising, falling = largest(map(positive_part, between)), largest(positive_part(-e) for e in between)
        peaks.append(qd[j] + time * (rising - falling))
    return [*peaks, *added]


@functools.lru_cache(maxsize=16)
def peak_kernel(chain: Chain, ticks: int, loaded: bool) -> Any:
    """Compiled `peak_velocities`: kernel(values…, out), out of shape (2 n,)."""
    mechanism = mechanism_of(chain)
    n = mechanism.n
    joints = [Input(name, (n,), angle=name == "q") for name in ("q", "qd", "tau", "change", "measured")]
    inputs = [*joints, Input("earlier", (ticks, n)), Input("per_rate", (n,)), Input("when", (1,)), GRAVITY_INPUT]
    return compile_formula(
        f"peak_velocities_{ticks}" + ("_payload" if loaded else ""),
        [*inputs, PAYLOAD_INPUT] if loaded else inputs,
        (2 * n,),
        functools.partial(peak_velocities, mechanism, ticks, loaded),
    )


class SpeedAhead:
    """Predicts the peak of the joint velocities after efforts.

    There are two estimates of the acceleration. The model's does not know contacts, friction and an unknown payload.
    The measured one, plus what the changes of the last efforts add, knows them and is noisy. The smaller one counts,
    and none if they disagree in sign: an arm that presses against a wall is not accelerated. How many of the last
    changes the measurement does not show yet is not known, so the worst case counts.

    An effort that a law adds to balance joint friction moves nothing: at a reversal it changes by twice the friction
    within a tick, which on a light wrist would be thousands of rad/s². Its changes are not counted as acceleration. If
    the joint has less friction than described, the measured acceleration shows it.

    Args:
        chain: The arm.
        settings: Reaction time and torque rates.
        model: Dynamics with gravity and payload.
        period: Nominal time between ticks [s].
    """

    def __init__(self, chain: Chain, settings: GuardSettings, model: ArmModel, period: float):
        n, self._reaction = chain.n, settings.reaction_time
        ticks = min(max(1, math.ceil(self._reaction / period - 1e-9)), MAX_TICKS)
        self._kernel: Any = peak_kernel(chain, ticks, model.payload is not None)
        self._inputs = model.inputs
        with np.errstate(divide="ignore"):
            self._per_rate = 1.0 / settings.torque_rates(chain)
        self._measured, self._earlier, self._change = np.zeros(n), np.zeros((ticks, n)), np.zeros(n)
        self._out, self._when, self._time = np.zeros(2 * n), np.zeros(1), -math.inf
        self._peak, self._added = self._out[:n], self._out[n:]

    def measured(self, state: State, before: State, dt: float) -> None:
        """Sets the measured acceleration from two states.

        Args:
            state: The newest.
            before: The one before it.
            dt: Time between them [s].
        """
        if not dt > 0.0:
            self._measured.fill(0.0)
            return
        np.subtract(state.qd, before.qd, self._measured)
        np.divide(self._measured, dt, self._measured)

    def peak(self, now: float, age: float, state: State, tau: Array, last: Array, balanced: Array) -> Array:
        """Velocities at which the joints stop to become faster [rad/s or m/s], shape (n,): a buffer.

        Args:
            now: Time of the tick [s].
            age: Of the state [s].
            state: Measured.
            tau: Efforts to be sent [N m or N], shape (n,).
            last: Efforts of the last tick [N m or N], shape (n,).
            balanced: Part of the change between both that joint friction balances [N m or N], shape (n,).
        """
        earlier = self._earlier
        if now - self._time > self._reaction:
            earlier.fill(0.0)  # every measurement shows them
        self._time, self._when[0] = now, self._reaction + age
        np.subtract(tau, last, self._change)
        np.subtract(self._change, balanced, self._change)
        numbers = state.q, state.qd, tau, self._change, self._measured, earlier, self._per_rate, self._when
        if not self._kernel(*numbers, *self._inputs, self._out):
            self._out.fill(math.nan)
        elif len(earlier) > 1:
            earlier[1:] = earlier[:-1] + self._added
        return self._peak
