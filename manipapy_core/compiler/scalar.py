"""Functions that work on whatever an algorithm is run on: floats, NumPy or CuPy arrays, traced symbols."""

from __future__ import annotations

import math
from typing import Any

from .trace import Mask, Symbol


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


def minimum(a: Any, b: Any) -> Any:
    """The smaller of the two."""
    if isinstance(a, Symbol):
        return a.minimum(b)
    if isinstance(b, Symbol):
        return b.minimum(a)
    return min(a, b) if _plain(a, b) else _namespace_of(a, b).minimum(a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of the two."""
    if isinstance(a, Symbol):
        return a.maximum(b)
    if isinstance(b, Symbol):
        return b.maximum(a)
    return max(a, b) if _plain(a, b) else _namespace_of(a, b).maximum(a, b)


def less(a: Any, b: Any) -> Any:
    """a < b: a truth value, to be combined with & and | and given to `select`."""
    if isinstance(b, Symbol) and not isinstance(a, Symbol):
        a = b.program.constant(a)
    return a.less(b) if isinstance(a, Symbol) else a < b


def select(condition: Any, yes: Any, no: Any) -> Any:
    """One of two values by a truth value, element by element and without a branch."""
    if isinstance(condition, Mask):
        return condition.select(yes, no)
    if isinstance(condition, bool):
        return yes if condition else no
    return array_namespace(condition).where(condition, yes, no)


def _plain(*values: Any) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def _namespace_of(*values: Any) -> Any:
    return array_namespace(next(value for value in values if not _plain(value)))


def array_namespace(x: Any) -> Any:
    """The module whose functions take this array: numpy, or cupy for arrays on a GPU."""
    import sys

    return sys.modules[type(x).__module__.partition(".")[0]]
