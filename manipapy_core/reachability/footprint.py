"""Polygons on the floor: what is inside, and what overlaps.

Whether a robot that only stands would fall over: its centre of mass over what it stands on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import kernels_of
from ..errors import InputError, ShapeError
from ..model.chain import Chain
from ..model.robot import Robot
from ..typing import Array

CHUNK = 4096
"""Polygons compared at a time."""
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
BETWEEN_NUMBERS = re.compile(r"[\s,;()\[\]]*")


@dataclass(frozen=True, eq=False)
class Polygon:
    """A simple polygon, convex or not; its corners in order, either way round."""

    corners: Array
    """[m], shape (corners, 2)."""

    def __post_init__(self) -> None:
        corners = np.array(self.corners, dtype=np.float64)
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3 or not np.isfinite(corners).all():
            raise ShapeError("corners of a polygon", "(3 or more, 2), finite", corners.shape)
        object.__setattr__(self, "corners", corners)

    @classmethod
    def rectangle(cls, low: tuple[float, float], high: tuple[float, float]) -> Polygon:
        """With sides along the axes."""
        return cls(np.array([low, (high[0], low[1]), high, (low[0], high[1])]))

    @classmethod
    def disc(cls, radius: float, corners: int = 16) -> Polygon:
        """A polygon around a circle about the origin, nowhere inside it."""
        angle = 2.0 * np.pi * np.arange(corners) / corners
        reach = radius / np.cos(np.pi / corners)
        return cls(reach * np.column_stack([np.cos(angle), np.sin(angle)]))

    @classmethod
    def from_text(cls, text: str) -> Polygon:
        """Corners as numbers in turn, "0 0, 1 0, 1 1" or "[[0, 0], [1, 0], [1, 1]]", on one line or more [m]."""
        numbers = [float(word) for word in NUMBER.findall(text)]
        if BETWEEN_NUMBERS.fullmatch(NUMBER.sub("", text)) is None or len(numbers) < 6 or len(numbers) % 2:
            raise InputError(f'{text!r} is no polygon; write three corners or more, such as "0 0, 1 0, 1 1"')
        return cls(np.reshape(numbers, (-1, 2)))

    def contains(self, points: Array) -> NDArray[np.bool_]:
        """Which points (..., 2) lie inside: those from which a ray crosses the rim an odd number of times."""
        return _inside(self.corners, points)


def polygons_overlap(placed: Array, other: Polygon) -> NDArray[np.bool_]:
    """Which of many placed polygons share a point with another.

    Args:
        placed: Corners in order, shape (..., corners, 2); one corner is a point.
    """
    hit = np.asarray(other.contains(placed).any(axis=-1))
    if placed.shape[-2] < 3:
        return hit
    shape = placed.shape[:-2]
    flat = placed.reshape(-1, *placed.shape[-2:])
    hit = hit.reshape(-1)
    for start in range(0, len(flat), CHUNK):
        open_ = start + np.flatnonzero(~hit[start : start + CHUNK])
        own = flat[open_]
        hit[open_] = _inside(own[:, None], other.corners).any(axis=-1) | _edges_cross(own, other.corners)
    return hit.reshape(shape)


def _inside(corners: Array, points: Array) -> NDArray[np.bool_]:
    """Which points (..., 2) lie in polygons (..., corners, 2)."""
    x, y = points[..., 0, None], points[..., 1, None]
    x0, y0 = corners[..., 0], corners[..., 1]
    x1, y1 = np.roll(x0, -1, axis=-1), np.roll(y0, -1, axis=-1)
    crosses = (y0 > y) != (y1 > y)
    rise = np.where(y1 == y0, 1.0, y1 - y0)
    return (crosses & (x < (x1 - x0) * (y - y0) / rise + x0)).sum(axis=-1) % 2 == 1


def _edges_cross(a: Array, b: Array) -> NDArray[np.bool_]:
    """Which rims of many polygons (N, corners, 2) cross that of one (corners, 2)."""
    p, r = a[:, :, None], (np.roll(a, -1, axis=1) - a)[:, :, None]
    q, s = b[None, None], (np.roll(b, -1, axis=0) - b)[None, None]
    between = q - p

    def cross(u: Array, v: Array) -> Array:
        return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]

    denominator = cross(r, s)
    parallel = np.abs(denominator) < 1e-15
    safe = np.where(parallel, 1.0, denominator)
    t, u = cross(between, s) / safe, cross(between, r) / safe
    return np.asarray((~parallel & (t >= 0.0) & (t <= 1.0) & (u >= 0.0) & (u <= 1.0)).any(axis=(1, 2)))


def centre_of_mass(robot: Robot, chain: Chain, q: ArrayLike) -> Array:
    """Of the whole robot, links outside the chain and the base included.

    Args:
        robot: The robot that the chain was cut from.
        q: Joint positions of the chain [rad or m], shape (..., n).

    Returns:
        In the base frame [m], shape (..., 3).
    """
    rows = np.asarray(q, dtype=np.float64)
    if rows.ndim < 1 or rows.shape[-1] != chain.n:
        raise ShapeError("q", f"(..., {chain.n})", rows.shape)
    inertials = [robot.links[name].inertial for name in chain.link_names]
    mass = np.array([0.0 if inertial is None else inertial.mass for inertial in inertials])
    if not mass.sum() > 0.0:
        raise InputError(f"robot {robot.name!r} weighs nothing; a centre of mass needs <inertial> elements")
    local = np.array([np.zeros(3) if inertial is None else inertial.com for inertial in inertials])
    T = kernels_of(chain).link_poses.run(rows.reshape(-1, chain.n))
    centres = np.einsum("nlij,lj->nli", T[..., :3, :3], local) + T[..., :3, 3]
    return (np.einsum("nli,l->ni", centres, mass) / mass.sum()).reshape(*rows.shape[:-1], 3)


def stands(robot: Robot, chain: Chain, support: Polygon, q: ArrayLike) -> NDArray[np.bool_]:
    """Which configurations keep the centre of mass above what the robot stands on.

    Args:
        support: In the x and y of the base frame, whose z axis points up: the foot, or the hull of both feet.
        q: Joint positions [rad or m], shape (..., n).
    """
    return support.contains(centre_of_mass(robot, chain, q)[..., :2])
