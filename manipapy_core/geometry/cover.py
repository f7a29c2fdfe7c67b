"""Spheres that cover the parts of a link, few of them and not much larger than it, with a proof.

Space is divided into cells; those that may reach into a part must each lie inside one sphere, so that everything is
covered, not only samples. A sphere about an inside point whose radius is its depth plus the overshoot reaches at most
the overshoot beyond the surface. Such spheres are chosen greedily: always the one that covers most of what is left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingPackage
from ..jit import njit
from ..typing import Array
from .hulls import spread_directions
from .parts import Part, part_distance

SMALLEST_OVERSHOOT, LARGEST_OVERSHOOT = 0.005, 0.5
"""[m]; below, there would be thousands of spheres."""
CELL = 1.0 / 6.0
"""Edge of the cells in which spheres are chosen, in overshoots."""
SURFACE = 0.3
"""Cells whose centres lie up to this far outside count as inside, in edges of a cell."""
MARGIN = 0.1
"""Chosen spheres hold the centres of cells by this share of the overshoot, so that they cover the space between."""
FINEST = 1.0 / 32.0
"""Edge of the smallest cubes of the proof, in overshoots."""
HALF_DIAGONAL = 0.5 * 3.0**0.5
"""Of a cube, in edges."""
MOST_CELLS = 500_000
"""Cells of large links are larger."""
RIMS = 32
"""Directions in which corners and rims are looked for, per part."""
MOST_CANDIDATES = 3000
MOST_WORK = 200_000_000
"""Cells visited while the gains of all candidates are counted: large links get fewer candidates."""
MOST_GAPS = 2000
"""Gaps of the proof that are filled at a time."""


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
    corners = np.concatenate([part.corners() for part in parts])
    lower, upper = corners.min(axis=0), corners.max(axis=0)
    edge = max(CELL * overshoot, float(np.prod(upper - lower + 0.02) / MOST_CELLS) ** (1.0 / 3.0))
    edge = min(edge, 0.5 * overshoot)
    origin = lower - 2.0 * edge
    shape = np.ceil((upper + 2.0 * edge - origin) / edge).astype(np.int64) + 1
    distance = _distances(parts, origin, edge, shape)
    occupied = distance <= HALF_DIAGONAL * edge
    depth = _depths(distance, occupied, edge)
    centres, depths = _candidates(parts, depth, distance < 0.0, origin, edge)
    near = distance <= SURFACE * edge
    chosen = _greedy(centres, depths + (1.0 - MARGIN) * overshoot, origin, edge, near)
    balls = np.column_stack([centres, depths + overshoot])[chosen]
    gaps = uncovered(parts, balls, overshoot)
    while len(gaps):
        balls = np.concatenate([balls, _fill(parts, centres, depths, gaps, overshoot)])
        gaps = gaps[_gap(gaps, balls) > -HALF_DIAGONAL * FINEST * overshoot]
    filled = np.maximum(-_union(parts, balls[:, :3]), 0.0)
    return np.column_stack([balls, filled])[np.argsort(-balls[:, 3], kind="stable")]


def uncovered(parts: Sequence[Part], spheres: Array, overshoot: float) -> Array:
    """Centres of the smallest cubes that reach into the parts and that no single sphere is proved to hold.

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
        cubes = cubes[_gap(cubes, spheres) > -half_diagonal]
        cubes = cubes[_union(parts, cubes) <= half_diagonal]
        if len(cubes) == 0 or edge <= FINEST * overshoot:
            return cubes
        cubes = (cubes[:, None] + edge * eighths).reshape(-1, 3)
        edge *= 0.5


@njit(cache=True, nogil=True)
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


