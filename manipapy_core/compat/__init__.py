"""The names and signatures of ManipulaPy's documents, over this library.

A program written for that library runs with its import lines changed: `from ManipulaPy.dynamics import …` becomes
`from manipapy_core.compat.dynamics import …`. The answers are those of this library, also where the other one is known
to be wrong; each module says so. New programs use `Robot`, `kinematics` and `dynamics` directly.
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
    """A module, imported when it is first asked for: some need packages that others do without."""
    if name in __all__:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
