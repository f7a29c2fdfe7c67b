"""The functions of ManipulaPy's CUDA module, on this library's compiled kernels.

ManipulaPy's functions raise an error without a GPU; these run on the CPU in double precision. `docs/gpu.md` explains
how batches run on a GPU.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import trajectory
from ..errors import InputError, ShapeError
from ..typing import Array
from .inputs import time_scaling


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
    found = trajectory.joint_trajectory(thetastart, thetaend, Tf, N, scaling=time_scaling(method))
    return found.states()


trajectory_cpu_fallback = optimized_trajectory_generation


def optimized_batch_trajectory_generation(
    thetastart_batch: ArrayLike, thetaend_batch: ArrayLike, Tf: float, N: int, method: int
) -> tuple[Array, Array, Array]:
    """`optimized_trajectory_generation` for a batch: starts and ends have shape (batch, n), results (batch, N, n)."""
    found = trajectory.joint_trajectories(thetastart_batch, thetaend_batch, Tf, N, scaling=time_scaling(method))
    return found.states()


def optimized_potential_field(
    positions: ArrayLike, goal: ArrayLike, obstacles: ArrayLike, influence_distance: float
) -> tuple[Array, Array]:
    """An artificial potential of points: ½ |x − goal|² and, near obstacles, ½ (1/d − 1/d₀)².

    Args:
        positions: [m], shape (N, 3).
        goal: [m], shape (3,).
        obstacles: Points [m], shape (M, 3).
        influence_distance: d₀ [m]; obstacles farther away have no effect.

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
    to_x = x - target
    potential, gradient = 0.5 * (to_x**2).sum(axis=1), to_x.copy()
    offsets = x[:, None] - points[None]
    distance = np.maximum(np.linalg.norm(offsets, axis=2), 1e-9)
    repulsion = np.where(distance < influence_distance, 1.0 / distance - 1.0 / influence_distance, 0.0)
    potential += 0.5 * (repulsion**2).sum(axis=1)
    gradient -= ((repulsion / distance**3)[..., None] * offsets).sum(axis=1)
    return potential, gradient
