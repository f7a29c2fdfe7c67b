"""What `pip install .` puts where, and that it runs from there."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foundation.tree import project_files

ROBOTS = "manipapy_core/model/robots"


@pytest.fixture(scope="module")
def installed(project, tmp_path_factory) -> Path:
    """Prefix of an environment with manipapy installed by pip, the rest borrowed from this environment."""
    work = tmp_path_factory.mktemp("install")
    # A copy, because setuptools builds inside the source tree.
    source = work / "source"
    for path in project_files(project):
        target = source / path.relative_to(project)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    prefix = work / "environment"
    run([sys.executable, "-m", "venv", "--without-pip", prefix])
    packages = next(prefix.glob("lib/python*/site-packages"))
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()))
    pip = [sys.executable, "-m", "pip", "--python", prefix / "bin/python", "install", "-q"]
    run([*pip, "--no-deps", "--no-build-isolation", "--no-index", source])
    return prefix


def run(command, **options) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_ros_finds_package_launch_files_and_parameters(installed, project):
    assert (installed / "share/ament_index/resource_index/packages/manipapy").is_file()
    share = installed / "share/manipapy"
    assert (share / "package.xml").is_file()
    for folder in ("launch", "config"):
        wanted = {path.relative_to(project) for path in project_files(project / folder)}
        assert wanted and wanted == {path.relative_to(share) for path in project_files(share / folder)}


def test_executables_are_where_ros2_run_looks(installed, project):
    wanted = {path.name for path in (project / "manipapy_ros/executables").iterdir()}
    found = {path.name for path in (installed / "lib/manipapy").iterdir() if os.access(path, os.X_OK)}
    assert found == wanted


def test_robots_come_along(installed, project):
    packages = next(installed.glob("lib/python*/site-packages"))
    wanted = {path.name for path in (project / ROBOTS).iterdir() if path.is_file()}
    assert wanted == {path.name for path in (packages / ROBOTS).iterdir() if path.is_file()}


def test_command_line_describes_a_robot(installed, tmp_path):
    text = run([installed / "bin/manipapy", "describe", "ur5", "--tip", "tool0"], cwd=tmp_path)
    assert "wrist_3_joint" in text
    code = "import manipapy_core; print(manipapy_core.__file__)"
    origin = run([installed / "bin/python", "-c", code], cwd=tmp_path).strip()
    assert Path(origin).is_relative_to(installed), "the copy under test is not the one that ran"


def test_command_line_answers_a_mistake_with_a_sentence(installed, tmp_path):
    command = [installed / "bin/manipapy", "describe", "no_such_robot"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "no_such_robot" in done.stderr and "ur5" in done.stderr and "Traceback" not in done.stderr


def test_doctor_finds_no_problem_here(installed, tmp_path):
    assert "llvmlite" in run([installed / "bin/manipapy", "doctor"], cwd=tmp_path)


@pytest.mark.slow
def test_make_setup_from_nothing_and_again(project, tmp_path):
    environment = {**os.environ, "VENV": str(tmp_path / "venv")}
    run(["make", "setup"], cwd=project, env=environment)
    executable = tmp_path / "venv/lib/manipapy/model_server"
    assert os.access(executable, os.X_OK)
    run([tmp_path / "venv/bin/python", "-c", "import rclpy, manipapy_msgs.srv, manipapy_core, pinocchio"], cwd=tmp_path)
    started = time.monotonic()
    run(["make", "setup"], cwd=project, env=environment)
    assert time.monotonic() - started < 10.0


@pytest.mark.slow
def test_colcon_installs_the_same_executables(project, tmp_path):
    venv = tmp_path / "venv"
    run([sys.executable, "-m", "venv", venv])
    # setuptools 80 dropped the commands that colcon uses.
    run([venv / "bin/pip", "install", "-q", "colcon-common-extensions", "setuptools<80"])
    run(
        [venv / "bin/colcon", "build", "--base-paths", project, "--packages-select", "manipapy"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{venv}/bin:{os.environ['PATH']}"},
    )
    prefix = tmp_path / "install/manipapy"
    wanted = {path.name for path in (project / "manipapy_ros/executables").iterdir()}
    assert wanted == {path.name for path in (prefix / "lib/manipapy").iterdir() if os.access(path, os.X_OK)}
    assert os.access(prefix / "bin/manipapy", os.X_OK)
    assert (prefix / "share/manipapy/launch/model.launch.py").is_file()
