"""DH → robot → screws → DH → URDF text → robot: the pose stays the same to 1e-12, whatever way is taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import yaml
from hypothesis import given

from manipapy_core import Robot, dynamics, kinematics, lie
from manipapy_core.errors import InputError, ShapeError
from manipapy_core.model import bundled_robots, dh
from manipapy_core.model.chain import Chain, JointLimits
from manipapy_core.model.dh import Convention, DHTable
from manipapy_core.model.elements import Inertial, JointType
from model.dh_tables import FRANKA, LECTURE_UR5, TABLES, configurations

EXACT = 1e-12
CONFIG = Path(__file__).parents[2] / "config"
UR5 = DHTable(LECTURE_UR5, "standard")


def exponentials(S, M, q) -> np.ndarray:
    """exp(S_1 q_1) … exp(S_n q_n) M, for each row of q."""
    T = np.broadcast_to(np.eye(4), (len(q), 4, 4))
    for index in range(S.shape[1]):
        T = T @ lie.exp_se3(S[:, index] * q[:, index, None])
    return T @ M


def arm_of(table: DHTable) -> Chain:
    return table.to_robot().chain("base_link", "tool0")


@given(TABLES)
def test_dh_to_screws_to_dh_to_urdf_to_robot(table):
    q = configurations(table.n)
    expected = table.forward(q)
    chain = arm_of(table)
    np.testing.assert_allclose(exponentials(chain.S, chain.M, q), expected, atol=EXACT)
    for convention in Convention:
        again = dh.from_chain(chain, convention)
        assert again.convention is convention and [row.type for row in again.rows] == [row.type for row in table.rows]
        np.testing.assert_allclose(again.forward(q), expected, atol=EXACT)
        read = Robot.from_urdf(again.to_robot().urdf).chain("base_link", "tool0")
        np.testing.assert_allclose(exponentials(read.S, read.M, q), expected, atol=EXACT)


@pytest.mark.parametrize("angle", [1.1e-8, 6.103515625e-05, 0.00390625, 0.019, 0.021])
def test_a_base_or_tool_that_is_almost_upright_costs_no_accuracy(angle):
    tilts = [lie.exp_se3([angle, 0, 0, 0, 1, 0]), lie.exp_se3([0, -angle, 0, 0.3, 0, 1])]
    for rows in ([(0, 0, -1, 0)], [(0, 0, 0, 0, "prismatic")], LECTURE_UR5):
        for base in (np.eye(4), *tilts):
            for tool in (np.eye(4), *tilts):
                table = DHTable(rows, "standard", base, tool)
                q = configurations(table.n)
                for convention in Convention:
                    again = dh.from_chain(arm_of(table), convention)
                    np.testing.assert_allclose(again.forward(q), table.forward(q), atol=EXACT)
                    assert all(abs(value) < 100 for row in again.rows for value in (row.a, row.d))


def test_tables_of_the_makers_come_back_as_they_are():
    for rows, convention in ((LECTURE_UR5, "standard"), (FRANKA, "modified")):
        again = dh.from_chain(arm_of(DHTable(rows, convention)), convention)
        np.testing.assert_allclose([(r.a, r.alpha, r.d, r.theta) for r in again.rows], rows, atol=EXACT)
        for pose in (again.base, again.tool):
            np.testing.assert_allclose(pose, np.eye(4), atol=EXACT)


@pytest.mark.parametrize("name", bundled_robots())
def test_every_bundled_robot_has_a_table(name):
    values = yaml.safe_load((CONFIG / f"{name}.yaml").read_text())["/**"]["ros__parameters"]
    chain = Robot.from_urdf(name).chain(values["base_link"], values["tip_link"])
    q = configurations(chain.n, 30)
    for convention in Convention:
        table = dh.from_chain(chain, convention)
        np.testing.assert_allclose(table.forward(q), kinematics.forward(chain, q), atol=EXACT)
        compiled = kinematics.forward(arm_of(table), q)
        np.testing.assert_allclose(compiled, kinematics.forward(chain, q), atol=EXACT)


def test_screws_of_the_lecture_arm():
    """Hand-made: axis directions and a point on each axis at q = 0."""
    directions = [(0, 0, 1), (0, -1, 0), (0, -1, 0), (0, -1, 0), (0, 0, -1), (0, -1, 0)]
    points = [
        (0, 0, 0),
        (0, 0, 0.089159),
        (-0.425, 0, 0.089159),
        (-0.81725, 0, 0.089159),
        (-0.81725, -0.10915, 0),
        (-0.81725, 0, -0.005491),
    ]
    S = np.array([np.r_[w, -np.cross(w, p)] for w, p in zip(directions, points, strict=True)]).T
    np.testing.assert_allclose(arm_of(UR5).S, S, atol=EXACT)
    np.testing.assert_allclose(
        dh.from_screws(S, arm_of(UR5).M, "standard").forward(np.zeros(6)), arm_of(UR5).M, atol=EXACT
    )


def test_urdf_text_is_read_alike_by_pinocchio():
    model = pin.buildModelFromXML(UR5.to_robot("lecture", limits=[(-3, 3)] * 6).urdf)
    data = model.createData()
    for q in configurations(6):
        pin.framesForwardKinematics(model, data, q)
        T = data.oMf[model.getFrameId("tool0")].homogeneous
        np.testing.assert_allclose(T, UR5.forward(q), atol=EXACT)


def test_inertials_are_given_in_the_frames_of_the_table():
    """A point mass at the end of a link: at the origin of its standard frame, at (a, 0, 0) of its modified one."""
    upper, lower, m1, m2 = 0.6, 0.9, 1.5, 0.8
    point = np.zeros((3, 3))
    standard = DHTable([(upper, 0, 0, 0), (lower, 0, 0, 0)], "standard")
    arms = [
        standard.to_robot(inertials=[Inertial(m1, np.zeros(3), point), Inertial(m2, np.zeros(3), point)]),
        standard.in_convention("modified").to_robot(
            inertials=[Inertial(m1, [upper, 0, 0], point), Inertial(m2, [lower, 0, 0], point)]
        ),
    ]
    q2 = 0.7
    M22 = m2 * lower**2
    M12 = M22 + m2 * upper * lower * np.cos(q2)
    M11 = m1 * upper**2 + m2 * (upper**2 + lower**2 + 2 * upper * lower * np.cos(q2))
    for arm in arms:
        M = dynamics.mass_matrix(arm.chain("base_link", "tool0"), [0.3, q2])
        np.testing.assert_allclose(M, [[M11, M12], [M12, M22]], atol=EXACT)


def test_limits_and_names_reach_the_chain():
    rows = [(0, 0.5, 0.1, 0), (0.2, 0, 0, 0, "prismatic"), (0.1, 0, 0, 0)]
    limits = [(-1, 2), (0, 0.4), (-np.inf, np.inf)]
    robot = DHTable(rows, "standard").to_robot("gantry", limits=limits, joint_names=["turn", "slide", "spin"])
    assert robot.name == "gantry" and robot.free_joints == ("turn", "slide", "spin")
    assert robot.joints["spin"].type is JointType.CONTINUOUS
    chain = robot.chain("base_link", "tool0")
    np.testing.assert_array_equal(np.stack([chain.limits.lower, chain.limits.upper], axis=1), limits)
    # A chain's own limits go in whole, acceleration and jerk included.
    ur5 = Robot.from_urdf("ur5").chain("base", "tool0")
    again = UR5.to_robot(limits=ur5.limits).chain("base_link", "tool0").limits
    for name in JointLimits.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(again, name), getattr(ur5.limits, name))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": [(-1, 1)]}, "limits has 1 entries; the table has 6 rows"),
        ({"limits": [(-1, 0, 1)] * 6}, "lower, upper"),
        ({"limits": [(1, -1)] * 6}, "'joint_1': lower is 1 and upper is -1"),
        ({"joint_names": ["a"] * 6}, "name of its own"),
        ({"joint_names": ["a", "b"]}, "joint_names has 2 entries"),
        ({"inertials": [None]}, "inertials has 1 entries"),
        ({"inertials": [Inertial(-1.0, np.zeros(3), np.eye(3))] + [None] * 5}, "row 1: .*negative"),
        ({"inertials": [None] * 5 + [Inertial(1.0, np.full(3, np.nan), np.eye(3))]}, "row 6: com"),
    ],
)
def test_a_bad_robot_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        UR5.to_robot(**options)


def test_a_branching_or_mimicking_chain_has_no_table():
    panda = Robot.from_urdf("panda")
    for chain in (panda.tree(), panda.chain("panda_leftfinger", "panda_rightfinger")):
        with pytest.raises(InputError, match=r"Robot\.chain"):
            dh.from_chain(chain, "standard")


@pytest.mark.parametrize(
    ("S", "error"),
    [
        (np.zeros((6, 0)), ShapeError),
        (np.zeros((4, 2)), ShapeError),
        (np.zeros((6, 1)), InputError),
        (np.array([[0, 0, 1, 0, 0, 0.1]]).T, InputError),
        (np.array([[0, 0, 2, 0, 0, 0]]).T, InputError),
        (np.array([[0, 0, np.nan, 0, 0, 0]]).T, InputError),
    ],
)
def test_screws_that_are_no_joints_are_refused(S, error):
    with pytest.raises(error):
        dh.from_screws(S, np.eye(4), "standard")


@pytest.mark.parametrize("exponent", range(1, 15))
def test_almost_parallel_axes_cost_accuracy_but_never_the_answer(exponent):
    """Common normals of such axes are far away; what is lost is 1e-15 / angle, or the angle itself."""
    rng, angle = np.random.default_rng(exponent), 10.0**-exponent
    for _ in range(20):
        S = np.zeros((6, 4))
        z = rng.normal(size=3)
        for index, column in enumerate(S.T):
            across = np.cross(z, rng.normal(size=3))
            w = z / np.linalg.norm(z) + (angle * across / np.linalg.norm(across) if index % 2 else 0.0)
            column[:3] = w / np.linalg.norm(w)
            column[3:] = -np.cross(column[:3], rng.uniform(-1, 1, 3))
        M, q = lie.exp_se3(rng.normal(size=6)), rng.uniform(-3, 3, (5, 4))
        error = np.abs(dh.from_screws(S, M, "modified").forward(q) - exponentials(S, M, q)).max()
        assert error < 1e-12 + 30 * min(1e-14 / angle, angle)
