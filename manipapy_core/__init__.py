"""manipapy: a robot-arm toolkit. From one robot description, exact kinematics and dynamics and all that follows."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import dynamics, kinematics
    from .dynamics import Payload
    from .errors import InputError, ManipapyError
    from .model import Chain, Robot

__all__ = ["Chain", "InputError", "ManipapyError", "Payload", "Robot", "dynamics", "kinematics"]

_HOMES = {
    "Chain": "model",
    "InputError": "errors",
    "ManipapyError": "errors",
    "Payload": "dynamics",
    "Robot": "model",
}
"""Module of each name; the others are modules themselves."""


def __getattr__(name: str) -> Any:
    # Imported when first used: the command `manipapy` starts without NumPy.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _HOMES:
        return importlib.import_module(f".{name}", __name__)
    value = globals()[name] = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    return value
