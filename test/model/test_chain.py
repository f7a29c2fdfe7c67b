"""Cutting chains out of robots: order, locking, limits, and clear errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from manipapy_core import Robot, kinematics
from manipapy_core.errors import InputError, UnknownJoint, UnknownLink

ARM = ["shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint"]


@pytest.fixture(scope="module")
def ur5():
    return Robot.from_urdf("ur5")


@pytest.fixture(scope="module")
def panda():
    return Robot.from_urdf("panda")


def test_joints_stand_in_the_order_of_the_walk(ur5):
    assert list(ur5.chain("base_link", "tool0").joint_names) == ARM
    assert list(ur5.chain("tool0", "base_link").joint_names) == ARM[::-1]


def test_a_reversed_chain_has_the_inverse_pose(ur5):
    there, back = ur5.chain("base_link", "tool0"), ur5.chain("tool0", "base_link")
    q = np.random.default_rng(0).uniform(-3, 3, (20, 6))
    product = kinematics.forward(there, q) @ kinematics.forward(back, q[:, ::-1])
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(4), product.shape), atol=1e-12)


def test_a_locked_joint_acts_like_the_same_value_in_q(ur5):
    whole, locked = ur5.chain("base_link", "tool0"), ur5.chain("base_link", "tool0", fixed={"elbow_joint": 0.7})
    q = np.linspace(-1, 1, 6)
    q[2] = 0.7
    np.testing.assert_allclose(kinematics.forward(locked, np.delete(q, 2)), kinematics.forward(whole, q), atol=1e-14)
    assert dict(locked.locked)["elbow_joint"] == 0.7


def test_fingers_off_the_path_are_locked_and_their_mass_is_carried(panda):
    chain = panda.chain("panda_link0", "panda_hand")
    assert chain.n == 7
    fingers = sum(panda.links[name].inertial.mass for name in ("panda_leftfinger", "panda_rightfinger"))
    hand = sum(
        panda.links[name].inertial.mass
        for name in ("panda_link7", "panda_hand")
        if panda.links[name].inertial is not None
    )
    assert chain.bodies[-1].mass == pytest.approx(hand + fingers)


def test_a_finger_on_the_path_brings_its_mimic_along(panda):
    chain = panda.chain("panda_hand", "panda_rightfinger")
    assert chain.joint_names == ("panda_finger_joint1",)
    assert {body.joint for body in chain.bodies} == {"panda_finger_joint1", "panda_finger_joint2"}
    opened = dict(zip(chain.link_names, kinematics.link_poses(chain, [0.04])))
    closed = dict(zip(chain.link_names, kinematics.link_poses(chain, [0.0])))
    for finger in ("panda_leftfinger", "panda_rightfinger"):
        assert np.linalg.norm(opened[finger][:3, 3] - closed[finger][:3, 3]) == pytest.approx(0.04)


def test_a_chain_with_mimic_joints_has_no_screw_list(panda):
    with pytest.raises(InputError, match="mimic"):
        _ = panda.chain("panda_hand", "panda_rightfinger").S


def test_limits_follow_the_joints(panda):
    chain = panda.chain("panda_link0", "panda_hand")
    for dof, name in enumerate(chain.joint_names):
        joint = panda.joints[name]
        assert (chain.limits.lower[dof], chain.limits.upper[dof]) == (joint.lower, joint.upper)
        assert chain.limits.acceleration[dof] == panda.motion_limits[name].acceleration


def test_describe_tells_joints_limits_and_locks(panda):
    text = panda.chain("panda_link0", "panda_hand").describe()
    for word in ("panda_joint4", "revolute", "-3.072", "panda_link7", "panda_finger_joint1 at 0", "kg"):
        assert word in text


def test_printing_is_short(panda):
    chain = panda.chain("panda_link0", "panda_hand")
    assert repr(chain) == "<Chain of 'panda': panda_link0 → panda_hand, 7 joints; see describe()>"
    assert repr(panda).startswith("<Robot 'panda': ") and len(repr(panda)) < 80


def test_one_sided_and_huge_limits_give_a_finite_range(panda):
    limits = panda.chain("panda_link0", "panda_hand").limits
    bounds = replace(
        limits, lower=np.array([-np.inf, 0, 5, -1e6, -2, -1]), upper=np.array([np.inf, np.inf, 1e6, -5, 9, 1])
    )
    lower, upper = bounds.sampling_range
    np.testing.assert_allclose(lower, [-np.pi, 0, 5, -5 - np.pi, -2, -1])
    np.testing.assert_allclose(upper, [np.pi, np.pi, 5 + np.pi, -5, 9, 1])


def test_unknown_names_list_what_there_is(ur5):
    with pytest.raises(UnknownLink, match="wrist_3_link"):
        ur5.chain("base_link", "tool")
    with pytest.raises(UnknownLink, match="base_link"):
        ur5.tree(base="floor")
    with pytest.raises(UnknownJoint, match="elbow_joint"):
        ur5.chain("base_link", "tool0", fixed={"elbow": 0.0})


@pytest.mark.parametrize("value", [np.nan, np.inf, 7.0])
def test_a_joint_cannot_be_locked_outside_its_limits(ur5, value):
    with pytest.raises(InputError, match=r"elbow_joint.*limits"):
        ur5.chain("base_link", "tool0", fixed={"elbow_joint": value})


def test_locking_a_mimic_joint_names_its_driver(panda):
    with pytest.raises(InputError, match="panda_finger_joint1"):
        panda.chain("panda_link0", "panda_hand", fixed={"panda_finger_joint2": 0.0})


def test_a_chain_without_motion_is_refused(ur5):
    with pytest.raises(InputError, match="no joint moves"):
        ur5.chain("wrist_3_link", "tool0")
    with pytest.raises(InputError, match="no joint moves"):
        ur5.chain("base_link", "base_link")
