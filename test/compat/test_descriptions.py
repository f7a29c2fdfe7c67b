"""Changed copies of descriptions, several robots in a scene, and where files of a description are found."""

from __future__ import annotations

import logging

import numpy as np
import pinocchio as pin
import pytest

from manipapy_core import lie
from manipapy_core.compat.urdf import (
    URDF,
    PackageResolver,
    Scene,
    URDFModifier,
    load_calibration,
    save_calibration,
    validate_urdf,
)
from manipapy_core.compat.urdf_processor import URDFToSerialManipulator, create_multi_robot_scene
from manipapy_core.errors import InputError

Q = np.array([0.3, -1.0, 1.2, 0.4, 0.7, -0.2])


@pytest.fixture(scope="module")
def ur5() -> URDF:
    return URDF.load("ur5")


def _pinocchio(urdf: URDF) -> pin.Model:
    return pin.buildModelFromXML(URDFModifier(urdf).to_urdf_string())


def test_a_payload_changes_the_dynamics_as_pinocchio_says(ur5):
    com, inertia = np.array([0.02, -0.03, 0.1]), np.diag([0.01, 0.02, 0.015])
    changed = URDFModifier(ur5).add_payload("wrist_3_link", 1.5, com, inertia).urdf
    model = _pinocchio(ur5)
    model.appendBodyToJoint(6, pin.Inertia(1.5, com, inertia), model.frames[model.getFrameId("wrist_3_link")].placement)
    expected = pin.rnea(model, model.createData(), Q, np.zeros(6), np.zeros(6))
    found = changed.to_manipulator_dynamics().gravity_forces(Q, [0.0, 0.0, -9.81])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    mass = pin.crba(model, model.createData(), Q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    np.testing.assert_allclose(changed.to_manipulator_dynamics().mass_matrix(Q), mass, atol=1e-9)
    assert ur5.model.links["wrist_3_link"].inertial.mass == pytest.approx(0.1879, abs=0.05)


def test_written_changes_are_read_again(ur5, tmp_path):
    modifier = URDFModifier(ur5)
    modifier.set_joint_origin("elbow_joint", xyz=[0.0, 0.1, 0.5], rpy=[0.1, 0.2, 0.3])
    modifier.set_joint_axis("wrist_1_joint", [0.0, 2.0, 0.0]).set_joint_limits("elbow_joint", -1.0, 1.5, effort=20.0)
    modifier.scale_masses(1.5).set_link_com("wrist_1_link", [0.0, 0.0, 0.01]).rename_link("tool0", "tip")
    modifier.rename_joint("elbow_joint", "elbow").save(tmp_path / "changed.urdf")
    read = URDF.load(tmp_path / "changed.urdf")
    assert read.get_joint("elbow").upper == 1.5 and read.get_joint("elbow").effort == 20.0
    assert read.model.mass == pytest.approx(1.5 * ur5.model.mass)
    np.testing.assert_allclose(read.get_transform("tip", cfg=Q), modifier.urdf.get_transform("tip", cfg=Q), atol=1e-12)


def test_the_zero_of_a_joint_moves_but_not_the_arm(ur5):
    changed = URDFModifier(ur5).offset_joint_zero("elbow_joint", 0.2).urdf
    moved = Q - np.array([0.0, 0.0, 0.2, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(changed.get_transform("tool0", cfg=moved), ur5.get_transform("tool0", cfg=Q), atol=1e-12)
    before, after = ur5.get_joint("elbow_joint"), changed.get_joint("elbow_joint")
    assert after.lower == pytest.approx(before.lower - 0.2) and after.upper == pytest.approx(before.upper - 0.2)


def test_a_calibration_is_saved_loaded_and_applied(ur5, tmp_path):
    values = {"elbow_joint": {"x": 0.001, "yaw": 0.01, "offset": -0.02}}
    save_calibration(values, tmp_path / "arm.yaml")
    assert load_calibration(tmp_path / "arm.yaml") == values
    changed = URDFModifier(ur5).apply_calibration(values).urdf.get_joint("elbow_joint").T_parent_child
    old = ur5.get_joint("elbow_joint")
    T = np.array(old.T_parent_child)
    T[0, 3] += 0.001
    turn = np.eye(4)
    turn[:3, :3] = lie.rotation_from_rpy([0.0, 0.0, 0.01]) @ lie.exp_so3(-0.02 * old.axis)
    np.testing.assert_allclose(changed, T @ turn, atol=1e-12)


def test_the_processor_makes_modifiers_and_scenes():
    """The documented door to both."""
    arm = URDFToSerialManipulator("ur5")
    heavier = arm.create_modifier().scale_masses(2.0).urdf
    assert validate_urdf(heavier).valid and heavier.model.mass == pytest.approx(2.0 * arm.robot.model.mass)
    scene = create_multi_robot_scene("cell").add_robot("arm", heavier, base_xyz=[1.0, 0.0, 0.0])
    tip = arm.chain.tip
    expected = arm.forward_kinematics(Q)
    expected[0, 3] += 1.0
    np.testing.assert_allclose(scene.world_link_fk({"arm": Q}, {"arm": [tip]})["arm"][tip], expected, atol=1e-12)


def test_poses_follow_the_configuration_that_was_set():
    urdf = URDF.load("ur5")
    urdf.update_cfg({"elbow_joint": 0.4})
    assert urdf.cfg[2] == 0.4 and urdf.root_links == [urdf.root_link] and len(urdf.kinematic_chain) == 6
    link = urdf.get_link("tool0")
    np.testing.assert_array_equal(
        urdf.link_fk(links=["tool0"], use_names=False)[link], urdf.link_fk_batch(urdf.cfg[None])["tool0"][0]
    )


def test_bad_changes_are_errors(ur5):
    with pytest.raises(InputError, match="known are x, y"):
        URDFModifier(ur5).apply_calibration({"elbow_joint": {"tilt": 1.0}})
    with pytest.raises(InputError, match="lower ≤ upper"):
        URDFModifier(ur5).set_joint_limits("elbow_joint", lower=2.0, upper=1.0)
    with pytest.raises(ValueError, match="no joint 'elbow'"):
        URDFModifier(ur5).offset_joint_zero("elbow", 0.1)


def test_robots_of_a_scene_touch_where_their_flanges_meet(ur5):
    scene = Scene().add_robot("left", ur5).add_robot("right", ur5, base_xyz=[2.5, 0.0, 0.0], base_rpy=[0, 0, np.pi])
    poses, tip = scene.world_link_fk({"right": Q}), ur5.get_transform("tool0", cfg=Q)
    np.testing.assert_allclose(poses["right"]["tool0"], scene.get_robot("right").base_transform @ tip, atol=1e-12)
    facing = np.diag([1.0, -1.0, -1.0, 1.0])
    for gap, touching in ((0.05, []), (-0.05, [("left", "wrist_3_link", "right", "wrist_3_link")])):
        facing[2, 3] = gap
        scene.set_base_transform("right", tip @ facing @ lie.inverse(tip))
        assert scene.check_inter_robot_collision({"left": Q, "right": Q})[-1:] == touching
    with pytest.raises(InputError, match="there are: left, right"):
        scene.get_robot("middle")


def test_references_are_followed_only_where_they_may_lead(tmp_path, caplog):
    package = tmp_path / "ws" / "arm_description"
    (package / "meshes").mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>arm_description</name></package>")
    mesh = package / "meshes" / "hand.stl"
    mesh.write_text("solid")
    (tmp_path / "secret.txt").write_text("no")
    (package / "meshes" / "link.stl").symlink_to(tmp_path / "secret.txt")
    resolver = PackageResolver(package / "urdf", use_ros=False)
    (package / "urdf").mkdir()
    assert resolver.resolve("package://arm_description/meshes/hand.stl") == str(mesh)
    assert resolver.resolve(f"file://{mesh}") == str(mesh)
    for refused in ("../../../secret.txt", "package://arm_description/../secret.txt", "package://arm_description",
                    "package://arm_description/meshes/link.stl", "package://other/meshes/hand.stl"):  # fmt: skip
        caplog.clear()
        with caplog.at_level(logging.WARNING, "ManipulaPy.urdf.resolver"):
            assert resolver.resolve(refused) == refused
        assert len(caplog.records) == 1
    twin = tmp_path / "other" / "arm_description" / "meshes"
    twin.mkdir(parents=True)
    (twin / "hand.stl").write_text("another")
    both = PackageResolver(search_paths=[tmp_path / "ws", tmp_path / "other"], use_ros=False)
    assert both.resolve("package://arm_description/meshes/hand.stl").startswith("package://")
    both.add_package("arm_description", twin.parent)
    assert both.resolve("package://arm_description/meshes/hand.stl") == str(twin / "hand.stl")
