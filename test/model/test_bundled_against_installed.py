"""The bundled robots beside other descriptions of the same arm, where such packages are installed.

The distributions example-robot-data and pybullet bring descriptions written by other people; their frames must be ours.
Their masses need not: docs/robots.md says where each comes from, and the bounds here are the differences that it
states.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from manipapy_core import model

ROBOTS = Path(model.__file__).parent / "robots"
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
# Written with quarter turns of 1.5708, which is 3.7e-6 off.
ROUNDED_QUARTER_TURNS = 2e-5


@dataclass(frozen=True)
class Installed:
    """Another description of a bundled arm, and how far it may differ."""

    robot: str
    distribution: str
    path: str
    """How the name of the file ends, among the files of the distribution."""
    base: tuple[str, str]
    """Our name and theirs."""
    frames: tuple[tuple[str, str], ...]
    pose: float
    """Largest difference of a pose entry [m or 1]."""
    mass: float
    """Largest relative difference of the total mass."""
    gravity: float
    """Largest difference of a gravity torque, relative to their largest one."""
    fixed: tuple[str, ...] = ()


def same(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)


PANDA_LINKS = same(*(f"panda_link{index}" for index in range(9)), "panda_hand", "panda_leftfinger")
DESCRIPTIONS = [
    Installed("ur5", "example-robot-data", "ur_description/urdf/ur5_robot.urdf", ("base_link", "base_link"),
              same("base", "tool0"), pose=1e-9, mass=0.01, gravity=0.13),
    Installed("panda", "example-robot-data", "panda_description/urdf/panda.urdf", ("panda_link0", "panda_link0"),
              PANDA_LINKS, pose=1e-9, mass=0.11, gravity=0.01, fixed=FINGERS),
    Installed("panda", "pybullet", "franka_panda/panda.urdf", ("panda_link0", "panda_link0"),
              PANDA_LINKS, pose=1e-9, mass=0.08, gravity=0.12, fixed=FINGERS),
    # No base mass, 17.5 kg in all: KUKA says 29.9 kg.
    Installed("iiwa14", "pybullet", "kuka_iiwa/model.urdf", ("iiwa_link_0", "lbr_iiwa_link_0"),
              tuple((f"iiwa_link_{index}", f"lbr_iiwa_link_{index}") for index in range(8)),
              pose=1e-9, mass=0.75, gravity=0.40),
    # An earlier model of the arm, without the base.
    Installed("xarm6", "pybullet", "xarm/xarm6_robot.urdf", ("link_base", "link_base"),
              same(*(f"link{index}" for index in range(1, 7))), pose=ROUNDED_QUARTER_TURNS, mass=0.20, gravity=0.30),
]  # fmt: skip


def path_of(other: Installed) -> Path:
    """The file of an installed description; skips the test when it is missing."""
    try:
        files = importlib.metadata.files(other.distribution) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.as_posix().endswith(other.path):
            return Path(str(file.locate()))
    pytest.skip(f"{other.distribution} is not installed: there is no second description of {other.robot} to compare")


def read(path: Path, fixed: tuple[str, ...]) -> pin.Model:
    tree = pin.buildModelFromUrdf(str(path))
    return pin.buildReducedModel(tree, [tree.getJointId(name) for name in fixed], pin.neutral(tree)) if fixed else tree


def total_mass(arm: pin.Model) -> float:
    return sum(inertia.mass for inertia in arm.inertias)


@pytest.fixture(params=DESCRIPTIONS, ids=lambda other: f"{other.robot}-{other.distribution}")
def pair(request):
    """An installed description, our model of that arm and theirs."""
    other = request.param
    path = path_of(other)
    return other, read(ROBOTS / f"{other.robot}.urdf", other.fixed), read(path, other.fixed)


def positions(arm: pin.Model):
    return np.random.default_rng(3).uniform(-2, 2, (100, arm.nq))


def test_frames_stand_at_the_same_place(pair):
    other, ours, theirs = pair
    assert ours.nq == theirs.nq
    poses = []
    for arm, side in ((ours, 0), (theirs, 1)):
        data, found = arm.createData(), []
        base = arm.getFrameId(other.base[side])
        for q in positions(arm):
            pin.framesForwardKinematics(arm, data, q)
            found += [
                (data.oMf[base].inverse() * data.oMf[arm.getFrameId(names[side])]).homogeneous for names in other.frames
            ]
        poses.append(found)
    np.testing.assert_allclose(poses[0], poses[1], atol=other.pose)


def test_mass_and_gravity_differ_as_documented(pair):
    other, ours, theirs = pair
    assert total_mass(ours) == pytest.approx(total_mass(theirs), rel=other.mass)
    torques = [
        np.array([pin.computeGeneralizedGravity(arm, arm.createData(), q) for q in positions(arm)])
        for arm in (ours, theirs)
    ]
    np.testing.assert_allclose(torques[0], torques[1], atol=other.gravity * np.abs(torques[1]).max())
