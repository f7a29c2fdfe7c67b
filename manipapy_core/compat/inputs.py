"""Argument checks that the modules of `compat` share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, NotFiniteError, ShapeError
from ..typing import Array

ROUNDED, EXACT = 1e-3, 1e-12
"""Largest deviation of R Rᵀ from 1 in a rotation with rounded numbers, and in one that is left as it is."""


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
    """A checked copy of a pose, shape (4, 4); a rotation with rounded numbers becomes the nearest exact one."""
    array = shaped(T, (4, 4), name).copy()
    R = array[:3, :3]
    off = float(np.abs(R @ R.T - np.eye(3)).max())
    if not (off <= ROUNDED and np.linalg.det(R) > 0.0 and np.all(np.isfinite(array))):
        raise InputError(f"{name} is not a pose; its upper left 3 × 3 block must be a rotation")
    if off > EXACT:
        left, _, right = np.linalg.svd(R)
        array[:3, :3] = left @ right
    return array


def finite_vector(values: ArrayLike, name: str) -> Array:
    """Finite numbers, shape (n,) with any n."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1:
        raise ShapeError(name, "(n,)", array.shape)
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise NotFiniteError(name, (int(bad[0]),), float(array[bad[0]]), np.finfo(np.float64).max)
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


def bounds(limits: Sequence[tuple[float | None, float | None]]) -> tuple[Array, Array]:
    """Lower and upper limits [rad or m], shape (n,) each; infinite where an entry is None."""
    lower = np.array([-np.inf if low is None else low for low, _ in limits], dtype=np.float64)
    upper = np.array([np.inf if high is None else high for _, high in limits], dtype=np.float64)
    return lower, upper
