"""The tree has the layout of the design; what is written twice agrees."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest
from packaging.requirements import Requirement

from foundation.tree import project_files
from manipapy_core.cli import doctor

FOLDERS = [
    *("manipapy_core", "manipapy_ros", "manipapy_msgs", "launch", "config"),
    *("test", "examples", "notebooks", "benchmarks", "docs"),
]
FILES = [
    *("package.xml", "setup.py", "setup.cfg", "Makefile", ".ci/run", ".pre-commit-config.yaml"),
    *(
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE",
        "CITATION.cff",
        "QUALITY_DECLARATION.md",
        "docs/architecture.md",
        "docs/glossary.md",
    ),
]

EXTRAS = {"ros", "sim", "ik", "perception", "planning", "collision", "capability"}
EXTRAS |= {"viewer", "gpu", "plots", "recording", "docs", "notebooks", "mjcf", "big", "torch", "jax", "test", "all"}

# Written so that this file does not match itself.
MACHINE_SPECIFIC = re.compile(
    r"/w[o]rk/|/f[a]rm/|/r[o]ot/|/h[o]me/[a-z]|/t[m]p/[a-z]|p[y]pi[.]o[r]g|d[e]b[.]d[e]bian[.]o[r]g|r[e]gistry[.]n[p]mjs"
)


@pytest.fixture(scope="module")
def distribution(project):
    """What setup.py declares, read the way colcon reads it."""
    from distutils.core import run_setup

    import setuptools  # noqa: F401  (first, because it brings distutils to Pythons that no longer have it)

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        return run_setup("setup.py", stop_after="init")


def test_top_level_of_the_design(project):
    assert [name for name in FOLDERS if not (project / name).is_dir()] == []
    assert [name for name in FILES if not (project / name).is_file()] == []


def test_continuous_integration_runs_tests_and_lint(project):
    script = project / ".ci/run"
    assert script.stat().st_mode & 0o111
    commands = script.read_text().splitlines()
    assert {"make test", "make lint", "make docs"} <= set(commands)


def test_no_machine_specific_path_or_host(project):
    offenders = []
    for path in project_files(project):
        text = path.read_bytes().decode(errors="replace")
        offenders += [f"{path.relative_to(project)}: {match.group()}" for match in MACHINE_SPECIFIC.finditer(text)]
    assert not offenders


def test_no_python_file_holds_two_ideas(project):
    length = {path: len(path.read_text().splitlines()) for path in project_files(project) if path.suffix == ".py"}
    assert not [f"{path.relative_to(project)} ({lines})" for path, lines in length.items() if lines > 400]


def test_extras_are_complete_and_parse(distribution):
    extras = distribution.extras_require
    assert set(extras) == EXTRAS
    for requirements in extras.values():
        for requirement in requirements:
            Requirement(requirement)
    assert set(extras["all"]) == {
        line for name in EXTRAS - {"all", "docs", "notebooks", "torch", "jax"} for line in extras[name]
    }


def test_core_needs_only_light_packages(distribution):
    names = {Requirement(line).name for line in distribution.install_requires}
    assert names == {"llvmlite", "numba", "numpy", "pyyaml", "rich", "typer"}


def test_doctor_knows_every_extra(distribution):
    assert set(doctor.EXTRA_PURPOSES) == set(distribution.extras_require) - {"all"}


def test_both_ros_packages_and_pip_agree_on_version_and_licence(project, distribution):
    version, licence = distribution.metadata.version, "Apache-2.0"
    assert distribution.metadata.license == licence
    for manifest in (project / "package.xml", project / "manipapy_msgs/package.xml"):
        package = ElementTree.parse(manifest).getroot()
        assert (package.findtext("version"), package.findtext("license")) == (version, licence)
    assert f'version = "{version}"' in (project / "manipapy_msgs/pyproject.toml").read_text()


def test_interfaces_are_all_built(project):
    folder = project / "manipapy_msgs"
    listed = set(re.findall(r'"((?:msg|srv|action)/\w+\.\w+)"', (folder / "CMakeLists.txt").read_text()))
    present = {str(path.relative_to(folder)) for kind in ("msg", "srv", "action") for path in folder.glob(f"{kind}/*")}
    assert listed == present


def test_every_executable_has_a_node(project):
    executables = sorted((project / "manipapy_ros/executables").iterdir())
    assert executables
    for executable in executables:
        assert executable.stat().st_mode & 0o111
        assert (project / f"manipapy_ros/{executable.name}/node.py").is_file()
