"""Checks of the inputs of inverse kinematics: poses in SE(3), seeds, weights, axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import Task
from ..errors import InputError, ShapeError
from ..model.chain import Chain
from ..typing import Array

POSE_DEFECT = 1e-6
"""A matrix may be this far from SE(3): numbers rounded to six digits pass."""
POSE_BOUND = 3e8
"""Largest number [m] in a pose."""
REPAIRABLE = 0.5
"""Beyond this defect the nearest pose is not what was meant."""


class NotAPose(InputError):
    """A matrix that is not in SE(3)."""

    def __init__(self, where: str, defect: float):
        cure = (
            "pass orthonormalise=True to use the nearest pose"
            if defect < REPAIRABLE
            else "too far for a repair: check how it was computed"
        )
        super().__init__(f"{where} is not in SE(3): off by {defect:.3g} (at most {POSE_DEFECT:g} is accepted); {cure}")
        self.where, self.defect = where, defect


def numbers(values: ArrayLike, name: str) -> Array:
    """A fresh array of finite float64 numbers."""
    try:
        array = np.array(values)
    except ValueError as error:
        raise InputError(f"{name} is not a rectangular array of numbers: {error}") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} holds {array.dtype.name} values; give real numbers")
    array = np.ascontiguousarray(array, dtype=np.float64)
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise InputError(f"{name}[{', '.join(map(str, where))}] is {array[where]}; every element must be finite")
    return array


def checked_poses(T: ArrayLike, name: str, *, batch: bool, orthonormalise: bool = False, hint: str = "") -> Array:
    """Poses as an array of shape (4, 4), or (N, 4, 4) for a batch, each in SE(3).

    Args:
        hint: What to do with another shape; follows the one that is wanted.

    Raises:
        NotAPose: With the largest defect, unless it was repaired on request.
    """
    poses = numbers(T, name)
    if poses.size and np.abs(poses).max() > POSE_BOUND:
        raise InputError(f"{name} holds {np.abs(poses).max():g}; at most {POSE_BOUND:g} is accepted")
    if poses.shape[-2:] != (4, 4) or poses.ndim != 2 + batch:
        raise ShapeError(name, ("(N, 4, 4)" if batch else "(4, 4)") + hint, poses.shape)
    defect = pose_defects(poses)
    if not defect.size:
        return poses
    if orthonormalise and defect.max() < REPAIRABLE:
        return _nearest_poses(poses)
    if defect.max() > POSE_DEFECT:
        where = f"{name}[{int(defect.argmax())}]" if batch else name
        raise NotAPose(where, float(defect.max()))
    return poses


def pose_defects(T: Array) -> Array:
    """Largest element of |R R^T − 1|, |det R − 1| and the error of the last row, shape (...)."""
    R = T[..., :3, :3]
    product = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(axis=(-1, -2), initial=0.0)
    last = np.abs(T[..., 3, :] - np.array([0.0, 0.0, 0.0, 1.0])).max(axis=-1, initial=0.0)
    return np.maximum(np.maximum(product, last), np.abs(np.linalg.det(R) - 1.0))


def checked_seed(q_seed: ArrayLike | None, chain: Chain, count: int | None = None) -> Array | None:
    """Joint positions of shape (n,), or (count, n) for a batch (one row serves all)."""
    if q_seed is None:
        return None
    seed = numbers(q_seed, "q_seed")
    if count is not None and seed.shape == (chain.n,):
        seed = np.tile(seed, (count, 1))
    wanted = (chain.n,) if count is None else (count, chain.n)
    if seed.shape != wanted:
        raise ShapeError("q_seed", f"{wanted}, one number per joint: {', '.join(chain.joint_names)}", seed.shape)
    return seed


def task_numbers(task: Task, weights: ArrayLike | None, axis: ArrayLike | None) -> tuple[Task, tuple[float, ...]]:
    """Task and its six numbers, from the arguments of `solve`."""
    if weights is not None:
        if task is not Task.POSE or axis is not None:
            raise InputError("weights weigh the six rows of a whole pose; give them without a task or an axis")
        values = numbers(weights, "weights")
        if values.shape != (6,) or (values < 0.0).any() or not values.any():
            raise InputError("weights must be six numbers ≥ 0, not all zero: rotation about x, y, z, then x, y, z")
        return Task.WEIGHTED, tuple(values.tolist())
    if axis is not None or task is Task.AXIS:
        values = numbers((0.0, 0.0, 1.0) if axis is None else axis, "axis")
        length = float(np.linalg.norm(values))
        if values.shape != (3,) or length < 1e-9:
            raise InputError("axis must be three numbers, not all zero: a direction in the tip frame")
        return Task.AXIS, (*(values / length).tolist(), 0.0, 0.0, 0.0)
    if task is Task.WEIGHTED:
        raise InputError("Task.WEIGHTED needs weights: six numbers, rotation about x, y, z, then x, y, z")
    return task, (0.0,) * 6


def truth_of(flags: ArrayLike, count: int) -> NDArray[np.bool_]:
    """Truth values that a collision callable returned, checked."""
    array = np.asarray(flags)
    if array.shape != (count,) or array.dtype.kind not in "biu":
        raise InputError(
            f"collision must return one truth value per row of q, shape ({count},); "
            f"it returned {array.dtype.name} of shape {array.shape}"
        )
    return array.astype(bool)


def _nearest_poses(T: Array) -> Array:
    """Nearest rotation in the sense of least squares (by the singular values), last row 0 0 0 1."""
    U, _, V = np.linalg.svd(T[..., :3, :3])
    repaired = T.copy()
    repaired[..., :3, :3] = U @ V
    repaired[..., 3, :] = (0.0, 0.0, 0.0, 1.0)
    return repaired
