"""The real import graph of the source tree, read from its syntax trees: modules, subpackages, cycles, class names.

A subpackage is a folder or a single file directly below manipapy_core, or a folder below manipapy_ros. Imports inside
functions count like those at the top; those under `if TYPE_CHECKING` never happen and do not.
"""

from __future__ import annotations

import ast
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("manipapy_core", "manipapy_ros")

Graph = Mapping[str, set[str]]
"""What each module or subpackage imports."""


@dataclass(frozen=True)
class Import:
    """One import statement, with relative names made absolute."""

    file: Path
    line: int
    module: str
    """`from a import b` counts as a.b."""
    late: bool
    """Inside a function: happens when that is called."""
    for_types: bool
    """Under `if TYPE_CHECKING`: never happens at run time."""


def imports_of(file: Path, package_root: Path) -> Iterator[Import]:
    """Every import in a file, those by `import_module` with a literal name too.

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
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            for name in node.args[:1]:
                if isinstance(name, ast.Constant) and isinstance(name.value, str):
                    yield Import(file, node.lineno, _absolute(name.value, package), late, for_types)
        late = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from _walk(child, file, package, late, for_types)


def _absolute(name: str, package: tuple[str, ...]) -> str:
    """A module name as `importlib.import_module(name, __package__)` takes it."""
    inner = name.lstrip(".")
    level = len(name) - len(inner)
    return ".".join([*package[: len(package) - level + 1], inner]) if level else name


class SourceTree:
    """The Python modules of a source tree.

    Args:
        root: Folder that holds the packages.
        packages: Which of them.
    """

    def __init__(self, root: Path, packages: Iterable[str] = PACKAGES):
        self.root, self.packages = root, tuple(packages)
        self.files: dict[str, Path] = {}
        for package in self.packages:
            for file in sorted((root / package).rglob("*.py")):
                self.files[self.name_of(file)] = file
        self.imports = {name: list(imports_of(file, root)) for name, file in self.files.items()}

    def name_of(self, file: Path) -> str:
        """Module name of a file; a package has the name of its folder."""
        parts = file.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def origin(self, name: str) -> str | None:
        """The module in which an imported name is defined, through what packages re-export; None if it is not ours."""
        seen = set()
        while name not in seen:
            seen.add(name)
            if name in self.files:
                return name
            module, _, attribute = name.rpartition(".")
            if not module:
                return None
            if module not in self.files:
                name = module
                continue
            passed_on = [other.module for other in self.imports[module] if other.module.endswith(f".{attribute}")]
            if self.files[module].name != "__init__.py" or not passed_on:
                return module
            name = passed_on[0]
        return None

    def modules(self) -> Graph:
        """What each module imports at run time, the front of a package replaced by what is behind it."""
        graph: dict[str, set[str]] = {name: set() for name in self.files}
        for name, statements in self.imports.items():
            for statement in statements:
                target = None if statement.for_types else self.origin(statement.module)
                if target is not None and target != name:
                    graph[name].add(target)
        return graph

    def subpackages(self) -> Graph:
        """What each subpackage imports at run time, as its import statements name it."""
        graph: dict[str, set[str]] = {subpackage_of(name): set() for name in self.files}
        for name, statements in self.imports.items():
            for statement in statements:
                parts = statement.module.split(".")
                if statement.for_types or parts[0] not in self.packages:
                    continue
                known = next(".".join(parts[:k]) for k in range(len(parts), 0, -1) if ".".join(parts[:k]) in self.files)
                if subpackage_of(known) != subpackage_of(name):
                    graph[subpackage_of(name)].add(subpackage_of(known))
        return graph

    def public_classes(self) -> dict[str, list[str]]:
        """Modules that define a public class at their top level, by its name."""
        found = defaultdict(list)
        for name, file in self.files.items():
            for node in ast.parse(file.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(name)
        return dict(found)


def subpackage_of(module: str) -> str:
    """Subpackage of a module; the package itself for its `__init__.py`."""
    return ".".join(module.split(".")[:2])


def cycles(graph: Graph) -> list[list[str]]:
    """Groups of nodes that import each other in a cycle, directly or through others (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            place = stack.index(node)
            group = sorted(stack[place:])
            del stack[place:]
            if len(group) > 1:
                found.append(group)

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def shortest_path(graph: Graph, starts: Sequence[str], end: str) -> list[str] | None:
    """Fewest imports from one of several modules to another, both included; among equals the earlier start wins."""
    before = dict.fromkeys(starts, "")
    queue = deque(starts)
    while queue:
        node = queue.popleft()
        if node == end:
            path = [node]
            while before[path[-1]]:
                path.append(before[path[-1]])
            return path[::-1]
        for other in sorted(graph.get(node, ())):
            if other not in before:
                before[other] = node
                queue.append(other)
    return None
