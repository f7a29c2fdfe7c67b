"""Robot → URDF text → Robot, and the turns that rounding could spoil."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manipapy_core import Robot, dynamics, lie
from manipapy_core.lie import rotation_to_rpy
from manipapy_core.model import bundled_robots
from manipapy_core.model.elements import (
    BoxGeometry,
    CylinderGeometry,
    JointType,
    MeshGeometry,
    SphereGeometry,
    rotation_from_rpy,
)
from manipapy_core.model.urdf.write import UNLIMITED, urdf_text


@pytest.mark.parametrize("name", bundled_robots())
def test_a_robot_reads_back_the_same(name):
    robot = Robot.from_urdf(name)
    again = Robot.from_urdf(urdf_text(robot))
    assert (again.name, again.root) == (robot.name, robot.root)
    assert list(again.links) == list(robot.links) and list(again.joints) == list(robot.joints)
    for key, joint in robot.joints.items():
        other = again.joints[key]
        assert (other.type, other.parent, other.child, other.mimic) == (
            joint.type,
            joint.parent,
            joint.child,
            joint.mimic,
        )
        np.testing.assert_allclose(other.T_parent_child, joint.T_parent_child, atol=1e-15)
        np.testing.assert_array_equal(other.axis, joint.axis)
        for number in ("lower", "upper", "velocity", "effort", "damping", "friction"):
            assert getattr(other, number) == getattr(joint, number)
    for key, link in robot.links.items():
        other = again.links[key]
        assert (other.inertial is None) == (link.inertial is None)
        if link.inertial is not None:
            assert other.inertial.mass == link.inertial.mass
            np.testing.assert_array_equal(other.inertial.com, link.inertial.com)
            np.testing.assert_array_equal(other.inertial.inertia, link.inertial.inertia)
        for mine, theirs in ((link.visuals, other.visuals), (link.collisions, other.collisions)):
            assert [(shape.name, type(shape.geometry), shape.rgba) for shape in mine] == [
                (shape.name, type(shape.geometry), shape.rgba) for shape in theirs
            ]
            for shape, copy in zip(mine, theirs, strict=True):
                np.testing.assert_allclose(copy.T_link_shape, shape.T_link_shape, atol=1e-15)
                np.testing.assert_array_equal(size_of(copy.geometry), size_of(shape.geometry))


def size_of(geometry) -> np.ndarray:
    if isinstance(geometry, BoxGeometry):
        return geometry.size
    if isinstance(geometry, CylinderGeometry):
        return np.array([geometry.radius, geometry.length])
    return np.array([geometry.radius]) if isinstance(geometry, SphereGeometry) else geometry.scale


def test_pinocchio_computes_the_same_from_the_written_text():
    robot = Robot.from_urdf("panda")
    chain = robot.chain("panda_link0", "panda_hand")
    model = pin.buildModelFromXML(urdf_text(robot))
    q = np.linspace(-1.0, 1.0, 7)
    full = np.zeros(model.nq)
    full[:7] = q
    gravity = pin.computeGeneralizedGravity(model, model.createData(), full)[:7]
    np.testing.assert_allclose(dynamics.gravity_forces(chain, q), gravity, atol=1e-10)


def test_names_and_meshes_survive_awkward_characters(tmp_path):
    (tmp_path / "a&b.stl").write_bytes(b"solid\nendsolid\n")
    text = """<robot name="a &amp; &quot;b&quot;"><link name="x&lt;y">
      <visual name="it's"><geometry><mesh filename="a&amp;b.stl" scale="1 2 3"/></geometry></visual></link></robot>"""
    (tmp_path / "odd.urdf").write_text(text)
    robot = Robot.from_urdf(tmp_path / "odd.urdf")
    (tmp_path / "again.urdf").write_text(urdf_text(robot))
    again = Robot.from_urdf(tmp_path / "again.urdf")
    assert again.name == 'a & "b"' and list(again.links) == ["x<y"]
    (shape,) = again.links["x<y"].visuals
    assert shape.name == "it's" and isinstance(shape.geometry, MeshGeometry) and shape.geometry.uri == "a&b.stl"


def test_no_limit_is_a_number_that_every_reader_takes():
    """The URDF reader of ROS refuses inf, and a revolute joint without effort and velocity."""
    text = """<robot name="arm"><link name="a"/><link name="b"/><joint name="j" type="revolute">
      <parent link="a"/><child link="b"/><limit lower="-1" upper="1"/></joint></robot>"""
    written = urdf_text(Robot.from_urdf(text))
    assert pin.buildModelFromXML(written).njoints == 2
    joint = Robot.from_urdf(written).joints["j"]
    assert (joint.lower, joint.upper, joint.velocity, joint.effort) == (-1.0, 1.0, UNLIMITED, UNLIMITED)
    free = urdf_text(
        Robot.from_urdf(text.replace("revolute", "continuous").replace('<limit lower="-1" upper="1"/>', ""))
    )
    assert "limit" not in free
    assert Robot.from_urdf(free).joints["j"].type is JointType.CONTINUOUS


@given(st.lists(st.floats(-4, 4), min_size=3, max_size=3))
def test_turns_give_the_rotation_back(vector):
    R = lie.exp_so3(vector)
    np.testing.assert_allclose(rotation_from_rpy(rotation_to_rpy(R)), R, atol=2e-11)


@pytest.mark.parametrize("off", [0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("side", [-1, 1])
def test_turns_are_exact_straight_up_and_down(off, side):
    """Where roll and yaw merge their sum must still be right; the reader rounds 1e-11 rad to a quarter turn."""
    for roll, yaw in ((0.0, 0.0), (0.4, -1.3), (2.9, 3.0)):
        R = rotation_from_rpy((roll, side * (math.pi / 2 - off), yaw))
        rebuilt = rotation_from_rpy(rotation_to_rpy(R))
        np.testing.assert_allclose(rebuilt, R, atol=1e-15 if off == 0.0 or off > 1e-11 else 1e-11)
