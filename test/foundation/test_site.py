"""The documentation site: public names have docstrings, pages a place in the contents, nodes a page that is true."""

from __future__ import annotations

import importlib
import re

import pytest

from public_names import documentation, home_of, kind_of, public_names

NAMES = public_names()


def test_every_public_name_is_documented():
    undocumented = [f"{module}.{name}" for module, names in NAMES.items() for name in names]
    total = len(undocumented)
    undocumented = [path for path in undocumented if not documentation(*path.rsplit(".", 1)).strip()]
    assert total > 400  # the reader works
    assert not undocumented


def test_a_name_that_several_packages_export_is_described_once():
    assert home_of("manipapy_core", "Chain", NAMES) == home_of("manipapy_core.model", "Chain", NAMES)
    assert home_of("manipapy_core", "InputError", NAMES) == "manipapy_core.errors"
    assert kind_of("manipapy_core", "dynamics") == "module"


def test_every_page_is_in_a_table_of_contents(project):
    pages = {str(path.relative_to(project / "docs"))[:-3] for path in (project / "docs").rglob("*.md")}
    pages = {page for page in pages if not page.startswith("api/")} - {"index"}
    listed = set()
    for index, folder in (("index.md", ""), ("nodes/index.md", "nodes/")):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", (project / "docs" / index).read_text(), re.DOTALL):
            listed |= {folder + line for line in block.splitlines() if line and not line.startswith(":")}
    assert pages == listed - {"api/index"}


def test_every_node_has_a_page(project):
    executables = {path.name for path in (project / "manipapy_ros/executables").iterdir()}
    pages = {path.stem for path in (project / "docs/nodes").glob("*.md")}
    assert pages == executables | {"index"}


def test_parameters_of_the_pages_are_those_of_the_nodes(project):
    """Cure: python scripts/describe_nodes.py. The topics are compared in test/ros/test_node_pages.py."""
    pytest.importorskip("rclpy")
    from describe_nodes import NODES, parameter_rows

    differing = []
    for name in NODES:
        table = importlib.import_module(f"manipapy_ros.{name}.node").PARAMETERS
        page = (project / f"docs/nodes/{name}.md").read_text(encoding="utf-8")
        if page.partition("## Parameters\n\n")[2] != "\n".join(parameter_rows(table)) + "\n":
            differing.append(name)
    assert not differing
