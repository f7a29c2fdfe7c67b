"""A semantic description for a robot that has none."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import InputError, Robot, kinematics
from manipapy_core.geometry import RobotBody
from manipapy_core.model import UnknownGroup, arm_chain, group_chain, read_srdf, srdf_text
from manipapy_core.model.semantics import group_of, semantics_of


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_written_description_is_read_back_with_group_states_and_pairs(name):
    robot = Robot.from_urdf(name)
    chain = arm_chain(robot)
    body = RobotBody.build(robot, chain)
    home = 0.45 * chain.limits.lower + 0.55 * chain.limits.upper
    semantics = read_srdf(srdf_text(semantics_of(robot, chain, body.ignored, home)), robot)
    assert not semantics.warnings
    assert group_of(semantics, chain) == "arm"
    assert semantics.joints_of("arm", robot) == chain.joint_names
    assert semantics.states["arm"]["home"] == pytest.approx(dict(zip(chain.joint_names, home)))
    written = {frozenset({pair.first, pair.second}) for pair in semantics.disabled}
    assert written >= {pair for pair in body.ignored if len(pair) == 2}
    # A pair that can collide is still checked.
    checked = {frozenset({body.groups[pair.first].name, body.groups[pair.second].name}) for pair in body.pairs}
    assert not written & checked


@pytest.mark.parametrize(
    ("name", "joint", "opened", "closed"),
    [("panda", "panda_finger_joint1", 0.04, 0.0), ("xarm7", "drive_joint", 0.0, 0.85)],
)
def test_gripper_is_open_where_its_fingers_are_apart(name, joint, opened, closed):
    robot = Robot.from_urdf(name)
    states = semantics_of(robot, arm_chain(robot), {}).states["gripper"]
    assert states == {"open": {joint: opened}, "close": {joint: closed}}


def test_two_arms_as_one_chain_have_every_home():
    robot = Robot.from_urdf("dual_ur5e")
    chain = group_chain(robot, "arms", "station", "right_tool0", {"left_gripper_finger_joint": 0.02})
    assert chain.n == 12 and chain.tip == "right_tool0"
    assert dict(chain.locked)["left_gripper_finger_joint"] == 0.02
    home = np.arange(12.0) / 10.0
    states = semantics_of(robot, chain, {}, home).states
    assert states["arms"]["home"] == dict(zip(chain.joint_names, home))
    for side in ("left", "right"):
        expected = {name: q for name, q in zip(chain.joint_names, home) if name.startswith(side)}
        assert states[side]["home"] == expected
    # Another tip of the same joints is what a tree with that tip is.
    q = np.linspace(-1.0, 1.0, 12)
    other = group_chain(robot, "arms", "station", "left_tool0").with_tip("right_tool0")
    np.testing.assert_allclose(kinematics.forward(other, q), kinematics.forward(chain, q), atol=1e-12)
    alone = robot.chain("station", "right_tool0")
    own = [chain.joint_names.index(name) for name in alone.joint_names]
    np.testing.assert_allclose(kinematics.forward(other, q), kinematics.forward(alone, q[own]), atol=1e-12)


def test_groups_that_are_no_arms_are_refused():
    robot = Robot.from_urdf("dual_ur5e")
    with pytest.raises(UnknownGroup, match="no group 'legs'"):
        group_chain(robot, "legs")
    with pytest.raises(InputError, match="'left_gripper' is no arm; choose one of left, right, arms"):
        group_chain(robot, "left_gripper")
    with pytest.raises(InputError, match="does not move 'station'"):
        group_chain(robot, "arms", tip="station")
    with pytest.raises(InputError, match="is locked"):
        group_chain(robot, "left", locked={"left_elbow_joint": 0.1})


def test_chain_that_is_no_arm_found_gets_a_group_of_its_own():
    robot = Robot.from_urdf("panda")
    chain = robot.chain("panda_link0", "panda_link5")
    assert group_of(semantics_of(robot, chain, {}), chain) == "chosen_arm"
