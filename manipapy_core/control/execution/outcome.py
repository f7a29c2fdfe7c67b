"""How a goal ends: the codes of FollowJointTrajectory, and a sentence that says why."""

from __future__ import annotations

import enum
import threading
from dataclasses import dataclass

from ...errors import InputError


class ErrorCode(enum.IntEnum):
    """Result codes of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class GoalStatus(enum.Enum):
    """The end of a goal, as an action server reports it."""

    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"
    PREEMPTED = "preempted"
    """Another goal took its place; actions report this as aborted."""


@dataclass(frozen=True)
class Outcome:
    """The end of one goal."""

    status: GoalStatus
    code: ErrorCode
    text: str
    """For people: which joint, by how much, what was allowed, when."""

    @property
    def succeeded(self) -> bool:
        return self.status is GoalStatus.SUCCEEDED


class GoalRefused(InputError):
    """A goal that cannot be executed; nothing moves because of it."""

    def __init__(self, code: ErrorCode, text: str):
        super().__init__(text)
        self.code, self.text = code, text

    def outcome(self) -> Outcome:
        """The refusal as the end of the goal: action clients get no reason for a rejection, only for an abort."""
        return Outcome(GoalStatus.ABORTED, self.code, self.text)


class Ending:
    """Where the loop leaves the outcome of a goal and others wait for it."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._outcome: Outcome | None = None

    @property
    def outcome(self) -> Outcome | None:
        """None while the goal is on its way."""
        return self._outcome

    def wait(self, timeout: float | None = None) -> Outcome | None:
        """Blocks until the goal has ended; None if that takes longer than the timeout [s]."""
        self._event.wait(timeout)
        return self._outcome

    def settle(self, outcome: Outcome) -> None:
        """Ends the goal; only the first ending counts."""
        if self._outcome is None:
            self._outcome = outcome
            self._event.set()
