"""Arms and grippers are found in the trees of other people's robots, and the chain of an arm on a torso is right."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pinocchio
import pytest

from manipapy_core import kinematics
from manipapy_core.errors import InputError
from manipapy_core.model import Robot, arm_chain, bundled_robots, find_arms
from manipapy_core.model.arms import choose_arm

FILES = {Path(str(file)).name: file for file in importlib.metadata.files("example-robot-data") or ()}


def outside(name: str) -> Path:
    """A description of the package example-robot-data."""
    return Path(str(FILES[name].locate()))


FOUND = {
    "panda.urdf": [("panda_link0", "panda_hand_tcp", 7, 1)],
    "ur5_robot.urdf": [("world", "tool0", 6, 0)],
    "kinova.urdf": [("base", "j2s6s200_end_effector", 6, 0)],
    "z1.urdf": [("world", "gripperStator", 6, 1)],
    "so101.urdf": [("base_link", "gripper_link", 5, 1)],
    "anymal-kinova.urdf": [("base", "j2s6s200_end_effector", 6, 0)],
    "pr2.urdf": [("torso_lift_link", "r_gripper_tool_frame", 7, 1), ("torso_lift_link", "l_gripper_tool_frame", 7, 1)],
    "baxter.urdf": [("base", "right_gripper_base_link", 7, 1), ("base", "left_gripper_base_link", 7, 1)],
    "g1_29dof_with_hand_rev_1_0.urdf": [
        ("torso_link", "left_hand_palm_link", 7, 7),
        ("torso_link", "right_hand_palm_link", 7, 7),
        ("pelvis", "left_ankle_roll_link", 6, 0),
        ("pelvis", "right_ankle_roll_link", 6, 0),
    ],
}


@pytest.mark.parametrize("name", FOUND)
def test_arms_of_outside_robots(name: str) -> None:
    robot = Robot.from_urdf(outside(name), check_meshes=False)
    arms = find_arms(robot)
    found = [(a.base, a.tip, len(a.joints), len(a.gripper.joints) if a.gripper else 0) for a in arms]
    assert found == FOUND[name]
    assert len({arm.name for arm in arms}) == len(arms)
    for arm in arms:
        assert robot.chain(arm.base, arm.tip).joint_names == arm.joints


def test_arms_of_bundled_robots_end_where_their_parameters_say() -> None:
    tips = {name: find_arms(Robot.from_urdf(name))[0].tip for name in bundled_robots()}
    assert tips["ur5"] == tips["ur10e"] == "tool0"
    assert tips["gen3"] == "end_effector_link" and tips["xarm6"] == "link_eef" and tips["panda"] == "panda_hand_tcp"


def test_given_base_and_tip_win() -> None:
    robot = Robot.from_urdf(outside("pr2.urdf"), check_meshes=False)
    assert choose_arm(robot, tip="l_wrist_roll_link") == (robot.root, "l_wrist_roll_link")
    assert choose_arm(robot, base="torso_lift_link") == ("torso_lift_link", "r_gripper_tool_frame")


def test_arm_on_a_torso_is_where_pinocchio_has_it() -> None:
    path = outside("pr2.urdf")
    robot = Robot.from_urdf(path, check_meshes=False)
    lift = 0.21
    chain = arm_chain(robot, locked={"torso_lift_joint": lift})
    assert "torso_lift_joint" not in chain.joint_names and dict(chain.locked)["torso_lift_joint"] == lift
    q = np.random.default_rng(3).uniform(-0.5, 0.5, chain.n)
    model = pinocchio.buildModelFromUrdf(str(path))
    data, full = model.createData(), pinocchio.neutral(model)
    for name, value in [*zip(chain.joint_names, q), *chain.locked]:
        joint = model.joints[model.getJointId(name)]
        full[joint.idx_q : joint.idx_q + joint.nq] = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
    pinocchio.framesForwardKinematics(model, data, full)
    base, tip = (data.oMf[model.getFrameId(link)] for link in (chain.base, chain.tip))
    np.testing.assert_allclose(kinematics.forward(chain, q), (base.inverse() * tip).homogeneous, atol=1e-9)
    root = kinematics.link_poses(chain, q)[chain.link_names.index(robot.root)]
    np.testing.assert_allclose(root, base.inverse().homogeneous, atol=1e-9)


def test_joints_outside_the_arm_are_locked_within_their_limits() -> None:
    text = """<robot name="lifted"><link name="floor"/><link name="torso"/><link name="arm"/>
      <joint name="lift" type="prismatic"><parent link="floor"/><child link="torso"/><axis xyz="0 0 1"/>
        <limit lower="0.1" upper="0.4" velocity="1" effort="1"/></joint>
      <joint name="turn" type="continuous"><parent link="torso"/><child link="arm"/></joint></robot>"""
    robot = Robot.from_urdf(text)
    assert dict(arm_chain(robot, "torso", "arm").locked) == {"lift": 0.1}
    with pytest.raises(InputError, match=r"'lift' cannot be locked at 0.0; its limits are \[0.1, 0.4\]"):
        arm_chain(robot, "torso", "arm", {"lift": 0.0})


def test_robot_without_joints_has_no_arm() -> None:
    with pytest.raises(InputError, match="'stone' moves on its own, so it has no arm"):
        find_arms(Robot.from_urdf('<robot name="stone"><link name="block"/></robot>'))
