"""Convex parts of a triangle mesh: every triangle lies inside a part, and no part reaches far beyond the solid.

The mesh is cut by planes, triangles included, and each part is the convex hull of its triangles: the surface is covered
by construction, whether the mesh is watertight or not. Where to cut, and when to stop, follows from the free space that
the hulls take in, measured on a grid: cells that can be reached from outside without crossing the surface.

V-HACD and CoACD solve the same task, but their hulls may leave triangles uncovered, which a collision checker cannot
afford, and they take 0.3 to 20 s a mesh where this takes 0.02 to 0.3 s.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..compile_notice import compiling
from ..errors import MissingPackage
from ..jit import njit
from ..model.meshes import TriangleMesh
from ..typing import Array
from .free_space import COARSE, GridSize, free_cells
from .hulls import spread_directions
from .shapes import ConvexMesh

TOLERANCE, FINE_TOLERANCE = 0.003, 0.0008
"""A part may reach this far into free space [m]; of a mesh that passes others closely."""
MOST_PARTS, MOST_FINE_PARTS = 32, 64
"""Of one mesh."""
NARROWEST = 0.002
"""Cuts keep this distance from the ends of a part [m]."""
CANDIDATES = 7
"""Cutting planes per axis that are compared, besides the one through the deepest free cell."""
DIRECTIONS = 64
"""Half-spaces that stand for a hull while cutting planes are compared."""
COMPARED_CELLS, COMPARED_TRIANGLES = 1200, 2500
"""So many of them at most, chosen at random, decide where to cut; the cut itself is made through all triangles."""
THICKNESS = 2e-4
"""Added to both sides of a flat part [m]."""


def decompose(
    mesh: TriangleMesh, *, tolerance: float = TOLERANCE, most_parts: int = MOST_PARTS, grid: GridSize = COARSE
) -> list[ConvexMesh]:
    """Convex parts that cover a mesh.

    Args:
        tolerance: Cutting goes on until no part reaches farther into free space [m].
        most_parts: Or until there are so many parts.
        grid: On which free space is measured.
    """
    surface = _welded(mesh)
    cells, depths = free_cells(surface.corners, grid)
    axes = _axes(surface.corners)
    order = itertools.count()
    queue = [_entry(_Piece.cut_out(surface, cells, depths), order)]
    done: list[_Piece] = []
    while queue and len(queue) + len(done) < most_parts:
        _, _, piece = heapq.heappop(queue)
        if piece.overreach <= tolerance:
            done.append(piece)
            break
        halves = _best_cut(piece, axes)
        if halves is None:
            done.append(piece)
        else:
            for half in halves:
                heapq.heappush(queue, _entry(half, order))
    pieces = [*done, *(piece for _, _, piece in queue)]
    return [piece.hull for piece in pieces]


def warm_up() -> None:
    """Compiles what a decomposition needs, which may take seconds once: an executor must not wait for it."""
    # A step: it takes two parts, so that all of the decomposition runs.
    outline = np.array([[0.0, 0.0], [0.2, 0.0], [0.2, 0.1], [0.1, 0.1], [0.1, 0.2], [0.0, 0.2]])
    points = np.vstack([np.column_stack([outline, np.full(6, z)]) for z in (0.0, 0.1)])
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    sides = [(k, (k + 1) % 6, 6 + (k + 1) % 6) for k in range(6)] + [(k, 6 + (k + 1) % 6, 6 + k) for k in range(6)]
    top = [(6 + a, 6 + b, 6 + c) for a, b, c in caps]
    faces = [(a, c, b) for a, b, c in caps] + top + sides
    with compiling("the decomposition of meshes", 3.0), contextlib.suppress(MissingPackage):
        # If a package is missing, a mesh will be refused with that reason.
        decompose(TriangleMesh(points, np.array(faces, dtype=np.int64)))


@dataclass(frozen=True, eq=False)
class _Piece:
    """Some triangles, their hull, and the free cells inside that."""

    surface: TriangleMesh
    hull: ConvexMesh
    cells: Array
    depths: Array

    @classmethod
    def cut_out(cls, surface: TriangleMesh, cells: Array, depths: Array) -> _Piece:
        """Those of the given free cells that the hull of the triangles takes in belong to the piece."""
        hull = ConvexMesh(_with_volume(surface.points))
        inside = _inside(cells, hull.planes)
        return cls(surface, hull, cells[inside], depths[inside])

    @property
    def overreach(self) -> float:
        """How far the hull reaches into free space [m]."""
        return float(self.depths.max(initial=0.0))


def _entry(piece: _Piece, order: itertools.count[int]) -> tuple[float, int, _Piece]:
    """The piece that reaches farthest into free space comes first out of a heap."""
    return -piece.overreach, next(order), piece


def _welded(mesh: TriangleMesh) -> TriangleMesh:
    """The mesh with equal points made one: STL files repeat each about six times, which slows hulls."""
    order = np.argsort(mesh.points @ np.array([0.31, 0.43, 0.71]), kind="stable")
    sorted_points = mesh.points[order]
    # Few different points share the key by chance; what stays double then does no harm.
    first = np.append(True, np.any(np.diff(sorted_points, axis=0) != 0.0, axis=1))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(first) - 1
    return _compact(sorted_points[first], numbers[mesh.triangles])


def _compact(points: Array, triangles: NDArray[np.int64]) -> TriangleMesh:
    """Without the points that no triangle has."""
    used = np.zeros(len(points), dtype=np.bool_)
    used[triangles] = True
    return TriangleMesh(points[used], (np.cumsum(used) - 1)[triangles])


def _with_volume(points: Array) -> Array:
    """Points of a flat piece, thickened."""
    centred = points - points.mean(axis=0)
    squares, axes = np.linalg.eigh(centred.T @ centred / len(points))
    flat = axes.T[np.sqrt(np.maximum(squares, 0.0)) < THICKNESS]
    for axis in flat:
        points = np.concatenate([points - THICKNESS * axis, points + THICKNESS * axis])
    return points


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _inside(points: Array, planes: Array) -> NDArray[np.bool_]:
    """Which points lie below all planes; points of a grid in order, so that those of a line along z share the work."""
    found = np.zeros(len(points), dtype=np.bool_)
    low, high = np.inf, -np.inf
    for i in range(len(points)):
        x, y = points[i, 0], points[i, 1]
        if i == 0 or x != points[i - 1, 0] or y != points[i - 1, 1]:
            low, high = -np.inf, np.inf
            for k in range(len(planes)):
                rest, slope = planes[k, 3] - planes[k, 0] * x - planes[k, 1] * y, planes[k, 2]
                if slope > 0.0:
                    high = min(high, rest / slope)
                elif slope < 0.0:
                    low = max(low, rest / slope)
                elif rest < 0.0:
                    high = -np.inf
                if low > high:
                    break
        found[i] = low <= points[i, 2] <= high
    return found


def _axes(triangles: Array) -> Array:
    """Normals of the cutting planes: the axes of the mesh's frame, and its principal axes where they differ."""
    centred = triangles.reshape(-1, 3) - triangles.mean(axis=(0, 1))
    principal = np.linalg.svd(centred[:: max(1, len(centred) // 5000)], full_matrices=False)[2]
    aligned = np.abs(principal).max(axis=1).min() > 0.98
    return np.eye(3) if aligned else np.concatenate([np.eye(3), principal])


def _best_cut(piece: _Piece, axes: Array) -> tuple[_Piece, _Piece] | None:
    """The two halves whose hulls take in least free space; None if no cut helps."""
    rng = np.random.default_rng(0)
    some = rng.permutation(len(piece.depths))[:COMPARED_CELLS]
    some[-1] = np.argmax(piece.depths)
    cells, weights = piece.cells[some], piece.depths[some] ** 2
    every = piece.surface.triangles
    triangles = piece.surface.points[every[rng.permutation(len(every))[:COMPARED_TRIANGLES]]]
    normals = np.concatenate([axes, -axes, spread_directions(DIRECTIONS)])
    # As one product: NumPy multiplies stacks of small matrices one by one.
    heights = (triangles.reshape(-1, 3) @ normals.T).reshape(-1, 3, len(normals))
    cell_heights = cells @ normals.T
    best, lowest = None, 0.999 * float(weights.sum())
    for number, axis in enumerate(axes):
        low, high = heights[..., number].min(), heights[..., number].max()
        along = cell_heights[:, number]
        even, quantiles = np.linspace(low, high, CANDIDATES)[1:-1], np.quantile(along, [0.02, 0.3, 0.5, 0.7, 0.98])
        places = np.unique(np.round([*even, *quantiles, along[-1]], 6))
        places = places[(places > low + NARROWEST) & (places < high - NARROWEST)]
        if len(places):
            costs = _costs(heights, number, places, cell_heights, weights)
            if costs.min() < lowest:
                best, lowest = (axis, places[np.argmin(costs)]), costs.min()
    if best is None:
        return None
    below, above = _cut(piece.surface, *best)
    return _Piece.cut_out(below, piece.cells, piece.depths), _Piece.cut_out(above, piece.cells, piece.depths)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _costs(heights: Array, axis: int, places: Array, cell_heights: Array, weights: Array) -> Array:
    """For each cutting plane: weight of the free cells that both halves take in, each half bounded by half-spaces.

    Args:
        heights: Of the corners of triangles along the normals of the half-spaces, shape (triangles, 3, normals).
        axis: Normal of the cutting planes, by number.
        places: Of the planes along it, ascending.
        cell_heights: The same of free cells, shape (cells, normals).
    """
    count, most = heights.shape[2], len(places)
    # Bounds of what lies below and above each plane: first of the corners between two planes.
    between = np.full((most + 1, count), -np.inf)
    bounds = np.full((most, 2, count), -np.inf)
    for t in range(len(heights)):
        for a in range(3):
            b = (a + 1) % 3
            h_a, h_b = heights[t, a, axis], heights[t, b, axis]
            at_a, at_b = np.searchsorted(places, h_a), np.searchsorted(places, h_b)
            for k in range(count):
                between[at_a, k] = max(between[at_a, k], heights[t, a, k])
            for place in range(min(at_a, at_b), max(at_a, at_b)):
                share = (places[place] - h_a) / (h_b - h_a)
                for k in range(count):
                    crossing = heights[t, a, k] + share * (heights[t, b, k] - heights[t, a, k])
                    bounds[place, 0, k] = max(bounds[place, 0, k], crossing)
    costs = np.zeros(most)
    for k in range(count):
        bounds[:, 1, k] = bounds[:, 0, k]
        below, above = -np.inf, -np.inf
        for place in range(most):
            below = max(below, between[place, k])
            bounds[place, 0, k] = max(bounds[place, 0, k], below)
        for place in range(most - 1, -1, -1):
            above = max(above, between[place + 1, k])
            bounds[place, 1, k] = max(bounds[place, 1, k], above)
    for place in range(most):
        for side in range(2):
            for c in range(len(cell_heights)):
                inside = True
                for k in range(count):
                    if cell_heights[c, k] > bounds[place, side, k]:
                        inside = False
                        break
                if inside:
                    costs[place] += weights[c]
    return costs


def _cut(mesh: TriangleMesh, normal: Array, offset: float) -> tuple[TriangleMesh, TriangleMesh]:
    """What lies below and above the plane normal · x = offset; triangles across it are cut in three."""
    points, triangles = mesh.points, mesh.triangles
    heights = points @ normal - offset
    sides = heights[triangles]
    below, above = np.all(sides <= 0.0, axis=1), np.all(sides >= 0.0, axis=1)
    across = ~(below | above)
    crossing, sides = triangles[across], sides[across]
    # The corner that is alone on its side comes first.
    up = sides > 0.0
    alone = np.where(up.sum(axis=1) == 1, np.argmax(up, axis=1), np.argmin(up, axis=1))
    a, b, c = np.take_along_axis(crossing, (alone[:, None] + np.arange(3)) % 3, axis=1).T
    share_b, share_c = ((heights[a] / (heights[a] - heights[end]))[:, None] for end in (b, c))
    added = [points[a] + share_b * (points[b] - points[a]), points[a] + share_c * (points[c] - points[a])]
    ab = len(points) + np.arange(len(a))
    ac = ab + len(a)
    tip = np.stack([a, ab, ac], axis=1)
    rest = np.stack([np.stack([ab, b, c], axis=1), np.stack([ab, c, ac], axis=1)], axis=1)
    tip_up = heights[a] > 0.0
    lower = [triangles[below], tip[~tip_up], rest[tip_up].reshape(-1, 3)]
    upper = [triangles[above & ~below], tip[tip_up], rest[~tip_up].reshape(-1, 3)]
    every = np.concatenate([points, *added])
    return _compact(every, np.concatenate(lower)), _compact(every, np.concatenate(upper))
