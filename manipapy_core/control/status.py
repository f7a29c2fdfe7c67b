"""What the controller tells others: one consistent picture of a tick."""

from __future__ import annotations

from dataclasses import dataclass

from ..typing import Array
from .execution.execution import GoalPhase
from .execution.validation import ValidatedGoal
from .guard.checks import Verdict


@dataclass(frozen=True, eq=False)
class Status:
    """Copies of everything that mattered in one tick."""

    time: float
    """Of the tick, on the clock of the loop [s]."""
    ticks: int
    """Since the start."""
    law: str
    """Name of the law in charge."""
    phase: GoalPhase
    verdict: Verdict
    """Of this tick: what slows the arm down, or why it is held."""
    held: Verdict | None
    """Why the arm is held or stopped; None while it is not."""
    goal: ValidatedGoal | None
    """The goal that is being executed."""
    goal_time: float
    """How far it is, by the time of its trajectory [s]."""
    rate: float
    """Trajectory seconds per second."""
    q: Array
    """Measured or filtered positions [rad or m], shape (n,)."""
    qd: Array
    """Measured or filtered velocities [rad/s or m/s], shape (n,)."""
    q_ref: Array
    """Where the arm should be [rad or m], shape (n,)."""
    qd_ref: Array
    """[rad/s or m/s], shape (n,)."""
    qdd_ref: Array
    """[rad/s² or m/s²], shape (n,)."""
    tau: Array
    """What the arm gets [N m or N], shape (n,)."""
    failure: BaseException | None
    """What a tick raised; its traceback says where."""

    @property
    def error(self) -> Array:
        """Reference minus state [rad or m], shape (n,)."""
        return self.q_ref - self.q
