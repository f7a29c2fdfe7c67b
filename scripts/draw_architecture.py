"""Draws docs/architecture.md from the real import graph, and prints the numbers of the tree.

    python scripts/draw_architecture.py            rewrite the drawn part of docs/architecture.md, print the numbers
    python scripts/draw_architecture.py --check    fail if the page and the tree differ
    python scripts/draw_architecture.py --root X   only the numbers, of another source tree

Needs nothing but Python: files are parsed, not imported.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from import_graph import Graph, SourceTree, cycles, shortest_path, subpackage_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/architecture.md"
BEGIN, END = "<!-- drawn by scripts/draw_architecture.py: begin -->", "<!-- drawn: end -->"
FOUNDATION = ("errors", "typing", "compile_notice", "jit", "checks", "lie")
"""Imported by nearly every subpackage: listed, but not drawn."""


@dataclass(frozen=True)
class Segment:
    """The part of a data path inside one process."""

    entry: str
    """Module that receives the data."""
    stages: tuple[str, ...]
    """Modules that do the work, in the order in which the data meets them."""
    received: str = ""
    """ROS topic or action by which the data comes from the segment before."""


@dataclass(frozen=True)
class DataPath:
    """From an input to a result."""

    name: str
    segments: tuple[Segment, ...]


CORE, ROS = "manipapy_core.", "manipapy_ros."
DATA_PATHS = (
    DataPath(
        "URDF → torque",
        (
            Segment(
                ROS + "model_server.node",
                (
                    CORE + "model.urdf.reader",
                    CORE + "model.chain",
                    CORE + "dynamics",
                    CORE + "compiler.algorithms.dynamics",
                    CORE + "compiler.llvm.engine",
                ),
            ),
        ),
    ),
    DataPath(
        "goal → motion",
        (
            Segment(
                ROS + "planner.node",
                (
                    CORE + "ik.solve",
                    CORE + "motion.planners.rrt_connect",
                    CORE + "motion.timing.topp",
                    CORE + "motion.verify",
                ),
            ),
            Segment(
                ROS + "controller.node",
                (CORE + "control.execution.execution", CORE + "control.laws.model_based", CORE + "control.guard.guard"),
                "follow_joint_trajectory",
            ),
        ),
    ),
    DataPath(
        "image → obstacle",
        (
            Segment(
                ROS + "perception.node",
                (
                    CORE + "perception.stereo.disparity",
                    CORE + "perception.points.planes",
                    CORE + "perception.shapes.clusters",
                    CORE + "perception.tracking.tracker",
                ),
            ),
            Segment(ROS + "planner.node", (CORE + "geometry.world", CORE + "geometry.checker"), "obstacles"),
        ),
    ),
    DataPath(
        "twist → motion",
        (
            Segment(
                CORE + "servoing.twist_follower",
                (
                    CORE + "polytopes.near_points",
                    CORE + "polytopes.constraints",
                    CORE + "servoing.constrained_step",
                    CORE + "geometry.checker",
                ),
            ),
        ),
    ),
)


def edges_of(segment: Segment, graph: Graph) -> list[tuple[str, str]]:
    """Import edges by which every stage is reached, from the entry or from modules that lie before it on the path."""
    reached, edges = [segment.entry], []
    for stage in segment.stages:
        path = shortest_path(graph, reached[::-1], stage)
        if path is None:
            sys.exit(f"{segment.entry} does not reach {stage} by imports; correct DATA_PATHS in {Path(__file__).name}")
        edges += list(pairwise(path))
        reached += [module for module in path if module not in reached]
    return edges


def hops(path: DataPath, graph: Graph) -> int:
    """Import edges of all segments, and one for each topic or action between two processes."""
    return sum(len(edges_of(segment, graph)) for segment in path.segments) + len(path.segments) - 1


def reduced(graph: Graph) -> dict[str, set[str]]:
    """Without edges that follow from others (transitive reduction); the graph has no cycle."""

    def reach(node: str) -> set[str]:
        return set().union(*({other} | reach(other) for other in graph[node])) if graph[node] else set()

    return {
        node: {other for other in others if not any(other in reach(third) for third in others - {other})}
        for node, others in graph.items()
    }


def short(name: str) -> str:
    return name.removeprefix(CORE)


def purpose(tree: SourceTree, subpackage: str) -> str:
    """First sentence of a subpackage's docstring."""
    text = ast.get_docstring(ast.parse(tree.files[subpackage].read_text())) or ""
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].rstrip(".")


