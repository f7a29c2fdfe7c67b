"""Inverse kinematics with ManipulaPy's options, its helpers, and arms that are given by functions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from manipapy_core import lie
from manipapy_core.compat import ik_helpers
from manipapy_core.compat.trac_ik import TracIKSolver, trac_ik_solve
from manipapy_core.compat.urdf_processor import URDFToSerialManipulator
from manipapy_core.errors import InputError

GOAL = np.array([0.4, -1.0, 1.2, -0.5, 0.7, 0.1])


@pytest.fixture(scope="module")
def arm():
    return URDFToSerialManipulator("ur5", use_pybullet_limits=False).serial_manipulator


def test_pose_of_the_end_effector_is_position_and_roll_pitch_yaw(arm):
    pose, T = arm.end_effector_pose(GOAL), arm.forward_kinematics(GOAL)
    np.testing.assert_array_equal(pose[:3], T[:3, 3])
    np.testing.assert_allclose(pose[3:], Rotation.from_matrix(T[:3, :3]).as_euler("xyz"), atol=1e-12)


def test_no_step_is_longer_than_the_cap(arm):
    """The steps themselves are seen through an arm that is given by functions."""
    T, seen = arm.forward_kinematics(GOAL), []

    def forward(theta):
        seen.append(np.array(theta))
        return arm.forward_kinematics(theta)

    free, success, few = arm.iterative_inverse_kinematics(T, GOAL + 0.4, step_cap=10.0)
    capped, also, many = arm.iterative_inverse_kinematics(T, GOAL + 0.4, step_cap=0.02)
    assert success and also and many > few
    np.testing.assert_allclose(arm.forward_kinematics(capped), arm.forward_kinematics(free), atol=1e-5)
    solver = TracIKSolver(forward, arm.jacobian, arm.joint_limits, 6)
    theta, success, seconds = solver.solve(T, GOAL + 0.4, timeout=5.0)
    assert success and 0.0 < seconds < 5.0
    np.testing.assert_allclose(arm.forward_kinematics(theta), T, atol=2e-4)


def test_a_position_weight_of_zero_leaves_the_position_free(arm):
    T = arm.forward_kinematics(GOAL)
    theta, _, _ = arm.iterative_inverse_kinematics(T, GOAL + 0.3, weight_position=0.0, max_iterations=200)
    found = arm.forward_kinematics(theta)
    assert np.linalg.norm(lie.log_so3(found[:3, :3].T @ T[:3, :3])) < 1e-5
    assert np.linalg.norm(found[:3, 3] - T[:3, 3]) > 1e-2


def test_residuals_are_drawn(arm, tmp_path):
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install 'manipapy[plots]'")
    file = tmp_path / "residuals.png"
    arm.iterative_inverse_kinematics(arm.forward_kinematics(GOAL), GOAL + 0.2, plot_residuals=True, png_name=str(file))
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("strategy", ["workspace_heuristic", "extrapolate", "cached", "random", "midpoint"])
def test_every_strategy_ends_at_the_pose(arm, strategy):
    np.random.seed(1)
    T, cache = arm.forward_kinematics(GOAL), ik_helpers.IKInitialGuessCache()
    cache.add(arm.forward_kinematics(GOAL + 0.1), GOAL + 0.1)
    theta, success, _ = arm.smart_inverse_kinematics(T, strategy, theta_current=GOAL + 0.2, cache=cache)
    assert success and cache.size() == 2
    np.testing.assert_allclose(arm.forward_kinematics(theta), T, atol=1e-5)


def test_unknown_strategies_and_missing_starts_are_named(arm):
    with pytest.raises(InputError, match="there are: workspace_heuristic"):
        arm.smart_inverse_kinematics(np.eye(4), strategy="luck")
    with pytest.raises(InputError, match="theta_current"):
        arm.smart_inverse_kinematics(np.eye(4), strategy="extrapolate")


def test_extrapolation_takes_a_share_of_the_way(arm):
    ahead = GOAL + 1e-4
    guess = ik_helpers.extrapolate_from_current(
        GOAL, arm.forward_kinematics(GOAL), arm.forward_kinematics(ahead), arm.jacobian, arm.joint_limits, alpha=0.25
    )
    np.testing.assert_allclose(guess - GOAL, 0.25e-4, rtol=1e-3)


def test_the_cache_returns_the_nearest_pose_and_forgets_the_oldest():
    cache = ik_helpers.IKInitialGuessCache(max_size=2)
    assert cache.get_nearest(np.eye(4)) is None
    for x in (0.0, 1.0, 2.0):
        cache.add(lie.pose(translation=[x, 0.0, 0.0]), [x])
    assert cache.size() == 2
    np.testing.assert_array_equal(cache.get_nearest(lie.pose(translation=[0.1, 0.0, 0.0])), [1.0])
    np.testing.assert_array_equal(cache.get_nearest(np.eye(4), joint_limits=[(None, 0.5)]), [0.5])
    cache.clear()
    assert cache.size() == 0


def test_limits_may_be_open():
    limits = [(None, None), (-1.0, 3.0), (None, 2.0)]
    np.testing.assert_array_equal(ik_helpers.midpoint_of_limits(limits), [0.0, 1.0, 0.0])
    drawn = np.array([ik_helpers.random_in_limits(limits) for _ in range(200)])
    assert (np.abs(drawn[:, 0]) <= np.pi).all() and (drawn[:, 1] >= -1.0).all() and (drawn[:, 1:] <= [3.0, 2.0]).all()


def test_several_starts_are_tried_in_order(caplog):
    tried = []

    def solver(T, strategy, **options):
        tried.append(strategy)
        if strategy == "workspace_heuristic":
            raise RuntimeError("broken")
        return np.ones(3), strategy == "random", 4

    theta, success, total, strategy = ik_helpers.adaptive_multi_start_ik(solver, np.eye(4))
    assert success and (tried, total, strategy) == (["workspace_heuristic", "midpoint", "random"], 8, "random")
    assert "broken" in caplog.text and theta.shape == (3,)


def test_unreachable_poses_end_with_the_best_start(arm):
    far = lie.pose(translation=[5.0, 0.0, 0.0])
    theta, success, seconds = trac_ik_solve(arm, far, timeout=0.2, num_restarts=2)
    assert not success and theta.shape == (6,) and seconds < 5.0
    assert not arm.trac_ik(far, timeout=0.05)[1]
