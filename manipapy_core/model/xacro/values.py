"""Names, functions and methods that expressions of xacro may use, and the bounds of their results."""

from __future__ import annotations

import math
import operator
import re
import string
from collections.abc import Callable, Iterable, Mapping
from typing import Any

LARGEST_TEXT = 1_000_000
LARGEST_LIST = 100_000
_LARGEST_INTEGER_BITS = 4096
_LARGEST_FORMAT = 500
_WIDTH = re.compile(r"\d{4,}|\*")


class ExpressionError(Exception):
    """What is wrong with an expression, as a sentence without its place."""


class Namespace(dict[str, Any]):
    """Names behind a dot, such as those of `math`."""


def size_of(value: Any) -> int:
    """How much a value holds, lists inside lists counted: the work of printing or comparing it.

    Raises:
        ExpressionError: It is too large.
    """
    if isinstance(value, str):
        if len(value) > LARGEST_TEXT:
            raise ExpressionError(f"makes a text of more than {LARGEST_TEXT} characters; make it shorter")
        return len(value) // 16
    if isinstance(value, int):
        if value.bit_length() > _LARGEST_INTEGER_BITS:
            raise ExpressionError("makes an integer of thousands of digits; use smaller numbers")
        return 0
    if not isinstance(value, (list, tuple, dict, set)):
        return 0
    total = 0
    pending: list[Any] = [value]
    while pending:
        entry = pending.pop()
        if isinstance(entry, (list, tuple, dict, set)):
            total += len(entry)
            if total > LARGEST_LIST:
                raise ExpressionError(f"makes a list of more than {LARGEST_LIST} entries; make it shorter")
            pending += list(entry.values()) if isinstance(entry, dict) else list(entry)
        elif isinstance(entry, str):
            total += len(entry) // 16
    return total


def _listed(values: Iterable[Any]) -> list[Any]:
    """All of them, stopping before they become too many."""
    result: list[Any] = []
    total = 0
    for value in values:
        result.append(value)
        total += 1 + size_of(value)
        if total > LARGEST_LIST:
            raise ExpressionError(f"makes a list of more than {LARGEST_LIST} entries; make it shorter")
    return result


def _multiply(a: Any, b: Any) -> Any:
    for sequence, count in ((a, b), (b, a)):
        if isinstance(sequence, (str, list, tuple)) and isinstance(count, int):
            largest = LARGEST_TEXT if isinstance(sequence, str) else LARGEST_LIST
            if len(sequence) * max(count, 0) > largest:
                raise ExpressionError("repeats a text or list too often; use a smaller number")
    return a * b


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() * abs(b) > _LARGEST_INTEGER_BITS:
        raise ExpressionError("makes an integer of thousands of digits; use smaller numbers")
    return a**b


def _modulo(a: Any, b: Any) -> Any:
    # "%1000000000d" would make a text of that length.
    if isinstance(a, str) and (len(a) > _LARGEST_FORMAT or _WIDTH.search(a)):
        raise ExpressionError("formats a long text, or to a width of more than 999; use a smaller one")
    return a % b


BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": _multiply,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": _modulo,
    "Pow": _power,
}
UNARY: Mapping[str, Callable[[Any], Any]] = {
    "UAdd": operator.pos,
    "USub": operator.neg,
    "Not": operator.not_,
}
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}

_TEXT_METHODS = """lower upper strip lstrip rstrip split rsplit splitlines startswith endswith find rfind count index
    title capitalize isdigit isnumeric isalpha removeprefix removesuffix partition rpartition"""
_METHODS: Mapping[type, tuple[str, ...]] = {
    str: tuple(_TEXT_METHODS.split()),
    dict: ("get", "keys", "values", "items"),
    list: ("index", "count"),
    tuple: ("index", "count"),
}


def attribute(owner: Any, name: str) -> Any:
    """What stands behind a dot: an entry of a namespace or of a YAML mapping, or a harmless method.

    Raises:
        ExpressionError: Anything else, and every name with a leading underscore.
    """
    if name.startswith("_"):
        raise ExpressionError(f"uses .{name}, which is not allowed; names with a leading underscore are internals")
    if isinstance(owner, Mapping) and name in owner:
        return owner[name]
    kind = next((kind for kind in _METHODS if isinstance(owner, kind) and not isinstance(owner, Namespace)), None)
    if kind is str and name == "join":
        return lambda parts: _join(owner, parts)
    if kind is str and name == "format":
        return lambda *values, **named: _format(owner, values, named)
    if kind is str and name == "replace":
        return lambda old, new: _join(new, owner.split(old) if old else [owner])
    if kind is not None and name in _METHODS[kind]:
        method = getattr(owner, name)
        return (lambda *a: _listed(method(*a))) if kind is dict and name != "get" else method
    if isinstance(owner, Mapping):
        raise ExpressionError(f"has no entry {name!r}; there are: {', '.join(map(str, list(owner)[:20])) or 'none'}")
    raise ExpressionError(f"uses .{name}, which is not allowed on a {type(owner).__name__}")


