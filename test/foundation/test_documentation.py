"""README and docs: the README's programs run, every import and link in the pages leads somewhere."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/nodes/*.md")])
RUN = (
    "README.md",
    "docs/coming_from.md",
    "docs/first_hour.md",
    "docs/recordings.md",
    "docs/tuning.md",
    "docs/viewer.md",
)
"""Pages whose programs run, one after the other, as a reader would type them."""
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")
OPTIONAL = {"cupy"}
"""Packages that pages show and that are not installed for the tests."""


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text())


@pytest.mark.parametrize("page", RUN)
def test_programs_of_a_page_run(page, tmp_path):
    program = "\n".join(blocks(ROOT / page))
    assert "from manipapy_core" in program
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_imports_of_a_page_exist(page):
    for block in blocks(page):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom):
                module = importlib.import_module(node.module)
                for alias in node.names:
                    if not hasattr(module, alias.name):
                        importlib.import_module(f"{node.module}.{alias.name}")
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    assert alias.name in OPTIONAL or importlib.import_module(alias.name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_of_the_library_in_a_page_exist(page):
    """`module.name` in code, where the module was imported from manipapy_core."""
    for block in blocks(page):
        tree = ast.parse(block)
        modules = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("manipapy_core"):
                for alias in node.names:
                    try:
                        modules[alias.asname or alias.name] = importlib.import_module(f"{node.module}.{alias.name}")
                    except ModuleNotFoundError:
                        continue  # a class or a function
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                assert hasattr(modules[node.value.id], node.attr), f"{node.value.id}.{node.attr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_to_files(page):
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_named_in_a_page_exist(page):
    """Paths such as `test/ros/conftest.py` or `manipapy_core/jit.py`; the changelog names former ones."""
    if page.name == "CHANGELOG.md":
        return
    named = re.findall(
        r"`((?:test|scripts|benchmarks|examples|manipapy_core|manipapy_ros)/[\w/]+\.\w+)`", page.read_text()
    )
    assert not [path for path in named if not (ROOT / path).exists()]
