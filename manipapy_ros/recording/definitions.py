"""Definitions of message types as text, from their classes: a recording explains itself to programs without ROS."""

from __future__ import annotations

import importlib
import re
from typing import Any

from manipapy_core.errors import ManipapyError

SEPARATOR = "=" * 80
NAMES = {"boolean": "bool", "octet": "byte", "float": "float32", "double": "float64"}
"""Types that Python's interface names differently from .msg files."""
FIELD = re.compile(
    r"^(?:sequence<(?P<inner>[^,]+?)(?:, (?P<most>\d+))?>|(?P<array>[^\[]+)\[(?P<size>\d+)\]|(?P<plain>.+))$"
)
"""Sequence, with or without bound; array; or one value."""


class UnknownMessage(ManipapyError):
    """A message type whose package is not installed."""

    def __init__(self, type_name: str):
        super().__init__(f"the message type {type_name} is not installed; install its package, or leave out its topics")
        self.type_name = type_name


def message_class(type_name: str) -> Any:
    """The class of a type such as `sensor_msgs/msg/JointState`.

    Raises:
        UnknownMessage: It is not installed.
    """
    package, _, name = type_name.partition("/msg/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError, ValueError):
        raise UnknownMessage(type_name) from None


def definition_of(kind: Any) -> str:
    """Fields of a message class and of all messages in it, in the format `ros2msg` of MCAP; without constants."""
    known: dict[str, Any] = {}
    parts = [_fields(kind, known)]
    done: set[str] = set()
    while remaining := [name for name in known if name not in done]:
        for name in remaining:
            done.add(name)
            parts.append(f"{SEPARATOR}\nMSG: {name}\n{_fields(known[name], known)}")
    return "".join(parts)


def _fields(kind: Any, known: dict[str, Any]) -> str:
    """One line per field; messages among them are added to `known`, by `package/Name`."""
    lines = []
    for name, text in kind.get_fields_and_field_types().items():
        match = FIELD.match(text)
        assert match is not None, f"no type of a field: {text!r}"
        inner = match["inner"] or match["array"] or match["plain"]
        bound = re.fullmatch(r"(w?string)<(\d+)>", inner)
        base = f"{bound[1]}<={bound[2]}" if bound else NAMES.get(inner, inner)
        if "/" in base and base not in known:
            package, short = base.split("/")
            known[base] = message_class(f"{package}/msg/{short}")
        if match["inner"]:
            suffix = f"[<={match['most']}]" if match["most"] else "[]"
        else:
            suffix = f"[{match['size']}]" if match["array"] else ""
        lines.append(f"{base}{suffix} {name}\n")
    return "".join(lines)
