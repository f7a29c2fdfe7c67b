"""`manipapy new-robot`: from a file to a folder that is the robot, and a motion that touched nothing."""

from __future__ import annotations

import ast
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
import typer
import yaml
from typer.testing import CliRunner

from manipapy_core import dynamics
from manipapy_core.cli.first_motion import NoMotion, plan_first_motion, simulate
from manipapy_core.cli.new_robot import new_robot
from manipapy_core.cli.robot_setup import package_name
from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.geometry import Checker, RobotBody
from manipapy_core.model import Robot, RobotFolder, arm_chain
from manipapy_core.motion.home import find_home, floor_world

BOX = """<inertial><origin xyz="0 0 0.1"/><mass value="1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 0.1"/><geometry>{shape}</geometry></collision>"""
CUBE = """solid cube
{}
endsolid cube
"""


def write_cube(path: Path, half: float) -> None:
    """An ASCII STL file of a cube."""
    corners = np.array([[x, y, z] for x in (-half, half) for y in (-half, half) for z in (-half, half)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [triple for a, b, c, d in quads for triple in ((a, b, c), (a, c, d))]
    loops = [
        "facet normal 0 0 0\nouter loop\n"
        + "\n".join("vertex {:g} {:g} {:g}".format(*corners[i]) for i in triple)
        + "\nendloop\nendfacet"
        for triple in triangles
    ]
    path.write_text(CUBE.format("\n".join(loops)))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lift with an arm of five joints, two fingers, an effort limit of 0 and a mesh beside the file."""
    folder = tmp_path_factory.mktemp("maker")
    write_cube(folder / "wrist.stl", 0.04)
    bar = BOX.format(shape='<box size="0.06 0.06 0.14"/>')
    links = [f'<link name="{name}">{bar}</link>' for name in ("lift", "a", "b", "c", "d")]
    links.append(
        f'<link name="e">{BOX.format(shape="<mesh filename=" + chr(34) + "wrist.stl" + chr(34) + "/>")}</link>'
    )
    joints = ""
    parents = ["lift", "a", "b", "c", "d"]
    for number, (parent, child, axis) in enumerate(
        zip(parents, "abcde", ("0 0 1", "0 1 0", "0 1 0", "0 1 0", "0 0 1"))
    ):
        joints += f"""<joint name="turn_{number}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
          <origin xyz="0 0 0.2"/><axis xyz="{axis}"/><limit lower="-2.5" upper="2.5" effort="{0 if number == 4 else 60}"
          velocity="1.5"/></joint>"""
    for side, sign in (("left", 1), ("right", -1)):
        box = '<collision><geometry><box size="0.01 0.01 0.05"/></geometry></collision>'
        links.append(f'<link name="{side}_finger">{box}</link>')
        joints += f"""<joint name="{side}_finger_joint" type="prismatic"><parent link="e"/><child link="{side}_finger"/>
          <origin xyz="{0.03 * sign} 0 0.2"/><axis xyz="{sign} 0 0"/>
          <limit lower="0" upper="0.03" effort="5" velocity="1"/>
          {'<mimic joint="left_finger_joint"/>' if side == "right" else ""}</joint>"""
    text = f"""<robot name="Lifted Arm-5"><link name="ground"/>{"".join(links)}<link name="head"/><link name="eye"/>
      <joint name="lift_joint" type="prismatic"><parent link="ground"/><child link="lift"/><axis xyz="0 0 1"/>
        <limit lower="0.1" upper="0.5" effort="500" velocity="0.2"/></joint>
      <joint name="pan" type="continuous"><parent link="lift"/><child link="head"/><origin xyz="-0.3 0 0"/></joint>
      <joint name="tilt" type="continuous"><parent link="head"/><child link="eye"/></joint>{joints}</robot>"""
    path = folder / "arm.urdf"
    path.write_text(text)
    return path


def run(*words: str) -> str:
    app = typer.Typer()
    app.command()(new_robot)
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def made(file: Path) -> tuple[RobotFolder, str]:
    path = file.parent / "lifted_arm_5"
    output = run(str(file), "--output", str(path), "--lock", "lift_joint:=0.25")
    folder = RobotFolder.at(path)
    assert folder is not None
    return folder, output


def test_motion_is_planned_and_simulated_without_contact(made: tuple[RobotFolder, str]) -> None:
    output = made[1]
    assert re.search(r"plan +[\d.]+ s from home", output)
    assert "goal reached" in output and re.search(r"0 of \d+ states collide, 0 links in contact", output)


def test_everything_that_is_assumed_is_printed(made: tuple[RobotFolder, str]) -> None:
    output = made[1]
    assert re.search(r"effort \[N m\]: .*turn_4 ", output) and re.search(r"mass \[kg\]: .*left_finger ", output)
    assert re.search(r"acceleration \[.*rad/s².*\]: .*turn_0 ", output)
    assert "held still: lift_joint at 0.25" in output


def test_folder_is_the_robot(made: tuple[RobotFolder, str], file: Path) -> None:
    folder, _ = made
    robot, source = Robot.from_urdf(folder.path).completed(), Robot.from_urdf(file).completed()
    assert folder.name == package_name("Lifted Arm-5") == "lifted_arm_5"
    assert robot.joints.keys() == source.joints.keys()
    for name, joint in source.joints.items():
        mine = robot.joints[name]
        assert (mine.velocity, mine.effort, mine.lower, mine.upper) == pytest.approx(
            (joint.velocity, joint.effort, joint.lower, joint.upper)
        )
        if joint.type.moves:
            assert robot.motion_limits[name] == source.motion_limits[name]
        assert set(robot.assumed_of(name)) == set(source.assumed_of(name))
    # Nothing refers to where the file was.
    assert str(file.parent) not in folder.description.read_text()
    mesh = next(iter(robot.links["e"].collisions)).geometry
    assert mesh.filename.startswith(str(folder.path / "meshes"))


def test_parameters_select_the_arm_and_a_free_home(made: tuple[RobotFolder, str]) -> None:
    values = made[0].parameters()
    assert (values["base_link"], values["tip_link"]) == ("lift", "e")
    assert "lift_joint:=0.25" in values["locked_joints"].split()
    robot = Robot.from_urdf(made[0].path).completed()
    chain = arm_chain(robot, values["base_link"], values["tip_link"], {"lift_joint": 0.25})
    assert chain.joint_names == tuple(f"turn_{number}" for number in range(5))
    assert not Checker(RobotBody.build(robot, chain)).check(np.array([values["initial_positions"]])).any()


def test_srdf_holds_groups_home_gripper_and_disabled_pairs(made: tuple[RobotFolder, str]) -> None:
    root = ET.parse(made[0].semantic).getroot()
    chain = root.find("group[@name='arm']/chain")
    assert chain is not None and chain.attrib == {"base_link": "lift", "tip_link": "e"}
    gripper = root.find("end_effector")
    assert gripper is not None
    assert gripper.attrib == {"name": "gripper", "parent_link": "e", "group": "gripper", "parent_group": "arm"}
    assert [joint.get("name") for joint in root.findall("group[@name='gripper']/joint")] == ["left_finger_joint"]
    home = [float(joint.get("value", "nan")) for joint in root.findall("group_state[@name='home']/joint")]
    assert home == made[0].parameters()["initial_positions"]
    pairs = {frozenset((p.get("link1"), p.get("link2"))): p.get("reason") for p in root.findall("disable_collisions")}
    assert pairs[frozenset(("a", "b"))] == "Adjacent"
    assert frozenset(("a", "d")) not in pairs and frozenset(("b", "e")) not in pairs


def test_launch_file_and_package_files_are_well_formed(made: tuple[RobotFolder, str]) -> None:
    folder = made[0]
    ast.parse((folder.path / "launch" / "lifted_arm_5.launch.py").read_text())
    assert ET.parse(folder.path / "package.xml").findtext("name") == "lifted_arm_5"
    limits = yaml.safe_load((folder.path / "config" / "joint_limits.yaml").read_text())["joint_limits"]
    assert limits["turn_4"]["assumed"] == ["effort", "acceleration", "jerk"]
    assert limits["lift_joint"]["max_velocity"] == 0.2


def test_an_existing_folder_is_not_overwritten(made: tuple[RobotFolder, str], file: Path) -> None:
    with pytest.raises(InputError, match="exists already; give --output another folder, or --force"):
        run(str(file), "--output", str(made[0].path))
    with pytest.raises(ManipapyError, match="is a folder without a robot"):
        run(str(file), "--output", str(file.parent), "--force")


def test_missing_collision_mesh_is_named_and_may_be_ignored(file: Path, tmp_path: Path) -> None:
    moved = tmp_path / "arm.urdf"
    moved.write_text(file.read_text())
    with pytest.raises(InputError, match=r"'wrist.stl' of link 'e' is not found; .*--ignore-missing-meshes"):
        run(str(moved), "--output", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    run(str(moved), "--output", str(tmp_path / "out"), "--ignore-missing-meshes", "--no-motion")
    folder = RobotFolder.at(tmp_path / "out")
    assert folder is not None and folder.parameters()["ignore_missing_meshes"] is True


def test_failure_leaves_no_half_written_folder(file: Path, tmp_path: Path) -> None:
    """Joints that hold nothing: every goal is refused after the folder was begun."""
    weak = tmp_path / "arm.urdf"
    weak.write_text(file.read_text().replace('effort="60"', 'effort="1e-6"'))
    with pytest.raises(NoMotion, match="check that the arm can hold itself there"):
        run(str(weak), "--output", str(tmp_path / "out"), "--ignore-missing-meshes")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("word", ["lift_joint", "lift_joint:=high"])
def test_bad_lock_is_refused(file: Path, word: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"--lock is '{word}'; write name:=position"):
        run(str(file), "--output", str(tmp_path / "out"), "--lock", word)


def test_first_motion_of_a_weak_arm_keeps_its_efforts() -> None:
    """A shoulder that cannot hold the stretched arm: home and motion stay where it can."""
    bar = BOX.format(shape='<cylinder radius="0.03" length="0.14"/>')
    links = "".join(f'<link name="{name}">{bar}</link>' for name in "abcd")
    joints = "".join(
        f"""<joint name="turn_{child}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
        <origin xyz="0 0 0.25"/><axis xyz="{axis}"/>
        <limit lower="-2.5" upper="2.5" effort="7" velocity="2"/></joint>"""
        for parent, child, axis in zip(("post", "a", "b", "c"), "abcd", ("0 0 1", "0 1 0", "0 1 0", "0 1 0"))
    )
    robot = Robot.from_urdf(f'<robot name="weak"><link name="post"/>{links}{joints}</robot>').completed()
    chain = arm_chain(robot)
    weight = np.abs(dynamics.gravity_forces(chain, [0.0, np.pi / 2, 0.0, 0.0]))
    assert weight.max() > 1.2 * chain.limits.effort.max()
    body = RobotBody.build(robot, chain)
    world = floor_world(body, robot)
    checker = Checker(body, world)
    home = find_home(checker)
    planned = plan_first_motion(checker, world, home)
    needed = dynamics.inverse_dynamics(chain, *planned.trajectory.states())
    assert (np.abs(dynamics.gravity_forces(chain, home)) <= 0.8 * chain.limits.effort).all()
    assert (np.abs(needed) <= 0.91 * chain.limits.effort).all()
    assert simulate(robot, checker, planned).outcome.succeeded


def test_mobile_base_stands_on_its_floor() -> None:
    """Wheels in the floor, and limits that mean none: it is planned without a floor, and positions stay usable."""
    box = BOX.format(shape='<box size="0.4 0.4 0.2"/>')
    bar = BOX.format(shape='<cylinder radius="0.03" length="0.3"/>')
    robot = Robot.from_urdf(
        f"""<robot name="rover"><link name="map"/><link name="base">{box}</link><link name="post"/>
        <link name="arm">{bar}</link>
        <joint name="turn" type="revolute"><parent link="map"/><child link="base"/><axis xyz="0 0 1"/>
          <limit lower="-999999" upper="999999" effort="100" velocity="1"/></joint>
        <joint name="mount" type="fixed"><parent link="base"/><child link="post"/><origin xyz="0 0 0.4"/></joint>
        <joint name="lift" type="revolute"><parent link="post"/><child link="arm"/><axis xyz="0 1 0"/>
          <limit lower="-1" upper="1" effort="100" velocity="1"/></joint></robot>"""
    ).completed()
    chain = robot.chain("map", "arm")
    assert max(np.abs(chain.limits.sampling_range).ravel()) <= np.pi
    body = RobotBody.build(robot, chain)
    world = floor_world(body, robot)
    assert not world.names
    assert not Checker(body, world).collides(find_home(Checker(body, world)))
