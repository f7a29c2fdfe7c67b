"""Functions that work on whatever an algorithm is run on: floats, NumPy or CuPy arrays, traced symbols."""

from __future__ import annotations

import math
from typing import Any

from .trace import Symbol


def sincos(x: Any) -> tuple[Any, Any]:
    """Sine and cosine of an angle [rad]."""
    if isinstance(x, Symbol):
        return x.sin(), x.cos()
    if isinstance(x, (int, float)):
        return math.sin(x), math.cos(x)
    namespace = array_namespace(x)
    return namespace.sin(x), namespace.cos(x)


def sqrt(x: Any) -> Any:
    """Square root."""
    if isinstance(x, Symbol):
        return x.sqrt()
    if isinstance(x, (int, float)):
        return math.sqrt(x)
    return array_namespace(x).sqrt(x)


def array_namespace(x: Any) -> Any:
    """The module whose functions take this array: numpy, or cupy for arrays on a GPU."""
    import sys

    return sys.modules[type(x).__module__.partition(".")[0]]
