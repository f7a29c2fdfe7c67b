"""Errors of path constraints against Pinocchio and SciPy, their projection, and bad constraints."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from geometry.arms import arm
from manipapy_core import InputError, Robot, lie
from manipapy_core.errors import ShapeError, UnknownJoint, UnknownLink
from manipapy_core.geometry import Box, Cylinder, Sphere
from manipapy_core.ik import NotAPose
from manipapy_core.motion import JointConstraint, OrientationConstraint, OrientationError, PositionConstraint
from manipapy_core.motion.constraints import projection
from manipapy_core.motion.constraints.compiled import PathConstraints

R_WANTED = Rotation.from_euler("xyz", [0.3, -2.0, 0.7]).as_matrix()
EULER, VECTOR = OrientationError.XYZ_EULER_ANGLES, OrientationError.ROTATION_VECTOR
REGION = lie.pose(Rotation.from_euler("xyz", [0.4, 0.2, -1.0]).as_matrix(), [0.3, 0.2, 0.5])

ELBOW = lie.pose(translation=[-0.05, 0.4, 0.1])


def placements(robot: Robot, joints: tuple[str, ...], q: np.ndarray) -> dict[str, pin.SE3]:
    """Poses of all frames by Pinocchio in that of the root."""
    model = pin.buildModelFromXML(robot.urdf)
    data, full = model.createData(), pin.neutral(model)
    for name, value in zip(joints, q):
        full[model.joints[model.getJointId(name)].idx_q] = value
    pin.framesForwardKinematics(model, data, full)
    return {frame.name: data.oMf[index].copy() for index, frame in enumerate(model.frames)}


def configurations(chain, count: int) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.uniform(np.maximum(chain.limits.lower, -3.0), np.minimum(chain.limits.upper, 3.0), (count, chain.n))


@pytest.mark.parametrize("frame", ["", "panda_link2"])
@pytest.mark.parametrize("kind", [EULER, VECTOR])
def test_orientation_errors_are_those_of_pinocchio_and_scipy(kind, frame):
    robot, chain, _ = arm("panda")
    tolerance = np.array([0.2, 0.3, 0.5])
    one = OrientationConstraint("panda_hand", R_WANTED, tolerance, kind, frame)
    constraints = PathConstraints.of(chain, [one])
    for q in configurations(chain, 50):
        poses = placements(robot, chain.joint_names, q)
        R_base_frame = poses[frame or "panda_link0"].rotation
        actual = R_base_frame.T @ poses["panda_hand"].rotation
        if kind is EULER:
            error = Rotation.from_matrix(R_WANTED.T @ actual).as_euler("XYZ")
        else:
            error = R_WANTED @ Rotation.from_matrix(R_WANTED.T @ actual).as_rotvec()
        np.testing.assert_allclose(constraints.worst(q[None])[0], np.max(np.abs(error) / tolerance), rtol=1e-6)


@pytest.mark.parametrize("shape", [Box([0.2, 0.4, 0.6]), Sphere(0.3), Cylinder(0.2, 0.5)])
def test_position_errors_are_those_of_pinocchio(shape):
    robot, chain, _ = arm("panda")
    point = np.array([0.02, -0.01, 0.1])
    constraints = PathConstraints.of(chain, [PositionConstraint("panda_link8", [(shape, REGION)], point)])
    for q in configurations(chain, 50):
        x = pin.SE3(REGION).actInv(placements(robot, chain.joint_names, q)["panda_link8"].act(point))
        if isinstance(shape, Box):
            expected = np.max(np.abs(x) / (0.5 * np.asarray(shape.size)))
        elif isinstance(shape, Sphere):
            expected = np.linalg.norm(x) / shape.radius
        else:
            expected = max(np.hypot(x[0], x[1]) / shape.radius, abs(x[2]) / (0.5 * shape.length))
        np.testing.assert_allclose(constraints.worst(q[None])[0], expected, rtol=1e-6)


def test_one_region_of_a_union_is_enough():
    _, chain, _ = arm("panda")
    near, far = (Sphere(0.3), REGION), (Sphere(0.05), lie.pose(translation=[9.0, 0.0, 0.0]))
    q = configurations(chain, 20)
    alone = PathConstraints.of(chain, [PositionConstraint("panda_link8", [near])]).worst(q)
    union = PathConstraints.of(chain, [PositionConstraint("panda_link8", [far, near])]).worst(q)
    np.testing.assert_array_equal(alone, union)


CASES = {
    "euler": [OrientationConstraint("panda_hand", R_WANTED, (0.1, 0.1, math.pi), EULER)],
    "vector": [OrientationConstraint("panda_hand", R_WANTED, (0.1, 0.2, 0.3), VECTOR)],
    "moving frame": [OrientationConstraint("panda_hand", R_WANTED, (0.1, 0.2, 0.3), VECTOR, "panda_link3")],
    "box": [PositionConstraint("panda_hand", [(Box([0.1, 0.2, 0.01]), REGION)], (0.0, 0.0, 0.1))],
    "sphere": [PositionConstraint("panda_hand", [(Sphere(0.05), REGION)])],
    "cylinder": [PositionConstraint("panda_hand", [(Cylinder(0.05, 0.1), REGION)])],
    "box in a moving frame": [PositionConstraint("panda_hand", [(Box([0.1, 0.2, 0.1]), ELBOW)], frame="panda_link4")],
    "together": [
        OrientationConstraint("panda_hand", np.diag([1.0, -1.0, -1.0]), (0.05, 0.05, math.pi)),
        PositionConstraint("panda_hand", [(Box([2.0, 2.0, 0.02]), lie.pose(translation=[0, 0, 0.4]))]),
        JointConstraint("panda_joint4", -2.0, 0.8, 0.5),
    ],
}


@pytest.mark.parametrize("case", CASES)
def test_projection_leads_onto_the_constraints_and_moves_little(case):
    _, chain, _ = arm("panda")
    constraints = PathConstraints.of(chain, CASES[case])
    lower, upper = np.maximum(constraints.lower, -3.0), np.minimum(constraints.upper, 3.0)
    done = 0
    for q in configurations(chain, 100):
        before = constraints.worst(q[None])[0]
        found = constraints.project(q, lower, upper)
        if found is None:
            continue
        done += 1
        assert constraints.worst(found[None])[0] <= (
            1.0 if case == "together" else 0.971
        )  # a joint may be at the end of its band
        assert np.all(found >= lower - 1e-12) and np.all(found <= upper + 1e-12)
        if before <= 0.97 and np.all(q >= lower) and np.all(q <= upper):
            np.testing.assert_array_equal(found, q)
    assert done >= 60, done


@pytest.mark.parametrize("case", [name for name in CASES if name != "together"])
def test_jacobians_are_differences(case):
    """Of the components beyond their aim, which are the residual of the projection."""
    _, chain, _ = arm("panda")
    constraints = PathConstraints.of(chain, CASES[case])
    whole, numbers, kinds, rows = constraints.tables

    def residual(q):
        R, p, w, e = np.empty((len(whole), 9)), np.empty((len(whole), 3)), np.empty((7, 9)), np.empty(3)
        projection.worst_ratio(whole, numbers, kinds, rows, q, R, p, w, e)
        J, r, Jw, Jv = np.zeros((3, chain.n)), np.zeros(3), np.empty((3, chain.n)), np.empty((3, chain.n))
        count = projection.violated_rows(whole, numbers, kinds[0], rows[0], R, p, w, e, 0.85, Jw, Jv, J, r, 0)
        return r[:count], J[:count]

    compared = 0
    for q in configurations(chain, 30):
        r, J = residual(q)
        steps = [(residual(q + d)[0], residual(q - d)[0]) for d in 1e-6 * np.eye(chain.n)]
        if len(r) and all(len(a) == len(b) == len(r) for a, b in steps) and np.abs(r).max() < 2.5:
            numeric = np.array([(a - b) / 2e-6 for a, b in steps]).T
            if np.abs(numeric).max() < 10.0:
                np.testing.assert_allclose(J, numeric, atol=2e-5)
                compared += 1
    assert compared > 10


BAD = {
    "link": (OrientationConstraint("hand", np.eye(3), (0.1, 0.1, 0.1)), UnknownLink, "no link 'hand'"),
    "frame": (OrientationConstraint("panda_hand", np.eye(3), (0.1, 0.1, 0.1), frame="x"), UnknownLink, "no link 'x'"),
    "still": (OrientationConstraint("panda_link0", np.eye(3), (0.1, 0.1, 0.1)), InputError, "it stands still"),
    "zero": (OrientationConstraint("panda_hand", np.eye(3), (0.1, 0.0, 0.1)), InputError, "at least 0.0001 rad"),
    "nan": (OrientationConstraint("panda_hand", np.eye(3), (0.1, math.nan, 0.1)), InputError, "must be finite"),
    "free": (OrientationConstraint("panda_hand", np.eye(3), (4, 4, 4)), InputError, "frees all three components"),
    "turn": (OrientationConstraint("panda_hand", 2 * np.eye(3), (0.1, 0.1, 0.1)), NotAPose, "R_frame_link"),
    "shape": (OrientationConstraint("panda_hand", np.eye(4), (0.1, 0.1, 0.1)), ShapeError, r"\(3, 3\)"),
    "empty": (PositionConstraint("panda_hand", []), InputError, "has no region"),
    "region": (PositionConstraint("panda_hand", [("box", np.eye(4))]), InputError, "is a str; give Box, Sphere or Cyl"),
    "joint": (JointConstraint("elbow", 0.0, 1.0, 1.0), UnknownJoint, "no joint 'elbow'"),
    "band": (JointConstraint("panda_joint4", 1.0, 0.1, 0.1), InputError, "leaves nothing of its limits"),
    "negative": (JointConstraint("panda_joint4", -1.0, -0.1, 0.1), InputError, "tolerances not below 0"),
    "other": ("upright", InputError, "is a str; give OrientationConstraint"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_constraints_are_refused(case):
    one, error, text = BAD[case]
    with pytest.raises(error, match=text):
        PathConstraints.of(arm("panda")[1], [one])


def test_contradicting_bands_are_refused():
    bands = [JointConstraint("panda_joint1", 0.0, 0.1, 0.1), JointConstraint("panda_joint1", 1.0, 0.1, 0.1)]
    with pytest.raises(InputError, match="of another band"):
        PathConstraints.of(arm("panda")[1], bands)
