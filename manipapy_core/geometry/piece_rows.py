"""Rows of convex pieces, of the robot and of the world, as the checker's machine code reads them (`codegen.layout`)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..typing import Array
from .codegen.layout import CLUSTER, CLUSTER_NUMBERS, PieceKind, PieceNumber, PieceRow
from .hulls import clustered, hull_levels
from .parts import Part
from .shapes import Box, Capsule, ConvexMesh, Cylinder

RADII = [PieceNumber.BALL, PieceNumber.BOUND, PieceNumber.FINE_BALL]
"""What padding is added to."""


def address_of(array: NDArray[np.generic]) -> int:
    """Of the first element; in a third of the time of `array.ctypes.data`, unless the array is empty or read-only."""
    if array.size and array.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    return array.ctypes.data


@dataclass(frozen=True)
class PieceCounts:
    """Rows that other pieces take in the same tables, before the first of these."""

    pieces: int = 0
    vertices: int = 0
    clusters: int = 0


class PieceRows:
    """Pieces one after the other, without padding.

    Args:
        before: Rows in front, to which indices of pieces, vertices and clusters are added.
    """

    def __init__(self, before: PieceCounts = PieceCounts()):
        self._before = before
        self._integers: list[list[int]] = []
        self._numbers: list[list[float]] = []
        self._vertices: list[NDArray[np.float32]] = [np.empty((0, 3), np.float32)]
        self._clusters: list[NDArray[np.float32]] = [np.empty((0, CLUSTER_NUMBERS), np.float32)]
        self._vertex_count, self._cluster_count = 0, 0

    @property
    def count(self) -> int:
        """Of these pieces and those before."""
        return self._before.pieces + len(self._integers)

    @property
    def vertices(self) -> int:
        """Of the hulls among these pieces."""
        return self._vertex_count

    def add(self, part: Part, frame: int) -> int:
        """Appends a part and returns its number."""
        shape = part.shape
        kind, half, disc, ball = PieceKind.ROUND, [0.0, 0.0, 0.0], 0.0, 0.0
        added, core, filled = 0.0, 0.0, 0.0
        axes = part.T_frame_shape[:3, :3]
        first_vertex = self._before.vertices + self._vertex_count
        ranges = [first_vertex] * 4 + [self._before.clusters + self._cluster_count] * 2
        if isinstance(shape, Box):
            kind, half = PieceKind.BOX, (0.5 * shape.size).tolist()
        elif isinstance(shape, ConvexMesh):
            kind = PieceKind.HULL
            levels = hull_levels(shape)
            axes = axes @ levels.axes
            ranges[:4] = 2 * self._add_vertices(_coarse_vertices(shape))
            if levels.fine is not levels.coarse:
                vertices, balls = _clusters(shape)
                ranges[2:4] = self._add_vertices(vertices)
                self._clusters.append(balls)
                self._cluster_count += len(balls)
                ranges[5] = self._before.clusters + self._cluster_count
            added, ball = levels.coarse.ball - levels.fine.ball, levels.fine.ball
            core, filled = levels.core, levels.filled
        elif isinstance(shape, Cylinder):
            half[2], disc = 0.5 * shape.length, shape.radius
            filled = min(half[2], disc)
            core = half[2] - filled
        else:
            core = half[2] = 0.5 * shape.length if isinstance(shape, Capsule) else 0.0
            ball = shape.radius
        self._integers.append([frame, kind, *ranges])
        self._numbers.append([*axes.T.ravel(), *part.centre, *half, disc, ball + added, part.bound, core, filled, ball])
        return self.count - 1

    def _add_vertices(self, vertices: NDArray[np.float32]) -> list[int]:
        first = self._before.vertices + self._vertex_count
        self._vertices.append(vertices)
        self._vertex_count += len(vertices)
        return [first, first + len(vertices)]

    def tables(self) -> PieceTables:
        """The rows as arrays."""
        return PieceTables(
            np.array(self._integers, dtype=np.int64).reshape(-1, PieceRow.WIDTH),
            np.array(self._numbers, dtype=np.float64).reshape(-1, PieceNumber.WIDTH),
            np.concatenate(self._vertices),
            np.concatenate(self._clusters),
        )


@dataclass(frozen=True, eq=False)
class PieceTables:
    """Pieces as arrays, without padding."""

    integers: NDArray[np.int64]
    """Shape (pieces, `PieceRow.WIDTH`)."""
    numbers: Array
    """In double precision: padding is added before it is rounded. Shape (pieces, `PieceNumber.WIDTH`)."""
    vertices: NDArray[np.float32]
    clusters: NDArray[np.float32]

    @cached_property
    def counts(self) -> PieceCounts:
        """How many rows the tables have."""
        return PieceCounts(len(self.integers), len(self.vertices), len(self.clusters))

    def padded(self, pad: float) -> NDArray[np.float32]:
        """The numbers with every piece thicker by this [m]."""
        numbers = self.numbers.astype(np.float32)
        numbers[:, RADII] = self.numbers[:, RADII] + pad
        return numbers


# The same for every padding.
@lru_cache(maxsize=4096)
def _coarse_vertices(mesh: ConvexMesh) -> NDArray[np.float32]:
    """Vertices of the coarse level along its axes."""
    levels = hull_levels(mesh)
    return (levels.coarse.vertices @ levels.axes).astype(np.float32)


@lru_cache(maxsize=4096)
def _clusters(mesh: ConvexMesh) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Vertices of the fine level along its axes, in clusters, and balls around these."""
    levels = hull_levels(mesh)
    vertices, balls = clustered(levels.fine.vertices @ levels.axes, CLUSTER)
    return vertices.astype(np.float32), balls.astype(np.float32)
