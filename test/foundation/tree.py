"""The files of the project, and what each Python file imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NOT_OURS = {"build", "dist", "install", "log", "__pycache__"}
"""Folders that builds and caches make; those with a leading dot too, except `.ci`."""


def project_files(folder: Path) -> Iterator[Path]:
    """Every file that belongs to the project, whether committed yet or not."""
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") and path.name not in {".ci", ".gitignore"}
        if hidden or path.name in NOT_OURS or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from project_files(path)
        elif path.is_file():
            yield path


@dataclass(frozen=True)
class Import:
    """One import statement, with relative names made absolute."""

    file: Path
    line: int
    module: str
    late: bool
    """Inside a function: happens when that is called."""
    for_types: bool
    """Under `if TYPE_CHECKING`: never happens at run time."""


def imports_of(file: Path, package_root: Path) -> Iterator[Import]:
    """Every import in a file, `from a import b` counted as a.b.

    Args:
        file: A Python file.
        package_root: Folder that holds the top-level package of the file.
    """
    package = file.relative_to(package_root).parent.parts
    yield from _walk(ast.parse(file.read_text()), file, package, late=False, for_types=False)


def _walk(node: ast.AST, file: Path, package: tuple[str, ...], late: bool, for_types: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(file, node.lineno, alias.name, late, for_types)
    elif isinstance(node, ast.ImportFrom):
        origin = package[: len(package) - node.level + 1] if node.level else ()
        start = ".".join([*origin, *([node.module] if node.module else [])])
        for alias in node.names:
            yield Import(file, node.lineno, f"{start}.{alias.name}", late, for_types)
    elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for child in node.body:
            yield from _walk(child, file, package, late, True)
        for child in node.orelse:
            yield from _walk(child, file, package, late, for_types)
    else:
        late = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from _walk(child, file, package, late, for_types)
