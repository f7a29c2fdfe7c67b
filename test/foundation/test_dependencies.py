"""docs/dependencies.md names every dependency of setup.py and package.xml, with the licence of its metadata."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import xml.etree.ElementTree as ElementTree

import pytest

REPLACED = ("cv_bridge", "tf_transformations", "urdf_parser_py", "scikit-learn")
ALIASES = {"opencv-python-headless": "Apache", "xacro": "Redistribution and use in source and binary forms"}
"""Licences whose metadata is a text, not an expression."""


@pytest.fixture(scope="module")
def page(project) -> str:
    return (project / "docs" / "dependencies.md").read_text(encoding="utf-8")


def requirements(project) -> set[str]:
    """Names of all packages that setup.py asks for."""
    tree = ast.parse((project / "setup.py").read_text(encoding="utf-8"))
    lists = [node for node in ast.walk(tree) if isinstance(node, ast.List)]
    texts = [item.value for found in lists for item in found.elts if isinstance(item, ast.Constant)]
    pattern = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(\[[a-z0-9,]+\])?\s*([<>=!~]=?[^;]*)?(;.*)?$")
    files = {"resource/manipapy", "package.xml", "LICENSE"}
    matches = [pattern.match(text) for text in texts if isinstance(text, str) and text not in files]
    names = {match.group(1) for match in matches if match is not None}
    return {name for name in names if not name.startswith("manipapy")} - {"py.typed"}


def test_every_requirement_is_on_the_page(project, page):
    names = requirements(project)
    assert {"numpy", "pybullet", "ros-jazzy-rclpy", "pytest", "types-PyYAML"} <= names  # the reader works
    missing = [name for name in sorted(names) if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", page)]
    assert not missing


def test_every_package_of_ros_is_on_the_page(project, page):
    root = ElementTree.parse(project / "package.xml").getroot()
    names = [element.text for element in root.iter("exec_depend") if not element.text.startswith("python3-")]
    missing = [name for name in names if name not in page and f"ros-{name.replace('_', '-')}" not in page]
    assert names and not missing


def test_versions_and_licences_are_those_of_the_metadata(page):
    """Of the packages with a row of their own; versions may move on, licences may not without a look."""
    rows = re.findall(r"^\| ([\w.-]+)(?: \([^|]*\))? \| ([\w.]+) \| ([^|]+) \|", page, re.MULTILINE)
    checked = 0
    for name, _, licence in rows:
        try:
            metadata = importlib.metadata.metadata(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        stated = [metadata.get("License-Expression") or "", (metadata.get("License") or "")[:200]]
        stated += [text for text in metadata.get_all("Classifier") or [] if text.startswith("License")]
        wanted = ALIASES.get(name, licence.strip().split("-")[0].split(",")[0])
        assert wanted.lower() in " ".join(stated).lower() or not any(stated), (name, licence, stated)
        checked += 1
    assert checked > 15


@pytest.mark.parametrize("name", REPLACED)
def test_replaced_packages_have_a_reason_with_a_figure(page, name):
    row = next(line for line in page.splitlines() if line.startswith(f"| {name} | `"))
    assert re.search(r"\d", row.split("|")[3]) and len(row) > 200
