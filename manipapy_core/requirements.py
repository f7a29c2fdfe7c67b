"""Packages of others that this one imports: names on PyPI and in rosdep, purpose, and the extra that installs each.

Imports nothing of them, so that `manipapy doctor` and the start of a node can say in a sentence what is missing.
`test/foundation/test_requirements.py` compares the table with the imports, setup.py and package.xml.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Requirement:
    """One package, named by the module that is imported."""

    module: str
    package: str
    """On PyPI."""
    purpose: str
    extra: str = ""
    """Extra of manipapy that installs it; empty: always installed."""
    rosdep: str = ""
    """Key of rosdep that installs a package of the distribution; empty: pip only."""
    minimum: str = ""
    """Oldest version that works; distributions may have an older one."""

    @property
    def installed(self) -> bool:
        """Whether it can be imported; nothing is."""
        try:
            return importlib.util.find_spec(self.module) is not None
        except (ImportError, ValueError):
            return False

    @property
    def version(self) -> str:
        """Of the installed package; empty if unknown."""
        from importlib.metadata import PackageNotFoundError, version  # slow to load, and most commands never need it

        try:
            return version(self.package)
        except PackageNotFoundError:
            return ""

    @property
    def too_old(self) -> bool:
        """Whether an older version than the minimum is installed."""
        return bool(self.minimum and self.version and _numbers(self.version) < _numbers(self.minimum))

    @property
    def absence(self) -> str:
        """A sentence for the user who lacks it."""
        return f"{self.package} is not installed ({self.purpose}): {self.cure}"

    @property
    def cure(self) -> str:
        """What installs it."""
        pip = f"pip install '{self.package}{f'>={self.minimum}' if self.minimum else ''}'"
        if not self.rosdep or self.too_old:
            return pip
        apt = self.rosdep if self.rosdep.startswith("python3-") else f"ros-$ROS_DISTRO-{self.rosdep}"
        return f"{pip}, or apt install {apt}"


PYBULLET = "pybullet" if sys.version_info < (3, 12) else "pybullet-arm64"
"""The package `pybullet` has no wheels for newer Pythons; the other one, the same module, has."""

ALWAYS = (
    Requirement("numpy", "numpy", "arrays", rosdep="python3-numpy", minimum="1.26"),
    Requirement("llvmlite", "llvmlite", "machine code of kinematics and dynamics", minimum="0.44"),
    Requirement("numba", "numba", "compiled loops of planner, perception and control", rosdep="python3-numba",
                minimum="0.61"),
    Requirement("yaml", "pyyaml", "limits, scenes, parameters", rosdep="python3-yaml"),
    Requirement("rich", "rich", "the command manipapy", rosdep="python3-rich"),
    Requirement("typer", "typer", "the command manipapy", rosdep="python3-typer"),
)  # fmt: skip
"""Nothing works without these."""

OPTIONAL = (
    Requirement("mujoco", "mujoco", "physics, the default engine", "sim"),
    Requirement("pybullet", PYBULLET, "physics, the second engine", "sim"),
    Requirement("trimesh", "trimesh", "mesh files", "collision"),
    Requirement("eaik", "eaik", "inverse kinematics in closed form", "ik"),
    Requirement("cv2", "opencv-python-headless", "stereo perception", "perception", "python3-opencv"),
    Requirement("scipy", "scipy", "convex hulls, assignment of tracks", "perception", "python3-scipy"),
    Requirement("ompl", "ompl", "planners of OMPL", "planning"),
    Requirement("ruckig", "ruckig", "jerk-limited time law", "planning"),
    Requirement("toppra", "toppra", "time law of toppra", "planning"),
    Requirement("coal", "coal", "exact distances", "collision", "coal"),
    Requirement("collada", "pycollada", "COLLADA meshes", "collision", "python3-collada"),
    Requirement("daqp", "daqp", "constrained joint steps", "capability"),
    Requirement("shapely", "shapely", "polygons of base placement", "capability", "python3-shapely"),
    Requirement("viser", "viser", "the viewer in a browser", "viewer"),
    Requirement("websockets", "websockets", "the viewer in a browser; comes with viser", "viewer",
                "python3-websockets"),
    Requirement("cupy", "cupy-cuda13x", "batches on an NVIDIA GPU", "gpu"),
    Requirement("torch", "torch", "differentiable operations of PyTorch", "torch"),
    Requirement("jax", "jax", "differentiable operations of JAX", "jax"),
    Requirement("matplotlib", "matplotlib", "plots", "plots", "python3-matplotlib"),
    Requirement("mcap", "mcap", "recordings", "recording"),
    Requirement("mcap_ros2", "mcap-ros2-support", "recordings", "recording"),
    Requirement("dask", "dask", "large maps", "big"),
    Requirement("distributed", "distributed", "large maps", "big"),
    Requirement("h5py", "h5py", "maps in HDF5 files", "big", "python3-h5py"),
)  # fmt: skip
"""Each makes something more possible."""


def missing(error: ModuleNotFoundError) -> str | None:
    """A sentence with the cure for an import that failed; None if it is not of a package of these tables."""
    module = (error.name or "").partition(".")[0]
    return next((item.absence for item in (*ALWAYS, *OPTIONAL) if item.module == module), None)


def problems() -> list[str]:
    """A sentence with the cure for every package of `ALWAYS` that is missing or too old."""
    found = []
    for item in ALWAYS:
        if not item.installed:
            found.append(item.absence)
        elif item.too_old:
            found.append(f"{item.package} {item.version} is older than {item.minimum}: {item.cure}")
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
