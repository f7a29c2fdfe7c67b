"""A robot comes from a bundled name, a path, a xacro file with arguments, or a text."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path

import pytest

from manipapy_core.errors import InputError, ModelError
from manipapy_core.model import Robot, bundled_robots
from model.small_arm import LIMIT, arm, only_problem_of, problems_of

XACRO = f"""<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="prefix" default="left_"/>
  <xacro:arg name="reach" default="0.5"/>
  <xacro:property name="half" value="${{$(arg reach) / 2}}"/>
  <link name="$(arg prefix)base"/>
  <link name="$(arg prefix)hand"/>
  <joint name="$(arg prefix)wrist" type="revolute">
    <parent link="$(arg prefix)base"/><child link="$(arg prefix)hand"/>
    <origin xyz="${{half}} 0 0"/>{LIMIT}
  </joint>
</robot>"""


@pytest.mark.parametrize("name", bundled_robots())
def test_bundled_robot_loads_clean_with_its_motion_limits(name: str) -> None:
    robot = Robot.from_urdf(name)
    assert robot.warnings == ()
    assert robot.free_joints
    assert any(math.isfinite(limits.acceleration) for limits in robot.motion_limits.values())


def test_bundled_robots_are_listed() -> None:
    assert {"panda", "ur5"} <= set(bundled_robots())


def test_unknown_name_lists_the_bundled_robots() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        Robot.from_urdf("ur55")
    assert isinstance(caught.value, ModelError)
    assert "ur55: 1 problem" in str(caught.value)
    assert f"choose a bundled robot: {', '.join(bundled_robots())}" in str(caught.value)


def test_bundled_robot_takes_no_xacro_arguments() -> None:
    with pytest.raises(InputError, match="takes no xacro_args; leave them out"):
        Robot.from_urdf("ur5", xacro_args={"prefix": "left_"})


def test_a_folder_does_not_hide_the_bundled_robot_of_its_name(tmp_path, monkeypatch) -> None:
    (tmp_path / "ur5").mkdir()
    (tmp_path / "ur5/notes.txt").write_text("measurements with the UR5")
    monkeypatch.chdir(tmp_path)
    assert Robot.from_urdf("ur5").name == "ur5"
    with pytest.raises(ModelError, match="is a folder without a robot"):
        Robot.from_urdf("./ur5")


def test_path_may_be_text_or_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(arm())
    monkeypatch.chdir(tmp_path)
    for source in (path, str(path), "arm.urdf", Path("arm.urdf")):
        assert Robot.from_urdf(source).name == "arm"


def test_bundled_name_wins_over_a_file_but_a_path_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ur5").write_text(arm())
    monkeypatch.chdir(tmp_path)
    assert Robot.from_urdf("ur5").name == "ur5"
    assert Robot.from_urdf("./ur5").name == "arm"
    assert Robot.from_urdf(Path("ur5")).name == "arm"


@pytest.mark.parametrize("source", ["missing.urdf", "no/such/folder/arm.xacro"])
def test_missing_file_is_also_a_file_not_found_error(source: str) -> None:
    with pytest.raises(FileNotFoundError, match="no such file"):
        Robot.from_urdf(source)


def test_folder_and_pipe_are_refused(tmp_path: Path) -> None:
    assert only_problem_of(tmp_path).startswith("is a folder without a robot; give the .urdf")
    pipe = tmp_path / "pipe.urdf"
    os.mkfifo(pipe)
    assert only_problem_of(pipe) == "is not a regular file; give the .urdf or .xacro file itself"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file, whatever its permissions")
def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(arm())
    path.chmod(0)
    assert only_problem_of(path) == "cannot be read: Permission denied; check the permissions of the file"


def test_impossible_path_is_refused() -> None:
    assert "is not a usable path" in only_problem_of("x" * 10_000)


@pytest.mark.parametrize("source", [None, 3, b"<robot/>", "", "  \n"])
def test_anything_else_is_refused(source: object) -> None:
    with pytest.raises(InputError, match="give a bundled name, a path, or an XML text"):
        Robot.from_urdf(source)


def test_xacro_file_with_defaults_and_with_arguments(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(XACRO)
    plain = Robot.from_urdf(path)
    assert list(plain.joints) == ["left_wrist"]
    assert plain.joints["left_wrist"].T_parent_child[0, 3] == 0.25
    other = Robot.from_urdf(path, xacro_args={"prefix": "right_", "reach": "3"})
    assert other.joints["right_wrist"].T_parent_child[0, 3] == 1.5
    assert "right_wrist" in other.urdf
    assert "xacro:arg" not in other.urdf


def test_xacro_includes_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "part.xacro").write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="extra"/></robot>'
    )
    path = tmp_path / "arm.xacro"
    path.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include filename="part.xacro"/></robot>'
    )
    assert list(Robot.from_urdf(path).links) == ["extra"]


def test_xacro_text_is_expanded_only_when_the_user_says_so_but_a_file_always(tmp_path: Path) -> None:
    assert list(Robot.from_urdf(XACRO, xacro_args={}).joints) == ["left_wrist"]
    problem = problems_of(XACRO)[0]
    assert problem.startswith("text:3: <xacro:arg>: was not expanded, ignored; pass xacro_args={}")
    path = tmp_path / "arm.urdf"
    path.write_text(XACRO)
    assert list(Robot.from_urdf(path).joints) == ["left_wrist"]
    assert list(Robot.from_urdf(path, xacro_args={"prefix": ""}).joints) == ["wrist"]


def test_expanded_description_that_still_names_the_namespace_needs_no_xacro() -> None:
    text = arm().replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ')
    assert Robot.from_urdf(text).name == "arm"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<link name="$(arg missing)"/>', "missing"),
        ('<link name="${1 / 0}"/>', "division by zero"),
        ('<link name="${unknown}"/>', "unknown"),
        ('<xacro:include filename="missing.xacro"/>', "missing.xacro"),
    ],
)
def test_xacro_errors_become_model_errors(tmp_path: Path, body: str, words: str, capfd) -> None:
    path = tmp_path / "arm.xacro"
    path.write_text(f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{body}</robot>')
    problem = only_problem_of(path)
    assert problem.startswith("arm.xacro:1: <")
    assert words in problem
    assert capfd.readouterr() == ("", "")


def test_problems_of_an_expanded_file_say_so(tmp_path: Path) -> None:
    path = tmp_path / "arm.xacro"
    path.write_text(XACRO.replace(LIMIT, ""))
    assert only_problem_of(path).startswith("arm.xacro (expanded by xacro):")


@pytest.mark.parametrize("arguments", [{"prefix": None}, {3: "x"}, {"": "x"}])
def test_unusable_xacro_arguments_are_refused(arguments: dict) -> None:
    with pytest.raises(InputError, match="give names and values as text"):
        Robot.from_urdf(XACRO, xacro_args=arguments)


def test_threads_may_expand_different_arguments_at_once(tmp_path: Path) -> None:
    path = tmp_path / "arm.xacro"
    path.write_text(XACRO)
    names: dict[str, list[str]] = {}

    def load(prefix: str) -> None:
        names[prefix] = list(Robot.from_urdf(path, xacro_args={"prefix": prefix}).links)

    threads = [threading.Thread(target=load, args=(prefix,)) for prefix in ("a_", "b_", "c_")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == {prefix: [f"{prefix}base", f"{prefix}hand"] for prefix in ("a_", "b_", "c_")}