def drawn(tree: SourceTree) -> str:
    """The part of the page that follows from the tree."""
    subpackages = tree.subpackages()
    hidden = {CORE + name for name in FOUNDATION} | {"manipapy_core", "manipapy_ros"}
    shown = {name: others - hidden for name, others in subpackages.items() if name not in hidden}
    lines = ["```mermaid", "flowchart TB"]
    for package, title in (("manipapy_ros", "ROS 2 nodes"), ("manipapy_core", "library")):
        lines.append(f'  subgraph {package}["{package}: {title}"]')
        lines += [f"    {identifier(name)}[{short(name)}]" for name in sorted(shown) if name.startswith(package + ".")]
        lines.append("  end")
    arrows = reduced(shown)
    lines += [f"  {identifier(a)} --> {identifier(b)}" for a in sorted(arrows) for b in sorted(arrows[a])]
    lines += ["```", "", "| subpackage | what it is | imports |", "|---|---|---|"]
    for name in sorted(subpackages):
        if "." in name:
            others = ", ".join(f"`{short(other)}`" for other in sorted(subpackages[name]) if "." in other) or "–"
            lines.append(f"| `{short(name)}` | {purpose(tree, name)} | {others} |")
    modules = tree.modules()
    for path in DATA_PATHS:
        lines += ["", f"### {path.name}", "", "```mermaid", "flowchart LR"]
        before: Segment | None = None
        for segment in path.segments:
            lines += [f"  {arrow(a, b)}" for a, b in edges_of(segment, modules)]
            if before is not None:
                names = f'{identifier(before.entry)} -. "{segment.received}" .-> {identifier(segment.entry)}'
                lines.append(f"  {names}")
            before = segment
        lines += ["```", f"{hops(path, modules)} hops."]
    return "\n".join(lines)


def identifier(name: str) -> str:
    return name.replace(".", "_")


def arrow(start: str, end: str) -> str:
    return f'{identifier(start)}["{short(start)}"] --> {identifier(end)}["{short(end)}"]'


def numbers(tree: SourceTree, paths: Sequence[DataPath] = DATA_PATHS) -> str:
    """Size and tangle of a tree, a line each."""
    modules, subpackages = tree.modules(), tree.subpackages()
    lengths = {name: len(file.read_text().splitlines()) for name, file in tree.files.items()}
    core = [length for name, length in lengths.items() if name.startswith("manipapy_core")]
    ros = [length for name, length in lengths.items() if name.startswith("manipapy_ros")]
    classes = tree.public_classes()
    twice = [name for name, owners in classes.items() if len(owners) > 1]
    own = [n for n, owners in classes.items() if len([o for o in owners if subpackage_of(o) != CORE + "compat"]) > 1]
    late = sum(
        statement.late and not statement.for_types and statement.module.startswith(("manipapy_core.", "manipapy_ros."))
        for statements in tree.imports.values()
        for statement in statements
    )
    table = [
        ("files, core / ros", f"{len(core)} / {len(ros)}"),
        ("lines, core / ros", f"{sum(core)} / {sum(ros)}"),
        ("median lines of a file, core / ros", f"{statistics.median(core):g} / {statistics.median(ros):g}"),
        ("core files below 110 lines", str(sum(length < 110 for length in core))),
        ("subpackages", str(len([name for name in subpackages if "." in name]))),
        ("import edges between modules", str(sum(map(len, modules.values())))),
        ("import edges between subpackages", str(sum(map(len, subpackages.values())))),
        ("imports of ours inside functions", str(late)),
        ("import cycles", str(len(cycles(subpackages)))),
        ("modules in cycles", str(sum(map(len, cycles(modules))))),
        ("public class names used twice, all / without compat", f"{len(twice)} / {len(own)}"),
        *((f"hops, {path.name}", str(hops(path, modules))) for path in paths),
    ]
    width = max(len(name) for name, _ in table)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in table)


def page_with(text: str) -> str:
    """The page, with its drawn part replaced."""
    head, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail if the page is out of date")
    parser.add_argument("--root", type=Path, default=ROOT, help="another source tree: only print its numbers")
    chosen = parser.parse_args()
    tree = SourceTree(chosen.root.resolve())
    if chosen.root == ROOT:
        page = page_with(drawn(tree))
        if chosen.check and page != PAGE.read_text():
            sys.exit("docs/architecture.md is out of date; run make architecture")
        if not chosen.check:
            PAGE.write_text(page)
    print(numbers(tree))


if __name__ == "__main__":
    main()
