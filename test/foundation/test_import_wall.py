"""Which subpackage may import which, that none import each other in a cycle, and what an import must not load."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import manipapy_core
from import_graph import SourceTree, cycles, imports_of

MAY_IMPORT = {
    "errors": set(),
    "requirements": set(),
    "typing": set(),
    "compile_notice": set(),
    "jit": {"compile_notice"},
    "lie": {"errors", "typing"},
    "model": {"lie"},
    "checks": {"model"},
    "compiler": {"checks"},
    "kinematics": {"compiler"},
    "dynamics": {"compiler"},
    "singularity": {"compiler"},
    "autodiff": {"kinematics", "dynamics"},
    "trajectory": {"dynamics"},
    "ik": {"kinematics", "singularity", "trajectory"},
    "geometry": {"kinematics"},
    "motion": {"ik", "geometry", "trajectory"},
    "control": {"trajectory", "kinematics"},
    "perception": {"geometry"},
    "calibration": {"perception", "motion"},
    "polytopes": {"geometry", "dynamics"},
    "reachability": {"ik", "geometry", "singularity"},
    "servoing": {"polytopes"},
    "sim": {"dynamics", "kinematics"},
    "recording": set(),
    "draw": {"ik", "polytopes", "reachability", "recording"},
}
"""Subpackages and the subpackages just below them; what those may import is allowed as well."""

MAY_IMPORT_ALL = {"__init__", "cli", "compat"}
"""Entry points. No subpackage imports `cli` or `compat`."""

ROS_PACKAGES = {"rclpy", "manipapy_ros", "manipapy_msgs", "launch", "launch_ros", "ament_index_python"}

HEAVY = ["rclpy", "pybullet", "mujoco", "cv2", "sklearn", "matplotlib", "cupy", "coal", "viser"]
HEAVY += ["llvmlite", "numba", "yaml", "scipy", "typer"]


def subpackages_below(subpackage: str) -> set[str]:
    """Everything a subpackage may import."""
    below = {"errors", "typing", "compile_notice", "jit", subpackage}
    for neighbour in MAY_IMPORT[subpackage]:
        below |= subpackages_below(neighbour)
    return below


def subpackage_of(file: Path, core: Path) -> str:
    first = file.relative_to(core).parts[0]
    return first.removesuffix(".py")


def core_imports(project: Path):
    core = project / "manipapy_core"
    for file in sorted(core.rglob("*.py")):
        for statement in imports_of(file, project):
            yield subpackage_of(file, core), statement


def test_subpackages_import_only_what_the_design_allows(project):
    """At the top of a file, inside a function or by name: a late import hides no edge."""
    core = project / "manipapy_core"
    known = {subpackage_of(path, core) for path in [*core.glob("*.py"), *core.glob("*/__init__.py")]}
    assert known <= MAY_IMPORT.keys() | MAY_IMPORT_ALL, "a new subpackage needs a row in MAY_IMPORT"
    wrong = []
    for subpackage, statement in core_imports(project):
        parts = statement.module.split(".")
        if parts[0] != "manipapy_core" or subpackage in MAY_IMPORT_ALL or statement.for_types:
            continue
        target = parts[1] if len(parts) > 1 else "__init__"
        if target in subpackages_below(subpackage):
            continue
        wrong.append(f"{statement.file.relative_to(project)}:{statement.line} imports {statement.module}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", ["manipapy_core", "manipapy_ros"])
def test_no_subpackages_import_each_other_in_a_cycle(project, package):
    assert cycles(SourceTree(project, [package]).subpackages()) == []


def test_the_table_of_subpackages_has_no_cycle():
    assert cycles(MAY_IMPORT) == []


def test_entry_points_are_imported_by_no_subpackage(project):
    doors = ("manipapy_core.cli", "manipapy_core.compat")
    users = [
        s.file
        for _, s in core_imports(project)
        if s.module.startswith(doors) and not {"cli", "compat"} & {parent.name for parent in s.file.parents[:2]}
    ]
    assert not users


def test_core_never_imports_ros(project):
    users = [s.file for _, s in core_imports(project) if s.module.split(".")[0] in ROS_PACKAGES]
    assert not users


def test_only_sim_imports_pybullet(project):
    users = {subpackage for subpackage, s in core_imports(project) if s.module.split(".")[0].startswith("pybullet")}
    assert users <= {"sim"}


def test_importing_the_library_loads_nothing_heavy():
    code = f"import json, sys, manipapy_core\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def test_the_command_line_starts_without_ros_or_compiler():
    code = (
        "import json, sys, manipapy_core.cli\n"
        "print(json.dumps([name for name in ['rclpy', 'llvmlite', 'scipy', 'matplotlib'] if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


def core_modules() -> list[str]:
    found = pkgutil.walk_packages(manipapy_core.__path__, "manipapy_core.")
    return ["manipapy_core", *(module.name for module in found)]


@pytest.mark.parametrize("name", core_modules())
def test_every_public_name_can_be_imported(name):
    module = importlib.import_module(name)
    missing = [public for public in getattr(module, "__all__", ()) if not hasattr(module, public)]
    assert not missing
