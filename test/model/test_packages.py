"""Packages are found without being told: beside the description, in the environment, in given folders; nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from manipapy_core.errors import MeshNotFound
from manipapy_core.geometry import RobotBody
from manipapy_core.model import MeshGeometry, Robot
from manipapy_core.model.packages import PackageSearch
from model.small_arm import arm, visual

URI = "package://my_arm/meshes/hand.stl"


@pytest.fixture(autouse=True)
def no_ros(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)


def package(folder: Path, name: str = "") -> Path:
    """A package with one mesh; with a package.xml when it is given a name."""
    (folder / "meshes").mkdir(parents=True)
    (folder / "meshes" / "hand.stl").write_text("solid")
    if name:
        (folder / "package.xml").write_text(f"<package><name>{name}</name></package>")
    return folder


def describe(path: Path, uri: str = URI) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(arm(hand=visual(f'<mesh filename="{uri}"/>')))
    return path


def mesh_of(robot: Robot) -> str:
    geometry = robot.links["hand"].visuals[0].geometry
    assert isinstance(geometry, MeshGeometry)
    return geometry.filename


LAYOUTS = {
    "inside the folder of that name": ("ws/my_arm", "", "ws/my_arm/urdf/arm.urdf"),
    "deep inside it": ("ws/my_arm", "", "ws/my_arm/robots/left/urdf/arm.urdf"),
    "beside it": ("ws/my_arm", "", "ws/my_config/urdf/arm.urdf"),
    "another folder whose package.xml says so": ("ws/checkout", "my_arm", "ws/checkout/urdf/arm.urdf"),
    "a package.xml beside": ("ws/checkout", "my_arm", "ws/my_config/urdf/arm.urdf"),
    "a package of another repository": ("ws/other_repo/checkout", "my_arm", "ws/repo/my_config/urdf/arm.urdf"),
}


@pytest.mark.parametrize("case", LAYOUTS)
def test_package_is_found_by_walking_up(case: str, tmp_path: Path) -> None:
    folder, name, description = LAYOUTS[case]
    mesh = package(tmp_path / folder, name) / "meshes" / "hand.stl"
    robot = Robot.from_urdf(describe(tmp_path / description))
    assert mesh_of(robot) == str(mesh)
    assert robot.warnings == ()


def test_renamed_package_is_taken_by_its_layout_and_said(tmp_path: Path) -> None:
    mesh = package(tmp_path / "copy") / "meshes" / "hand.stl"
    robot = Robot.from_urdf(describe(tmp_path / "copy" / "urdf" / "arm.urdf"))
    assert mesh_of(robot) == str(mesh)
    assert "package 'my_arm' was not found, its files were taken from" in robot.warnings[0]


def test_ros_package_path_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = package(tmp_path / "ros" / "stack" / "my_arm", "my_arm") / "meshes" / "hand.stl"
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ros"))
    assert mesh_of(Robot.from_urdf(describe(tmp_path / "a" / "b" / "arm.urdf").read_text())) == str(mesh)


def test_given_folder_wins_over_the_one_beside(tmp_path: Path) -> None:
    package(tmp_path / "ws" / "my_arm")
    given = package(tmp_path / "given" / "my_arm")
    robot = Robot.from_urdf(describe(tmp_path / "ws" / "my_arm" / "arm.urdf"), package_paths=[given])
    assert mesh_of(robot) == str(given / "meshes" / "hand.stl")


@pytest.mark.parametrize("uri", ["../meshes/hand.stl", "file://{tree}/meshes/hand.stl", "{tree}/meshes/hand.stl"])
def test_paths_inside_the_own_tree_work(uri: str, tmp_path: Path) -> None:
    tree = package(tmp_path / "my_arm")
    robot = Robot.from_urdf(describe(tree / "urdf" / "arm.urdf", uri.format(tree=tree)))
    assert mesh_of(robot) == str(tree / "meshes" / "hand.stl")


@pytest.mark.parametrize("uri", ["../../secret.stl", "file:///etc/passwd", "package://my_arm/../secret.stl"])
def test_files_outside_are_refused(uri: str, tmp_path: Path) -> None:
    tree = package(tmp_path / "my_arm")
    (tmp_path / "secret.stl").write_text("solid")
    robot = Robot.from_urdf(describe(tree / "urdf" / "arm.urdf", uri))
    assert mesh_of(robot) == ""
    assert "outside the folder of the description" in robot.warnings[0]


def test_home_is_not_searched_for_folders_that_are_no_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    package(tmp_path / "Documents")
    package(tmp_path / "my_arm", "my_arm")
    search = PackageSearch(str(describe(tmp_path / "project" / "arm.urdf")))
    assert search.packages("Documents") == []
    assert [folder.path for folder in search.packages("my_arm")] == [str(tmp_path / "my_arm")]
    assert PackageSearch(str(tmp_path)).packages("etc") == []


def test_missing_mesh_is_an_error_only_for_collision_checks() -> None:
    shape = '<collision><geometry><mesh filename="package://nowhere/hand.stl"/></geometry></collision>'
    robot = Robot.from_urdf(arm(hand=shape))
    assert robot.chain("base", "hand").n == 1
    assert "kinematics and dynamics do without it" in robot.warnings[0]
    with pytest.raises(MeshNotFound, match=r"package://nowhere/hand\.stl.*pass package_paths"):
        RobotBody.build(robot, robot.chain("base", "hand"))
