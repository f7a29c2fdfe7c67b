"""Files that a xacro description reads: includes and YAML, only where the package search allows it."""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from ..packages import PACKAGE_NAME, PackageSearch
from .values import ExpressionError, size_of

_LARGEST_FILE = 10_000_000
_LARGEST_ALIASES = 100
_GLOB = ("*", "?", "[")
# Units that values in YAML files may carry: `!degrees 90`.
_UNITS = {
    "radians": 1.0,
    "degrees": math.pi / 180.0,
    "meters": 1.0,
    "millimeters": 1e-3,
    "inches": 0.0254,
    "foot": 0.3048,
}


class DescriptionFiles:
    """Reads files of one description."""

    def __init__(self, search: PackageSearch):
        self._search = search

    def find_package(self, name: str) -> str:
        """Folder of a package, for `$(find name)`.

        Raises:
            ExpressionError: It is nowhere.
        """
        if not PACKAGE_NAME.fullmatch(name):
            raise ExpressionError(f"asks for the package {name!r}; that is no name of a package")
        folders = self._search.packages(name)
        if not folders:
            raise ExpressionError(
                f"asks for the package {name!r}, which is not beside the description and not in the ROS packages; "
                "pass package_paths=[its folder, or the folder that contains it]"
            )
        return folders[0].path

    def resolve(self, filename: str, folder: str | None) -> str:
        """Absolute path of a file that may be read.

        Args:
            filename: Absolute, or relative to `folder`; `package://` and `file://` too.
            folder: Of the file that refers to it; None for a text.

        Raises:
            ExpressionError: Outside the folders that may be read.
        """
        if filename.startswith("package://"):
            package, _, rest = filename[len("package://") :].partition("/")
            filename = os.path.join(self.find_package(package), rest)
        filename = filename.removeprefix("file://")
        if not os.path.isabs(filename):
            if folder is None:
                raise ExpressionError(f"reads {filename!r}, but a text has no folder; use $(find package)/path")
            filename = os.path.join(folder, filename)
        path = os.path.normpath(filename)
        if not self._search.allows(path):
            raise ExpressionError(
                f"reads {path}, outside the description's own tree and the packages; add its folder to package_paths"
            )
        return path

    def matching(self, filename: str, folder: str | None) -> list[str]:
        """The files of an include, several when it has wildcards."""
        path = self.resolve(filename, folder)
        if os.path.isfile(path):
            return [path]
        if not any(sign in path for sign in _GLOB):
            return [self._search.by_layout(path) or path]
        found = sorted(glob.glob(path))
        return [entry for entry in found if self._search.allows(entry)]

    def read(self, path: str) -> bytes:
        """Contents of a file.

        Raises:
            ExpressionError: Missing, too large or not readable.
        """
        try:
            if not os.path.isfile(path):
                raise ExpressionError(f"reads {path}, which does not exist; correct the path")
            if os.path.getsize(path) > _LARGEST_FILE:
                raise ExpressionError(f"reads {path}, which has more than {_LARGEST_FILE} bytes; split it")
            with open(path, "rb") as file:
                return file.read(_LARGEST_FILE + 1)
        except (OSError, ValueError) as error:
            raise ExpressionError(f"reads {path}, which cannot be read ({error}); check its permissions") from None

    def load_yaml(self, filename: str, folder: str | None, number: Callable[[str], Any]) -> Any:
        """Contents of a YAML file, mappings and lists of numbers and texts.

        Args:
            filename: As for `resolve`.
            folder: As for `resolve`.
            number: Evaluates a text behind a unit.

        Raises:
            ExpressionError: Not readable, not YAML, or it refers to itself without end.
        """
        import yaml

        class Loader(yaml.SafeLoader):
            def compose_node(self, parent: Any, index: Any) -> Any:
                # Aliases of aliases are the entity bomb of YAML.
                if self.check_event(yaml.events.AliasEvent):
                    self.aliases = getattr(self, "aliases", 0) + 1
                    if self.aliases > _LARGEST_ALIASES:
                        raise ExpressionError(f"reads {filename}, which has too many aliases; write them out")
                return super().compose_node(parent, index)

        for unit, factor in _UNITS.items():
            Loader.add_constructor(f"!{unit}", partial(_with_unit, number, factor))
        path = self.resolve(filename, folder)
        try:
            value = yaml.load(self.read(path), Loader)
        except (yaml.YAMLError, UnicodeDecodeError, RecursionError, TypeError, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ExpressionError(f"reads {path}, which is not YAML ({reason}); correct it") from None
        size_of(value)
        return value


def _with_unit(number: Callable[[str], Any], factor: float, _loader: Any, node: Any) -> float:
    value = number(str(node.value))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ExpressionError(f"gives a unit to {value!r}; write a number behind it")
    return float(value) * factor
