"""The public names of manipapy_core and their documentation, for the site (`make docs`) and its test.

Public is what a package lists in `__all__`, and what a module that is a single file defines. `cli` and `compat` are
left out: the one is a command, the other repeats ManipulaPy's names and has a page of its own.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
MODULES = ("dynamics", "errors", "kinematics", "lie", "requirements", "singularity")
"""Public modules that are single files."""
LEFT_OUT = ("cli", "compat")


def public_names() -> dict[str, list[str]]:
    """Exported names by module."""
    found = {"manipapy_core": sorted(importlib.import_module("manipapy_core").__all__)}
    for path in sorted((ROOT / "manipapy_core").glob("*/__init__.py")):
        module = f"manipapy_core.{path.parent.name}"
        if path.parent.name not in LEFT_OUT:
            found[module] = sorted(getattr(importlib.import_module(module), "__all__", []), key=str.lower)
    for name in MODULES:
        tree = ast.parse((ROOT / f"manipapy_core/{name}.py").read_text(encoding="utf-8"))
        defined = [item.name for item in tree.body if isinstance(item, (ast.ClassDef, ast.FunctionDef))]
        found[f"manipapy_core.{name}"] = sorted(item for item in defined if not item.startswith("_"))
    return {module: names for module, names in found.items() if names}


def kind_of(module: str, name: str) -> str:
    """`module`, `exception`, `class`, `function` or `data`."""
    value = getattr(importlib.import_module(module), name)
    if isinstance(value, ModuleType):
        return "module"
    if isinstance(value, type):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if callable(value) else "data"


def documentation(module: str, name: str) -> str:
    """Docstring of a name; of a constant, the string that follows its definition. Empty if there is none."""
    value, kind = getattr(importlib.import_module(module), name), kind_of(module, name)
    if kind == "data":
        return _documentation_of_constant(module, name)
    text = inspect.getdoc(value) if kind in ("module", "function") else value.__doc__
    # A dataclass without a docstring gets its signature for one.
    return "" if not text or text.startswith(f"{name}(") else text


def home_of(module: str, name: str, names: Mapping[str, Sequence[str]]) -> str:
    """The one module that documents a name which several export: the closest to its definition."""
    if kind_of(module, name) in ("data", "module"):
        return module
    value = getattr(importlib.import_module(module), name)
    offering = [
        other for other in names if name in names[other] and getattr(importlib.import_module(other), name) is value
    ]
    defined = value.__module__
    return max(offering, key=lambda other: (defined == other or defined.startswith(f"{other}."), len(other)))


def _documentation_of_constant(module: str, name: str) -> str:
    """From the source of the package that exports the constant: `name = …`, followed by a string."""
    path = ROOT / module.replace(".", "/")
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
        body = ast.parse(file.read_text(encoding="utf-8")).body
        for statement, following in pairwise(body):
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                value = following.value if isinstance(following, ast.Expr) else None
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    return inspect.cleandoc(value.value)
    return ""
