"""Polytopes by another route: Qhull's half-space intersection in joint space, then the hull of the mapped corners."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection

from manipapy_core.polytopes import JointSet


def interior(joints: JointSet):
    """Centre and radius of the largest ball in joint space; None if the set is empty."""
    A = np.concatenate([np.eye(joints.n), -np.eye(joints.n), joints.A])
    b = np.concatenate([joints.upper, -joints.lower, joints.b])
    rows = np.column_stack([A, np.linalg.norm(A, axis=1)])
    found = linprog(-np.eye(joints.n + 1)[-1], A_ub=rows, b_ub=b, bounds=[(None, None)] * joints.n + [(0, None)])
    return (A, b, found.x[:-1], found.x[-1]) if found.status == 0 else None


def corners(matrix, joints: JointSet):
    """Corners of the joint set mapped to the tip; None if the set has no inside."""
    found = interior(joints)
    if found is None or found[3] < 1e-9:
        return None
    A, b, centre, _ = found
    return HalfspaceIntersection(np.column_stack([A, -b]), centre).intersections @ np.asarray(matrix).T


def volume(matrix, joints: JointSet) -> float | None:
    points = corners(matrix, joints)
    return None if points is None else float(ConvexHull(points).volume)


def random_scene(rng, cuts: int, *, around_origin: bool = True, flatten: float = 1.0):
    """A random map of seven joints, bounds, and cuts; without the origin, some cuts demand a motion."""
    matrix = rng.normal(size=(3, 7)) * 0.5
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    matrix = turn @ np.diag([1.0, 1.0, flatten]) @ turn.T @ matrix
    A = rng.normal(size=(cuts, 7))
    b = rng.uniform(0.05 if around_origin else -1.2, 1.5, cuts)
    return matrix, JointSet(-rng.uniform(0.5, 3.0, 7), rng.uniform(0.5, 3.0, 7), A, b)
