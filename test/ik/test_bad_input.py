"""Whatever is wrong with a question is said, with its data; odd robots get sensible answers."""

from __future__ import annotations

import numpy as np
import pytest

from ik.arms import arm, configurations
from manipapy_core import Robot, ik, kinematics
from manipapy_core.compiler import Task
from manipapy_core.errors import InputError, ShapeError
from manipapy_core.ik import IKStatus, NotAPose
from reference.urdf_writing import joint, link, robot


def pose() -> np.ndarray:
    return kinematics.forward(arm("ur5"), [0.1, -1.0, 1.2, 0.3, 0.8, 0.2])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (2, 3), (3, 1)])
def test_numbers_that_are_not_finite(value, place):
    T = pose()
    T[place] = value
    for ask in (ik.solve, lambda chain, T: ik.solve_batch(chain, T[None])):
        with pytest.raises(InputError):
            ask(arm("ur5"), T)


def test_a_matrix_outside_se3_is_refused_with_its_defect():
    T = pose()
    T[0, 0] += 0.01
    with pytest.raises(NotAPose, match="orthonormalise=True") as caught:
        ik.solve(arm("ur5"), T)
    assert 0.001 < caught.value.defect < 0.05
    with pytest.raises(NotAPose, match=r"T\[1\]"):
        ik.solve_batch(arm("ur5"), np.stack([pose(), T]))
    repaired = ik.solve(arm("ur5"), T, orthonormalise=True)
    assert repaired.solved
    assert ik.solve_batch(arm("ur5"), T[None], orthonormalise=True).solved.all()


def test_a_mirror_image_is_never_repaired():
    T = pose() @ np.diag([1.0, 1.0, -1.0, 1.0])
    with pytest.raises(NotAPose, match="too far"):
        ik.solve(arm("ur5"), T, orthonormalise=True)


def test_rounding_passes():
    assert ik.solve(arm("ur5"), np.round(pose(), 7)).solved
    assert ik.solve(arm("ur5"), pose().astype(np.float32)).solved
    assert ik.solve(arm("ur5"), pose().tolist()).solved


@pytest.mark.parametrize("T", [np.eye(3), np.zeros((4, 4, 4)), "pose", [[1, 2], [3]], np.eye(4) * 1j])
def test_values_that_are_not_matrices(T):
    with pytest.raises(InputError):
        ik.solve(arm("ur5"), T)


def test_seeds_weights_and_axes_are_checked():
    chain, T = arm("ur5"), pose()
    with pytest.raises(ShapeError, match="shoulder_pan_joint"):
        ik.solve(chain, T, q_seed=np.zeros(7))
    with pytest.raises(InputError):
        ik.solve(chain, T, q_seed=np.full(6, np.nan))
    for weights in (np.ones(5), -np.ones(6), np.zeros(6)):
        with pytest.raises(InputError, match="six"):
            ik.solve(chain, T, weights=weights)
    with pytest.raises(InputError, match="axis"):
        ik.solve(chain, T, axis=(0, 0, 0))
    with pytest.raises(InputError, match="needs weights"):
        ik.solve(chain, T, task=Task.WEIGHTED)
    with pytest.raises(InputError, match="threads"):
        ik.solve_batch(chain, T[None], threads=0)
    with pytest.raises(InputError, match="collision"):
        ik.solve(chain, T, collision=lambda q: 0.5)
    with pytest.raises(InputError, match="objective"):
        ik.solve(chain, T, objective=lambda q: np.nan * q[:, 0])
    with pytest.raises(InputError, match="redundancy"):
        ik.solve(arm("panda"), kinematics.forward(arm("panda"), np.full(7, -0.5)), all_solutions=True, redundancy=0)


def test_an_empty_batch_has_an_empty_answer():
    answer = ik.solve_batch(arm("panda"), np.zeros((0, 4, 4)))
    assert answer.q.shape == (0, 7) and len(answer) == 0 and answer.solved.shape == (0,)


def six_joints(kind: str = "revolute", limits=(-2.0, 2.0), mimic=None) -> Robot:
    """An arm whose third joint is of the given kind."""
    axes = [(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    parts = [link("l0")]
    for i, axis in enumerate(axes, start=1):
        special = {"limits": limits, "mimic": mimic} if i == 3 else {"limits": (-2.8, 2.8)}
        parts.append(link(f"l{i}", 1.0))
        parts.append(
            joint(
                f"j{i}", kind if i == 3 else "revolute", f"l{i - 1}", f"l{i}", xyz=(0.05, 0, 0.25), axis=axis, **special
            )
        )
    return Robot.from_urdf(robot("six", *parts))


def test_a_joint_of_zero_width_stays_where_it_is():
    chain = six_joints(limits=(0.4, 0.4)).chain("l0", "l6")
    q = configurations(chain, 50, seed=1)
    answer = ik.solve_batch(chain, kinematics.forward(chain, q))
    assert answer.solved.all() and (answer.q[:, 2] == 0.4).all()


def test_a_locked_joint_is_no_part_of_q():
    chain = six_joints().chain("l0", "l6", fixed={"j3": 0.7})
    q = configurations(chain, 50, seed=2)
    answer = ik.solve_batch(chain, kinematics.forward(chain, q))
    assert chain.n == 5 and answer.solved.all()


def test_a_continuous_joint_turns_all_the_way():
    chain = six_joints("continuous").chain("l0", "l6")
    q = configurations(chain, 100, seed=3)
    q[:, 2] += 6 * np.pi
    answer = ik.solve_batch(chain, kinematics.forward(chain, q))
    assert answer.solved.all() and (np.abs(answer.q[:, 2]) <= np.pi + 1e-12).all()
    seeded = ik.solve_batch(chain, kinematics.forward(chain, q), q_seed=q)
    assert np.abs(seeded.q - q).max() < 1e-5


def test_mimic_joints_count_once():
    chain = six_joints(mimic=("j2", 0.5, 0.1)).chain("l0", "l6")
    q = configurations(chain, 100, seed=4)
    answer = ik.solve_batch(chain, kinematics.forward(chain, q))
    assert chain.n == 5 and answer.solved.all()


def test_a_tree_leaves_the_other_branch_in_range():
    from reference.random_robots import humanoid

    case = humanoid()
    tree = Robot.from_urdf(case.text).tree(case.base, case.tip)
    q = configurations(tree, 20, seed=5)
    answer = ik.solve_batch(tree, kinematics.forward(tree, q))
    assert answer.solved.all()


def test_poses_far_away_do_not_overflow():
    T = np.eye(4)
    T[:3, 3] = 1e8
    result = ik.solve(arm("ur5"), T)
    assert result.status is IKStatus.UNREACHABLE and np.isfinite(result.q).all()


def test_errors_name_the_function_for_one_pose_and_for_many():
    with pytest.raises(ShapeError, match="`solve_batch` takes many poses"):
        ik.solve(arm("ur5"), pose()[None])
    with pytest.raises(ShapeError, match="`solve` takes one pose"):
        ik.solve_batch(arm("ur5"), pose())
