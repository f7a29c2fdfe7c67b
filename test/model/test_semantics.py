"""A semantic description for a robot that has none."""

from __future__ import annotations

import pytest

from manipapy_core import Robot
from manipapy_core.geometry import RobotBody
from manipapy_core.model import arm_chain, read_srdf, srdf_text
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


def test_gripper_opens_at_the_upper_limit():
    robot = Robot.from_urdf("panda")
    states = semantics_of(robot, arm_chain(robot), {}).states["gripper"]
    assert states["open"] == {"panda_finger_joint1": 0.04}
    assert states["close"] == {"panda_finger_joint1": 0.0}


def test_chain_that_is_no_arm_found_gets_a_group_of_its_own():
    robot = Robot.from_urdf("panda")
    chain = robot.chain("panda_link0", "panda_link5")
    assert group_of(semantics_of(robot, chain, {}), chain) == "chosen_arm"
