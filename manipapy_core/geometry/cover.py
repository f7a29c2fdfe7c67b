"""Covering spheres of a link: few, extending little beyond it, and proved to contain it.

A ball about an inside point whose radius is its depth plus the overshoot reaches at most the overshoot beyond the
surface. Such balls are chosen greedily until they cover sample points; then space is subdivided into cubes until
each lies outside the parts or inside one ball. Cubes for which neither holds become sample points, and more balls are
chosen: what is returned is proved, not sampled.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..jit import njit
from ..typing import Array
from .hulls import HullLevel, hull_levels
from .parts import Part
from .set_cover import choose_balls
from .shapes import ConvexMesh
from .unions import PartUnion

SMALLEST_OVERSHOOT, LARGEST_OVERSHOOT = 0.005, 0.5
"""[m]; below the smallest there would be thousands of spheres."""
MARGIN = 0.05
"""Sample points must lie this share of the overshoot inside a ball, so that what is between them is covered too."""
FINEST = 1.0 / 16.0
"""Edge of the smallest cubes of the proof, in overshoots."""
MOST_CUBES, MOST_GAPS, FILLED_AT_ONCE = 8192, 4096, 500
"""Cubes looked at together in the proof; gaps collected before they are filled; gaps that decide on new spheres."""
TOGETHER = 8
"""Points that are compared with spheres together: a cube of the proof has as many children."""
HALF_DIAGONAL = 0.5 * 3.0**0.5
"""Of a cube, in edges."""
CANDIDATES, CORNERS, SAMPLES = 150, 60, 300
"""Per part, of links with few parts."""
FEW_PARTS = 3
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
    inner = PartUnion([_inner(part)[0] for part in parts])
    centres, depths = _candidates(inner, rng)
    points = _samples(inner, rng)
    chosen = choose_balls(centres, depths + overshoot * (1.0 - MARGIN), points)
    spheres = _rows(centres[chosen], depths[chosen], overshoot)
    proof = _Proof(parts, overshoot)
    while len(gaps := proof.next_gaps(spheres)):
        while len(gaps):
            spheres = np.concatenate([spheres, _fill(inner, centres, depths, gaps, overshoot)])
            gaps = gaps[_gap(gaps, spheres, -HALF_DIAGONAL * FINEST * overshoot)]
    return spheres[np.argsort(-spheres[:, 3])]


def uncovered(parts: Sequence[Part], spheres: Array, overshoot: float) -> Array:
    """Centres of some of the smallest cubes that reach into the parts and that no single ball is proved to hold.

    Returns:
        [m], shape (cubes, 3); empty when the parts are proved to be covered.
    """
    return _Proof(parts, overshoot).next_gaps(spheres)


class _Proof:
    """Cubes that are still to be shown to lie outside the parts or inside one ball, and their edges [m].

    What is shown holds for more balls too, so each cube is looked at once. The smallest cubes are looked at first, some
    thousands at a time: the memory does not depend on the size of the parts.
    """

    EIGHTHS = np.stack(np.meshgrid(*3 * [[-0.25, 0.25]]), axis=-1).reshape(-1, 3)

    def __init__(self, parts: Sequence[Part], overshoot: float):
        inner = [_inner(part) for part in parts]
        self._union, self._beyond = PartUnion([part for part, _ in inner]), np.array([beyond for _, beyond in inner])
        self._finest = FINEST * overshoot
        corners = np.concatenate([part.corners() for part in parts])
        lower, upper = corners.min(axis=0), corners.max(axis=0)
        edge = 2.0 * overshoot
        axes = [np.arange(a + 0.5 * edge, b + edge, edge) for a, b in zip(lower, upper)]
        self._pending = [(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3), edge)]

    def next_gaps(self, spheres: Array) -> Array:
        """Centres of smallest cubes that no ball holds, `MOST_GAPS` or somewhat more; empty at the end of the proof."""
        gaps: list[Array] = [np.empty((0, 3))]
        while self._pending and sum(map(len, gaps)) < MOST_GAPS:
            cubes, edge = self._pending.pop()
            if len(cubes) > MOST_CUBES:
                self._pending.append((cubes[MOST_CUBES:], edge))
                cubes = cubes[:MOST_CUBES]
            cubes = cubes[_gap(cubes, spheres, -HALF_DIAGONAL * edge)]
            # No cube that reaches into the parts is left out: they lie at most `beyond` outside those of the union.
            cubes = cubes[self._union.within(cubes, HALF_DIAGONAL * edge + self._beyond)]
            if edge <= self._finest:
                gaps.append(cubes)
            elif len(cubes):
                self._pending.append(((cubes[:, None] + edge * self.EIGHTHS).reshape(-1, 3), 0.5 * edge))
        return np.concatenate(gaps)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _gap(points: Array, spheres: Array, distance: float) -> NDArray[np.bool_]:
    """Which points are farther than this from every sphere; negative distances lead inside.

    Neighbours follow each other among the points: some at a time are compared with the spheres that are near them.
    """
    gaps = np.ones(len(points), dtype=np.bool_)
    near = np.empty(len(spheres), dtype=np.int64)
    for first in range(0, len(points), TOGETHER):
        some = points[first : first + TOGETHER]
        x, y, z = some[:, 0].mean(), some[:, 1].mean(), some[:, 2].mean()
        spread = 0.0
        for i in range(len(some)):
            a, b, c = some[i, 0] - x, some[i, 1] - y, some[i, 2] - z
            spread = max(spread, a * a + b * b + c * c)
        # A little more than the spread: rounding must not decide which spheres a point is compared with.
        spread = spread**0.5 + 1e-9
        count = 0
        for s in range(len(spheres)):
            a, b, c = x - spheres[s, 0], y - spheres[s, 1], z - spheres[s, 2]
            reach = spheres[s, 3] + distance
            if reach > 0.0 and a * a + b * b + c * c <= (reach + spread) * (reach + spread):
                near[count] = s
                count += 1
        for i in range(len(some)):
            for s in near[:count]:
                a, b, c = some[i, 0] - spheres[s, 0], some[i, 1] - spheres[s, 1], some[i, 2] - spheres[s, 2]
                reach = spheres[s, 3] + distance
                if a * a + b * b + c * c <= reach * reach:
                    gaps[first + i] = False
                    break
    return gaps


def _inner(part: Part) -> tuple[Part, float]:
    """A part with fewer vertices inside a mesh part, and how far that reaches beyond it [m].

    Depths in it are never more than the true ones.
    """
    if not isinstance(part.shape, ConvexMesh):
        return part, 0.0
    fine = hull_levels(part.shape).fine
    if len(fine.vertices) == len(part.shape.vertices):
        return part, 0.0
    return Part(_hull_of(fine), part.T_frame_shape), fine.ball


@functools.lru_cache(maxsize=256)
def _hull_of(level: HullLevel) -> ConvexMesh:
    return ConvexMesh(level.vertices)


def _rows(centres: Array, depths: Array, overshoot: float) -> Array:
    return np.column_stack([centres, depths + overshoot, np.maximum(depths, 0.0)])


def _candidates(union: PartUnion, rng: np.random.Generator) -> tuple[Array, Array]:
    """Inside points, also pushed away from the surface, where balls can be large, and their depths [m]."""
    points, parts = [], union.parts
    share = _share(parts)
    for part in parts:
        inside = _inside(part, round(share * CANDIDATES), rng)
        points += [inside, _pushed_inwards(part, inside), part.centre[None]]
        # From corners and rims inwards: somewhere there is the largest ball that still reaches the corner.
        sharp = part.sharp_points(round(share * CORNERS))
        inwards = _pushed_inwards(part, part.centre + 0.98 * (sharp - part.centre)) - sharp
        points += [sharp + share * inwards for share in np.linspace(0.1, 1.0, 10)]
        middle = part.corners().mean(axis=0)
        ends = part.T_frame_shape[:3, :3].T * np.ptp(part.local(part.corners()), axis=0)[:, None]
        points += [middle + np.linspace(-0.5, 0.5, 41)[1:-1, None] * axis for axis in ends]
    candidates = np.concatenate(points)
    depths = -union.distance(candidates)
    return candidates[depths > 0.0], depths[depths > 0.0]


def _samples(union: PartUnion, rng: np.random.Generator) -> Array:
    """Points of the parts: all through them, and on what is their common surface."""
    points, parts = [], union.parts
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
        points += [inside[:count], surface, part.sharp_points(count // 2)]
    samples = np.concatenate(points)
    inner = union.distance(samples) < -1e-6
    # Of the inside a few are enough: large balls hold it anyway.
    return samples[~inner | (np.arange(len(samples)) % 4 == 0)]


def _share(parts: Sequence[Part]) -> float:
    return min(1.0, FEW_PARTS / len(parts))


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
    rng = np.random.default_rng(3)
    sizes = np.geomspace(0.2, 0.01, 30) * part.bound
    steps = sizes[:, None, None] * rng.normal(size=(len(sizes), *points.shape))
    if isinstance(part.shape, ConvexMesh):
        return part.placed(_deeper(part.local(points), steps @ part.T_frame_shape[:3, :3], part.shape.planes))
    points = points.copy()
    depth = part.signed_distance(points)
    for step in steps:
        tried = points + step
        deeper = part.signed_distance(tried)
        better = deeper < depth
        points[better], depth[better] = tried[better], deeper[better]
    return points


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _deeper(points: Array, steps: Array, planes: Array) -> Array:
    """The same for a mesh: a step is given up at the first plane above which it is no deeper."""
    found = points.copy()
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        depth, at = -np.inf, 0
        for k in range(len(planes)):
            depth = max(depth, planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z - planes[k, 3])
        for s in range(len(steps)):
            a, b, c = x + steps[s, i, 0], y + steps[s, i, 1], z + steps[s, i, 2]
            most = planes[at, 0] * a + planes[at, 1] * b + planes[at, 2] * c - planes[at, 3]
            if most >= depth:
                continue
            for k in range(len(planes)):
                height = planes[k, 0] * a + planes[k, 1] * b + planes[k, 2] * c - planes[k, 3]
                if height > most:
                    most = height
                    if most >= depth:
                        at = k
                        break
            if most < depth:
                x, y, z, depth = a, b, c, most
        found[i, 0], found[i, 1], found[i, 2] = x, y, z
    return found


def _fill(union: PartUnion, centres: Array, depths: Array, gaps: Array, overshoot: float) -> Array:
    """Spheres for some of the remaining gaps, chosen like the first ones; candidates also lie near the gaps."""
    points = gaps[:: max(1, len(gaps) // FILLED_AT_ONCE)]
    middles = np.array([part.centre for part in union.parts])[union.nearest(points)[1]]
    inwards = np.concatenate([points + share * (middles - points) for share in (0.02, 0.1, 0.25, 0.5)])
    reaches = np.column_stack([centres, depths + 2.0 * overshoot])
    near = _reaching(reaches, points[::20])
    centres = np.concatenate([inwards, centres[near]])
    depths = np.concatenate([-union.distance(inwards), depths[near]])
    inside = depths > 0.0
    centres, depths = centres[inside], depths[inside]
    # A ball that holds the middle of a cube by its half diagonal holds the cube: every round makes progress.
    chosen = choose_balls(centres, depths + overshoot * (1.0 - 1.01 * FINEST * HALF_DIAGONAL), points)
    if chosen:
        return _rows(centres[chosen], depths[chosen], overshoot)
    return _rows(points[:1], -union.distance(points[:1]), overshoot)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _reaching(balls: Array, points: Array) -> NDArray[np.bool_]:
    """Which balls, rows of centre and radius, hold one of the points."""
    reaching = np.zeros(len(balls), dtype=np.bool_)
    for s in range(len(balls)):
        square = balls[s, 3] * balls[s, 3]
        for i in range(len(points)):
            a, b, c = points[i, 0] - balls[s, 0], points[i, 1] - balls[s, 1], points[i, 2] - balls[s, 2]
            if a * a + b * b + c * c < square:
                reaching[s] = True
                break
    return reaching
