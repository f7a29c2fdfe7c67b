"""Status of the controller: a consistent snapshot of one tick."""

from __future__ import annotations

from dataclasses import dataclass

from ..typing import Array
from .execution.execution import GoalPhase
from .execution.validation import ValidatedGoal
from .guard.checks import Verdict


@dataclass(frozen=True, eq=False)
class Status:
    """State, reference, efforts and verdict of one tick, as copies."""

    time: float
    """Of the tick, on the clock of the loop [s]."""
    ticks: int
    """Ticks since the start."""
    law: str
    """Name of the active law."""
    phase: GoalPhase
    verdict: Verdict
    """Verdict of the guard in this tick."""
    held: Verdict | None
    """Why the arm is held or stopped; None while it is not."""
    goal: ValidatedGoal | None
    """The goal that is being executed."""
    goal_time: float
    """Trajectory time of the goal [s]."""
    rate: float
    """Trajectory seconds per second."""
    q: Array
    """Measured or filtered positions [rad or m], shape (n,)."""
    qd: Array
    """Measured or filtered velocities [rad/s or m/s], shape (n,)."""
    q_ref: Array
    """Reference positions [rad or m], shape (n,)."""
    qd_ref: Array
    """[rad/s or m/s], shape (n,)."""
    qdd_ref: Array
    """[rad/s² or m/s²], shape (n,)."""
    tau: Array
    """Efforts sent to the arm [N m or N], shape (n,)."""
    failure: BaseException | None
    """Last exception of a tick, with its traceback; None if there was none."""
    payload_share: float = 1.0
    """Share of the last change of the payload that is compensated; below 1 for long if the arm does not feel it."""

    @property
    def error(self) -> Array:
        """Reference minus state [rad or m], shape (n,)."""
        return self.q_ref - self.q
