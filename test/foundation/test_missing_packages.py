"""Every MissingPackage names an extra of setup.py that installs the package. Nothing is installed here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from manipapy_core.compat import features
from manipapy_core.errors import MissingPackage
from manipapy_core.motion.timing.time_laws import TimeLaw

PACKAGES_BY_NAME = {"law.value": [law.value for law in TimeLaw if law is not TimeLaw.OPTIMAL]}
"""Packages of calls that take the name from a variable."""


def extras(project: Path) -> dict[str, set[str]]:
    """Names of the packages that each extra of setup.py installs."""
    tree = ast.parse((project / "setup.py").read_text(encoding="utf-8"))
    assigned = [node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)]
    (table,) = [node.value for node in assigned if ast.unparse(node.targets[0]) == "EXTRAS"]
    found = {}
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(value, ast.List):
            found[ast.literal_eval(key)] = {package_of(requirement) for requirement in ast.literal_eval(value)}
    return found


def package_of(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement).group()


def calls(project: Path) -> Iterator[tuple[str, list[ast.expr]]]:
    for folder in ("manipapy_core", "manipapy_ros"):
        for path in sorted((project / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("MissingPackage"):
                    yield f"{path.relative_to(project)}:{node.lineno}", node.args


def test_each_names_an_extra_that_installs_the_package(project):
    table, seen = extras(project), 0
    assert {"collision", "planning", "perception"} <= table.keys()
    for where, (package, _, extra) in calls(project):
        seen += 1
        if not isinstance(extra, ast.Constant):
            assert where.startswith("manipapy_core/compat/features.py")  # its table is checked below
            continue
        literal = isinstance(package, ast.Constant)
        packages = [package.value] if literal else PACKAGES_BY_NAME[ast.unparse(package)]
        for name in packages:
            assert name in table[ast.literal_eval(extra)], f"{where}: {name} is not in {ast.unparse(extra)}"
    assert seen >= 10


def test_features_of_compat_name_extras_that_install_their_packages(project):
    table, installed_as = extras(project), {"cv2": "opencv-python-headless", "cupy": "cupy-cuda13x"}
    for feature, extra in features.EXTRAS.items():
        for package in features.PACKAGES[feature]:
            assert installed_as.get(package, package) in table[extra], feature


def test_no_other_error_stands_for_a_missing_package(project):
    for path in (project / "manipapy_core").rglob("*.py"):
        assert "raise ImportError(" not in path.read_text(encoding="utf-8"), path


def test_the_message_gives_package_purpose_and_cure():
    with pytest.raises(ImportError, match=r"a hull needs the package 'scipy'; pip install 'manipapy\[collision\]'"):
        raise MissingPackage("scipy", "a hull", "collision")
