"""Tolerances and rules for trajectory goals, and how a goal ends: a code of FollowJointTrajectory and the reason."""

from __future__ import annotations

import enum
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...checks import positive
from ...compiler import UNLIMITED
from ...errors import InputError
from ...typing import Array


@dataclass(frozen=True)
class JointTolerance:
    """Allowed error of one joint. For each number: 0 is the default, −1 switches the check off."""

    name: str
    position: float = 0.0
    """[rad or m]"""
    velocity: float = 0.0
    """[rad/s or m/s]"""


@dataclass(frozen=True)
class GoalTolerances:
    """Tolerances of a goal; joints that are not listed get the defaults."""

    path: Sequence[JointTolerance] = ()
    """During the motion."""
    goal: Sequence[JointTolerance] = ()
    """At the end."""
    goal_time: float = 0.0
    """How long after the end of the trajectory the goal tolerance may be reached [s]; 0 is the default, −1 waits
    forever."""


@dataclass(frozen=True)
class ExecutionSettings:
    """Rules for goals, and the defaults of their tolerances."""

    path_position: float = 0.15
    """Default path tolerance [rad or m]; inf checks nothing, here and below."""
    path_velocity: float = float("inf")
    """[rad/s or m/s]"""
    goal_position: float = 0.01
    """Default goal tolerance [rad or m]."""
    goal_velocity: float = 0.05
    """[rad/s or m/s]"""
    goal_time: float = 2.0
    """[s]; inf waits forever."""
    start_tolerance: float = 0.05
    """How far from the present reference a trajectory without a lead-in may begin [rad or m]."""
    limit_slack: float = 1e-3
    """How far a trajectory may exceed a position limit [rad or m]: limits are often rounded in files."""
    velocity_slack: float = 0.05
    """By which share a trajectory may exceed a velocity limit."""
    allow_partial: bool = True
    """Whether a goal may name only some joints; the others stay where they are."""
    allow_moving_end: bool = False
    """Whether the last point may have a velocity; the arm is stopped there all the same."""

    def __post_init__(self) -> None:
        for name in ("path_position", "path_velocity", "goal_position", "goal_velocity", "goal_time"):
            value = getattr(self, name)
            if value != float("inf"):
                positive(value, name, "rad, m or s; inf for no check")
        for name in ("start_tolerance", "limit_slack", "velocity_slack"):
            positive(getattr(self, name), name, "rad, m or 1")


@dataclass(frozen=True, eq=False)
class ResolvedTolerances:
    """Tolerances of a goal as arrays over all joints; `UNLIMITED` where nothing is checked."""

    path_position: Array
    """[rad or m], shape (n,)."""
    path_velocity: Array
    """[rad/s or m/s], shape (n,)."""
    goal_position: Array
    """[rad or m], shape (n,)."""
    goal_velocity: Array
    """[rad/s or m/s], shape (n,)."""
    goal_time: float
    """[s]"""
    checks_path_velocity: bool = field(init=False)
    """Whether any joint has a path tolerance on velocity."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "checks_path_velocity", bool((self.path_velocity < UNLIMITED).any()))


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
    """Joint, error, tolerance and time, for messages."""

    @property
    def succeeded(self) -> bool:
        return self.status is GoalStatus.SUCCEEDED


class GoalRefused(InputError):
    """A goal that cannot be executed; the arm does not move."""

    def __init__(self, code: ErrorCode, text: str):
        super().__init__(text)
        self.code, self.text = code, text

    def outcome(self) -> Outcome:
        """The refusal as the end of the goal: action clients get no reason for a rejection, only for an abort."""
        return Outcome(GoalStatus.ABORTED, self.code, self.text)


class Ending:
    """Outcome of a goal, set by the loop, awaited by other threads."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._outcome: Outcome | None = None

    @property
    def outcome(self) -> Outcome | None:
        """None until the goal has ended."""
        return self._outcome

    def wait(self, timeout: float | None = None) -> Outcome | None:
        """Blocks until the goal has ended; None if that takes longer than the timeout [s]."""
        self._event.wait(timeout)
        return self._outcome

    def settle(self, outcome: Outcome) -> None:
        """Sets the outcome; only the first one counts."""
        if self._outcome is None:
            self._outcome = outcome
            self._event.set()
