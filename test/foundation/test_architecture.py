"""docs/architecture.md shows the tree as it is, and the graph algorithms behind it are right on graphs done by hand."""

from __future__ import annotations

import draw_architecture
from draw_architecture import DATA_PATHS, drawn, hops, page_with, reduced
from import_graph import SourceTree, cycles, shortest_path


def test_the_page_matches_the_tree(project):
    assert page_with(drawn(SourceTree(project))) == draw_architecture.PAGE.read_text(), "run make architecture"


def test_every_data_path_can_be_followed(project):
    modules = SourceTree(project).modules()
    assert all(hops(path, modules) > 0 for path in DATA_PATHS)


def test_cycles_are_found_with_all_their_members():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": {"d"}, "f": {"a"}}
    assert cycles(graph) == [["a", "b", "c"], ["d", "e"]]
    assert cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_edges_that_follow_from_others_are_not_drawn():
    graph = {"a": {"b", "c", "d"}, "b": {"c"}, "c": {"d"}, "d": set()}
    assert reduced(graph) == {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": set()}


def test_shortest_path_has_the_fewest_imports():
    graph = {"a": {"b", "c"}, "b": {"d"}, "c": {"e"}, "d": {"e"}, "e": set()}
    assert shortest_path(graph, ["a"], "e") == ["a", "c", "e"]
    assert shortest_path(graph, ["a", "d"], "e") == ["d", "e"]
    assert shortest_path(graph, ["e"], "a") is None


def test_imports_are_traced_to_the_module_that_defines_the_name(tmp_path):
    package = tmp_path / "manipapy_core"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("from .inner import Part\n")
    (package / "inner/__init__.py").write_text("from .part import Part\n")
    (package / "inner/part.py").write_text("class Part: ...\n")
    (package / "user.py").write_text("def f():\n    from manipapy_core import Part\n")
    tree = SourceTree(tmp_path, ["manipapy_core"])
    assert tree.modules()["manipapy_core.user"] == {"manipapy_core.inner.part"}
    assert tree.public_classes() == {"Part": ["manipapy_core.inner.part"]}
