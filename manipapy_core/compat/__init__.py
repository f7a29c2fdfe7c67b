"""ManipulaPy's documented names and signatures over this library.

A program written for ManipulaPy runs unchanged with `python -m manipapy_core.compat program.py`, or after
`manipapy_core.compat.install()`; with its import lines changed, `from ManipulaPy.dynamics import …` becomes
`from manipapy_core.compat.dynamics import …`. Results are those of this library, also where ManipulaPy is known to be
wrong; each module lists its intended differences. New programs use `Robot`, `kinematics` and `dynamics` directly.
"""

from __future__ import annotations

import importlib
from typing import Any

from .alias import install, uninstall
from .features import (
    check_dependencies,
    get_available_features,
    get_installation_command,
    get_missing_features,
    get_version,
    require_feature,
)

__version__ = get_version()
"""The version of ManipulaPy whose documented names are here."""

MODULES = (
    "ManipulaPy_data",
    "backend",
    "control",
    "cuda_kernels",
    "dynamics",
    "ik_helpers",
    "kinematics",
    "path_planning",
    "perception",
    "potential_field",
    "sim",
    "singularity",
    "trac_ik",
    "urdf",
    "urdf_processor",
    "utils",
    "vision",
)

__all__ = [
    "check_dependencies",
    "get_available_features",
    "get_installation_command",
    "get_missing_features",
    "get_version",
    "install",
    "require_feature",
    "uninstall",
    *MODULES,
]

_NAMES = {
    "ManipulatorController": "control",
    "ManipulatorDynamics": "dynamics",
    "OptimizedTrajectoryPlanning": "path_planning",
    "Perception": "perception",
    "SerialManipulator": "kinematics",
    "Simulation": "sim",
    "Singularity": "singularity",
    "TrajectoryPlanning": "path_planning",
    "URDFToSerialManipulator": "urdf_processor",
    "Vision": "vision",
    "get_backend": "backend",
    "set_backend": "backend",
    "use_backend": "backend",
}


def __getattr__(name: str) -> Any:
    """Imports a module, or a name from its module, on first use: some need optional packages."""
    if name in MODULES or name == "planning":
        return importlib.import_module(f".{'path_planning' if name == 'planning' else name}", __name__)
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*globals(), *MODULES, "planning", *_NAMES])
