"""New polytopes from half-spaces and from other polytopes: intersections, slices and sums, all exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, ShapeError
from ..typing import Array
from .joint_set import JointSet, farthest_point
from .polytope import Polytope, Source, empty_polytope
from .projection import project


class Unbounded(InputError):
    """Half-spaces whose intersection is unbounded."""

    def __init__(self, direction: Array, limit: float):
        super().__init__(
            f"the half-spaces leave the direction {np.round(direction, 3).tolist()} open beyond {limit:g}; add the "
            "missing rows, or give a `limit` and `clip=True`"
        )
        self.direction, self.limit = direction, limit


def from_halfspaces(normals: ArrayLike, offsets: ArrayLike, *, limit: float = 1e6, clip: bool = False) -> Polytope:
    """All x with normals · x ≤ offsets.

    Args:
        normals: Of any length, shape (faces, d) with d from 1 to 3.
        offsets: Shape (faces,).
        limit: No coordinate of a bounded set is larger than this.
        clip: Cut an unbounded set off at the limit instead of refusing it.

    Raises:
        Unbounded: If the set goes beyond the limit and is not clipped.
    """
    A, b = np.asarray(normals, dtype=np.float64), np.asarray(offsets, dtype=np.float64)
    if A.ndim != 2 or not 1 <= A.shape[1] <= 3 or b.shape != (len(A),):
        raise ShapeError("normals", "(faces, 1 to 3), with as many offsets", A.shape)
    d = A.shape[1]
    joints = JointSet(np.full(d, -limit), np.full(d, limit), A, b)
    box = _box_of(joints)
    if box is None:
        return empty_polytope(Source(np.eye(d), np.zeros(d), joints))
    lower, upper = box
    for axis in range(d):
        for side, value in ((-1.0, lower[axis]), (1.0, upper[axis])):
            if abs(value) >= limit * (1.0 - 1e-9) and not clip:
                raise Unbounded(side * np.eye(d)[axis], limit)
    # Again in its own box: at the first scale, digits were lost to the limit.
    room = 1e-6 * (upper - lower) + 1e-12 * limit
    lower, upper = np.maximum(lower - room, -limit), np.minimum(upper + room, limit)
    return project(np.eye(d), JointSet(lower, upper, A, b))


def intersect(first: Polytope, second: Polytope) -> Polytope:
    """Points of both."""
    d = _same_space(first, second)
    if first.is_empty or second.is_empty:
        return empty_polytope(Source(np.eye(d), np.zeros(d), (first if first.is_empty else second).source.joints))
    (low, high), (other_low, other_high) = first.bounds, second.bounds
    joints = JointSet(
        np.maximum(low, other_low),
        np.minimum(high, other_high),
        np.concatenate([first.normals, second.normals]),
        np.concatenate([first.offsets, second.offsets]),
    )
    return project(np.eye(d), joints)


def slice_by_plane(polytope: Polytope, normal: ArrayLike, offset: float = 0.0, *, width: float = 0.0) -> Polytope:
    """The part of a polytope on the plane normal · x = offset, or within half a width of it.

    The cut is made in the space of the polytope, through its own faces. Without a width the answer is flat.

    Args:
        normal: Of any length, shape (d,).
        offset: Distance of the plane from the origin, in the unit of x.
        width: Of the slab, in the unit of x.
    """
    direction = np.asarray(normal, dtype=np.float64)
    if direction.shape != (polytope.d,) or not np.linalg.norm(direction) > 0.0:
        raise InputError(f"normal must be {polytope.d} numbers, not all zero")
    if not width >= 0.0:
        raise InputError(f"width is {width}; give 0 for a plane, or the thickness of the slab")
    if polytope.is_empty:
        return polytope
    direction = direction / np.linalg.norm(direction)
    lower, upper = polytope.bounds
    joints = JointSet(lower, upper, polytope.normals, polytope.offsets)
    rows = joints.with_rows([direction, -direction], [offset + 0.5 * width, -offset + 0.5 * width])
    return project(np.eye(polytope.d), rows)


def minkowski_sum(first: Polytope, second: Polytope) -> Polytope:
    """All sums of a point of one and a point of the other."""
    d = _same_space(first, second)
    a, b = first.source, second.source
    joints = JointSet(
        np.concatenate([a.joints.lower, b.joints.lower]),
        np.concatenate([a.joints.upper, b.joints.upper]),
        np.block(
            [
                [a.joints.A, np.zeros((len(a.joints.A), b.joints.n))],
                [np.zeros((len(b.joints.A), a.joints.n)), b.joints.A],
            ]
        ),
        np.concatenate([a.joints.b, b.joints.b]),
    )
    if first.is_empty or second.is_empty:
        return empty_polytope(Source(np.hstack([a.matrix, b.matrix]), np.zeros(d), joints))
    return project(np.hstack([a.matrix, b.matrix]), joints, a.offset + b.offset)


def _same_space(first: Polytope, second: Polytope) -> int:
    if first.d != second.d:
        raise InputError(f"one polytope has {first.d} dimensions and the other {second.d}; make them alike")
    return first.d


def _box_of(joints: JointSet) -> tuple[Array, Array] | None:
    """Lowest and highest value of every coordinate."""
    lower, upper = np.empty(joints.n), np.empty(joints.n)
    for axis, direction in enumerate(np.eye(joints.n)):
        low, high = farthest_point(joints, -direction), farthest_point(joints, direction)
        if low is None or high is None:
            return None
        lower[axis], upper[axis] = low[axis], high[axis]
    return lower, upper
