"""Motion: from a goal to a verified trajectory; planners, smooth paths, time laws, and plain point-to-point motions."""

from .cartesian import straight_tip_motion
from .collision_forecast import CollisionForecast, CollisionForecaster, ForecastSettings, PathPreview
from .constraints.description import (
    Constraint,
    JointConstraint,
    OrientationConstraint,
    OrientationError,
    PositionConstraint,
)
from .goals import Goal, JointGoal, NamedGoal, PoseGoal, RegionGoal, TipsGoal
from .plan import plan, warm_up
from .planners.registry import Planner
from .planners.roadmap import Roadmap
from .result import PlanPhase, PlanResult, PlanStatus, Timings
from .space import PlanningSpace
from .timing.paths import BlendedPath, SplinePath, rounded
from .timing.time_laws import LawRejected, TimeLaw, timed_trajectory
from .timing.topp import NoTimeLaw
from .timing.waypoints import waypoint_trajectory
from .verify import Verification, verify

__all__ = [
    "BlendedPath",
    "CollisionForecast",
    "CollisionForecaster",
    "Constraint",
    "ForecastSettings",
    "Goal",
    "JointConstraint",
    "JointGoal",
    "LawRejected",
    "NamedGoal",
    "NoTimeLaw",
    "OrientationConstraint",
    "OrientationError",
    "PathPreview",
    "PlanPhase",
    "PlanResult",
    "PlanStatus",
    "Planner",
    "PlanningSpace",
    "PoseGoal",
    "PositionConstraint",
    "RegionGoal",
    "Roadmap",
    "SplinePath",
    "TimeLaw",
    "Timings",
    "TipsGoal",
    "Verification",
    "plan",
    "rounded",
    "straight_tip_motion",
    "timed_trajectory",
    "verify",
    "warm_up",
    "waypoint_trajectory",
]
