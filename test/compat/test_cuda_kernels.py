"""The four kernels by name, their arrays, and the linear time scaling."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.compat import cuda_kernels
from manipapy_core.compat.dynamics import ManipulatorDynamics
from manipapy_core.compat.path_planning import TrajectoryPlanning
from manipapy_core.errors import InputError, ShapeError

S = np.array([[0, 0, 1, 0, 0, 0], [0, 1, 0, -0.3, 0, 0], [0, 1, 0, -0.3, 0, 0.4]], dtype=float).T
M = lie.pose(translation=[0.8, 0.0, 0.3])
G = np.array([np.diag([0.05, 0.06, 0.07, mass, mass, mass]) for mass in (3.0, 2.0, 1.0)])
GRAVITY = np.array([0.0, 0.0, -9.81])
LIMITS = np.array([(-50.0, 50.0)] * 3)


@pytest.fixture(scope="module")
def planner():
    with pytest.warns(DeprecationWarning, match="Mlist_per_link"):
        dynamics = ManipulatorDynamics(M, None, None, None, S, None, G)
    return TrajectoryPlanning(dynamics, "unused.urdf", dynamics, [(-3.0, 3.0)] * 3, LIMITS)


def arrays(*shape, count=3):
    return [np.full(shape, np.nan, dtype=np.float32) for _ in range(count)]


@pytest.mark.parametrize("method", [1, 3, 5])
def test_trajectory_kernels_fill_their_arrays(planner, method):
    start, end = np.array([0.0, 0.1, -0.2]), np.array([1.0, -0.5, 0.7])
    wanted = planner.joint_trajectory(start, end, 2.0, 50, method)
    grid, block = cuda_kernels.make_2d_grid(50, 3)
    assert grid[0] * block[0] >= 50 and grid[1] * block[1] >= 3
    for kernel in (cuda_kernels.trajectory_kernel, cuda_kernels.cartesian_trajectory_kernel):
        found = arrays(50, 3)
        kernel[grid, block](start, end, *found, 2.0, 50, method)
        for array, expected in zip(found, wanted.values()):
            np.testing.assert_allclose(array, expected, atol=1e-5)


def test_dynamics_kernels_agree_with_the_planner(planner):
    rng = np.random.default_rng(0)
    tables = rng.uniform(-1.0, 1.0, (3, 20, 3))
    wrench = np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    torques = arrays(20, 3, count=1)[0]
    grid, block = cuda_kernels.make_1d_grid(20)
    assert grid[0] * block[0] >= 20
    cuda_kernels.inverse_dynamics_kernel[grid, block](*tables, GRAVITY, wrench, G, S, M, torques, LIMITS)
    np.testing.assert_allclose(torques, planner.inverse_dynamics_trajectory(*tables, GRAVITY, wrench), atol=1e-4)

    taus, wrenches = rng.uniform(-5.0, 5.0, (10, 3)), np.tile(wrench, (10, 1))
    found = arrays(10, 3)
    state = (tables[0, 0], tables[1, 0], taus, GRAVITY, wrenches, 0.01, 2)
    cuda_kernels.forward_dynamics_kernel(*state, G, S, M, *found, [(-3.0, 3.0)] * 3)
    for array, expected in zip(found, planner.forward_dynamics_trajectory(*state).values()):
        np.testing.assert_allclose(array, expected, atol=1e-4)


def test_arrays_of_the_wrong_shape_are_refused():
    with pytest.raises(ShapeError, match="array for the result"):
        cuda_kernels.trajectory_kernel([0.0], [1.0], *arrays(4, 1), 1.0, 5, 3)


def test_linear_motion_and_single_samples():
    positions, velocities, accelerations = cuda_kernels.trajectory_cpu_fallback([0.0, 1.0], [1.0, 3.0], 2.0, 5, 1)
    np.testing.assert_allclose(positions, np.linspace([0.0, 1.0], [1.0, 3.0], 5))
    np.testing.assert_allclose(velocities, np.tile([0.5, 1.0], (5, 1)))
    assert not accelerations.any()
    batch = cuda_kernels.optimized_batch_trajectory_generation([[0.0, 1.0]] * 2, [[1.0, 3.0]] * 2, 2.0, 5, 1)
    np.testing.assert_allclose(batch[0][1], positions)
    at_rest = cuda_kernels.optimized_trajectory_generation([0.0, 1.0], [1.0, 3.0], 2.0, 1, 5)
    np.testing.assert_array_equal(at_rest[0], [[0.0, 1.0]])
    assert not at_rest[1].any()
    for Tf, N, method in ((0.0, 5, 1), (1.0, 0, 1), (1.0, 5, 7), (1.0, 1, 7)):
        with pytest.raises(InputError):
            cuda_kernels.trajectory_cpu_fallback([0.0], [1.0], Tf, N, method)


def test_availability_is_a_fact_of_this_machine():
    assert cuda_kernels.CUDA_AVAILABLE is cuda_kernels.check_cuda_availability()


def test_questions_about_a_gpu_are_answered_as_on_a_machine_without_one(monkeypatch):
    monkeypatch.setenv("MANIPULAPY_FORCE_CPU", "1")
    assert cuda_kernels.check_cuda_availability() is False and cuda_kernels.get_gpu_properties() is None
    assert cuda_kernels.auto_select_optimal_kernel(1000, 6) == "none"
    assert cuda_kernels.get_optimal_kernel_config(1000, 6) is None
    assert cuda_kernels.benchmark_kernel_performance("trajectory", num_runs=1) is None
    with pytest.raises(RuntimeError, match=r"docs/gpu\.md"):
        cuda_kernels.get_cuda_array((10, 6))
    assert cuda_kernels.make_1d_grid(0) == ((1,), (1,))
