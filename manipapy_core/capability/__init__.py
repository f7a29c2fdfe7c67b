"""What an arm can do where it stands: ellipsoids, exact polytopes, reachability maps and where to put its base."""

from .arm_polytopes import (
    acceleration_polytope,
    force_polytope,
    motion_polytope,
    reachable_polytope,
    tip_map,
    velocity_polytope,
)
from .constrained_step import Step, constrained_step, sampled_step
from .constraints import Avoidance, ObstacleLaw, effort_set, motion_set, obstacle_rows, velocity_set
from .ellipsoids import (
    Axes,
    Ellipsoid,
    Motion,
    acceleration_ellipsoid,
    force_ellipsoid,
    tip_jacobian,
    velocity_ellipsoid,
)
from .follow import Following, FollowStep, TwistFollower
from .gradients import SetRates, velocity_volume_gradient, volume_gradient
from .joint_set import JointSet, NotSolved
from .near_points import NearPoints, near_points
from .operations import Unbounded, from_halfspaces, intersect, minkowski_sum, slice_by_plane
from .placement import Combine, Floor, Placement, PlacementMap, place_base, score_floor
from .polygons import Polygon
from .polytope import Ball, Polytope, Source
from .projection import project
from .reach_archive import NotAMap
from .reach_build import build_map, verify_edges
from .reach_grid import Grid
from .reach_grid6 import PoseGrid
from .reach_map import ReachMap
from .reach_plan import Plan
from .reach_store import OtherRobot, load_map, save_map
from .reach_voxels import Voxels, voxels
from .self_distance import self_distances
from .stability import centre_of_mass, stands
from .workspace import Workspace, sample_workspace

__all__ = [
    "Avoidance",
    "Axes",
    "Ball",
    "Combine",
    "Ellipsoid",
    "Floor",
    "FollowStep",
    "Following",
    "Grid",
    "JointSet",
    "Motion",
    "NearPoints",
    "NotAMap",
    "NotSolved",
    "ObstacleLaw",
    "OtherRobot",
    "Placement",
    "PlacementMap",
    "Plan",
    "Polygon",
    "Polytope",
    "PoseGrid",
    "ReachMap",
    "SetRates",
    "Source",
    "Step",
    "TwistFollower",
    "Unbounded",
    "Voxels",
    "Workspace",
    "acceleration_ellipsoid",
    "acceleration_polytope",
    "build_map",
    "centre_of_mass",
    "constrained_step",
    "effort_set",
    "force_ellipsoid",
    "force_polytope",
    "from_halfspaces",
    "intersect",
    "load_map",
    "minkowski_sum",
    "motion_polytope",
    "motion_set",
    "near_points",
    "obstacle_rows",
    "place_base",
    "project",
    "reachable_polytope",
    "sample_workspace",
    "sampled_step",
    "save_map",
    "score_floor",
    "self_distances",
    "slice_by_plane",
    "stands",
    "tip_jacobian",
    "tip_map",
    "velocity_ellipsoid",
    "velocity_polytope",
    "velocity_set",
    "velocity_volume_gradient",
    "verify_edges",
    "volume_gradient",
    "voxels",
]
