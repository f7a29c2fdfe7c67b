"""The same constrained polytope by other libraries; those that are not installed are left out."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection

Array = NDArray[np.float64]
GIVES_UP = (RuntimeError, ValueError)
"""What peers raise on scenes that they cannot do; SciPy's QhullError is the first."""
Scene = tuple[Array, Array, Array, Array]
"""Jacobian (3, n), speed limits (n,), rows (k, n) and bounds (k,)."""


def peers() -> dict[str, Callable[[Scene], object]]:
    found: dict[str, Callable[[Scene], object]] = {"SciPy": by_scipy}
    if importlib.util.find_spec("pycapacity") is not None:
        found["pycapacity"] = by_pycapacity
    if importlib.util.find_spec("cdd") is not None:
        found["cddlib"] = by_cddlib
    return found


def rows_of(scene: Scene) -> tuple[Array, Array]:
    _, limits, A, b = scene
    n = len(limits)
    return np.concatenate([np.eye(n), -np.eye(n), A]), np.concatenate([limits, limits, b])


def by_scipy(scene: Scene) -> object:
    A, b = rows_of(scene)
    n = A.shape[1]
    rows = np.column_stack([A, np.linalg.norm(A, axis=1)])
    ball = linprog(-np.eye(n + 1)[-1], A_ub=rows, b_ub=b, bounds=[(None, None)] * n + [(0, None)])
    if ball.x is None or ball.x[-1] < 1e-9:
        raise ValueError("no inside")
    corners = HalfspaceIntersection(np.column_stack([A, -b]), ball.x[:-1]).intersections
    return ConvexHull(corners @ scene[0].T)


def by_pycapacity(scene: Scene) -> object:
    from pycapacity.algorithms import iterative_convex_hull_method

    J, limits, A, b = scene
    extra = {"G_in": A, "h_in": b} if len(A) else {}
    return iterative_convex_hull_method(np.eye(3), J, -limits, limits, 1e-7, P=np.eye(3), **extra)


def by_cddlib(scene: Scene) -> object:
    import cdd

    A, b = rows_of(scene)
    matrix = cdd.matrix_from_array(np.column_stack([b, -A]).tolist(), rep_type=cdd.RepType.INEQUALITY)
    corners = np.array(cdd.copy_generators(cdd.polyhedron_from_matrix(matrix)).array).reshape(-1, A.shape[1] + 1)
    return ConvexHull(corners[:, 1:] @ scene[0].T)
