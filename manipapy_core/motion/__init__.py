"""Motion: from a goal to a verified trajectory; planners, smooth paths, time laws, and plain point-to-point motions."""

from .batches import joint_trajectories
from .blend import BlendedPath, rounded
from .bounds import MissingLimit, MotionBounds, motion_bounds
from .cartesian import straight_tip_motion
from .goals import Goal, JointGoal, NamedGoal, PoseGoal, RegionGoal, TipsGoal
from .lines import line_trajectory
from .plan import plan
from .planners import Planner
from .ready import make_ready
from .result import Phase, PlanResult, PlanStatus, Timings
from .roadmap import Roadmap
from .space import PlanningSpace
from .spline_path import SplinePath
from .time_laws import LawRejected, TimeLaw, timed_trajectory
from .topp import NoTimeLaw
from .trajectories import JointTrajectory, ScrewTrajectory, TimeScaling, joint_trajectory, screw_trajectory
from .verify import Verification, verify
from .waypoints import waypoint_trajectory

__all__ = [
    "BlendedPath",
    "Goal",
    "JointGoal",
    "JointTrajectory",
    "LawRejected",
    "MissingLimit",
    "MotionBounds",
    "NamedGoal",
    "NoTimeLaw",
    "Phase",
    "PlanResult",
    "PlanStatus",
    "Planner",
    "PlanningSpace",
    "PoseGoal",
    "RegionGoal",
    "Roadmap",
    "ScrewTrajectory",
    "SplinePath",
    "TimeLaw",
    "TimeScaling",
    "Timings",
    "TipsGoal",
    "Verification",
    "joint_trajectories",
    "joint_trajectory",
    "line_trajectory",
    "make_ready",
    "motion_bounds",
    "plan",
    "rounded",
    "screw_trajectory",
    "straight_tip_motion",
    "timed_trajectory",
    "verify",
    "waypoint_trajectory",
]
