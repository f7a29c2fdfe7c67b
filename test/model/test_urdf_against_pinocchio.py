"""What we read from a URDF is what Pinocchio reads from it: placements, inertias, axes and limits."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from manipapy_core.model import JointType, Robot, bundled_robots
from reference.urdf_writing import joint, link, robot

TOLERANCE = 1e-10


def random_robot(seed: int) -> str:
    """A tree of eight links, with turned inertial frames and joints of every type."""
    rng = np.random.default_rng(seed)
    parts = [link("l0", 1.0)]
    kinds = ["revolute", "continuous", "prismatic", "fixed"]
    for index in range(1, 8):
        factor = rng.normal(size=(3, 3))
        tensor = factor @ factor.T
        # Trace minus matrix turns any positive tensor into one that keeps the triangle inequality.
        tensor = np.trace(tensor) * np.eye(3) - tensor
        moments = [tensor[0, 0], tensor[0, 1], tensor[0, 2], tensor[1, 1], tensor[1, 2], tensor[2, 2]]
        parts.append(link(f"l{index}", rng.uniform(0.1, 5.0), rng.normal(size=3), rng.uniform(-3, 3, 3), moments))
        axis = rng.normal(size=3)
        parts.append(
            joint(
                f"j{index}",
                kinds[(index + seed) % 4],
                f"l{rng.integers(index)}",
                f"l{index}",
                xyz=rng.normal(size=3),
                rpy=rng.uniform(-3, 3, 3),
                axis=axis / np.linalg.norm(axis),
                limits=(-rng.uniform(0.1, 3), rng.uniform(0.1, 3)),
                damping=rng.uniform(0, 1),
                friction=rng.uniform(0, 1),
            )
        )
    return robot(f"random_{seed}", *parts)


TEXTS = {f"random_{seed}": random_robot(seed) for seed in range(6)} | {
    name: Robot.from_urdf(name, check_meshes=False).urdf for name in bundled_robots()
}


def home_poses(ours: Robot) -> dict[str, np.ndarray]:
    """Pose of every link in the root link at q = 0."""
    poses = {ours.root: np.eye(4)}
    waiting = list(ours.joints.values())
    while waiting:
        ready = [entry for entry in waiting if entry.parent in poses]
        for entry in ready:
            poses[entry.child] = poses[entry.parent] @ entry.T_parent_child
        waiting = [entry for entry in waiting if entry not in ready]
    return poses


def pinocchio_home(text: str) -> tuple[pin.Model, pin.Data]:
    model = pin.buildModelFromXML(text)
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    return model, data


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_stands_where_pinocchio_puts_it(name: str) -> None:
    model, data = pinocchio_home(TEXTS[name])
    poses = home_poses(Robot.from_urdf(TEXTS[name]))
    for link_name, pose in poses.items():
        frame = data.oMf[model.getFrameId(link_name, pin.FrameType.BODY)]
        np.testing.assert_allclose(pose, frame.homogeneous, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", TEXTS)
def test_masses_and_turned_inertias_agree(name: str) -> None:
    ours = Robot.from_urdf(TEXTS[name])
    model, data = pinocchio_home(TEXTS[name])
    poses = home_poses(ours)
    above = {entry.child: entry for entry in ours.joints.values()}
    # Pinocchio lumps the links behind fixed joints into the moving joint before them; so do we here.
    lumps = {index: pin.Inertia.Zero() for index in range(model.njoints)}
    for link_name, found in ours.links.items():
        if found.inertial is None:
            continue
        carrier = link_name
        while carrier in above and not above[carrier].type.moves:
            carrier = above[carrier].parent
        index = model.getJointId(above[carrier].name) if carrier in above else 0
        T_joint_link = data.oMi[index].inverse() * pin.SE3(poses[link_name])
        own = pin.Inertia(found.inertial.mass, found.inertial.com, found.inertial.inertia)
        lumps[index] += T_joint_link.act(own)
    for index in range(model.njoints):
        np.testing.assert_allclose(
            lumps[index].matrix(), model.inertias[index].matrix(), rtol=TOLERANCE, atol=TOLERANCE
        )


@pytest.mark.parametrize("name", TEXTS)
def test_limits_damping_and_friction_agree(name: str) -> None:
    ours = Robot.from_urdf(TEXTS[name])
    model, _ = pinocchio_home(TEXTS[name])
    for joint_name, found in ours.joints.items():
        if not found.type.moves:
            continue
        theirs = model.joints[model.getJointId(joint_name)]
        at = theirs.idx_v
        assert found.velocity == pytest.approx(model.velocityLimit[at])
        assert found.effort == pytest.approx(model.effortLimit[at])
        assert found.damping == pytest.approx(model.damping[at])
        assert found.friction == pytest.approx(model.friction[at])
        if found.type is not JointType.CONTINUOUS:
            assert found.lower == pytest.approx(model.lowerPositionLimit[theirs.idx_q])
            assert found.upper == pytest.approx(model.upperPositionLimit[theirs.idx_q])


@pytest.mark.parametrize("name", TEXTS)
def test_axes_agree(name: str) -> None:
    ours = Robot.from_urdf(TEXTS[name])
    model, data = pinocchio_home(TEXTS[name])
    pin.computeJointJacobians(model, data, pin.neutral(model))
    poses = home_poses(ours)
    for joint_name, found in ours.joints.items():
        if not found.type.moves:
            continue
        at = model.joints[model.getJointId(joint_name)].idx_v
        column = data.J[:, at]
        direction = column[3:] if found.type.rotates else column[:3]
        np.testing.assert_allclose(poses[found.child][:3, :3] @ found.axis, direction, rtol=0, atol=TOLERANCE)
