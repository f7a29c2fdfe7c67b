"""What a planner answers: an honest status with its reason, the path, the trajectory, and where the time went."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import numpy as np

from ..trajectory.joint_trajectory import JointTrajectory
from ..typing import Array
from .verify import Verification


class PlanStatus(enum.Enum):
    """How planning ended. The second value is the number that MoveIt gives to the same cause (MoveItErrorCodes)."""

    SUCCESS = "success", 1
    START_IN_COLLISION = "start in collision", -10
    START_OUTSIDE_LIMITS = "start outside limits", -26
    GOAL_IN_COLLISION = "goal in collision", -12
    GOAL_OUTSIDE_LIMITS = "goal outside limits", -27
    UNREACHABLE = "goal out of reach", -31
    """No joint positions bring the tip there."""
    NO_PATH = "no path found", -1
    """The planner gave up before its time was over."""
    TIMEOUT = "timeout", -6
    CANCELLED = "cancelled", -7
    SINGULAR = "too close to a singularity", -13
    """A straight motion of the tip would need joints far too fast."""
    NOT_VALID = "motion is not valid", -2
    """A path was found, but no trajectory along it keeps to all limits and free of collisions."""

    def __init__(self, text: str, moveit_code: int):
        self.text, self.moveit_code = text, moveit_code


class PlanPhase(enum.Enum):
    """What planning is busy with."""

    GOALS = "goals"
    SEARCH = "search"
    SMOOTHING = "smoothing"
    TIME_LAW = "time law"
    VERIFICATION = "verification"


@dataclass(frozen=True)
class Timings:
    """Where the time went [s]."""

    goals: float = 0.0
    search: float = 0.0
    smoothing: float = 0.0
    time_law: float = 0.0
    verification: float = 0.0
    total: float = 0.0


@dataclass(frozen=True, eq=False)
class PlanResult:
    """The answer of `plan`."""

    status: PlanStatus
    message: str
    """What happened, and what can be done about it."""
    path: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Corners of the path before they are rounded [rad or m], shape (points, n); empty without one."""
    trajectory: JointTrajectory | None = None
    """Verified; None unless planning succeeded and a time law was asked for."""
    verification: Verification | None = None
    timings: Timings = Timings()
    iterations: int = 0
    """Of the search."""
    goals: int = 0
    """How many joint goals there were to choose from."""

    fraction: float = 1.0
    """Of a straight motion of the tip: how far it can be followed."""
    padding: float = 0.0
    """Distance to everything that the path keeps for certain [m]."""

    @property
    def success(self) -> bool:
        return self.status is PlanStatus.SUCCESS

    @property
    def length(self) -> float:
        """Of the path over the joints [rad or m]."""
        return float(np.linalg.norm(np.diff(self.path, axis=0), axis=1).sum()) if len(self.path) > 1 else 0.0
