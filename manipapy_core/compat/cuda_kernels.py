"""The functions of ManipulaPy's CUDA module, on this library's compiled kernels.

ManipulaPy's functions raise an error without a GPU; these run on the CPU in double precision. `docs/gpu.md` explains
how batches run on a GPU. The four kernels have ManipulaPy's arguments, write their results into the arrays that are
given, and are called with or without a grid: `trajectory_kernel[grid, block](…)` or `trajectory_kernel(…)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import dynamics as exact
from ..errors import InputError, ShapeError
from ..model.chain import Chain
from ..typing import Array
from .gpu_queries import (  # noqa: F401  (names of this module in ManipulaPy)
    CUPY_AVAILABLE,
    auto_select_optimal_kernel,
    benchmark_kernel_performance,
    check_cuda_availability,
    check_cupy_availability,
    get_cuda_array,
    get_gpu_properties,
    get_memory_pool_stats,
    get_optimal_kernel_config,
    print_performance_recommendations,
    profile_start,
    profile_stop,
    return_cuda_array,
    setup_cuda_environment_for_40x_speedup,
)
from .inputs import tip_wrench
from .sampling import integrated, sampled
from .screws import chain_from_screws

THREADS = 256
"""Threads of a block."""


CUDA_AVAILABLE = check_cuda_availability()
"""Whether there is a GPU for batches; the functions of this module run on the CPU either way."""


class CpuKernel:
    """A function that is launched like a CUDA kernel; grid and block have no effect.

    Args:
        function: Writes its results into its arguments.
    """

    def __init__(self, function: Callable[..., None]):
        self._function = function
        functools.update_wrapper(self, function)

    def __getitem__(self, launch: Any) -> CpuKernel:
        return self

    def __call__(self, *arguments: Any) -> None:
        self._function(*arguments)


@CpuKernel
def trajectory_kernel(
    thetastart: ArrayLike,
    thetaend: ArrayLike,
    traj_pos: Any,
    traj_vel: Any,
    traj_acc: Any,
    Tf: float,
    N: int,
    method: int,
) -> None:
    """Joint motion into arrays of shape (N, n); see `optimized_trajectory_generation`."""
    _store((traj_pos, traj_vel, traj_acc), sampled(thetastart, thetaend, Tf, N, method))


@CpuKernel
def cartesian_trajectory_kernel(
    pstart: ArrayLike, pend: ArrayLike, traj_pos: Any, traj_vel: Any, traj_acc: Any, Tf: float, N: int, method: int
) -> None:
    """Straight motion of a point [m] into arrays of shape (N, 3)."""
    _store((traj_pos, traj_vel, traj_acc), sampled(pstart, pend, Tf, N, method))


@CpuKernel
def inverse_dynamics_kernel(
    thetalist_trajectory: ArrayLike,
    dthetalist_trajectory: ArrayLike,
    ddthetalist_trajectory: ArrayLike,
    gravity_vector: ArrayLike,
    Ftip: ArrayLike,
    Glist: ArrayLike,
    Slist: ArrayLike,
    M: ArrayLike,
    torques_trajectory: Any,
    torque_limits: ArrayLike,
) -> None:
    """Efforts along a trajectory, clipped to (lower, upper) per joint, into an array of shape (N, n) [N m or N].

    Args:
        Glist: Spatial inertias in the frame of the end effector at θ = 0, shape (n, 6, 6).
        Slist: Screw axes in the space frame, shape (6, n).
        M: Pose of the end effector at θ = 0, shape (4, 4).
    """
    tables = (np.asarray(t) for t in (thetalist_trajectory, dthetalist_trajectory, ddthetalist_trajectory))
    wrench, gravity = tip_wrench(Ftip), np.asarray(gravity_vector, dtype=np.float64)
    tau = exact.inverse_dynamics(_chain(Glist, Slist, M), *_doubles(tables), gravity=gravity, wrench_tip=wrench)
    limits = np.asarray(torque_limits, dtype=np.float64)
    _store((torques_trajectory,), (np.clip(tau, limits[:, 0], limits[:, 1]),))


@CpuKernel
def forward_dynamics_kernel(
    thetalist: ArrayLike,
    dthetalist: ArrayLike,
    taumat: ArrayLike,
    g: ArrayLike,
    Ftipmat: ArrayLike,
    dt: float,
    intRes: int,
    Glist: ArrayLike,
    Slist: ArrayLike,
    M: ArrayLike,
    thetamat: Any,
    dthetamat: Any,
    ddthetamat: Any,
    joint_limits: ArrayLike,
) -> None:
    """Motion under efforts into arrays of shape (N, n); positions are clipped to (lower, upper) per joint.

    Args:
        thetalist: Start [rad or m], shape (n,); velocities likewise.
        taumat: Efforts for every step of dt [N m or N], shape (N, n).
        Glist: As `inverse_dynamics_kernel`.
    """
    chain, gravity = _chain(Glist, Slist, M), np.asarray(g, dtype=np.float64)

    def acceleration(q: Array, qd: Array, tau: Array, wrench: Array) -> Array:
        return exact.forward_dynamics(chain, q, qd, tau, gravity=gravity, wrench_tip=tip_wrench(wrench))

    start, rates, taus, wrenches = _doubles((thetalist, dthetalist, taumat, Ftipmat))
    steps = integrated(acceleration, start, rates, taus, wrenches, dt, intRes)
    theta, dtheta, ddtheta = (np.array(column) for column in zip(*steps))
    limits = np.asarray(joint_limits, dtype=np.float64)
    _store((thetamat, dthetamat, ddthetamat), (np.clip(theta, limits[:, 0], limits[:, 1]), dtheta, ddtheta))


def optimized_trajectory_generation(
    thetastart: ArrayLike,
    thetaend: ArrayLike,
    Tf: float,
    N: int,
    method: int,
    use_pinned: bool = True,
    kernel_type: str = "auto",
) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of a joint motion, shape (N, n) each.

    Args:
        thetastart: [rad or m], shape (n,).
        thetaend: [rad or m], shape (n,).
        Tf: Duration [s].
        N: Number of samples.
        method: 1 for linear, 3 for cubic, 5 for quintic time scaling.
        use_pinned: No effect, as `kernel_type`.
    """
    return sampled(thetastart, thetaend, Tf, N, method)


