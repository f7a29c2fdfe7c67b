"""Result of planning: status and reason, path, trajectory, verification, time per phase."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import numpy as np

from ..trajectory.joint_trajectory import JointTrajectory
from ..typing import Array
from .verify import Verification


class PlanStatus(enum.Enum):
    """How planning ended; the second value is the number of the same cause in moveit_msgs/MoveItErrorCodes."""

    SUCCESS = "success", 1
    START_IN_COLLISION = "start in collision", -10
    START_OUTSIDE_LIMITS = "start outside limits", -26
    GOAL_IN_COLLISION = "goal in collision", -12
    GOAL_OUTSIDE_LIMITS = "goal outside limits", -27
    START_VIOLATES_CONSTRAINTS = "start violates a path constraint", -11
    GOAL_VIOLATES_CONSTRAINTS = "goal violates a path constraint", -13
    UNREACHABLE = "goal out of reach", -31
    """No joint positions reach the pose."""
    NO_PATH = "no path found", -1
    """The planner ended without a path before the timeout."""
    TIMEOUT = "timeout", -6
    CANCELLED = "cancelled", -7
    SINGULAR = "too close to a singularity", -1
    """A straight motion of the tip would need joint velocities far beyond their limits."""
    NOT_VALID = "motion is not valid", -2
    """A path was found, but no trajectory along it keeps to all limits and free of collisions."""

    def __init__(self, text: str, moveit_code: int):
        self.text, self.moveit_code = text, moveit_code


class PlanPhase(enum.Enum):
    """Phases of planning."""

    GOALS = "goals"
    SEARCH = "search"
    SMOOTHING = "smoothing"
    TIME_LAW = "time law"
    VERIFICATION = "verification"


@dataclass(frozen=True)
class Timings:
    """Time spent per phase [s]."""

    goals: float = 0.0
    search: float = 0.0
    smoothing: float = 0.0
    time_law: float = 0.0
    verification: float = 0.0
    total: float = 0.0


@dataclass(frozen=True, eq=False)
class PlanResult:
    """Result of `plan` and `straight_tip_motion`."""

    status: PlanStatus
    message: str
    """The reason, and what to do about it."""
    path: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Corners of the path before they are rounded [rad or m], shape (points, n); empty without one."""
    trajectory: JointTrajectory | None = None
    """Verified; None unless planning succeeded with a time law."""
    verification: Verification | None = None
    timings: Timings = Timings()
    iterations: int = 0
    """Of the search."""
    goals: int = 0
    """Number of joint goals to choose from."""

    fraction: float = 1.0
    """Of a straight motion of the tip: share that can be followed."""
    padding: float = 0.0
    """Distance to obstacles that the path is certain to keep [m]."""

    @property
    def success(self) -> bool:
        return self.status is PlanStatus.SUCCESS

    @property
    def length(self) -> float:
        """Of the path over the joints [rad or m]."""
        return float(np.linalg.norm(np.diff(self.path, axis=0), axis=1).sum()) if len(self.path) > 1 else 0.0
