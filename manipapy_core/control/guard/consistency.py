"""Consistency of joint states: positions that follow the velocities, and that change while the arm moves.

A driver that hangs may repeat its last positions with new stamps, and a wrong sign or an offset of the velocities makes
every law push the arm away. Each state alone is plausible then; only their sequence contradicts itself.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...compiler import UNLIMITED, Input, absolute, compile_formula, largest
from ...model.chain import Chain
from ...typing import Array
from .checks import GuardSettings

SLOW, FAST = 0.25, 0.01
"""Time constants with which differences between positions and velocities are forgotten [s]: the slow one shows small
errors of the velocities, the fast one large errors, early."""
LAG, JITTER = 0.005, 0.001
"""Delay of measured velocities, and jitter of stamps, that is tolerated [s]."""
FAST_SHARE = 0.5
"""Tolerance of the fast difference over that of the slow one."""
MAX_GAP = 0.0125
"""After a longer time between two states nothing is compared: the arm may have braked in between [s]."""
STUCK_SHARE, REPEATS = 0.25, 3
"""Positions repeated so often while the arm goes this share of the tolerance at its last speed are a contradiction."""
MAX_STUCK = 0.1
"""The longest time for which that way is counted [s]: an arm that comes to rest is no contradiction."""
FAR, MOVED = -2, -1
"""Indices of the last numbers of the result."""


def consistency(
    q: Sequence[Any],
    qd: Sequence[Any],
    before: Sequence[Any],
    when: Sequence[Any],
    tolerance: Sequence[Any],
    jump: Sequence[Any],
) -> list[Any]:
    """Positions, velocities, slow and fast drifts of all joints, then the largest excess of a drift or of a step of the
    velocity, and the largest change of a position.

    Straight-line code over any scalar. A drift is the change of the position that the velocities do not explain.

    Args:
        before: Positions, velocities and drifts of the state before, row by row.
        when: Time between the two states [s], and the shares of slow and fast drifts that are kept in it.
        tolerance: Slow drift that is always plausible.
        jump: Step of the velocity that is always plausible.
    """
    n, (gap, keep, keep_fast) = len(q), when
    changes = [now - last for now, last in zip(q, before[:n])]
    explained = [0.5 * gap * (now + last) for now, last in zip(qd, before[n : 2 * n])]
    moved = [change - known for change, known in zip(changes, explained)]
    slow = [keep * drift + m for drift, m in zip(before[2 * n : 3 * n], moved)]
    fast = [keep_fast * drift + m for drift, m in zip(before[3 * n :], moved)]
    excess = [absolute(drift) - LAG * absolute(v) - tolerance[0] for drift, v in zip(slow, qd)]
    excess += [absolute(drift) - JITTER * absolute(v) - FAST_SHARE * tolerance[0] for drift, v in zip(fast, qd)]
    excess += [absolute(now - last) - most for now, last, most in zip(qd, before[n : 2 * n], jump)]
    return [*q, *qd, *slow, *fast, largest(excess), largest(map(absolute, changes))]


@functools.cache
def consistency_kernel(n: int) -> Any:
    """Compiled `consistency`: kernel(q, qd, before, when, tolerance, jump, out), out of shape (4 n + 2,)."""
    inputs = [Input("q", (n,)), Input("qd", (n,)), Input("before", (4 * n,)), Input("when", (3,))]
    limits = [Input("tolerance", (1,)), Input("jump", (n,))]
    return compile_formula(f"guard_consistency_{n}", [*inputs, *limits], (4 * n + 2,), consistency)


class Consistency:
    """Compares every joint state with those before it.

    Args:
        chain: The arm.
        settings: Tolerances.
    """

    def __init__(self, chain: Chain, settings: GuardSettings):
        n = self._n = chain.n
        self._kernel: Any = consistency_kernel(n)
        self._jump = settings.velocity_jump * np.minimum(chain.limits.velocity, UNLIMITED)
        self._tolerance, self._when = np.array([settings.state_consistency]), np.zeros(3)
        self._now, self._before, self._older = (np.zeros(4 * n + 2) for _ in range(3))
        self._stamp = -np.inf
        self._changed_at, self._speed = -np.inf, 0.0
        """When positions have last changed [s], and how fast [rad/s or m/s]."""
        self._stuck, self._repeats, self._most_stuck = 0.0, 0, STUCK_SHARE * settings.state_consistency
        self.consistent = True
        """Whether the last state agrees with those before it."""

    def observe(self, q: Array, qd: Array, stamp: float) -> None:
        """Takes a new state; one with the last stamp, or with numbers that are not finite, changes nothing.

        Args:
            q: Measured positions [rad or m], shape (n,).
            qd: Measured velocities [rad/s or m/s], shape (n,).
            stamp: When they were measured [s].
        """
        gap = stamp - self._stamp
        if gap == 0.0:
            return
        known = 0.0 < gap < MAX_GAP
        self._when[:] = (gap, 1.0 - gap / SLOW, max(1.0 - gap / FAST, 0.0)) if known else 0.0
        found, before = self._older, self._now
        if not self._kernel(q, qd, before[: 4 * self._n], self._when, self._tolerance, self._jump, found):
            return
        self._now, self._before, self._older, self._stamp = found, before, self._before, stamp
        self._repeats += 1
        if not known or found.item(MOVED) > 0.0:
            self._repeats = 0
            # A jump is no motion.
            self._changed_at, self._speed = stamp, found.item(MOVED) / gap if known and found.item(FAR) <= 0.0 else 0.0
        if self._repeats == 1:
            # A single step, as of an encoder at rest, is no motion; the velocities of the last state may be wrong.
            measured = np.abs([row[self._n : 2 * self._n] for row in (before, self._older)]).max()
            self._speed = min(self._speed, float(measured))
        self._stuck = self._speed * min(stamp - self._changed_at, MAX_STUCK) if self._repeats >= REPEATS else 0.0
        self.consistent = not known or (found.item(FAR) <= 0.0 and self._stuck <= self._most_stuck)
        if not known:
            self.forgive()

    def worst(self) -> tuple[str, int, float, float, bool]:
        """What is not consistent: name, joint, amount and limit, and whether it is a speed."""
        n, now = self._n, self._now
        if self._stuck > self._most_stuck:
            what = "motion that positions do not show although they have new stamps,"
            return what, int(np.abs(self._before[n : 2 * n]).argmax()), self._stuck, self._most_stuck, False
        steps = np.abs(now[n : 2 * n] - self._before[n : 2 * n])
        j = int((steps - self._jump).argmax())
        if steps[j] > self._jump[j]:
            return "step between two velocities", j, float(steps[j]), float(self._jump[j]), True
        speeds, tolerance = np.abs(now[n : 2 * n]), self._tolerance[0]
        drifts = np.abs(now[2 * n : 4 * n])
        limits = np.concatenate([tolerance + LAG * speeds, FAST_SHARE * tolerance + JITTER * speeds])
        worst = int((drifts - limits).argmax())
        what = "difference between measured positions and the integral of measured velocities"
        return what, worst % n, float(drifts[worst]), float(limits[worst]), False

    def forgive(self) -> None:
        """Forgets the drifts of a state that is not accepted: the next ones are compared with it."""
        self._now[2 * self._n : 4 * self._n] = 0.0

    def reset(self) -> None:
        """Compares the next state with none before."""
        self.consistent, self._stamp = True, -np.inf
