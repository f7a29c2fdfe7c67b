"""Catalogue of the bundled robots under ManipulaPy's names; a module per arm has its file as `urdf_file`.

Figures of reach and payload are those of the makers' data sheets.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ... import model
from ...errors import InputError

__all__ = [
    "check_robot_available",
    "get_all_available_robots",
    "get_iiwa_urdf",
    "get_panda_urdf",
    "get_robot_info",
    "get_robot_path",
    "get_robot_urdf",
    "get_robots_by_dof",
    "get_ur5_urdf",
    "get_xarm_urdf",
    "list_available_robots",
    "list_manufacturers",
    "list_robots",
    "print_robot_catalog",
]


@dataclass(frozen=True)
class CatalogueEntry:
    """One robot."""

    name: str
    manufacturer: str
    dof: int
    reach: float
    """[m]"""
    payload: float
    """[kg]"""


_ENTRIES = {
    "fr3": CatalogueEntry("Research 3", "Franka Robotics", 7, 0.855, 3.0),
    "gen3": CatalogueEntry("Gen3", "Kinova", 7, 0.902, 4.0),
    "gen3_lite": CatalogueEntry("Gen3 lite", "Kinova", 6, 0.760, 0.5),
    "iiwa14": CatalogueEntry("LBR iiwa 14 R820", "KUKA", 7, 0.820, 14.0),
    "iiwa7": CatalogueEntry("LBR iiwa 7 R800", "KUKA", 7, 0.800, 7.0),
    "lite6": CatalogueEntry("Lite 6", "UFACTORY", 6, 0.440, 0.6),
    "panda": CatalogueEntry("Panda", "Franka Emika", 7, 0.855, 3.0),
    "ur10e": CatalogueEntry("UR10e", "Universal Robots", 6, 1.300, 12.5),
    "ur16e": CatalogueEntry("UR16e", "Universal Robots", 6, 0.900, 16.0),
    "ur20": CatalogueEntry("UR20", "Universal Robots", 6, 1.750, 20.0),
    "ur3e": CatalogueEntry("UR3e", "Universal Robots", 6, 0.500, 3.0),
    "ur5": CatalogueEntry("UR5", "Universal Robots", 6, 0.850, 5.0),
    "ur5e": CatalogueEntry("UR5e", "Universal Robots", 6, 0.850, 5.0),
    "xarm6": CatalogueEntry("xArm 6", "UFACTORY", 6, 0.700, 5.0),
    "xarm7": CatalogueEntry("xArm 7", "UFACTORY", 7, 0.700, 3.5),
}


def get_robot_urdf(robot_name: str) -> str:
    """Path of the description of a robot.

    Raises:
        InputError: A robot that does not come with the library; a ValueError.
    """
    _entry(robot_name)
    return str(Path(model.__file__).parent / "robots" / f"{robot_name}.urdf")


def get_robot_info(robot_name: str) -> dict[str, Any]:
    """name, manufacturer, dof, reach [m], payload [kg] and urdf, the path."""
    return {**asdict(_entry(robot_name)), "urdf": get_robot_urdf(robot_name)}


def list_robots(manufacturer: str | None = None) -> list[str]:
    """Names of the robots, of one manufacturer if given."""
    return [name for name, entry in _ENTRIES.items() if manufacturer in (None, entry.manufacturer)]


def list_manufacturers() -> list[str]:
    """Manufacturers of the robots."""
    return sorted({entry.manufacturer for entry in _ENTRIES.values()})


def get_robots_by_dof(dof: int) -> list[str]:
    """Names of the robots with this many joints."""
    return [name for name, entry in _ENTRIES.items() if entry.dof == dof]


def check_robot_available(robot_name: str) -> bool:
    """Whether a robot comes with the library."""
    return robot_name in _ENTRIES


def get_all_available_robots() -> dict[str, dict[str, Any]]:
    """`get_robot_info` of every robot by name."""
    return {name: get_robot_info(name) for name in _ENTRIES}


def print_robot_catalog() -> None:
    """Prints a table of the robots."""
    print(f"{'name':<8}{'robot':<20}{'manufacturer':<20}{'joints':>6}{'reach':>9}{'payload':>10}")
    for name, entry in _ENTRIES.items():
        figures = f"{entry.dof:>6}{entry.reach:>7.3f} m{entry.payload:>7.1f} kg"
        print(f"{name:<8}{entry.name:<20}{entry.manufacturer:<20}{figures}")


def get_robot_path(robot_name: str, model: str | None = None) -> str:
    """`get_robot_urdf` under its older name; a model is appended to the name."""
    return get_robot_urdf(robot_name if model is None else f"{robot_name}_{model}")


def list_available_robots() -> list[str]:
    """`list_robots` under its older name."""
    return list_robots()


def get_ur5_urdf() -> str:
    """Path of the description of the UR5."""
    return get_robot_urdf("ur5")


def get_xarm_urdf(model: str = "xarm6") -> str:
    """Path of the description of an xArm."""
    return get_robot_urdf(model)


def get_panda_urdf() -> str:
    """Path of the description of the Panda."""
    return get_robot_urdf("panda")


def get_iiwa_urdf(variant: str = "iiwa14") -> str:
    """Path of the description of an iiwa."""
    return get_robot_urdf(variant)


def _entry(robot_name: str) -> CatalogueEntry:
    if robot_name not in _ENTRIES:
        raise InputError(f"no robot {robot_name!r}; there are: {', '.join(_ENTRIES)}")
    return _ENTRIES[robot_name]
