"""Reachability maps in files: what a map is, whose it is, and who may read it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ..compiler.mechanism import from_chain
from ..errors import InputError
from ..ik.bounds import search_bounds
from ..model.chain import Chain
from .reach_archive import FORMAT, NotAMap, read_archive, write_archive
from .reach_grid import Grid
from .reach_grid6 import PoseGrid
from .reach_map import ReachMap

TABLES = ("cell", "count", "best", "penalised", "seed", "clearance", "open", "share")


class OtherRobot(InputError):
    """A map that was made for another arm, or by another plan."""

    def __init__(self, path: Path, differences: Mapping[str, tuple[object, object]]):
        listing = "; ".join(f"{name}: {theirs!r} there, {ours!r} here" for name, (theirs, ours) in differences.items())
        super().__init__(f"{path} is a map of another arm or plan ({listing}); build this one under another name")
        self.path, self.differences = path, dict(differences)


def identity(chain: Chain) -> dict[str, Any]:
    """What a map must agree with: geometry, limits and ends of the arm."""
    bounds = search_bounds(chain, True)
    limits = np.concatenate([bounds.lower, bounds.upper]).tobytes()
    return {
        "robot": chain.robot_name,
        "base": chain.base,
        "tip": chain.tip,
        "joints": list(chain.joint_names),
        "geometry": hashlib.sha256(from_chain(chain).digest().encode()).hexdigest()[:16],
        "limits": hashlib.sha256(limits).hexdigest()[:16],
    }


def grid_attributes(grid: Grid | PoseGrid) -> dict[str, Any]:
    common = {"resolution": grid.resolution, "shape": list(grid.shape), "frame": grid.frame.tolist()}
    if isinstance(grid, PoseGrid):
        angles = {"tilts": grid.tilts, "rolls": grid.rolls, "seen_from_tip": grid.seen_from_tip}
        return {**common, **angles, "lowest": grid.lowest.tolist()}
    return {**common, "lowest": grid.lowest, "radius": grid.radius}


def grid_from(attributes: Mapping[str, Any]) -> Grid | PoseGrid:
    resolution, frame = attributes["resolution"], np.array(attributes["frame"])
    shape = tuple(int(length) for length in attributes["shape"])
    if len(shape) == 3:
        angles = (attributes["tilts"], attributes["rolls"], attributes["seen_from_tip"])
        return PoseGrid(resolution, shape, *angles, np.array(attributes["lowest"]), frame)
    assert len(shape) == 4
    return Grid(resolution, shape, attributes["lowest"], attributes["radius"], frame)


def versions() -> dict[str, str]:
    found = {}
    for name in ("manipapy", "numpy", "numba"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def save_map(reach: ReachMap, path: str | os.PathLike[str]) -> None:
    """Writes a map, all or nothing."""
    attributes = {
        **reach.attributes,
        "format": FORMAT,
        "identity": identity(reach.chain),
        "grid": grid_attributes(reach.grid),
        "versions": versions(),
    }
    write_archive(Path(path), attributes, {name: getattr(reach, name) for name in TABLES})


def load_map(path: str | os.PathLike[str], chain: Chain) -> ReachMap:
    """Reads a map for an arm.

    Raises:
        OtherRobot: If it was made for an arm with another geometry, other limits or other ends.
        NotAMap: If it is something else.
    """
    file = Path(path)
    attributes, tables = read_archive(file)
    if any(name not in tables for name in TABLES):
        raise NotAMap(file, "is not finished: some tables are missing")
    require_same(file, attributes["identity"], identity(chain))
    known = ("format", "identity", "grid", "versions")
    rest = {name: value for name, value in attributes.items() if name not in known}
    return ReachMap.of_tables(chain, grid_from(attributes["grid"]), tables, rest)


def require_same(path: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    different = {name: (theirs.get(name), ours[name]) for name in ours if theirs.get(name) != ours[name]}
    if different:
        raise OtherRobot(path, different)
