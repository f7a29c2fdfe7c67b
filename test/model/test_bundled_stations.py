"""The SCARA, the dual-arm station and the mobile manipulator: frames by closed form, arms equal to the single arm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from manipapy_core import Robot, model
from manipapy_core.kinematics import forward
from model.published_figures import UR_JOINTS, rotation_x, rotation_z, translation

ROBOTS = Path(model.__file__).parent / "robots"


def test_scara_tool_follows_the_closed_form():
    chain = Robot.from_urdf("scara").chain("base_link", "tool0")
    for q in np.random.default_rng(1).uniform(chain.limits.lower, chain.limits.upper, (50, 4)):
        first, second = q[0], q[0] + q[1]
        x = 0.325 * np.cos(first) + 0.275 * np.cos(second)
        y = 0.325 * np.sin(first) + 0.275 * np.sin(second)
        expected = translation(x, y, 0.19 + 0.09 - 0.03 - 0.075 + q[2]) @ rotation_z(second + q[3]) @ rotation_x(np.pi)
        np.testing.assert_allclose(forward(chain, q), expected, atol=1e-12)


def test_scara_has_the_published_ranges_and_weight():
    robot = Robot.from_urdf("scara")
    limits = robot.chain("base_link", "tool0").limits
    np.testing.assert_allclose(np.degrees(limits.upper[[0, 1, 3]]), (132, 150, 360))
    assert (limits.lower[2], limits.upper[2]) == (-0.2, 0.0)
    assert sum(link.inertial.mass for link in robot.links.values() if link.inertial) == pytest.approx(22.0)
    # Tip speed of the stretched arm with joint 1 alone is the speed the maker gives for both arms.
    assert limits.velocity[0] * 0.6 == pytest.approx(4.18, rel=1e-4)


@pytest.mark.parametrize(("side", "y"), [("left", 0.45), ("right", -0.45)])
def test_arm_of_the_dual_station_is_a_ur5e_on_the_bench(side, y):
    single = Robot.from_urdf("ur5e").chain("base_link", "tool0")
    arm = Robot.from_urdf("dual_ur5e").chain("station", f"{side}_tool0")
    assert arm.joint_names == tuple(f"{side}_{joint}" for joint in UR_JOINTS)
    for q in np.random.default_rng(2).uniform(-3, 3, (20, 6)):
        expected = translation(0, y, 0.72) @ forward(single, q)
        np.testing.assert_allclose(forward(arm, q), expected, atol=1e-12)
    for name in ("lower", "upper", "velocity", "effort", "acceleration"):
        np.testing.assert_array_equal(getattr(arm.limits, name), getattr(single.limits, name))


def test_mobile_arm_is_a_ur5e_on_a_platform_that_moves_in_the_plane():
    single = Robot.from_urdf("ur5e").chain("base_link", "tool0")
    arm = Robot.from_urdf("mobile_ur5e").chain("odom", "tool0")
    assert arm.joint_names == ("base_x_joint", "base_y_joint", "base_yaw_joint", *UR_JOINTS)
    for q in np.random.default_rng(3).uniform(-3, 3, (20, 9)):
        platform = translation(q[0], q[1], 0) @ rotation_z(q[2]) @ translation(0.15, 0, 0.602)
        np.testing.assert_allclose(forward(arm, q), platform @ forward(single, q[3:]), atol=1e-12)


@pytest.mark.parametrize("name", ["scara", "dual_ur5e", "mobile_ur5e"])
def test_files_load_without_a_warning_and_have_physical_inertias(name):
    robot = Robot.from_urdf(name)
    assert robot.warnings == ()
    for link in robot.links.values():
        if link.inertial is not None:
            moments = np.linalg.eigvalsh(link.inertial.inertia)
            assert moments[0] > 0 and moments[2] <= moments[0] + moments[1], link.name


HOMES = {
    "scara": (0.4, -0.9, -0.05, 0),
    "dual_ur5e": (0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0, 0) * 2,
    "mobile_ur5e": (0, 0, 0, 0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0, 0),
}


@pytest.mark.parametrize("name", HOMES)
def test_home_pose_touches_nothing(name):
    path = str(ROBOTS / f"{name}.urdf")
    tree = pin.buildModelFromUrdf(path)
    shapes = pin.buildGeomFromUrdf(tree, path, pin.GeometryType.COLLISION)
    owners = [shape.parentJoint for shape in shapes.geometryObjects]
    for first, a in enumerate(owners):
        for second in range(first):
            b = owners[second]
            if a != b and tree.parents[a] != b and tree.parents[b] != a:
                shapes.addCollisionPair(pin.CollisionPair(second, first))
    assert len(shapes.collisionPairs) > 0
    names = [joint for joint in tree.names[1:] if "right_finger" not in joint]
    v = np.zeros(tree.nv)
    for joint, value in zip(names, HOMES[name]):
        v[tree.joints[tree.getJointId(joint)].idx_v] = value
    q = pin.integrate(tree, pin.neutral(tree), v)
    assert not pin.computeCollisions(tree, tree.createData(), shapes, shapes.createData(), q, False)
