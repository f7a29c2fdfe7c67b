"""Reachability maps in files: one archive of arrays, with where it comes from written beside them.

A file is written beside its place and renamed into it, so that a reader sees all of it or the one before. It is
plain NumPy (`numpy.load` reads it) and holds no code.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler.mechanism import from_chain
from ..errors import InputError
from ..ik.bounds import search_bounds
from ..model.chain import Chain
from .reach_grid import Grid
from .reach_map import ReachMap

FORMAT = 1
TABLES = ("cell", "count", "best", "penalised", "seed", "open", "share")


class OtherRobot(InputError):
    """A map that was made for another arm, or by another plan."""

    def __init__(self, path: Path, differences: Mapping[str, tuple[object, object]]):
        listing = "; ".join(f"{name}: {theirs!r} there, {ours!r} here" for name, (theirs, ours) in differences.items())
        super().__init__(f"{path} is a map of another arm or plan ({listing}); build this one under another name")
        self.path, self.differences = path, dict(differences)


class NotAMap(InputError):
    """A file that is no reachability map, or one that this version cannot read."""

    def __init__(self, path: Path, reason: str):
        super().__init__(f"{path}: {reason}; build the map again")
        self.path, self.reason = path, reason


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


def grid_attributes(grid: Grid) -> dict[str, Any]:
    return {
        "resolution": grid.resolution,
        "shape": list(grid.shape),
        "lowest": grid.lowest,
        "radius": grid.radius,
        "frame": grid.frame.tolist(),
    }


def grid_from(attributes: Mapping[str, Any]) -> Grid:
    shape = tuple(int(length) for length in attributes["shape"])
    assert len(shape) == 4
    return Grid(
        attributes["resolution"], shape, attributes["lowest"], attributes["radius"], np.array(attributes["frame"])
    )


def versions() -> dict[str, str]:
    found = {}
    for name in ("manipapy", "numpy", "numba"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def write_archive(path: Path, attributes: Mapping[str, Any], tables: Mapping[str, NDArray[Any]]) -> None:
    """All or nothing: a reader never sees half a file."""
    text = np.frombuffer(json.dumps(attributes).encode(), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, attributes=text, **tables)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Attributes and tables of a file.

    Raises:
        NotAMap: If it is something else.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            attributes = json.loads(bytes(archive["attributes"]).decode())
            tables = {name: archive[name] for name in archive.files if name != "attributes"}
    except FileNotFoundError:
        raise NotAMap(path, "no such file") from None
    except (OSError, ValueError, KeyError) as error:
        raise NotAMap(path, f"cannot be read as a map ({error})") from error
    if not isinstance(attributes, dict) or attributes.get("format") != FORMAT:
        raise NotAMap(path, f"is not of format {FORMAT}")
    return attributes, tables


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
