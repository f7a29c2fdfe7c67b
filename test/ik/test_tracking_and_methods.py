"""Along paths without jumps; and the textbook's iterations."""

from __future__ import annotations

import numpy as np
import pytest

from ik.arms import arm, configurations
from manipapy_core import ik, kinematics, lie
from manipapy_core.errors import InputError
from manipapy_core.ik import BreakReason


def circle(T: np.ndarray, radius: float, count: int) -> np.ndarray:
    poses = np.tile(T, (count, 1, 1))
    angle = np.linspace(0.0, 2.0 * np.pi, count)
    poses[:, 1, 3] += radius * np.sin(angle)
    poses[:, 2, 3] += radius * (1.0 - np.cos(angle))
    return poses


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_a_circle_is_followed_without_a_jump(name):
    chain = arm(name)
    q = np.array([0.3, -1.2, 1.4, -1.6, 0.9, 0.4, 0.2])[: chain.n]
    poses = circle(kinematics.forward(chain, q), 0.08, 60)
    path = ik.track(chain, poses, q)
    assert path.complete and path.q.shape == (60, chain.n)
    assert np.abs(np.diff(path.q, axis=0)).max() < 0.3
    assert np.abs(kinematics.forward(chain, path.q) - poses).max() < 1e-6


def test_the_winding_of_the_start_is_kept():
    chain = arm("ur5")
    q = np.array([4.0, -1.2, 1.4, -1.6, 0.9, -4.5])
    path = ik.track(chain, circle(kinematics.forward(chain, q), 0.05, 20), q)
    assert path.complete and np.abs(path.q[0] - q).max() < 1e-5


def test_coarse_paths_are_refined():
    chain = arm("ur5")
    q = np.array([[0.0, -1.2, 1.4, -1.6, 0.9, 0.4], [1.2, -1.0, 1.2, -1.2, 1.2, 0.9]])
    poses = kinematics.forward(chain, q)
    path = ik.track(chain, poses, q[0], max_step=0.4)
    assert path.complete and np.abs(path.q[1] - q[1]).max() < 1e-3


def test_the_end_of_reach_breaks_the_path_where_it_is():
    chain = arm("ur5")
    q = np.array([0.0, -1.2, 1.4, -1.6, 0.9, 0.4])
    poses = np.tile(kinematics.forward(chain, q), (30, 1, 1))
    poses[:, 0, 3] += np.linspace(0.0, 1.5, 30)
    path = ik.track(chain, poses, q)
    assert path.broken.reason in (BreakReason.NO_SOLUTION_NEARBY, BreakReason.JUMP)
    assert 1 <= path.broken.index < 30 and len(path.q) == path.broken.index
    assert np.abs(np.diff(path.q, axis=0)).max() <= 0.5


def test_a_start_on_another_branch_is_a_break_not_a_jump():
    chain = arm("ur5")
    q = np.array([0.0, -1.2, 1.4, -1.6, 0.9, 0.4])
    path = ik.track(chain, kinematics.forward(chain, q)[None], q + 1.5, max_step=0.5)
    assert path.broken is not None and path.broken.index == 0 and path.q.shape == (0, 6)
    with pytest.raises(InputError, match="max_step"):
        ik.track(chain, kinematics.forward(chain, q)[None], q, max_step=0.0)


@pytest.mark.parametrize("method", [ik.jacobian_transpose, ik.pseudo_inverse, ik.damped_least_squares])
def test_textbook_methods_converge_from_nearby(method):
    chain = arm("ur5")
    tolerances = ik.IKTolerances(1e-4, 1e-4) if method is ik.jacobian_transpose else ik.IKTolerances()
    solved = 0
    for q in configurations(chain, 8, seed=1):
        T = kinematics.forward(chain, q)
        result = method(chain, T, q + 0.05, tolerances=tolerances)
        solved += result.solved
        off = lie.log_se3(lie.inverse(kinematics.forward(chain, result.q)) @ T)
        assert result.orientation_error == pytest.approx(np.linalg.norm(off[:3]), abs=1e-9)
        assert result.solved == (result.iterations < 2000 and np.abs(off).max() < 1e-3 and result.solved)
    assert solved >= 5


@pytest.mark.parametrize("method", [ik.jacobian_transpose, ik.pseudo_inverse, ik.damped_least_squares])
def test_a_step_of_a_textbook_method_takes_the_given_share_of_the_error(method):
    chain = arm("ur5")
    q = np.array([0.0, -1.2, 1.4, -1.6, 0.9, 0.4])
    T = kinematics.forward(chain, q + 1e-3)
    # One step, and a pose that it does not reach: the closest configuration is the one after the step.
    whole, part = (method(chain, T, q, alpha=alpha, iterations=1).q - q for alpha in (1.0, 0.25))
    np.testing.assert_allclose(part, 0.25 * whole, rtol=1e-6, atol=1e-12)
    for alpha in (0.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="alpha"):
            method(chain, T, q, alpha=alpha)


def test_an_unreachable_pose_ends_in_least_squares():
    chain = arm("ur5")
    T = np.eye(4)
    T[0, 3] = 2.0
    result = ik.damped_least_squares(chain, T, np.zeros(6), iterations=50)
    assert result.status is ik.IKStatus.LEAST_SQUARES and np.isfinite(result.position_error)
