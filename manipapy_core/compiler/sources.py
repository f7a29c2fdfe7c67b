"""What a kernel is made from: the identity of its formula, the source files behind it, and whether they have changed.

Import statements are found by a pattern in the text, which takes a fiftieth of the time of parsing it. What looks like
one in a docstring at most adds a file.
"""

from __future__ import annotations

import ast
import enum
import functools
import hashlib
import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, Protocol, runtime_checkable

PACKAGE = __name__.split(".", maxsplit=1)[0]
_ROOT = Path(__file__).resolve().parents[1]
_COMMENT = re.compile("#.*")
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(.*))", re.MULTILINE
)
_NAME = re.compile(r"(\w[\w.]*)(?:\s+as\s+\w+)?")
_START = time.time()
_PARSING = threading.Lock()
"""Python 3.11 raises SystemError when two threads parse at once."""


@runtime_checkable
class Digestible(Protocol):
    """An object that identifies its numbers by itself."""

    def digest(self) -> str: ...


@dataclass(frozen=True)
class Identity:
    """A formula by name and numbers; its code is in the modules."""

    text: str
    modules: tuple[str, ...]
    """Of the functions and classes that it is composed of."""


class _Unknown(Exception):
    """A value that no text identifies."""


def identity(formula: Any) -> Identity | None:
    """Identity of a function of this package with all that it is bound to.

    None for functions of other packages, whose sources are not followed, and for functions bound to values that have
    no exact text.
    """
    modules: dict[str, None] = {}
    try:
        text = _describe(formula, modules)
    except _Unknown:
        return None
    return Identity(text, tuple(modules))


def _describe(value: Any, modules: dict[str, None]) -> str:
    if value is None or (isinstance(value, (bool, int, float, str, bytes)) and not isinstance(value, enum.Enum)):
        return repr(value)
    if isinstance(value, (tuple, list)):
        return f"({', '.join(_describe(item, modules) for item in value)})"
    if isinstance(value, functools.partial):
        bound = [*value.args, *(item for pair in sorted(value.keywords.items()) for item in pair)]
        return f"{_describe(value.func, modules)}{_describe(bound, modules)}"
    if isinstance(value, FunctionType):
        modules[_ours(value.__module__)] = None
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        bound = [*cells, *(value.__defaults__ or ()), *sorted((value.__kwdefaults__ or {}).items())]
        # Functions within functions may share a name; their lines differ.
        line = value.__code__.co_firstlineno if "<" in value.__qualname__ else ""
        return f"{value.__module__}.{value.__qualname__}{line}{_describe(bound, modules)}"
    modules[_ours(type(value).__module__)] = None
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, enum.Enum):
        return f"{name}.{value.name}"
    if isinstance(value, Digestible):
        return f"{name} {value.digest()}"
    if is_dataclass(value):
        return f"{name}{_describe([getattr(value, field.name) for field in fields(value)], modules)}"
    raise _Unknown


def _ours(module: str | None) -> str:
    if module is None or _file_of(module) is None:  # None: defined by `exec`
        raise _Unknown
    return module


def imported(modules: Iterable[str]) -> list[str]:
    """Files of these modules of this package and of all that they import, as paths within it, sorted."""
    pending, found = list(modules), set()
    while pending:
        module = pending.pop()
        file = _file_of(module)
        if file is not None and file not in found:
            found.add(file)
            pending += _imports_of(module, file)
    return sorted(found)


def digests(files: Iterable[str]) -> dict[str, str] | None:
    """SHA-256 of each file. None if one is missing or was changed after this process may have imported it."""
    found = {file: _digest(file) for file in files}
    return None if None in found.values() else found  # type: ignore[return-value]


def code_digest(modules: Iterable[str], folders: tuple[str, ...]) -> str | None:
    """Digest of the code of modules and their imports in some folders, comments and docstrings left out.

    None if a file was changed after this process may have imported it.
    """
    files = [file for file in imported(modules) if file.startswith(folders)]
    if digests(files) is None:
        return None
    return hashlib.sha256("".join(map(_code, files)).encode()).hexdigest()


@functools.cache
def _digest(file: str) -> str | None:
    path = _ROOT / file
    try:
        # A time later than now comes from a clock that was wrong, not from an edit during this process.
        if _START < path.stat().st_mtime <= time.time():
            return None
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


@functools.cache
def _file_of(module: str) -> str | None:
    """Path of a module within the package; None if it is not one of this package."""
    top, _, rest = module.partition(".")
    if top != PACKAGE:
        return None
    path = rest.replace(".", "/")
    for candidate in (f"{path}.py", f"{path}/__init__.py".lstrip("/")):
        if (_ROOT / candidate).is_file():
            return candidate
    return None


@functools.cache
def _imports_of(module: str, file: str) -> tuple[str, ...]:
    """Names that may be modules, in import statements anywhere in a file."""
    inside = module.split(".") if file.endswith("__init__.py") else module.split(".")[:-1]
    text = (_ROOT / file).read_text(encoding="utf-8")
    found: list[str] = []
    for dots, base, names, plain in _IMPORT.findall(_COMMENT.sub("", text)):
        if plain:
            found += _NAME.findall(plain)
            continue
        start = inside[: len(inside) + 1 - len(dots)] if dots else []
        origin = ".".join([*start, *filter(None, [base])])
        for name in _NAME.findall(names):
            submodule = f"{origin}.{name}"
            found.append(origin if _file_of(submodule) is None else submodule)
    return tuple(dict.fromkeys(name for name in found if _file_of(name) is not None))


@functools.cache
def _code(file: str) -> str:
    with _PARSING:
        tree = ast.parse((_ROOT / file).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            # A string as a statement does nothing, whether it documents a function or an attribute.
            node.body = [part for part in node.body if not _is_text(part)]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
