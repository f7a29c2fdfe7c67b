"""Argument checks that the modules of `compat` share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .. import trajectory
from ..errors import InputError, ShapeError
from ..typing import Array


def shaped(values: Sequence[ArrayLike] | ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """Numbers as an array of exactly this shape.

    Raises:
        ShapeError: Another shape.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ShapeError(name, str(shape), array.shape)
    return array


def pose(T: ArrayLike, name: str) -> Array:
    """A checked copy of a pose, shape (4, 4)."""
    array = shaped(T, (4, 4), name).copy()
    R = array[:3, :3]
    if not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0.0 or not np.all(np.isfinite(array)):
        raise InputError(f"{name} is not a pose; its upper left 3 × 3 block must be a rotation")
    return array


def rows(values: ArrayLike, n: int, name: str) -> Array:
    """One row of n joint values per sample, shape (rows, n)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != n:
        raise ShapeError(name, f"(rows, {n})", array.shape)
    return array


def tip_wrench(Ftip: ArrayLike | None) -> Array | None:
    """A wrench at the tip, shape (6,); None for zero, which the dynamics compute faster."""
    if Ftip is None:
        return None
    wrench = shaped(Ftip, (6,), "Ftip")
    return wrench if wrench.any() else None


def time_scaling(method: int) -> trajectory.TimeScaling:
    """ManipulaPy's `method`: 3 is cubic, 5 is quintic time scaling."""
    if method not in (3, 5):
        raise InputError(f"method is {method!r}; 3 is cubic, 5 is quintic time scaling")
    return trajectory.TimeScaling(method)
