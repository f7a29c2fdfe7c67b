"""What a DH table says, in either convention, and what it refuses to be."""

from __future__ import annotations

import pickle
from math import cos, nan, pi, sin

import numpy as np
import pytest
from hypothesis import given

from manipapy_core import Robot, kinematics
from manipapy_core.errors import InputError, ShapeError
from manipapy_core.model.dh import Convention, DHRow, DHTable
from manipapy_core.model.elements import JointType
from model.dh_tables import FRANKA, LECTURE_UR5, TABLES, configurations

UR5 = DHTable(LECTURE_UR5, "standard")

# Position and rotation found by five routes (DH product, screws with scipy's expm, the shifted modified table, and
# two other libraries), which agree to 2e-15; written here to the digits of the notes.
REFERENCE_POSES = [
    ([0] * 6, (-0.81725, -0.19145, -0.005491), [[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
    ([0, -pi / 2, 0, -pi / 2, 0, 0], (0, -0.19145, 1.001059), [[-1, 0, 0], [0, 0, -1], [0, -1, 0]]),
    (
        [0.3, -1.2, 1.5, -0.7, 0.4, 1.1],
        (-0.513873, -0.352560, 0.294660),
        [[0.751375, -0.656102, -0.070466], [0.047531, 0.160322, -0.985920], [0.658161, 0.737446, 0.151647]],
    ),
    (
        [-2.1, -0.4, -1.9, 2.2, -1.3, 0.6],
        (-0.082605, 0.118571, 0.445071),
        [[0.547115, -0.435368, -0.714926], [-0.639767, 0.333273, -0.692551], [0.539781, 0.836291, -0.096195]],
    ),
    ([pi / 2] * 6, (0.10915, 0.29760, -0.253541), [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
]


@pytest.mark.parametrize(("q", "position", "rotation"), REFERENCE_POSES)
def test_ur5_of_the_lecture_reaches_the_reference_poses(q, position, rotation):
    chain = UR5.to_robot().chain("base_link", "tool0")
    for T in (UR5.forward(q), kinematics.forward(chain, q)):
        np.testing.assert_allclose(T[:3, 3], position, atol=6e-7)
        np.testing.assert_allclose(T[:3, :3], rotation, atol=6e-7)


def test_ur5_of_the_lecture_is_the_bundled_ur5():
    chain = Robot.from_urdf("ur5").chain("base", "tool0")
    q = configurations(6, 50)
    np.testing.assert_allclose(UR5.forward(q), kinematics.forward(chain, q), atol=1e-12)


def test_franka_table_is_the_bundled_panda():
    chain = Robot.from_urdf("panda").chain("panda_link0", "panda_link8")
    q = configurations(7, 50)
    np.testing.assert_allclose(DHTable(FRANKA, "modified").forward(q), kinematics.forward(chain, q), atol=1e-12)


def test_one_row_is_the_product_of_two_screws():
    """Rz Tz Tx Rx and Tx Rx Rz Tz, multiplied out by hand."""
    a, alpha, d, theta, q = 0.3, 0.7, -0.2, 0.4, 1.1

    def rotation(axis, angle):
        c, s = cos(angle), sin(angle)
        return np.array({"x": [[1, 0, 0], [0, c, -s], [0, s, c]], "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}[axis])

    def screw(axis, angle, length):
        T = np.eye(4)
        T[:3, :3] = rotation(axis, angle)
        T["xz".index(axis) * 2, 3] = length
        return T

    for kind, turn, slide in (("revolute", theta + q, d), ("prismatic", theta, d + q)):
        z, x = screw("z", turn, slide), screw("x", alpha, a)
        row = (a, alpha, d, theta, kind)
        np.testing.assert_allclose(DHTable([row], "standard").forward([q]), z @ x, atol=1e-15)
        np.testing.assert_allclose(DHTable([row], "modified").forward([q]), x @ z, atol=1e-15)


def test_words_and_matrix_of_the_lecture_are_two_conventions():
    """Its words (a along x_{i-1}, alpha about x_{i-1}) are the modified convention, its matrix and table the standard
    one: read by the words, the UR5 becomes another arm. Moving a and alpha down by one row makes them agree."""
    q = configurations(6)
    by_words = DHTable(LECTURE_UR5, "modified").forward(q)
    assert np.abs(by_words - UR5.forward(q)).max() > 0.1

    shifted = [(0.0, 0.0), *((row[0], row[1]) for row in LECTURE_UR5[:-1])]
    rows = [(a, alpha, d, theta) for (a, alpha), (_, _, d, theta) in zip(shifted, LECTURE_UR5, strict=True)]
    np.testing.assert_allclose(DHTable(rows, "modified").forward(q), UR5.forward(q), atol=1e-14)
    converted = UR5.in_convention("modified")
    assert converted.convention is Convention.MODIFIED
    assert [(row.a, row.alpha, row.d, row.theta) for row in converted.rows] == rows


@given(TABLES)
def test_changing_the_convention_changes_no_pose(table):
    q = configurations(table.n)
    expected = table.forward(q)
    for convention in Convention:
        np.testing.assert_allclose(table.in_convention(convention).forward(q), expected, atol=1e-13)
    there_and_back = table.in_convention("standard").in_convention("modified").in_convention(table.convention)
    np.testing.assert_allclose(there_and_back.forward(q), expected, atol=1e-13)


def test_a_batch_is_one_configuration_after_the_other():
    q = configurations(6, 12).reshape(3, 4, 6)
    batch, frames = UR5.forward(q), UR5.frames(q)
    assert batch.shape == (3, 4, 4, 4) and frames.shape == (3, 4, 6, 4, 4)
    np.testing.assert_array_equal(batch[2, 1], UR5.forward(q[2, 1]))
    np.testing.assert_array_equal(frames[2, 1, -1] @ UR5.tool, batch[2, 1])


def test_rows_can_be_records_lists_or_an_array():
    records = [DHRow(*row) for row in LECTURE_UR5]
    q = configurations(6)
    for rows in (records, [list(row) for row in LECTURE_UR5], np.array(LECTURE_UR5)):
        np.testing.assert_array_equal(DHTable(rows, Convention.STANDARD).forward(q), UR5.forward(q))


def test_a_table_prints_as_a_table():
    table = DHTable([(0.1, 0, 0.2, 0.3), (0, pi / 2, 0, 0, JointType.PRISMATIC)], "modified")
    head, first, second = str(table).splitlines()
    assert head.split() == ["modified", "DH", "a", "[m]", "alpha", "[rad]", "d", "[m]", "theta", "[rad]"]
    assert first.split() == ["1", "0.1", "0", "0.2", "0.3", "+", "q"]
    assert second.split() == ["2", "0", "1.5708", "0", "+", "q", "0"]


def test_a_table_survives_pickling_and_stays_frozen():
    copy = pickle.loads(pickle.dumps(UR5))
    assert copy.rows == UR5.rows and copy.convention is UR5.convention
    with pytest.raises(ValueError, match="read-only"):
        copy.base[0, 3] = 1.0


@pytest.mark.parametrize(
    ("rows", "convention", "message"),
    [
        ([], "standard", "no rows"),
        (np.zeros((0, 4)), "standard", "no rows"),
        (None, "standard", "list of"),
        ("0 0 0 0", "standard", "list of"),
        ([(0, 0, 0)], "standard", "row 1 .* expected a, alpha, d, theta"),
        ([(0, 0, 0, 0), (0, 0, 0, 0, "revolute", 1)], "standard", "row 2"),
        ([(0, 0, 0, 0), 7], "standard", "row 2 is 7"),
        ([(0, nan, 0, 0)], "modified", "row 1: alpha is nan; write a finite number in rad"),
        ([(0, 0, 0, 0), (0, 0, float("inf"), 0)], "modified", "row 2: d is inf"),
        ([("wide", 0, 0, 0)], "modified", "a is 'wide'"),
        ([(0, 0, 0, 0, "hinge")], "modified", "'hinge'.* revolute or prismatic"),
        ([(0, 0, 0, 0, JointType.FIXED)], "modified", "revolute or prismatic"),
        ([(0, 0, 0, 0)], "craig", "'craig'; there are: standard, modified"),
        ([(0, 0, 0, 0)], None, "there are: standard, modified"),
    ],
)
def test_a_bad_table_is_refused_with_its_cure(rows, convention, message):
    with pytest.raises(InputError, match=message):
        DHTable(rows, convention)


@pytest.mark.parametrize("base", [2 * np.eye(4), np.diag([1, 1, -1, 1]), np.full((4, 4), nan), np.ones((4, 4))])
def test_base_and_tool_must_be_poses(base):
    with pytest.raises(InputError, match="base is not a pose"):
        DHTable([(0, 0, 0, 0)], "standard", base=base)
    with pytest.raises(InputError, match="tool is not a pose"):
        DHTable([(0, 0, 0, 0)], "standard", tool=base)
    with pytest.raises(ShapeError):
        DHTable([(0, 0, 0, 0)], "standard", tool=np.eye(3))


@pytest.mark.parametrize("q", [0.0, np.zeros(5), np.zeros((3, 7))])
def test_q_of_the_wrong_length_is_refused(q):
    with pytest.raises(ShapeError):
        UR5.forward(q)
