"""What a healthy description says arrives in SI units, in link axes, with the defaults that URDF defines."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest

from manipapy_core.model import BoxGeometry, CylinderGeometry, JointType, Mimic, Robot, SphereGeometry
from model.small_arm import INERTIA, LIMIT, arm, inertial, visual


def test_names_root_and_file_order() -> None:
    robot = Robot.from_urdf(
        arm(more='<link name="aaa"/><joint name="bolt" type="fixed"><parent link="hand"/><child link="aaa"/></joint>')
    )
    assert (robot.name, robot.root) == ("arm", "base")
    assert list(robot.links) == ["base", "hand", "aaa"]
    assert list(robot.joints) == ["wrist", "bolt"]
    assert robot.free_joints == ("wrist",)


def test_link_without_inertial_is_massless() -> None:
    assert Robot.from_urdf(arm()).links["hand"].inertial is None


def test_inertial_is_turned_into_link_axes() -> None:
    origin = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
    found = Robot.from_urdf(arm(hand=inertial(origin=origin))).links["hand"].inertial
    assert found is not None
    assert found.mass == 2.0
    np.testing.assert_array_equal(found.com, [1.0, 2.0, 3.0])
    # A quarter turn about z swaps the moments about x and y.
    np.testing.assert_array_equal(found.inertia, np.diag([0.2, 0.1, 0.25]))


def test_point_mass_is_accepted() -> None:
    zero = INERTIA.replace("0.1", "0").replace("0.25", "0").replace("0.2", "0")
    robot = Robot.from_urdf(arm(hand=inertial(inertia=zero)))
    assert robot.mass == 2.0
    assert robot.warnings == ()


def test_joint_carries_everything_written() -> None:
    wrist = f"""<origin xyz="0.1 0.2 0.3" rpy="0 1.5707963267948966 0"/><axis xyz="0 0 1"/>{LIMIT}
        <dynamics damping="0.5" friction="0.25"/>"""
    joint = Robot.from_urdf(arm(wrist=wrist)).joints["wrist"]
    assert (joint.type, joint.parent, joint.child) == (JointType.REVOLUTE, "base", "hand")
    assert (joint.lower, joint.upper, joint.velocity, joint.effort) == (-1.0, 2.0, 3.0, 4.0)
    assert (joint.damping, joint.friction, joint.mimic) == (0.5, 0.25, None)
    np.testing.assert_array_equal(joint.axis, [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(joint.T_parent_child, [[0, 0, 1, 0.1], [0, 1, 0, 0.2], [-1, 0, 0, 0.3], [0, 0, 0, 1]])


def test_joint_defaults() -> None:
    joint = Robot.from_urdf(arm()).joints["wrist"]
    np.testing.assert_array_equal(joint.axis, [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(joint.T_parent_child, np.eye(4))
    assert (joint.damping, joint.friction) == (0.0, 0.0)


def test_continuous_joint_is_unbounded_and_keeps_speed_and_effort() -> None:
    joint = Robot.from_urdf(arm(kind="continuous")).joints["wrist"]
    assert (joint.lower, joint.upper, joint.velocity, joint.effort) == (-math.inf, math.inf, 3.0, 4.0)


def test_continuous_joint_needs_no_limit() -> None:
    joint = Robot.from_urdf(arm(kind="continuous", wrist="")).joints["wrist"]
    assert (joint.velocity, joint.effort) == (math.inf, math.inf)


def test_missing_speed_and_effort_limits_are_infinite_with_a_warning() -> None:
    robot = Robot.from_urdf(arm(wrist='<limit lower="-1" upper="1"/>'))
    joint = robot.joints["wrist"]
    assert (joint.velocity, joint.effort) == (math.inf, math.inf)
    assert [("velocity" in text, "effort" in text) for text in robot.warnings] == [(True, False), (False, True)]


def test_infinite_position_limits_are_accepted() -> None:
    joint = Robot.from_urdf(arm(wrist='<limit lower="-inf" upper="inf" velocity="1" effort="1"/>')).joints["wrist"]
    assert (joint.lower, joint.upper) == (-math.inf, math.inf)


@pytest.mark.parametrize("written", ["0 3 4", "0 3e200 4e200", "0 3e-8 4e-8"])
def test_axis_of_any_length_becomes_a_unit_vector_with_a_warning(written: str) -> None:
    robot = Robot.from_urdf(arm(wrist=f'<axis xyz="{written}"/>{LIMIT}'))
    np.testing.assert_allclose(robot.joints["wrist"].axis, [0.0, 0.6, 0.8], rtol=0, atol=1e-15)
    (warning,) = robot.warnings
    assert warning.startswith("text:6: <axis> of joint 'wrist': xyz has length")


def test_rounded_axis_is_no_reason_to_warn() -> None:
    assert Robot.from_urdf(arm(wrist=f'<axis xyz="0.577 0.577 0.577"/>{LIMIT}')).warnings == ()


def test_fixed_joint_may_hold_the_zero_axis_and_range_of_exporters() -> None:
    wrist = '<axis xyz="0 0 0"/><limit lower="0" upper="0" velocity="0" effort="0"/>'
    joint = Robot.from_urdf(arm(kind="fixed", wrist=wrist)).joints["wrist"]
    assert joint.type is JointType.FIXED
    assert not joint.type.moves


def test_mimic_defaults() -> None:
    more = f"""<link name="finger"/><joint name="thumb" type="revolute"><parent link="hand"/>
        <child link="finger"/>{LIMIT}<mimic joint="wrist"/></joint>"""
    robot = Robot.from_urdf(arm(more=more))
    assert robot.joints["thumb"].mimic == Mimic("wrist", 1.0, 0.0)
    assert robot.free_joints == ("wrist",)


def test_shapes_have_place_size_name_and_colour() -> None:
    hand = """<visual name="palm"><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry>
          <material name="red"/></visual>
        <visual><geometry><cylinder radius="0.1" length="0.4"/></geometry>
          <material name="own"><color rgba="0 1 0 0.5"/></material></visual>
        <collision><geometry><sphere radius="0.2"/></geometry></collision>"""
    robot = Robot.from_urdf(arm(hand=hand, more='<material name="red"><color rgba="1 0 0 1"/></material>'))
    palm, rod = robot.links["hand"].visuals
    (ball,) = robot.links["hand"].collisions
    assert isinstance(palm.geometry, BoxGeometry)
    np.testing.assert_array_equal(palm.geometry.size, [1.0, 2.0, 3.0])
    assert (palm.name, palm.rgba, palm.T_link_shape[2, 3]) == ("palm", (1.0, 0.0, 0.0, 1.0), 1.0)
    assert (rod.name, rod.rgba, rod.geometry) == (None, (0.0, 1.0, 0.0, 0.5), CylinderGeometry(0.1, 0.4))
    assert (ball.geometry, ball.rgba) == (SphereGeometry(0.2), None)


def test_material_defined_in_one_visual_serves_another() -> None:
    blue = '<material name="blue"><color rgba="0 0 1 1"/></material>'
    box = '<box size="1 1 1"/>'
    robot = Robot.from_urdf(arm(hand=visual(box, '<material name="blue"/>') + visual(box, blue)))
    assert [shape.rgba for shape in robot.links["hand"].visuals] == [(0.0, 0.0, 1.0, 1.0)] * 2


def test_undefined_material_and_odd_colour_are_warnings() -> None:
    box = '<box size="1 1 1"/>'
    loud = '<material name="loud"><color rgba="255 0 0 1"/></material>'
    robot = Robot.from_urdf(arm(hand=visual(box, '<material name="pink"/>'), more=loud))
    assert robot.links["hand"].visuals[0].rgba is None
    undefined, odd = robot.warnings
    assert undefined.startswith("text:3: <material> of link 'hand': material 'pink' is not defined")
    assert odd.startswith("text:8: <color> of material 'loud': rgba is '255 0 0 1'")


def test_elements_of_other_tools_are_ignored_silently() -> None:
    more = """<gazebo reference="hand"><mu1>0.2</mu1></gazebo><transmission name="t"/>
        <ros2_control name="x" type="system"><hardware/></ros2_control><sensor name="eye"/>"""
    wrist = f'{LIMIT}<safety_controller k_velocity="1"/><calibration rising="0"/><custom/>'
    assert Robot.from_urdf(arm(hand="<self_collision_checking/>", wrist=wrist, more=more)).warnings == ()


def test_misspelt_element_gets_a_warning() -> None:
    (warning,) = Robot.from_urdf(arm(hand="<inertail/>")).warnings
    assert warning == "text:3: <inertail> of link 'hand': unknown element, ignored; did you mean <inertial>?"


def test_triangle_inequality_is_a_warning() -> None:
    robot = Robot.from_urdf(arm(hand=inertial(inertia=INERTIA.replace("0.25", "0.5"))))
    (warning,) = robot.warnings
    assert warning.startswith("text:3: <inertia> of link 'hand'")
    assert "triangle inequality" in warning
    assert "check the units" in warning


@pytest.mark.parametrize(
    ("wrist", "words"),
    [
        ('<limit velocity="1" effort="1"/>', "lower and upper are both 0"),
        ('<limit lower="-1" upper="1" velocity="0" effort="1"/>', "velocity is 0"),
        ('<limit lower="-1" upper="1" velocity="1" effort="0"/>', "effort is 0"),
    ],
)
def test_limits_that_allow_no_motion_are_warnings(wrist: str, words: str) -> None:
    (warning,) = Robot.from_urdf(arm(wrist=wrist)).warnings
    assert warning.startswith("text:6: <limit> of joint 'wrist'")
    assert words in warning


def test_nothing_can_be_changed() -> None:
    robot = Robot.from_urdf(arm(hand=inertial()))
    with pytest.raises(dataclasses.FrozenInstanceError):
        robot.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        robot.links["new"] = robot.links["hand"]  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        robot.joints["wrist"].axis[0] = 2.0


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda robot: pickle.loads(pickle.dumps(robot))])
def test_robot_travels_to_other_processes_unchanged(clone) -> None:
    hand = inertial() + visual('<box size="1 2 3"/>')
    robot = Robot.from_urdf(arm(hand=hand))
    twin = clone(robot)
    assert list(twin.joints) == list(robot.joints)
    assert twin.urdf == robot.urdf
    np.testing.assert_array_equal(twin.links["hand"].inertial.inertia, robot.links["hand"].inertial.inertia)
    assert not twin.joints["wrist"].T_parent_child.flags.writeable
    assert not twin.links["hand"].visuals[0].geometry.size.flags.writeable


def test_robot_keeps_its_text() -> None:
    text = arm()
    assert Robot.from_urdf(text).urdf == text


def test_describe_shows_tree_ranges_masses_and_warnings() -> None:
    more = f"""<link name="finger"/><joint name="thumb" type="prismatic"><parent link="hand"/>
        <child link="finger"/>{LIMIT}<mimic joint="wrist" multiplier="2"/></joint>"""
    text = Robot.from_urdf(arm(hand=inertial() + "<visul/>", more=more)).describe()
    assert "arm: 3 links, 1 free joints, 2 kg" in text
    assert "\n    hand (2 kg) by revolute wrist [-1, 2] rad\n" in text
    assert "\n      finger (massless) by prismatic thumb = 2 * wrist + 0\n" in text
    assert "did you mean <visual>?" in text
