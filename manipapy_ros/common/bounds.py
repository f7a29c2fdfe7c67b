"""Bounds on the size of messages: a request that is too large is refused with a sentence, before any work on it."""

from __future__ import annotations

import re
from typing import Any

from manipapy_core.errors import InputError

MAX_TEXT = 100_000
"""Characters of a string."""
MAX_NUMBERS = 6_000_000
"""Numbers of an array, such as the coordinates of a point cloud."""
MAX_BYTES = 100_000_000
"""Bytes of an array, such as those of an image or a point cloud."""
MAX_NAMES = 1_000
"""Strings of an array."""
MAX_MESSAGES = 10_000
"""Messages of an array, such as poses."""
MAX_POINTS = 250_000
"""Points of an array of messages; larger clouds are given as plain numbers."""
BYTES = frozenset({"uint8", "int8", "octet", "byte", "char", "boolean"})
POINTS = frozenset({"geometry_msgs/Point", "geometry_msgs/Point32", "shape_msgs/MeshTriangle"})
_ARRAY = re.compile(r"sequence<(.+?)(?:, \d+)?>$|(.+)\[\d+\]$")


class TooLarge(InputError):
    """A field of a message has too many entries."""

    def __init__(self, field: str, found: int, most: int, unit: str):
        super().__init__(f"{field} has {found} {unit}, at most {most} are taken; send less, or in several requests")
        self.field, self.found, self.most = field, found, most


def check_size(message: Any, name: str = "") -> None:
    """Checks all fields of a message, also of those that it contains.

    Raises:
        TooLarge: Names the field, its size and the bound.
    """
    for field, kind in message.get_fields_and_field_types().items():
        value, label = getattr(message, field), f"{name}{field}"
        array = _ARRAY.match(kind)
        if array is not None:
            _check_array(value, label, array[1] or array[2])
        elif isinstance(value, str):
            if len(value) > MAX_TEXT:
                raise TooLarge(label, len(value), MAX_TEXT, "characters")
        elif hasattr(value, "get_fields_and_field_types"):
            check_size(value, f"{label}.")


def _check_array(values: Any, label: str, kind: str) -> None:
    text, messages = kind.startswith(("string", "wstring")), "/" in kind
    most = MAX_NAMES if text else MAX_POINTS if kind in POINTS else MAX_MESSAGES if messages else MAX_NUMBERS
    most = MAX_BYTES if kind in BYTES else most
    if len(values) > most:
        raise TooLarge(label, len(values), most, "entries")
    if text:
        longest = max(map(len, values), default=0)
        if longest > MAX_TEXT:
            raise TooLarge(label, longest, MAX_TEXT, "characters in one entry")
    elif messages and kind not in POINTS:
        for index, value in enumerate(values):
            check_size(value, f"{label}[{index}].")
