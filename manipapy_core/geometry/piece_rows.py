"""Rows of convex pieces, of the robot and of the world, as the checker's machine code reads them (`codegen.layout`)."""

from __future__ import annotations

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
    """Of the first element; twice as fast as `array.ctypes.data`."""
    address: int = array.__array_interface__["data"][0]
    return address


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
        self._vertices: list[list[float]] = []
        self._clusters: list[list[float]] = []

    @property
    def count(self) -> int:
        """Of these pieces and those before."""
        return self._before.pieces + len(self._integers)

    @property
    def vertices(self) -> int:
        """Of the hulls among these pieces."""
        return len(self._vertices)

    def add(self, part: Part, frame: int) -> int:
        """Appends a part and returns its number."""
        shape = part.shape
        kind, half, disc, ball = PieceKind.ROUND, [0.0, 0.0, 0.0], 0.0, 0.0
        added, core, filled = 0.0, 0.0, 0.0
        axes = part.T_frame_shape[:3, :3]
        first_vertex = self._before.vertices + len(self._vertices)
        ranges = [first_vertex] * 4 + [self._before.clusters + len(self._clusters)] * 2
        if isinstance(shape, Box):
            kind, half = PieceKind.BOX, (0.5 * shape.size).tolist()
        elif isinstance(shape, ConvexMesh):
            kind = PieceKind.HULL
            levels = hull_levels(shape)
            axes = axes @ levels.axes
            ranges[:4] = 2 * self._add_vertices(levels.coarse.vertices @ levels.axes)
            if levels.fine is not levels.coarse:
                vertices, balls = _clusters(shape)
                ranges[2:4] = self._add_vertices(vertices)
                self._clusters += balls.tolist()
                ranges[5] = self._before.clusters + len(self._clusters)
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

    def _add_vertices(self, vertices: Array) -> list[int]:
        first = self._before.vertices + len(self._vertices)
        self._vertices += vertices.tolist()
        return [first, first + len(vertices)]

    def tables(self) -> PieceTables:
        """The rows as arrays."""
        return PieceTables(
            np.array(self._integers, dtype=np.int64).reshape(-1, PieceRow.WIDTH),
            np.array(self._numbers, dtype=np.float64).reshape(-1, PieceNumber.WIDTH),
            np.array(self._vertices, dtype=np.float32).reshape(-1, 3),
            np.array(self._clusters, dtype=np.float32).reshape(-1, CLUSTER_NUMBERS),
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


@lru_cache(maxsize=4096)
def _clusters(mesh: ConvexMesh) -> tuple[Array, Array]:
    """Vertices of the fine level along its axes, in clusters, and balls around these: the same for every padding."""
    levels = hull_levels(mesh)
    return clustered(levels.fine.vertices @ levels.axes, CLUSTER)
