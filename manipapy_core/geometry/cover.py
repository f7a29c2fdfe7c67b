"""Covering spheres of a link: few, extending little beyond it, and proved to contain it.

A ball about an inside point whose radius is its depth plus the overshoot reaches at most the overshoot beyond the
surface. Such balls are chosen greedily until they cover sample points; then space is subdivided into cubes until
each lies outside the parts or inside one ball. Cubes for which neither holds become sample points, and more balls are
chosen: what is returned is proved, not sampled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InputError
from ..jit import njit
from ..typing import Array
from .parts import Part, union_distance
from .shapes import ConvexMesh

SMALLEST_OVERSHOOT, LARGEST_OVERSHOOT = 0.005, 0.5
"""[m]; below the smallest there would be thousands of spheres."""
MARGIN = 0.05
"""Sample points must lie this share of the overshoot inside a ball, so that what is between them is covered too."""
FINEST = 1.0 / 32.0
"""Edge of the smallest cubes of the proof, in overshoots."""
HALF_DIAGONAL = 0.5 * 3.0**0.5
"""Of a cube, in edges."""
CANDIDATES, CORNERS, SAMPLES = 150, 60, 300
"""Per part, of links with few parts."""
FEW_PARTS = 5
"""Links with more get as many candidates and samples in all."""


def cover(parts: Sequence[Part], overshoot: float) -> Array:
    """Covering spheres.

    Args:
        parts: What is to be covered, in one frame.
        overshoot: How far a sphere may reach beyond the parts [m].

    Returns:
        Rows of centre, radius, and the radius of the ball about the centre that the parts fill, [m], shape
        (spheres, 5); the largest spheres first.
    """
    if not SMALLEST_OVERSHOOT <= overshoot <= LARGEST_OVERSHOOT:
        raise InputError(
            f"overshoot is {overshoot!r}; give between {SMALLEST_OVERSHOOT:g} and {LARGEST_OVERSHOOT:g} m, such as 0.02"
        )
    rng = np.random.default_rng(1)
    centres = _candidates(parts, rng)
    depths = -union_distance(parts, centres)
    points = _samples(parts, rng)
    chosen = _choose(centres, depths + overshoot * (1.0 - MARGIN), points)
    spheres = _rows(centres[chosen], depths[chosen], overshoot)
    gaps = uncovered(parts, spheres, overshoot)
    while len(gaps):
        spheres = np.concatenate([spheres, _fill(parts, centres, depths, gaps, overshoot)])
        gaps = gaps[_gap(gaps, spheres) > -HALF_DIAGONAL * FINEST * overshoot]
    return spheres[np.argsort(-spheres[:, 3])]


def uncovered(parts: Sequence[Part], spheres: Array, overshoot: float) -> Array:
    """Centres of the smallest cubes that reach into the parts and that no single ball is proved to hold.

    Returns:
        [m], shape (cubes, 3); empty when the parts are proved to be covered.
    """
    corners = np.concatenate([part.corners() for part in parts])
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    edge = 2.0 * overshoot
    axes = [np.arange(a + 0.5 * edge, b + edge, edge) for a, b in zip(lower, upper)]
    cubes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    eighths = np.stack(np.meshgrid(*3 * [[-0.25, 0.25]]), axis=-1).reshape(-1, 3)
    while True:
        half_diagonal = HALF_DIAGONAL * edge
        cubes = cubes[union_distance(parts, cubes) <= half_diagonal]
        cubes = cubes[_gap(cubes, spheres) > -half_diagonal]
        if len(cubes) == 0 or edge <= FINEST * overshoot:
            return cubes
        cubes = (cubes[:, None] + edge * eighths).reshape(-1, 3)
        edge *= 0.5


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _gap(points: Array, spheres: Array) -> Array:
    """Distance of points to the nearest sphere, negative inside."""
    gaps = np.empty(len(points))
    for i in range(len(points)):
        nearest = np.inf
        for s in range(len(spheres)):
            square = 0.0
            for axis in range(3):
                square += (points[i, axis] - spheres[s, axis]) ** 2
            nearest = min(nearest, square**0.5 - spheres[s, 3])
        gaps[i] = nearest
    return gaps


def _rows(centres: Array, depths: Array, overshoot: float) -> Array:
    return np.column_stack([centres, depths + overshoot, np.maximum(depths, 0.0)])


def _candidates(parts: Sequence[Part], rng: np.random.Generator) -> Array:
    """Inside points, also pushed away from the surface, where balls can be large."""
    points = []
    share = _share(parts)
    for part in parts:
        inside = _inside(part, round(share * CANDIDATES), rng)
        points += [inside, _pushed_inwards(part, inside), part.centre[None]]
        # From corners and rims inwards: somewhere there is the largest ball that still reaches the corner.
        sharp = _edges(part, round(share * CORNERS))
        inwards = _pushed_inwards(part, part.centre + 0.98 * (sharp - part.centre)) - sharp
        points += [sharp + share * inwards for share in np.linspace(0.1, 1.0, 10)]
        middle = part.corners().mean(axis=0)
        ends = part.T_frame_shape[:3, :3].T * np.ptp(part.local(part.corners()), axis=0)[:, None]
        points += [middle + np.linspace(-0.5, 0.5, 41)[1:-1, None] * axis for axis in ends]
    candidates = np.concatenate(points)
    return candidates[union_distance(parts, candidates) < 0.0]


def _samples(parts: Sequence[Part], rng: np.random.Generator) -> Array:
    """Points of the parts: all through them, and on what is their common surface."""
    points = []
    count = round(_share(parts) * SAMPLES)
    for part in parts:
        inside = _inside(part, 4 * count, rng)
        # Outwards along the gradient of the distance
        step = 1e-5 * part.bound
        ahead, behind = (
            np.stack([part.signed_distance(inside + side * axis) for axis in np.eye(3)], axis=-1)
            for side in (step, -step)
        )
        slope = ahead - behind
        length = np.linalg.norm(slope, axis=1, keepdims=True)
        outwards = slope / np.where(length > 0.0, length, 1.0)
        surface = inside - part.signed_distance(inside)[:, None] * outwards
        points += [inside[:count], surface, _edges(part, count // 2)]
    samples = np.concatenate(points)
    inner = union_distance(parts, samples) < -1e-6
    # Of the inside a few are enough: large balls hold it anyway.
    return samples[~inner | (np.arange(len(samples)) % 4 == 0)]


def _share(parts: Sequence[Part]) -> float:
    return min(1.0, FEW_PARTS / len(parts))


def _edges(part: Part, count: int) -> Array:
    """Points that stick out most: corners and rims."""
    directions = np.random.default_rng(2).normal(size=(count, 3))
    return np.array([part.farthest_from(part.centre - part.bound * d / np.linalg.norm(d)) for d in directions])


def _inside(part: Part, count: int, rng: np.random.Generator) -> Array:
    if isinstance(part.shape, ConvexMesh):
        # Of a thin mesh that lies across the axes, a random point of the box is hardly ever inside.
        vertices, shares = part.shape.vertices, rng.dirichlet(np.full(4, 0.6), count)
        chosen = vertices[rng.integers(len(vertices), size=(count, 4))]
        return part.placed(np.einsum("ij,ijk->ik", 0.999 * shares, chosen) + 0.001 * vertices.mean(axis=0))
    corners = part.local(part.corners())
    found = np.empty((0, 3))
    while len(found) < count:
        points = part.placed(rng.uniform(corners.min(axis=0), corners.max(axis=0), (4 * count, 3)))
        found = np.concatenate([found, points[part.signed_distance(points) < 0.0]])
    return found[:count]


def _pushed_inwards(part: Part, points: Array) -> Array:
    """Random steps that are kept where they lead deeper."""
    rng, points = np.random.default_rng(3), points.copy()
    depth = part.signed_distance(points)
    for size in np.geomspace(0.2, 0.01, 30) * part.bound:
        tried = points + size * rng.normal(size=points.shape)
        deeper = part.signed_distance(tried)
        better = deeper < depth
        points[better], depth[better] = tried[better], deeper[better]
    return points


def _choose(centres: Array, radii: Array, points: Array) -> list[int]:
    """Greedy set cover: always the ball that holds most of the points not held yet.

    Balls whose points others hold as well are given up in the end.
    """
    squares = np.sum(points**2, axis=1)[:, None] + np.sum(centres**2, axis=1) - 2.0 * points @ centres.T
    held_by = squares < radii**2
    gain = held_by.sum(axis=0, dtype=np.int32)
    left = np.ones(len(points), dtype=np.bool_)
    chosen: list[int] = []
    while gain[best := int(np.argmax(gain))] > 0:
        chosen.append(best)
        new = left & held_by[:, best]
        gain -= held_by[new].sum(axis=0, dtype=np.int32)
        left &= ~new
    times_held = held_by[:, chosen].sum(axis=1)
    for ball in list(chosen):
        if np.all(times_held[held_by[:, ball]] > 1):
            chosen.remove(ball)
            times_held -= held_by[:, ball]
    return chosen


def _fill(parts: Sequence[Part], centres: Array, depths: Array, gaps: Array, overshoot: float) -> Array:
    """Spheres for the remaining gaps: chosen like the first ones, or small ones where no candidate reaches."""
    points = gaps[:: max(1, len(gaps) // 2000)]
    # A ball that holds the middle of a cube by its half diagonal holds the cube: every round makes progress.
    chosen = _choose(centres, depths + overshoot * (1.0 - 1.01 * FINEST * HALF_DIAGONAL), points)
    if chosen:
        return _rows(centres[chosen], depths[chosen], overshoot)
    return _rows(points[:1], -union_distance(parts, points[:1]), overshoot)