def _fill(parts: Sequence[Part], centres: Array, depths: Array, gaps: Array, overshoot: float) -> Array:
    """More spheres for what is left: of the candidates, or small ones where none of those reach."""
    points = gaps[:: max(1, len(gaps) // MOST_GAPS)]
    # A ball that holds the middle of a cube by its half diagonal holds the cube: every round makes progress.
    radii = depths + overshoot * (1.0 - 1.01 * FINEST * HALF_DIAGONAL)
    squares = np.sum(points**2, axis=1)[:, None] + np.sum(centres**2, axis=1) - 2.0 * points @ centres.T
    held_by = (squares < radii**2) & (radii > 0.0)
    best = int(np.argmax(held_by.sum(axis=0)))
    if held_by[:, best].any():
        return np.column_stack([centres[[best]], depths[[best]] + overshoot])
    return np.column_stack([points[:1], overshoot - _union(parts, points[:1])])


def _union(parts: Sequence[Part], points: Array) -> Array:
    """Signed distance to the union; inside, never deeper than the truth."""
    distance = np.full(len(points), np.inf)
    for part in parts:
        np.minimum(distance, part_distance(part, points), out=distance)
    return distance


def _distances(parts: Sequence[Part], origin: Array, edge: float, shape: NDArray[np.int64]) -> NDArray[np.float32]:
    """Signed distance of the centre of every cell to the nearest part, as far as it is near one [m]."""
    distance = np.full(tuple(shape), np.float32(np.inf))
    for part in parts:
        corners = part.corners()
        first = np.maximum(np.floor((corners.min(axis=0) - origin) / edge).astype(np.int64) - 1, 0)
        last = np.minimum(np.ceil((corners.max(axis=0) - origin) / edge).astype(np.int64) + 2, shape)
        axes = [origin[axis] + edge * np.arange(first[axis], last[axis]) for axis in range(3)]
        cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        box = distance[first[0] : last[0], first[1] : last[1], first[2] : last[2]]
        found = part_distance(part, cells.reshape(-1, 3)).reshape(box.shape)
        # Rounded up: a cell that lies on the bound counts as occupied.
        np.minimum(box, found.astype(np.float32) - np.float32(1e-7), out=box)
    return distance


def _depths(distance: NDArray[np.float32], occupied: NDArray[np.bool_], edge: float) -> NDArray[np.float32]:
    """How deep the centres of cells lie inside the union of the parts [m]; negative outside.

    Across the cuts between parts the grid knows more than the parts: a ball that stays in occupied cells reaches at
    most one diagonal beyond them.
    """
    try:
        from scipy import ndimage
    except ImportError:
        raise MissingPackage("scipy", "covering spheres", "collision") from None
    inner = ndimage.distance_transform_edt(occupied) * edge - 3.0 * HALF_DIAGONAL * edge
    return np.maximum(-distance, inner.astype(np.float32))


def _candidates(
    parts: Sequence[Part], depth: NDArray[np.float32], inside: NDArray[np.bool_], origin: Array, edge: float
) -> tuple[Array, Array]:
    """Centres of spheres [m], shape (candidates, 3), and how deep inside they lie [m]."""
    from scipy import ndimage

    ridge = inside & (depth > 0.0) & (depth >= ndimage.maximum_filter(depth, 3) - 1e-6)
    cells = np.concatenate(
        [_some(np.argwhere(ridge), MOST_CANDIDATES // 3), _some(np.argwhere(inside), MOST_CANDIDATES)]
    )
    work = np.cumsum((2.0 * (np.maximum(depth[tuple(cells.T)], 0.0) + 0.02) / edge) ** 3)
    cells = cells[: max(200, int(np.searchsorted(work, MOST_WORK)))]
    on_axes = np.concatenate([_axis_points(part) for part in parts])
    centres = np.concatenate([on_axes, origin + edge * cells])
    return centres, np.concatenate([-_union(parts, on_axes), depth[tuple(cells.T)]])


def _some(rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    return rows if len(rows) <= count else rows[np.random.default_rng(1).permutation(len(rows))[:count]]


def _axis_points(part: Part) -> Array:
    """The middle of a part, and points along its axes: the best centres for round shapes."""
    corners = part.corners()
    middle = corners.mean(axis=0)
    ends = part.T_frame_shape[:3, :3].T * np.ptp(part.local(corners), axis=0)[:, None]
    points = [middle + np.linspace(-0.5, 0.5, 41)[1:-1, None] * axis for axis in ends]
    # From corners and rims inwards: somewhere there is the largest ball that still reaches the corner.
    sharp = np.array([part.farthest_from(part.centre - part.bound * d) for d in spread_directions(RIMS)])
    inwards = [sharp + share * (middle - sharp) for share in np.linspace(0.1, 1.0, 10)]
    found = np.concatenate([part.centre[None], middle[None], *points, *inwards])
    return found[part_distance(part, found) < 0.0]


@njit(cache=True, nogil=True)
def _visit(centre: Array, radius: float, origin: Array, edge: float, left: NDArray[np.bool_], take: bool) -> int:
    """How many of the cells that are left have their centres inside a ball; taken ones are no longer left."""
    gain = 0
    low, high = np.empty(2, np.int64), np.empty(2, np.int64)
    for axis in range(2):
        low[axis] = max(0, int(np.ceil((centre[axis] - radius - origin[axis]) / edge)))
        high[axis] = min(left.shape[axis] - 1, int(np.floor((centre[axis] + radius - origin[axis]) / edge)))
    for i in range(low[0], high[0] + 1):
        dx = origin[0] + edge * i - centre[0]
        for j in range(low[1], high[1] + 1):
            dy = origin[1] + edge * j - centre[1]
            rest = radius * radius - dx * dx - dy * dy
            if rest < 0.0:
                continue
            half = rest**0.5
            first = max(0, int(np.ceil((centre[2] - half - origin[2]) / edge)))
            last = min(left.shape[2] - 1, int(np.floor((centre[2] + half - origin[2]) / edge)))
            for k in range(first, last + 1):
                if left[i, j, k]:
                    gain += 1
                    if take:
                        left[i, j, k] = False
    return gain


@njit(cache=True, nogil=True)
def _greedy(centres: Array, radii: Array, origin: Array, edge: float, left: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Numbers of the balls chosen, each the one that covers most cells; what they cover is no longer left."""
    gains = np.zeros(len(centres), np.int64)
    for c in range(len(centres)):
        if radii[c] > 0.0:
            gains[c] = _visit(centres[c], radii[c], origin, edge, left, False)
    chosen: list[int] = []
    while True:
        # A gain only shrinks while others are chosen: the best stale one is counted again until it stays the best.
        best = int(np.argmax(gains))
        if gains[best] == 0:
            return np.array(chosen, dtype=np.int64)
        gains[best] = _visit(centres[best], radii[best], origin, edge, left, False)
        if gains[best] > 0 and gains[best] >= np.max(gains):
            chosen.append(best)
            _visit(centres[best], radii[best], origin, edge, left, True)
            gains[best] = 0
