"""The serial arm of a description, its limits, and errors for bad descriptions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from manipapy_core import Robot
from manipapy_core.compat.arm import serial_arm
from manipapy_core.compat.urdf_processor import URDFToSerialManipulator
from manipapy_core.errors import InputError, ModelError, ShapeError, UnknownJoint
from reference.random_robots import humanoid, random_chain
from reference.urdf_writing import joint, link, robot

ARMS = {
    "ur5": ("base_link", "tool0", 6),
    "ur10e": ("base_link", "tool0", 6),
    "panda": ("panda_link0", "panda_hand_tcp", 7),
    "iiwa14": ("iiwa_link_0", "iiwa_link_ee", 7),
    "xarm6": ("link_base", "link_eef", 6),
    "gen3": ("base_link", "end_effector_link", 7),
}


@pytest.mark.parametrize("name", ARMS)
def test_arm_ends_at_the_tool_and_before_the_gripper(name):
    chain = serial_arm(Robot.from_urdf(name))
    assert (chain.base, chain.tip, chain.n) == ARMS[name]


def test_gripper_without_mimic_joints_ends_the_arm():
    text = robot(
        "gripping",
        *(link(name) for name in ("base", "arm", "hand", "left", "right", "camera")),
        joint("shoulder", "revolute", "base", "arm"),
        joint("wrist", "revolute", "arm", "hand"),
        joint("open_left", "prismatic", "hand", "left"),
        joint("open_right", "prismatic", "hand", "right"),
        joint("lens", "fixed", "hand", "camera"),
    )
    chain = serial_arm(Robot.from_urdf(text))
    assert (chain.tip, chain.joint_names) == ("camera", ("shoulder", "wrist"))


def test_gripper_of_many_mimic_joints_is_not_part_of_the_arm():
    text = robot(
        "linkage",
        *(link(name) for name in ("base", "hand", "knuckle", "fingertip", "thumb")),
        joint("wrist", "revolute", "base", "hand"),
        joint("close", "revolute", "hand", "knuckle"),
        joint("curl", "revolute", "knuckle", "fingertip", mimic=("close", -1.0, 0.0)),
        joint("oppose", "revolute", "hand", "thumb", mimic=("close", 1.0, 0.0)),
    )
    chain = serial_arm(Robot.from_urdf(text))
    assert (chain.tip, chain.joint_names) == ("hand", ("wrist",))


def test_two_arms_are_refused():
    twins = robot(
        "twins",
        *(link(name) for name in ("torso", "left", "right")),
        joint("one", "revolute", "torso", "left"),
        joint("two", "revolute", "torso", "right"),
    )
    for text, choices in (
        (twins, "'left', 'right'"),
        (humanoid().text, "'left_hand', 'left_foot'"),
    ):
        with pytest.raises(InputError, match=choices):
            serial_arm(Robot.from_urdf(text))
    assert serial_arm(Robot.from_urdf(twins), "right").joint_names == ("two",)
    assert URDFToSerialManipulator(twins, False, tip_link="left").joint_names == ["one"]


def test_very_long_chain():
    links = [link(f"l{index}") for index in range(1500)]
    joints = [joint(f"j{index}", "fixed", f"l{index}", f"l{index + 1}") for index in range(1498)]
    last = joint("turn", "revolute", "l1498", "l1499")
    assert serial_arm(Robot.from_urdf(robot("snake", *links, *joints, last))).tip == "l1499"


def test_prismatic_joints_keep_the_limits_of_the_description():
    processor = URDFToSerialManipulator(random_chain("RPC").text, use_pybullet_limits=False)
    assert processor.robot_data["joint_limits"] == [(-np.pi, np.pi), (-0.5, 0.5), (-np.pi, np.pi)]


@pytest.mark.usefixtures("pybullet")
def test_pybullet_limits_are_assigned_by_joint_name():
    """Revolute joints as described, continuous ones (-π, π), with other joints in between."""
    text = robot(
        "mixed",
        *(link(f"l{index}", 1.0) for index in range(5)),
        joint("first", "revolute", "l0", "l1", limits=(-0.7, 1.9)),
        joint("slide", "prismatic", "l1", "l2", limits=(0.0, 0.3)),
        joint("spin", "continuous", "l2", "l3"),
        joint("last", "revolute", "l3", "l4", limits=(0.25, 0.5)),
    )
    processor = URDFToSerialManipulator(text)
    assert processor._get_joint_limits_from_pybullet() == [(-0.7, 1.9), (-np.pi, np.pi), (0.25, 0.5)]
    limits = [(-0.7, 1.9), (0.0, 0.3), (-np.pi, np.pi), (0.25, 0.5)]
    assert processor.robot_data["joint_limits"] == limits
    assert processor.serial_manipulator.joint_limits == processor.dynamics.joint_limits == limits


@pytest.mark.usefixtures("pybullet")
def test_pybullet_needs_no_meshes(tmp_path):
    shape = '<visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual>'
    text = robot(
        "bare", f'<link name="base">{shape}</link>', link("tip", 1.0), joint("turn", "revolute", "base", "tip")
    )
    (tmp_path / "bare.urdf").write_text(text)
    assert URDFToSerialManipulator(tmp_path / "bare.urdf").robot_data["joint_limits"] == [(-2.0, 2.0)]


def test_without_pybullet_the_limits_of_the_description_are_taken_with_a_warning():
    code = (
        "import sys\n"
        "sys.modules['pybullet'] = None  # what Python does for a package that is not there\n"
        "from manipapy_core.compat.urdf_processor import URDFToSerialManipulator\n"
        "assert URDFToSerialManipulator('ur5', use_pybullet_limits=False).chain.n == 6\n"
        "import warnings\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    arm = URDFToSerialManipulator('panda')\n"
        "print(caught[0].message)\n"
        "limits = arm.chain.limits\n"
        "assert arm.robot_data['joint_limits'] == list(zip(limits.lower, limits.upper))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "manipapy[sim]" in done.stdout


def test_missing_file_raises_file_not_found():
    with pytest.raises(FileNotFoundError, match=r"nonexistent\.urdf"):
        URDFToSerialManipulator("nonexistent.urdf")


@pytest.mark.parametrize("text", ["<robot", "<robot name='a'/>", "<sdf/>", robot("a", link("b"), link("b"))])
def test_malformed_description_lists_its_problems(tmp_path, text):
    (tmp_path / "bad.urdf").write_text(text)
    with pytest.raises(ModelError, match=r"bad\.urdf") as caught:
        URDFToSerialManipulator(tmp_path / "bad.urdf")
    assert caught.value.problems


def test_robot_without_moving_joints_is_refused():
    with pytest.raises(InputError):
        URDFToSerialManipulator(robot("statue", link("stone", 1.0)), use_pybullet_limits=False)


def test_robot_data_is_a_copy():
    processor = URDFToSerialManipulator("ur5", use_pybullet_limits=False)
    before = processor.dynamics.mass_matrix(np.zeros(6))
    for value in processor.robot_data.values():
        if isinstance(value, np.ndarray):
            value[...] = np.nan
    processor.robot_data["Glist"][0][...] = np.nan
    processor.dynamics.Glist[1][...] = np.nan
    np.testing.assert_array_equal(processor.dynamics.mass_matrix(np.zeros(6)), before)


def test_link_fk_uses_joint_names_and_ignores_fixed_joints():
    view = URDFToSerialManipulator("panda", use_pybullet_limits=False).robot
    assert [j.name for j in view.actuated_joints][-1] == "panda_finger_joint1"
    moved = view.link_fk({"panda_joint1": 0.5, "panda_hand_joint": 9.0})
    positions = np.zeros(len(view.actuated_joints))
    positions[0] = 0.5
    for name, T in view.link_fk(positions).items():
        np.testing.assert_array_equal(moved[name], T)
    assert list(moved) == [part.name for part in view.links]
    with pytest.raises(UnknownJoint):
        view.link_fk({"panda_joint99": 0.0})
    with pytest.raises(ShapeError):
        view.link_fk(np.zeros(3))


@pytest.mark.parametrize(
    ("trajectory", "error"),
    [
        (np.zeros((4, 5)), ShapeError),
        (np.zeros(6), ShapeError),
        (np.zeros((0, 6)), ShapeError),
        ({}, InputError),
        ({"elbow_joint": [0, 1], "wrist_1_joint": [0]}, InputError),
        ({"elbow": [0, 1]}, UnknownJoint),
    ],
)
def test_bad_trajectory_is_refused(trajectory, error):
    processor = URDFToSerialManipulator("ur5", use_pybullet_limits=False)
    with pytest.raises(error):
        processor.visualize_trajectory(trajectory)
    with pytest.raises(InputError, match="loop_time"):
        processor.visualize_trajectory(loop_time=0.0)


def test_bundled_file_exists():
    from manipapy_core.compat.ManipulaPy_data.xarm import urdf_file

    assert Path(urdf_file).name == "xarm6.urdf" and Robot.from_urdf(urdf_file).name == "xarm6"


def test_columns_must_match_the_degrees_of_freedom():
    assert URDFToSerialManipulator.w_p_to_slist(np.eye(3), np.zeros((3, 3)), 3).shape == (6, 3)
    with pytest.raises(InputError):
        URDFToSerialManipulator.w_p_to_slist(np.eye(3), np.zeros((3, 3)), 4)
