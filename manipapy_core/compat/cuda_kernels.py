"""The functions of ManipulaPy's CUDA module, on this library's compiled kernels.

There they raise where there is no GPU; here they run on the processor, in double precision, and nothing has to be asked
beforehand. `docs/gpu.md` says how batches run on a GPU.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from manipapy_core import trajectory

from ..errors import InputError, ShapeError
from ..typing import Array


def check_cuda_availability() -> bool:
    """Whether CuPy is installed and finds a GPU."""
    try:
        import cupy
    except ImportError:
        return False
    try:
        return bool(cupy.cuda.runtime.getDeviceCount() > 0)
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


def optimized_trajectory_generation(
    thetastart: ArrayLike, thetaend: ArrayLike, Tf: float, N: int, method: int
) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of a joint motion, shape (N, n) each.

    Args:
        thetastart: [rad or m], shape (n,).
        thetaend: [rad or m], shape (n,).
        Tf: Duration [s].
        N: Number of samples.
        method: 3 for cubic, 5 for quintic time scaling.
    """
    found = trajectory.joint_trajectory(thetastart, thetaend, Tf, N, scaling=_scaling(method))
    return found.positions, found.velocities, found.accelerations


trajectory_cpu_fallback = optimized_trajectory_generation


def optimized_batch_trajectory_generation(
    thetastart_batch: ArrayLike, thetaend_batch: ArrayLike, Tf: float, N: int, method: int
) -> tuple[Array, Array, Array]:
    """The same for many motions: starts and ends have shape (batch, n), results (batch, N, n)."""
    found = trajectory.joint_trajectories(thetastart_batch, thetaend_batch, Tf, N, scaling=_scaling(method))
    return found.positions, found.velocities, found.accelerations


def optimized_potential_field(
    positions: ArrayLike, goal: ArrayLike, obstacles: ArrayLike, influence_distance: float
) -> tuple[Array, Array]:
    """An artificial potential of points: ½ |x − goal|² and, near obstacles, ½ (1/d − 1/d₀)².

    Args:
        positions: [m], shape (N, 3).
        goal: [m], shape (3,).
        obstacles: Points [m], shape (M, 3).
        influence_distance: d₀ [m]; obstacles farther away do not push.

    Returns:
        Potential, shape (N,), and its gradient, shape (N, 3).
    """
    x, target, points = (np.asarray(values, dtype=np.float64) for values in (positions, goal, obstacles))
    for name, array, expected in (
        ("positions", x, x.ndim == 2 and x.shape[1] == 3),
        ("goal", target, target.shape == (3,)),
        ("obstacles", points, points.ndim == 2 and points.shape[1] == 3),
    ):
        if not expected:
            raise ShapeError(name, "(3,)" if name == "goal" else "(points, 3)", array.shape)
    if not influence_distance > 0.0:
        raise InputError(f"influence_distance is {influence_distance!r}; give a positive number of metres")
    away = x - target
    potential, gradient = 0.5 * (away**2).sum(axis=1), away.copy()
    ways = x[:, None] - points[None]
    distance = np.maximum(np.linalg.norm(ways, axis=2), 1e-9)
    push = np.where(distance < influence_distance, 1.0 / distance - 1.0 / influence_distance, 0.0)
    potential += 0.5 * (push**2).sum(axis=1)
    gradient -= ((push / distance**3)[..., None] * ways).sum(axis=1)
    return potential, gradient


def _scaling(method: int) -> trajectory.TimeScaling:
    if method not in (3, 5):
        raise InputError(f"method is {method!r}; 3 is cubic, 5 is quintic time scaling")
    return trajectory.TimeScaling(method)
