"""Files of reachability maps: NumPy archives, or HDF5 by the file's suffix.

A file is written under a temporary name and renamed, so that readers never get half a map. Neither format holds code. A
NumPy archive keeps the attributes as one array of JSON, HDF5 as attributes of JSON each. Among them is the identity of
the arm (geometry, limits, joints, ends), and a map is refused for another arm.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler import mechanism_of
from ..errors import InputError, MissingPackage
from ..ik.bounds import search_bounds
from ..model.chain import Chain
from .grid4 import Grid
from .grid6 import PoseGrid
from .map_checks import grid_problem, table_problem
from .reach_map import ReachMap

FORMAT = 2
HDF5_ENDINGS = (".h5", ".hdf5")
HDF5_BEGINNING = b"\x89HDF"

UNREADABLE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, EOFError, MemoryError,
    zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, SyntaxError,
)  # fmt: skip
"""What readers of archives raise on broken files."""

Tables = dict[str, NDArray[Any]]


class InvalidMap(InputError):
    """A file that is no reachability map, or has a format that this version cannot read."""

    def __init__(self, path: Path, reason: str):
        super().__init__(f"{path}: {reason}; build the map again")
        self.path, self.reason = path, reason


def write_archive(path: Path, attributes: Mapping[str, Any], tables: Mapping[str, NDArray[Any]]) -> None:
    """Writes a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A checkpoint is named map.h5.part and has the same format.
    write = _write_hdf5 if any(ending in HDF5_ENDINGS for ending in path.suffixes) else _write_numpy
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        os.close(handle)
        write(name, attributes, tables)
        with open(name, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_archive(path: Path) -> tuple[dict[str, Any], Tables]:
    """Attributes and tables of a file of either kind.

    Raises:
        InvalidMap: If it is something else.
    """
    try:
        with open(path, "rb") as file:
            hdf5 = file.read(len(HDF5_BEGINNING)) == HDF5_BEGINNING
        attributes, tables = (_read_hdf5 if hdf5 else _read_numpy)(path)
    except FileNotFoundError:
        raise InvalidMap(path, "no such file") from None
    except UNREADABLE as error:
        raise InvalidMap(path, f"cannot be read as a map ({str(error)[:200] or type(error).__name__})") from error
    if not isinstance(attributes, dict) or attributes.get("format") != FORMAT:
        raise InvalidMap(path, f"is not of format {FORMAT}")
    return attributes, tables


def _write_numpy(name: str, attributes: Mapping[str, Any], tables: Mapping[str, NDArray[Any]]) -> None:
    text = np.frombuffer(json.dumps(attributes).encode(), dtype=np.uint8)
    with open(name, "wb") as file:
        np.savez(file, attributes=text, **tables)  # type: ignore[arg-type]


def _read_numpy(path: Path) -> tuple[dict[str, Any], Tables]:
    with np.load(path, allow_pickle=False) as archive:
        attributes = json.loads(bytes(archive["attributes"]).decode())
        return attributes, {name: archive[name] for name in archive.files if name != "attributes"}


def _write_hdf5(name: str, attributes: Mapping[str, Any], tables: Mapping[str, NDArray[Any]]) -> None:
    with _h5py().File(name, "w") as file:
        for key, value in attributes.items():
            file.attrs[key] = json.dumps(value)
        for key, table in tables.items():
            # Neighbouring cells are alike and compress to a third or less. An empty table cannot be cut into chunks.
            file.create_dataset(key, data=table, **({"compression": "gzip", "shuffle": True} if table.size else {}))


def _read_hdf5(path: Path) -> tuple[dict[str, Any], Tables]:
    with _h5py().File(path, "r") as file:
        attributes = {key: json.loads(value) for key, value in file.attrs.items()}
        return attributes, {key: np.asarray(table) for key, table in file.items()}


def _h5py() -> Any:
    try:
        return importlib.import_module("h5py")
    except ImportError:
        raise MissingPackage("h5py", "an HDF5 file", "big") from None


TABLES = ("cell", "count", "best", "penalised", "seed", "clearance", "open", "share")


class MapMismatch(InputError):
    """A map of another arm, or of another specification."""

    def __init__(self, path: Path, differences: Mapping[str, tuple[object, object]]):
        listing = "; ".join(f"{name}: {theirs!r} there, {ours!r} here" for name, (theirs, ours) in differences.items())
        super().__init__(f"{path} is a map of another arm or specification ({listing}); choose another file name")
        self.path, self.differences = path, dict(differences)


def identity(chain: Chain) -> dict[str, Any]:
    """What must agree with a map: geometry, limits, joints and ends of the arm."""
    bounds = search_bounds(chain, True)
    limits = np.concatenate([bounds.lower, bounds.upper]).tobytes()
    return {
        "robot": chain.robot_name,
        "base": chain.base,
        "tip": chain.tip,
        "joints": list(chain.joint_names),
        "geometry": hashlib.sha256(mechanism_of(chain).digest().encode()).hexdigest()[:16],
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
    if len(shape) != 4:
        raise ValueError(f"{len(shape)} dimensions")
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
    """Writes a map atomically."""
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
        MapMismatch: If it was made for an arm with another geometry, other limits or other ends.
        InvalidMap: If it is something else.
    """
    file = Path(path)
    attributes, tables = read_archive(file)
    if any(name not in tables for name in TABLES):
        raise InvalidMap(file, "is not finished: some tables are missing")
    require_same(file, attributes.get("identity"), identity(chain))
    known = ("format", "identity", "grid", "versions")
    rest = {name: value for name, value in attributes.items() if name not in known}
    try:
        grid = grid_from(attributes["grid"])
        problem = grid_problem(grid) or table_problem(tables, grid, chain)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise InvalidMap(file, f"has no valid grid ({error})") from error
    if problem:
        raise InvalidMap(file, problem)
    return ReachMap.of_tables(chain, grid, tables, rest)


def require_same(path: Path, theirs: object, ours: Mapping[str, Any]) -> None:
    """Refuses a map of another arm."""
    if not isinstance(theirs, dict):
        raise InvalidMap(path, "does not say for which arm it was made")
    different = {name: (theirs.get(name), ours[name]) for name in ours if theirs.get(name) != ours[name]}
    if different:
        raise MapMismatch(path, different)
