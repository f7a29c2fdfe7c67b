"""Polygons on the floor, by shapely, and the static stability of a robot that stands on one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import kernels_of
from ..errors import InputError, MissingPackage, ShapeError
from ..model.chain import Chain
from ..model.robot import Robot
from ..typing import Array

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
BETWEEN_NUMBERS = re.compile(r"[\s,;()\[\]]*")


@dataclass(frozen=True, eq=False)
class Polygon:
    """A simple polygon, convex or not; its corners in order, clockwise or counterclockwise."""

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
        """A regular polygon around a circle about the origin; it contains the circle."""
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
        """Which points (..., 2) lie inside or on the boundary; needs shapely."""
        return np.asarray(_shapely().intersects_xy(self._prepared, points[..., 0], points[..., 1]), dtype=np.bool_)

    def covers(self, placed: Array) -> NDArray[np.bool_]:
        """Which placed polygons lie in this one as a whole, boundary included; needs shapely.

        Args:
            placed: Corners in order, shape (..., corners, 2); one corner is a point.
        """
        if placed.shape[-2] < 3:
            return np.asarray(self.contains(placed).all(axis=-1))
        return np.asarray(_shapely().covers(self._prepared, _shapely().polygons(placed)), dtype=np.bool_)

    def overlaps(self, placed: Array) -> NDArray[np.bool_]:
        """Which placed polygons share a point with this one, boundary included; needs shapely.

        Args:
            placed: Corners in order, shape (..., corners, 2); one corner is a point.
        """
        if placed.shape[-2] < 3:
            return np.asarray(self.contains(placed).any(axis=-1))
        return np.asarray(_shapely().intersects(self._prepared, _shapely().polygons(placed)), dtype=np.bool_)

    @cached_property
    def _prepared(self) -> Any:
        """The polygon with shapely's spatial index of its edges."""
        shapely = _shapely()
        polygon = shapely.polygons(self.corners)
        if not shapely.is_valid(polygon):
            reason = shapely.is_valid_reason(polygon)
            raise InputError(f"polygon {self.corners.tolist()} has no inside ({reason}); give its corners in order")
        shapely.prepare(polygon)
        return polygon


def centre_of_mass(robot: Robot, chain: Chain, q: ArrayLike) -> Array:
    """Centre of mass of the whole robot, links outside the chain and the base included.

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
        raise InputError(f"robot {robot.name!r} has no mass; a centre of mass needs <inertial> elements")
    local = np.array([np.zeros(3) if inertial is None else inertial.com for inertial in inertials])
    T = kernels_of(chain).link_poses.run(rows.reshape(-1, chain.n))
    centres = np.einsum("nlij,lj->nli", T[..., :3, :3], local) + T[..., :3, 3]
    return (np.einsum("nli,l->ni", centres, mass) / mass.sum()).reshape(*rows.shape[:-1], 3)


def statically_stable(robot: Robot, chain: Chain, support: Polygon, q: ArrayLike) -> NDArray[np.bool_]:
    """Which configurations keep the centre of mass above the support polygon.

    Args:
        support: In x and y of the base frame, whose z axis points up: the foot, or the hull of both feet.
        q: Joint positions [rad or m], shape (..., n).
    """
    return support.contains(centre_of_mass(robot, chain, q)[..., :2])


def _shapely() -> Any:
    try:
        import shapely
    except ImportError:
        raise MissingPackage("shapely", "a polygon on the floor", "capability") from None
    return shapely
