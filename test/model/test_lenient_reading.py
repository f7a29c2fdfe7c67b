"""What other tools accept and physics survives is a warning, refused when `strict`; nonsense is always refused."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import dynamics, kinematics
from manipapy_core.errors import InputError, ModelError
from manipapy_core.model import CylinderGeometry, Robot, SphereGeometry
from model.small_arm import INERTIA, LIMIT, arm, inertial, only_problem_of, visual
from reference.urdf_writing import joint, link

COLOUR = '<material name="m"><color rgba="1 0 0 1"/></material>'
FLAT = INERTIA.replace('"0.1"', '"-1e-5"').replace("0.25", "0.2")
FLAWS = {
    "moment negative by rounding": (arm(hand=inertial(inertia=FLAT)), "by rounding"),
    "repeated material": (arm(hand=visual('<sphere radius="1"/>', COLOUR * 2)), "<material> is given 2 times"),
    "two shapes": (arm(hand=visual('<sphere radius="1"/><box size="1 1 1"/>')), "holds 2 shapes, <sphere> counts"),
    "mimic of a missing joint": (arm(wrist=f'{LIMIT}<mimic joint="gone"/>'), "moves on its own"),
    "negative effort": (arm(wrist=LIMIT.replace('"4"', '"-1"')), "effort is -1, taken as none"),
    "negative velocity": (arm(wrist=LIMIT.replace('"3"', '"-1"')), "velocity is -1, taken as none"),
    "empty inertial": (arm(hand="<inertial/>"), "the link is massless"),
    "missing product of inertia": (arm(hand=inertial(inertia=INERTIA.replace('ixy="0"', ""))), "'ixy' is missing"),
    "mesh that is not there": (arm(hand=visual('<mesh filename="x.stl"/>')), "mesh 'x.stl': file not found"),
    "no name": (arm().replace(' name="arm"', ""), "attribute 'name' is missing"),
    "leftover macro": (arm(more="<xacro:sensors/>"), "was not expanded, ignored"),
    "two roots": (arm(more=link("camera")), "only the tree below 'base' is used"),
    "the same axis twice": (arm(wrist=f'{LIMIT}<axis xyz="0 0 1"/><axis xyz="0 0 1"/>'), "<axis> is given 2 times"),
    "joint on the world": (arm(more=joint("fix", "fixed", "world", "base")), "'world' does not exist and was added"),
    "gripper without the arm that carries it": (
        arm(more=joint("fix", "fixed", "flange", "base")),
        "'flange' does not exist and was added",
    ),
    "floating joint": (arm(kind="floating"), "held still"),
    "commas": (arm(wrist=f'{LIMIT}<origin xyz="0.07, 0, -0.69"/>'), "read without commas"),
    "a number too many": (arm(wrist=f'{LIMIT}<origin rpy="0 1.5 0 0"/>'), "read as '0 1.5 0'"),
}


@pytest.mark.parametrize("case", FLAWS)
def test_flaw_is_a_warning_with_its_line_and_refused_when_strict(case: str) -> None:
    text, words = FLAWS[case]
    robot = Robot.from_urdf(text)
    assert len(robot.warnings) == 1
    assert words in robot.warnings[0]
    assert robot.warnings[0].startswith("text:")
    with pytest.raises(ModelError) as caught:
        Robot.from_urdf(text, strict=True)
    assert caught.value.problems == robot.warnings


def test_missing_parent_is_refused_where_not_everything_hangs_on_it() -> None:
    problem = only_problem_of(arm(more=link("camera") + joint("fix", "fixed", "handd", "camera")), strict=False)
    assert "parent link 'handd' does not exist" in problem


def test_moment_below_zero_by_rounding_counts_as_zero() -> None:
    robot = Robot.from_urdf(arm(hand=inertial(inertia=FLAT)))
    inertia = robot.links["hand"].inertial.inertia
    np.testing.assert_allclose(inertia, np.diag([0.0, 0.2, 0.2]), atol=1e-12)


def test_moment_of_a_tiny_part_below_zero_counts_as_zero() -> None:
    tiny = INERTIA.replace('"0.1"', '"-3.5e-8"').replace('"0.2"', '"3.5e-8"').replace("0.25", "9e-8")
    robot = Robot.from_urdf(arm(hand=inertial(inertia=tiny)))
    assert np.linalg.eigvalsh(robot.links["hand"].inertial.inertia)[0] >= 0.0
    assert "by rounding" in robot.warnings[0]


@pytest.mark.parametrize("written", ["0,07 0 -0.69", "0.1 0 0.2 0.3", "0.1,0,0.2", "0.1,, 0 0"])
def test_numbers_in_doubt_are_refused(written: str) -> None:
    problem = only_problem_of(arm(wrist=f'{LIMIT}<origin xyz="{written}"/>'), strict=False)
    assert f"xyz is {written!r}" in problem


def test_commas_between_numbers_change_nothing() -> None:
    with_commas, without = (
        Robot.from_urdf(arm(wrist=f'{LIMIT}<origin xyz="{written}"/>')).joints["wrist"]
        for written in ("0.07, 0, -0.69", "0.07 0 -0.69")
    )
    np.testing.assert_array_equal(with_commas.T_parent_child, without.T_parent_child)


@pytest.mark.parametrize("moment", ["-0.001", "-0.1"])
def test_truly_negative_moment_is_refused(moment: str) -> None:
    problem = only_problem_of(arm(hand=inertial(inertia=INERTIA.replace('"0.1"', f'"{moment}"'))), strict=False)
    assert "a moment of inertia cannot be negative, write it about the centre of mass" in problem


OTHER = link("x") + joint("other", "continuous", "base", "x")
NONSENSE = {
    "origin": (arm(wrist=f'{LIMIT}<origin xyz="1e308 0 0"/>'), "xyz is '1e308 0 0'", "at most 10000 in size"),
    "angle": (arm(wrist=f'{LIMIT}<origin rpy="0 1e300 0"/>'), "rpy is '0 1e300 0'", "at most 10000 in size"),
    "mimic offset": (
        arm(wrist=f'{LIMIT}<mimic joint="other" offset="1e308"/>', more=OTHER),
        "offset is 1e+308",
        "at most 10000 in size",
    ),
    "mass": (arm(hand=inertial('<mass value="1e308"/>')), "value is 1e+308", "at most 1e+06"),
    "inertia": (arm(hand=inertial(inertia=INERTIA.replace("0.25", "1e300"))), "izz is 1e+300", "at most 1e+09"),
    "size": (arm(hand=visual('<sphere radius="1e308"/>')), "radius is 1e+308", "at most 10000 in size"),
    "damping": (arm(wrist=f'{LIMIT}<dynamics damping="1e308"/>'), "damping is 1e+308", "at most 1e+09"),
}  # fmt: skip


@pytest.mark.parametrize("case", NONSENSE)
def test_absurd_numbers_are_refused_with_line_and_cure(case: str) -> None:
    text, what, cure = NONSENSE[case]
    problem = only_problem_of(text, strict=False)
    assert problem.startswith("text:")
    assert what in problem
    assert cure in problem.partition(";")[2]


def test_mutated_inertias_give_a_positive_mass_matrix_or_are_refused() -> None:
    text = Robot.from_urdf("ur10e").urdf
    generator = np.random.default_rng(3)
    numbers = [part for part in text.split('"') if part.replace(".", "").replace("-", "").isdigit() and "." in part]
    accepted = 0
    for _ in range(60):
        number = numbers[generator.integers(len(numbers))]
        changed = generator.choice(["-" + number.lstrip("-"), "0", "1e-9", "9e3", number + "e-3", "1" + number])
        try:
            robot = Robot.from_urdf(text.replace(f'"{number}"', f'"{changed}"', 1))
        except ModelError:
            continue
        accepted += 1
        chain = robot.chain("base_link", "tool0")
        # By hand, not by the kernels: Σ Jᵀ G J over the bodies at a random configuration.
        M = mass_matrix_by_hand(chain, generator.uniform(-3.0, 3.0, chain.n))
        lowest, *_, highest = np.linalg.eigvalsh(M)
        assert lowest > -1e-9 * highest
    assert accepted > 10


def mass_matrix_by_hand(chain, q):
    from manipapy_core import lie

    poses, jacobians, M = [], [], np.zeros((chain.n, chain.n))
    for body in chain.bodies:
        motion = lie.exp_se3(np.r_[body.axis, 0, 0, 0] * q[body.dof])
        step = body.T_parent_body @ motion
        before = np.zeros((6, chain.n)) if body.parent < 0 else jacobians[body.parent]
        J = lie.adjoint(lie.inverse(step)) @ before
        J[:3, body.dof] += body.axis
        poses.append(step)
        jacobians.append(J)
        G = np.zeros((6, 6))
        G[:3, :3], G[:3, 3:], G[3:, 3:] = body.inertia, lie.hat(body.moment), body.mass * np.eye(3)
        G[3:, :3] = G[:3, 3:].T
        M += J.T @ G @ J
    return M


def test_capsule_becomes_a_cylinder_and_two_spheres() -> None:
    robot = Robot.from_urdf(
        arm(hand='<collision><geometry><capsule radius="0.1" length="0.6"/></geometry></collision>')
    )
    cylinder, *ends = robot.links["hand"].collisions
    assert cylinder.geometry == CylinderGeometry(0.1, 0.6)
    assert [end.geometry for end in ends] == [SphereGeometry(0.1)] * 2
    assert [end.T_link_shape[2, 3] for end in ends] == [-0.3, 0.3]


HUMANOID = arm(wrist=LIMIT, more=link("world") + joint("free", "floating", "world", "base") + link("chair"))


def test_largest_tree_is_used() -> None:
    robot = Robot.from_urdf(HUMANOID)
    assert robot.root == "world"
    assert list(robot.links) == ["base", "hand", "world"]
    assert "3 links), 'chair' (line 8, 1 link); only the tree below 'world' is used" in " ".join(robot.warnings)


def test_floating_base_is_held_and_can_be_placed() -> None:
    T = np.array([[0.0, -1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 0.0, 1.0]])
    still = Robot.from_urdf(HUMANOID)
    assert dict(still.held_joints) == {"free": "floating"}
    assert still.free_joints == ("wrist",)
    placed = Robot.from_urdf(HUMANOID, base_pose=T)
    q = np.array([0.3])
    np.testing.assert_allclose(
        kinematics.forward(placed.chain("world", "hand"), q),
        T @ kinematics.forward(still.chain("world", "hand"), q),
        atol=1e-12,
    )


@pytest.mark.parametrize("pose", [np.eye(3), np.diag([1.0, 1.0, -1.0, 1.0]), np.full((4, 4), np.nan)])
def test_base_pose_must_be_a_pose(pose) -> None:
    with pytest.raises(InputError, match="base_pose"):
        Robot.from_urdf(HUMANOID, base_pose=pose)


def test_base_pose_of_a_robot_that_stands_fast_is_refused() -> None:
    with pytest.raises(InputError, match="has 0 floating or planar joints at its root 'base'"):
        Robot.from_urdf(arm(), base_pose=np.eye(4))


def test_forward_dynamics_of_a_massless_robot_says_so() -> None:
    chain = Robot.from_urdf(arm()).chain("base", "hand")
    with pytest.raises(InputError, match=r"joint 'wrist' moves no inertia.*<inertial>"):
        dynamics.forward_dynamics(chain, [0.0], [0.0], [1.0])
    np.testing.assert_array_equal(dynamics.mass_matrix(chain, [0.0]), [[0.0]])