def _join(between: str, parts: Iterable[Any]) -> str:
    texts = [str(part) for part in _listed(parts)]
    if sum(map(len, texts)) + len(between) * len(texts) > LARGEST_TEXT:
        raise ExpressionError(f"makes a text of more than {LARGEST_TEXT} characters; make it shorter")
    return between.join(texts)


def _format(text: str, values: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    """`str.format`, whose fields may be names and numbers only: behind a dot it would reach any attribute."""
    for _, field_name, spec, _ in string.Formatter().parse(text):
        plain = field_name is None or re.fullmatch(r"\w*", field_name)
        if not plain or "{" in (spec or "") or _WIDTH.search(spec or "") or len(text) > _LARGEST_FORMAT:
            raise ExpressionError("formats with more than names, numbers and widths up to 999; write it otherwise")
    for value in (*values, *named.values()):
        size_of(value)
    return text.format(*values, **named)


def _range(*arguments: int) -> list[int]:
    values = range(*arguments)
    if len(values) > LARGEST_LIST:
        raise ExpressionError(f"asks for a range of more than {LARGEST_LIST} numbers; use a shorter one")
    return list(values)


def _text(value: Any = "") -> str:
    return str(value) if not callable(value) else "function"


_FUNCTIONS: dict[str, Any] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "dict": lambda *a, **k: dict(*a, **k),
    "divmod": divmod,
    "enumerate": lambda values, start=0: list(enumerate(_listed(values), start)),
    "filter": lambda f, values: [v for v in _listed(values) if (v if f is None else f(v))],
    "float": float,
    "int": lambda *a: int(*a),
    "len": len,
    "list": lambda values=(): _listed(values),
    "map": lambda f, *values: _listed(f(*row) for row in zip(*map(_listed, values))),
    "max": max,
    "min": min,
    "range": _range,
    "ord": ord,
    "repr": lambda value: _text(value) if not isinstance(value, str) else repr(value),
    "reversed": lambda values: list(reversed(_listed(values))),
    "round": lambda value, digits=None: round(value, digits if digits is None else min(max(digits, -300), 300)),
    "set": lambda values=(): set(_listed(values)),
    "sorted": lambda values, reverse=False: sorted(_listed(values), reverse=reverse),
    "str": _text,
    "sum": lambda values, start=0: _sum(values, start),
    "tuple": lambda values=(): tuple(_listed(values)),
    "zip": lambda *values: list(zip(*map(_listed, values))),
}
_FUNCTIONS["isinstance"] = lambda value, kinds: _is_instance(value, kinds)
_KINDS = {"bool": bool, "dict": dict, "float": float, "int": int, "list": list, "set": set, "str": str, "tuple": tuple}


def _is_instance(value: Any, kinds: Any) -> bool:
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    return any(isinstance(value, kind) for name, kind in _KINDS.items() if _FUNCTIONS[name] in wanted)


def tokenize(text: str, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
    """A text cut at every separator."""
    parts = re.split("|".join(re.escape(sign) for sign in sep), text) if sep else [text]
    return [part for part in parts if part or not skip_empty]


_CONSTANTS: dict[str, Any] = {"True": True, "False": False, "None": None, "true": True, "false": False}
# Of math, without what may run long on large integers.
_MATH = {
    name: getattr(math, name)
    for name in dir(math)
    if not name.startswith("_") and name not in ("comb", "factorial", "perm", "prod", "lcm", "gcd", "isqrt")
}


def _sum(values: Iterable[Any], start: Any) -> Any:
    for value in _listed(values):
        start = start + value
        size_of(start)
    return start


def global_names(**xacro: Any) -> dict[str, Any]:
    """The names that every expression knows, as xacro documents them.

    Args:
        xacro: Functions of the document, such as `load_yaml`; also below `xacro.`.
    """
    spaces = {"math": Namespace(_MATH), "python": Namespace(_FUNCTIONS), "xacro": Namespace(xacro)}
    return {**_MATH, **_FUNCTIONS, **xacro, **spaces, **_CONSTANTS}
