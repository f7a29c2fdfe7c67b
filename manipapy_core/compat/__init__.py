"""ManipulaPy's documented names and signatures over this library.

A program written for ManipulaPy runs with its import lines changed: `from ManipulaPy.dynamics import …` becomes
`from manipapy_core.compat.dynamics import …`. Results are those of this library, also where ManipulaPy is known to be
wrong; each module lists its intended differences. New programs use `Robot`, `kinematics` and `dynamics` directly.
"""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = [
    "control",
    "cuda_kernels",
    "dynamics",
    "kinematics",
    "path_planning",
    "perception",
    "sim",
    "singularity",
    "urdf_processor",
    "utils",
    "vision",
]


def __getattr__(name: str) -> ModuleType:
    """Imports a module on first use: some need optional packages."""
    if name in __all__:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