trajectory_cpu_fallback = optimized_trajectory_generation


def optimized_trajectory_generation_monitored(
    thetastart: ArrayLike,
    thetaend: ArrayLike,
    Tf: float,
    N: int,
    method: int,
    use_pinned: bool = True,
    kernel_type: str = "auto",
    enable_monitoring: bool = True,
) -> tuple[Array, Array, Array]:
    """`optimized_trajectory_generation`; there is no kernel to monitor."""
    return sampled(thetastart, thetaend, Tf, N, method)


def optimized_batch_trajectory_generation(
    thetastart_batch: ArrayLike, thetaend_batch: ArrayLike, Tf: float, N: int, method: int, use_pinned: bool = True
) -> tuple[Array, Array, Array]:
    """`optimized_trajectory_generation` for a batch: starts and ends have shape (batch, n), results (batch, N, n)."""
    return sampled(thetastart_batch, thetaend_batch, Tf, N, method)


def optimized_potential_field(
    positions: ArrayLike, goal: ArrayLike, obstacles: ArrayLike, influence_distance: float, use_pinned: bool = True
) -> tuple[Array, Array]:
    """An artificial potential of points: ½ |x − goal|² and, near obstacles, ½ (1/d − 1/d₀)².

    Args:
        positions: [m], shape (N, 3).
        goal: [m], shape (3,).
        obstacles: Points [m], shape (M, 3); may be empty.
        influence_distance: d₀ [m]; obstacles farther away have no effect.
        use_pinned: No effect.

    Returns:
        Potential, shape (N,), and its gradient, shape (N, 3).
    """
    x, target, points = _doubles((positions, goal, obstacles))
    if points.size == 0:
        points = points.reshape(0, 3)
    for name, array, expected in (
        ("positions", x, x.ndim == 2 and x.shape[1] == 3),
        ("goal", target, target.shape == (3,)),
        ("obstacles", points, points.ndim == 2 and points.shape[1] == 3),
    ):
        if not expected:
            raise ShapeError(name, "(3,)" if name == "goal" else "(points, 3)", array.shape)
    if not influence_distance > 0.0:
        raise InputError(f"influence_distance is {influence_distance!r}; give a positive number of metres")
    to_x = x - target
    potential, gradient = 0.5 * (to_x**2).sum(axis=1), to_x.copy()
    offsets = x[:, None] - points[None]
    distance = np.maximum(np.linalg.norm(offsets, axis=2), 1e-9)
    repulsion = np.where(distance < influence_distance, 1.0 / distance - 1.0 / influence_distance, 0.0)
    potential += 0.5 * (repulsion**2).sum(axis=1)
    gradient -= ((repulsion / distance**3)[..., None] * offsets).sum(axis=1)
    return potential, gradient


potential_field_cpu_fallback = optimized_potential_field


def make_1d_grid(size: int, threads: int = THREADS) -> tuple[tuple[int], tuple[int]]:
    """Grid and block that cover `size` elements; one thread for none."""
    if size <= 0:
        return (1,), (1,)
    return ((max(size, 1) + threads - 1) // threads,), (threads,)


def make_2d_grid(
    N: int, num_joints: int, block_size: tuple[int, int] = (128, 8)
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Grid and block that cover N rows of n joints."""
    across, down = block_size
    return ((max(N, 1) + across - 1) // across, (max(num_joints, 1) + down - 1) // down), block_size


def _chain(Glist: ArrayLike, Slist: ArrayLike, M: ArrayLike) -> Chain:
    G, S, home = _doubles((Glist, Slist, M))
    return _cached_chain(G.tobytes(), S.tobytes(), home.tobytes(), S.shape[-1])


@functools.lru_cache(maxsize=32)
def _cached_chain(G: bytes, S: bytes, M: bytes, n: int) -> Chain:
    home = np.frombuffer(M).reshape(4, 4)
    unlimited = [(-np.inf, np.inf)] * n
    return chain_from_screws(
        np.frombuffer(S).reshape(6, n), home, unlimited, np.frombuffer(G).reshape(n, 6, 6), [home] * n
    )


def _doubles(values: Any) -> list[Array]:
    return [np.ascontiguousarray(value, dtype=np.float64) for value in values]


def _store(targets: tuple[Any, ...], results: tuple[Array, ...]) -> None:
    for target, result in zip(targets, results):
        if tuple(target.shape) != result.shape:
            raise ShapeError("array for the result", str(result.shape), tuple(target.shape))
        target[...] = result
