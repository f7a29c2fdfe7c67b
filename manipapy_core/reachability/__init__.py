"""Reachability maps, workspace and base placement."""

from .build import build_map, verify_edges
from .footprint import Polygon, centre_of_mass, statically_stable
from .grid4 import Grid
from .grid6 import PoseGrid
from .inverse_map import InverseMap
from .map_spec import MapSpec
from .placement import BasePlacement, Combine, Floor, PlacementMap, place_base, score_floor
from .reach_map import ReachMap
from .self_distance import self_distances
from .storage import InvalidMap, MapMismatch, load_map, save_map
from .workspace import MapVoxels, Workspace, sample_workspace, voxels

__all__ = [
    "BasePlacement",
    "Combine",
    "Floor",
    "Grid",
    "InvalidMap",
    "InverseMap",
    "MapMismatch",
    "MapSpec",
    "MapVoxels",
    "PlacementMap",
    "Polygon",
    "PoseGrid",
    "ReachMap",
    "Workspace",
    "build_map",
    "centre_of_mass",
    "load_map",
    "place_base",
    "sample_workspace",
    "save_map",
    "score_floor",
    "self_distances",
    "statically_stable",
    "verify_edges",
    "voxels",
]
