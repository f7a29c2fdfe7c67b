"""Ellipsoids and exact polytopes of an arm: velocity, force, acceleration, motion, reachable space."""

from .arm_polytopes import (
    acceleration_polytope,
    force_polytope,
    motion_polytope,
    reachable_polytope,
    tip_map,
    velocity_polytope,
)
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
from .gradients import SetRates, velocity_volume_gradient, volume_gradient
from .joint_set import JointSet, NotSolved
from .near_points import NearPoints, near_points
from .operations import Unbounded, from_halfspaces, intersect, minkowski_sum, slice_by_plane
from .polytope import Ball, Polytope, Source
from .projection import project
from .quality import PathQuality, path_quality, volume_objective

__all__ = [
    "Avoidance",
    "Axes",
    "Ball",
    "Ellipsoid",
    "JointSet",
    "Motion",
    "NearPoints",
    "NotSolved",
    "ObstacleLaw",
    "PathQuality",
    "Polytope",
    "SetRates",
    "Source",
    "Unbounded",
    "acceleration_ellipsoid",
    "acceleration_polytope",
    "effort_set",
    "force_ellipsoid",
    "force_polytope",
    "from_halfspaces",
    "intersect",
    "minkowski_sum",
    "motion_polytope",
    "motion_set",
    "near_points",
    "obstacle_rows",
    "path_quality",
    "project",
    "reachable_polytope",
    "slice_by_plane",
    "tip_jacobian",
    "tip_map",
    "velocity_ellipsoid",
    "velocity_polytope",
    "velocity_set",
    "velocity_volume_gradient",
    "volume_gradient",
    "volume_objective",
]
