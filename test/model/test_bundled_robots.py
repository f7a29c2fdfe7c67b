"""The bundled robots carry the makers' figures: lengths by DH tables, limits, masses, inertias."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from manipapy_core import model
from manipapy_core.model import BoxGeometry, CylinderGeometry, Inertial, Link, Robot, SphereGeometry, bundled_robots
from model.published_figures import ARMS, IIWA14, UR5, UR10E, UR_LINKS, Array, PublishedArm

ROBOTS = Path(model.__file__).parent / "robots"

UR_CENTRES_OF_MASS = {
    "ur5": [(0, -0.02561, 0.00193), (0.2125, 0, 0.11336), (0.15, 0, 0.0265), (0, -0.0018, 0.01634),
            (0, 0.0018, 0.01634), (0, 0, -0.001159)],
    "ur10e": [(0.021, 0, 0.027), (0.38, 0, 0.158), (0.24, 0, 0.068), (0, 0.007, 0.018), (0, 0.007, 0.018),
              (0, 0, -0.026)],
}  # fmt: skip
"""In the DH frame of the link [m], as the maker gives them."""

UR10E_INERTIAS = [
    [[0.03408, 0.00002, -0.00425], [0.00002, 0.03529, 0.00008], [-0.00425, 0.00008, 0.02156]],
    [[0.02814, 0.00005, -0.01561], [0.00005, 0.77068, 0.00002], [-0.01561, 0.00002, 0.76943]],
    [[0.01014, 0.00008, 0.00916], [0.00008, 0.30928, 0.0], [0.00916, 0.0, 0.30646]],
    [[0.00296, -0.00001, 0.0], [-0.00001, 0.00222, -0.00024], [0.0, -0.00024, 0.00258]],
    [[0.00296, -0.00001, 0.0], [-0.00001, 0.00222, -0.00024], [0.0, -0.00024, 0.00258]],
    [[0.00040, 0.0, 0.0], [0.0, 0.00041, 0.0], [0.0, 0.0, 0.00034]],
]
"""In the axes of the DH frame [kg m^2]."""

# The five poses of the lecture on DH tables: joint angles, position of the flange, its x, y, z axes as columns.
LECTURE_POSES = [
    ((0, 0, 0, 0, 0, 0), (-0.81725, -0.19145, -0.005491), [[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
    ((0, -np.pi / 2, 0, -np.pi / 2, 0, 0), (0, -0.19145, 1.001059), [[-1, 0, 0], [0, 0, -1], [0, -1, 0]]),
    ((0.3, -1.2, 1.5, -0.7, 0.4, 1.1), (-0.513873, -0.352560, 0.294660),
     [[0.751375, -0.656102, -0.070466], [0.047531, 0.160322, -0.985920], [0.658161, 0.737446, 0.151647]]),
    ((-2.1, -0.4, -1.9, 2.2, -1.3, 0.6), (-0.082605, 0.118571, 0.445071),
     [[0.547115, -0.435368, -0.714926], [-0.639767, 0.333273, -0.692551], [0.539781, 0.836291, -0.096195]]),
    ((np.pi / 2,) * 6, (0.10915, 0.29760, -0.253541), [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
]  # fmt: skip

# Gravity torques of the Panda without its hand [N m], from the closed form published with the identification.
PANDA_GRAVITY = [
    ((0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4), (0, -1.739, -0.668, 18.524, 0.716, 1.671, 0.0)),
    ((0.3, 0.9, -0.6, -1.1, 0.7, 2.0, -0.4), (0, -45.199, -8.787, 17.408, 0.691, 1.710, -0.008)),
    ((-1.1, -1.2, 1.4, -2.8, -1.9, 0.5, 1.0), (0, 13.242, -15.230, 5.965, -0.608, -0.717, -0.036)),
]

WITHOUT_DH_TABLE = ("dual_ur5e", "mobile_ur5e", "scara")
"""Tested in test_bundled_stations.py."""

each_arm = pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)


class PinocchioArm:
    """A bundled robot read by Pinocchio alone."""

    def __init__(self, arm: PublishedArm):
        self.model = pin.buildModelFromUrdf(str(ROBOTS / f"{arm.name}.urdf"))
        self.data = self.model.createData()
        self.joints = [self.model.joints[self.model.getJointId(name)].idx_v for name in arm.joints]

    def move(self, q: Array) -> None:
        v = np.zeros(self.model.nv)
        v[self.joints] = q
        pin.framesForwardKinematics(self.model, self.data, pin.integrate(self.model, pin.neutral(self.model), v))

    def pose(self, base: str, tip: str) -> Array:
        frames = self.data.oMf
        return (frames[self.model.getFrameId(base)].inverse() * frames[self.model.getFrameId(tip)]).homogeneous


def inertial_of(link: Link) -> Inertial:
    assert link.inertial is not None, link.name
    return link.inertial


def random_positions(arm: PublishedArm, count: int) -> Array:
    return np.random.default_rng(7).uniform(-3, 3, (count, len(arm.joints)))


def test_every_bundled_robot_has_its_figures_written_down():
    assert bundled_robots() == tuple(sorted((*(arm.name for arm in ARMS), *WITHOUT_DH_TABLE)))


@each_arm
def test_loads_without_a_warning(arm):
    robot = Robot.from_urdf(arm.name)
    assert robot.name == arm.name
    assert robot.warnings == ()


@each_arm
def test_chain_has_the_joints_of_the_arm(arm):
    assert Robot.from_urdf(arm.name).chain(arm.base, arm.tip).joint_names == arm.joints


@each_arm
def test_tip_follows_the_published_dh_table(arm):
    by_pinocchio = PinocchioArm(arm)
    for q in random_positions(arm, 50):
        by_pinocchio.move(q)
        np.testing.assert_allclose(by_pinocchio.pose(arm.base, arm.tip), arm.frames(q)[-1], atol=1e-12)


@pytest.mark.parametrize(("q", "position", "axes"), LECTURE_POSES)
def test_ur5_stands_as_in_the_lecture(q, position, axes):
    ur5 = PinocchioArm(UR5)
    ur5.move(np.array(q))
    pose = ur5.pose("base", "tool0")
    np.testing.assert_allclose(pose[:3, 3], position, atol=1e-6)
    np.testing.assert_allclose(pose[:3, :3], axes, atol=1e-6)


@each_arm
def test_limits_are_the_published_ones(arm):
    limits = Robot.from_urdf(arm.name).chain(arm.base, arm.tip).limits
    jerk = (np.inf,) * len(arm.joints) if arm.jerk is None else arm.jerk
    for ours, published in [
        (limits.lower, arm.lower),
        (limits.upper, arm.upper),
        (limits.velocity, arm.velocity),
        (limits.effort, arm.effort),
        (limits.acceleration, arm.acceleration),
        (limits.jerk, jerk),
    ]:
        np.testing.assert_allclose(ours, published, rtol=1e-14)


def test_panda_fingers_move_together_as_the_datasheet_says():
    robot = Robot.from_urdf("panda")
    left, right = robot.joints["panda_finger_joint1"], robot.joints["panda_finger_joint2"]
    assert right.mimic is not None and (right.mimic.joint, right.mimic.multiplier) == ("panda_finger_joint1", 1.0)
    assert (left.lower, left.upper, left.velocity, left.effort) == (0.0, 0.04, 0.05, 70.0)


@each_arm
def test_masses_add_up(arm):
    links = Robot.from_urdf(arm.name).links.values()
    assert sum(link.inertial.mass for link in links if link.inertial) == pytest.approx(arm.mass, rel=1e-12)


@each_arm
def test_inertias_are_those_of_a_body(arm):
    for link in Robot.from_urdf(arm.name).links.values():
        if link.inertial is None:
            continue
        moments = np.linalg.eigvalsh(link.inertial.inertia)
        assert moments[0] > 0, link.name
        assert moments[2] <= moments[0] + moments[1], link.name


@pytest.mark.parametrize("arm", (UR5, UR10E), ids=lambda arm: arm.name)
def test_ur_centres_of_mass_are_constant_in_the_dh_frames(arm):
    by_pinocchio, links = PinocchioArm(arm), Robot.from_urdf(arm.name).links
    for q in random_positions(arm, 20):
        by_pinocchio.move(q)
        for name, frame, com in zip(UR_LINKS, arm.frames(q), UR_CENTRES_OF_MASS[arm.name]):
            ours = by_pinocchio.pose("base", name) @ np.append(inertial_of(links[name]).com, 1)
            np.testing.assert_allclose(ours, frame @ np.append(com, 1), atol=1e-12, err_msg=name)


def test_ur10e_inertias_are_constant_in_the_dh_frames():
    by_pinocchio, links = PinocchioArm(UR10E), Robot.from_urdf("ur10e").links
    for q in random_positions(UR10E, 20):
        by_pinocchio.move(q)
        for name, frame, tensor in zip(UR_LINKS, UR10E.frames(q), UR10E_INERTIAS):
            ours, published = by_pinocchio.pose("base", name)[:3, :3], frame[:3, :3]
            turned = ours @ inertial_of(links[name]).inertia @ ours.T
            np.testing.assert_allclose(turned, published @ np.array(tensor) @ published.T, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("arm", (UR5, IIWA14), ids=lambda arm: arm.name)
def test_unpublished_inertias_are_those_of_the_collision_shapes(arm):
    robot = Robot.from_urdf(arm.name)
    for joint in arm.joints:
        link = robot.links[robot.joints[joint].child]
        inertial = inertial_of(link)
        expected = inertia_of_shapes(link, inertial.mass)
        np.testing.assert_allclose(inertial.inertia, expected, rtol=1e-5, atol=1e-5 * expected.max(), err_msg=link.name)


def inertia_of_shapes(link: Link, mass: float) -> Array:
    """Inertia about the centroid of the shapes, each filled with the same density [kg m^2]."""
    parts = []
    for shape in link.collisions:
        rotation, centre = shape.T_link_shape[:3, :3], shape.T_link_shape[:3, 3]
        match shape.geometry:
            case CylinderGeometry(radius, length):
                across = radius**2 / 4 + length**2 / 12
                volume, moments = np.pi * radius**2 * length, [across, across, radius**2 / 2]
            case SphereGeometry(radius):
                volume, moments = 4 / 3 * np.pi * radius**3, [0.4 * radius**2] * 3
            case BoxGeometry() as box:
                volume, moments = np.prod(box.size), (np.sum(box.size**2) - box.size**2) / 12
        parts.append((volume, centre, rotation @ np.diag(moments) @ rotation.T))
    total = sum(volume for volume, _, _ in parts)
    centroid = sum(volume * centre for volume, centre, _ in parts) / total
    inertia = np.zeros((3, 3))
    for volume, centre, per_mass in parts:
        arm = centre - centroid
        inertia += mass * volume / total * (per_mass + arm @ arm * np.eye(3) - np.outer(arm, arm))
    return inertia


def test_panda_gravity_is_the_one_identified_on_the_robot():
    text = ElementTree.parse(ROBOTS / "panda.urdf").getroot()
    for link in text.findall("link"):
        if link.get("name") in ("panda_hand", "panda_leftfinger", "panda_rightfinger"):
            link.remove(link.find("inertial"))
    arm = pin.buildModelFromXML(ElementTree.tostring(text, encoding="unicode"))
    for q, torques in PANDA_GRAVITY:
        ours = pin.computeGeneralizedGravity(arm, arm.createData(), np.append(q, (0.0, 0.0)))[:7]
        # The closed form holds the coefficients before they were made feasible, hence the difference.
        np.testing.assert_allclose(ours, torques, atol=0.1)
