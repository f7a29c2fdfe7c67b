"""Objects of the world as rows of tables by their kind (`codegen.layout`), without padding: one for all checkers.

Boxes, by far the most frequent shape, are written by compiled code, all at once. Where a new snapshot differs from the
one before by one object that has kept its kind, the tables are copied and that row is written.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..jit import njit
from ..typing import Array
from .codegen.layout import OBJECT_NUMBERS, ObjectKind, ObjectRow, PieceKind, PieceNumber, PieceRow
from .fields import Octomap, PointCloud
from .parts import centred_part
from .piece_rows import PieceCounts, PieceRows, PieceTables, address_of
from .shapes import Box, ConvexMesh, Cylinder, Plane, Sphere
from .world import WorldObject

ALIGNED = 1e-7
"""Elements of a rotation smaller than this count as zero."""
WIDEST = max(OBJECT_NUMBERS.values())
_numbers = itertools.count()
_BOXES = (ObjectKind.ALIGNED_BOX, ObjectKind.BOX)


@dataclass(frozen=True, eq=False)
class ObjectTables:
    """The objects of a snapshot."""

    objects: Mapping[str, WorldObject]
    allowed: Mapping[str, int]
    """By name, where it is not 0: bit g is set if group g of the robot may touch the object."""
    pieces: PieceTables
    """Of convex objects; they come behind the robot's."""
    numbers: tuple[NDArray[np.float32], ...]
    """By kind."""
    integers: tuple[NDArray[np.int64], ...]
    """By kind."""
    places: Mapping[str, tuple[ObjectKind, int]]
    """Kind and row of every object."""
    names: tuple[str, ...]
    """In the order of the tables."""
    order: tuple[str, ...]
    """The same in the order of the objects."""
    entries: NDArray[np.int64]
    """For the header: count, address of the numbers, address of the integers of every kind."""
    memory: tuple[Any, ...]
    """What the rows point to."""
    number: int
    """Of these tables, no two have the same."""
    made_from: int = -1
    """Number of the tables from which these were copied, if they were."""
    changed: int = -1
    """The one piece that differs from those."""


def object_tables(
    objects: Mapping[str, WorldObject],
    allowed: Mapping[str, int],
    before: PieceCounts,
    last: ObjectTables | None = None,
) -> ObjectTables:
    """Tables of the objects of a snapshot.

    Args:
        before: Of the pieces of the robot.
        last: Tables of another snapshot for the same robot, of which as much as possible is used again.
    """
    if last is not None and last.allowed == allowed and len(last.objects) == len(objects):
        if last.objects is objects:
            return last
        differ = list(map(operator.is_not, objects.values(), last.objects.values()))
        if sum(differ) == 1:
            name = last.order[differ.index(True)]
            if name in objects and (updated := _with_one_changed(last, objects, objects[name])) is not None:
                return updated
    rows = _Rows(allowed, before)
    boxes: list[WorldObject] = []
    others: list[WorldObject] = []
    for item in objects.values():
        (boxes if isinstance(item.shape, Box) else others).append(item)
    rows.add_boxes(boxes)
    for item in others:
        rows.add(item)
    return rows.tables(objects)


def _with_one_changed(last: ObjectTables, objects: Mapping[str, WorldObject], item: WorldObject) -> ObjectTables | None:
    """Copies with another row for a box; None if it was none, or is along other axes than before."""
    kind, row = last.places[item.name]
    if kind not in _BOXES or not isinstance(item.shape, Box):
        return None
    own, pieces = last.numbers[kind].copy(), last.pieces.numbers.copy()
    # Pieces of boxes are in the order of their tables, along the axes of the base first.
    at = row if kind is ObjectKind.ALIGNED_BOX else row + len(last.numbers[ObjectKind.ALIGNED_BOX])
    aligned, numbers = np.empty(1, dtype=np.bool_), np.empty((1, WIDEST), dtype=np.float32)
    _write_boxes(item.T_base_object[None], item.shape.size[None], aligned, pieces[at : at + 1], numbers)
    if aligned[0] != (kind is ObjectKind.ALIGNED_BOX):
        return None
    own[row] = numbers[0, : own.shape[1]]
    entries = last.entries.copy()
    entries[3 * kind + 1] = address_of(own)
    tables = (*last.numbers[:kind], own, *last.numbers[kind + 1 :])
    new = PieceTables(last.pieces.integers, pieces, last.pieces.vertices, last.pieces.clusters)
    return ObjectTables(
        objects, last.allowed, new, tables, last.integers, last.places, last.names, last.order, entries, last.memory,
        next(_numbers), last.number, at,
    )  # fmt: skip


class _Rows:
    """Rows of objects by kind; boxes first."""

    def __init__(self, allowed: Mapping[str, int], before: PieceCounts):
        self.allowed, self.before = allowed, before
        self.numbers: dict[ObjectKind, Any] = {kind: [] for kind in ObjectKind}
        self.integers: dict[ObjectKind, Any] = {kind: [] for kind in ObjectKind}
        self.names: dict[ObjectKind, list[str]] = {kind: [] for kind in ObjectKind}
        self.memory: list[Any] = []

    def add_boxes(self, boxes: Sequence[WorldObject]) -> None:
        """All boxes at once, before the other objects."""
        count = len(boxes)
        poses = np.array([item.T_base_object for item in boxes]).reshape(count, 4, 4)
        sizes = np.array([item.shape.size for item in boxes]).reshape(count, 3)  # type: ignore[union-attr]
        aligned, pieces, numbers = box_rows(poses, sizes)
        order = np.argsort(~aligned, kind="stable")
        first = int(np.count_nonzero(aligned))
        self.box_pieces, numbers = pieces[order], numbers[order]
        integers = np.zeros((count, ObjectRow.WIDTH), dtype=np.int64)
        integers[:, ObjectRow.PIECE] = self.before.pieces + np.arange(count)
        names = [boxes[index].name for index in order.tolist()]
        if self.allowed:
            integers[:, ObjectRow.ALLOWED] = [_signed(self.allowed.get(name, 0)) for name in names]
        for kind, part in zip(_BOXES, (slice(0, first), slice(first, None))):
            self.numbers[kind] = numbers[part, : OBJECT_NUMBERS[kind]].copy()
            self.integers[kind], self.names[kind] = integers[part], names[part]
        self.pieces = PieceRows(PieceCounts(self.before.pieces + count, self.before.vertices, self.before.clusters))

    def add(self, item: WorldObject) -> None:
        """Another object."""
        shape, T = item.shape, item.T_base_object
        if isinstance(shape, (PointCloud, Octomap)):
            self._add_field(item, shape)
        elif isinstance(shape, Plane):
            normal = T[:3, :3] @ shape.normal
            # The last number is the padding, which each checker writes.
            self._row(ObjectKind.PLANE, item, [*normal, float(shape.offset + normal @ T[:3, 3]), 0.0])
        else:
            part = centred_part(shape, T)
            piece = self.pieces.add(part, 0)
            T, convex = part.T_frame_shape, part.shape
            if isinstance(convex, ConvexMesh):
                normals = convex.planes[:, :3] @ T[:3, :3].T
                planes = np.column_stack([normals, convex.planes[:, 3] + normals @ T[:3, 3]]).astype(np.float32)
                row = [*T[:3, 3], part.bound]
                self._row(ObjectKind.HULL, item, row, piece, 0, len(planes), self._kept(planes))
            else:
                assert not isinstance(convex, Box)
                half_length = 0.0 if isinstance(convex, Sphere) else 0.5 * convex.length
                disc, ball = (convex.radius, 0.0) if isinstance(convex, Cylinder) else (0.0, convex.radius)
                self._row(ObjectKind.ROUND, item, [*T[:3, 3], *T[:3, 2], half_length, disc, ball], piece)

    def _add_field(self, item: WorldObject, shape: PointCloud | Octomap) -> None:
        T, grid = item.T_base_object, shape.grid
        if not np.array_equal(T[:3, :3], np.eye(3)):
            raise InputError(
                f"object {item.name!r} is a grid along its own axes, turned in the world; "
                "turn its points into the base frame instead"
            )
        x, y, z = grid.distances.shape
        row = [*(grid.lower + T[:3, 3]), 1.0 / grid.cell, x - 1, y - 1, z - 1]
        self._row(ObjectKind.FIELD, item, row, -1, y * z, z, self._kept(grid.distances))

    def _kept(self, table: NDArray[np.float32]) -> int:
        table = np.ascontiguousarray(table, dtype=np.float32)
        self.memory.append(table)
        return address_of(table)

    def _row(self, kind: ObjectKind, item: WorldObject, numbers: list[float], *integers: int) -> None:
        filled = [_signed(self.allowed.get(item.name, 0)), *integers, *[0] * (ObjectRow.WIDTH - 1 - len(integers))]
        self.numbers[kind].append(numbers)
        self.integers[kind].append(filled)
        self.names[kind].append(item.name)

    def tables(self, objects: Mapping[str, WorldObject]) -> ObjectTables:
        numbers = tuple(_table(self.numbers[kind], OBJECT_NUMBERS[kind], np.float32) for kind in ObjectKind)
        integers = tuple(_table(self.integers[kind], ObjectRow.WIDTH, np.int64) for kind in ObjectKind)
        entries = [(len(n), address_of(n), address_of(i)) for n, i in zip(numbers, integers)]
        return ObjectTables(
            objects, self.allowed, self._piece_tables(), numbers, integers, dict(self._places()),
            tuple(name for kind in ObjectKind for name in self.names[kind]), tuple(objects),
            np.array(entries, dtype=np.int64).ravel(), tuple(self.memory), next(_numbers),
        )  # fmt: skip

    def _piece_tables(self) -> PieceTables:
        count = len(self.box_pieces)
        integers = np.zeros((count, PieceRow.WIDTH), dtype=np.int64)
        integers[:, PieceRow.KIND] = PieceKind.BOX
        others = self.pieces.tables()
        return PieceTables(
            np.concatenate([integers, others.integers]),
            np.concatenate([self.box_pieces, others.numbers]),
            others.vertices,
            others.clusters,
        )

    def _places(self) -> Iterator[tuple[str, tuple[ObjectKind, int]]]:
        for kind, names in self.names.items():
            for row, name in enumerate(names):
                yield name, (kind, row)


def _table(rows: Any, width: int, kind: type) -> NDArray[Any]:
    if isinstance(rows, np.ndarray):
        return np.ascontiguousarray(rows, dtype=kind)
    return np.array(rows, dtype=kind).reshape(-1, width)


def _signed(bits: int) -> int:
    """Bit 63 makes a number negative in two's complement."""
    return bits - (1 << 64) if bits >> 63 else bits


def box_rows(poses: Array, sizes: Array) -> tuple[NDArray[np.bool_], Array, NDArray[np.float32]]:
    """Of boxes: which are along the axes of the base, rows of their pieces, and rows of objects.

    Args:
        poses: T_base_box, shape (boxes, 4, 4).
        sizes: Edge lengths [m], shape (boxes, 3).
    """
    count = len(sizes)
    aligned, pieces = np.empty(count, dtype=np.bool_), np.zeros((count, int(PieceNumber.WIDTH)))
    numbers = np.empty((count, WIDEST), dtype=np.float32)
    if count:
        _write_boxes(poses, sizes, aligned, pieces, numbers)
    return aligned, pieces, numbers


_CENTRE, _HALF, _BOUND = int(PieceNumber.CENTRE), int(PieceNumber.HALF), int(PieceNumber.BOUND)


@njit(cache=True, nogil=True)
def _write_boxes(poses, sizes, aligned, pieces, numbers):  # type: ignore[no-untyped-def]
    for i in range(sizes.shape[0]):
        T, large, square = poses[i], 0, 0.0
        for row in range(3):
            half = 0.5 * sizes[i, row]
            square += half * half
            pieces[i, _CENTRE + row] = T[row, 3]
            pieces[i, _HALF + row] = half
            numbers[i, row], numbers[i, 3 + row] = T[row, 3], half
            for column in range(3):
                pieces[i, 3 * column + row] = T[row, column]
                numbers[i, 6 + 3 * column + row] = T[row, column]
                large += abs(T[row, column]) > ALIGNED
        pieces[i, _BOUND] = np.sqrt(square)
        aligned[i] = large == 3
        if aligned[i]:
            for row in range(3):
                reach = 0.0
                for column in range(3):
                    reach += abs(T[row, column]) * 0.5 * sizes[i, column]
                numbers[i, 3 + row] = reach


@njit(cache=True, nogil=True)
def groups_out_of_reach(boxes, balls):  # type: ignore[no-untyped-def]
    """For each box the bits of those balls (groups, 4) that are apart from it; rows as in the tables of either kind."""
    bits, offset = np.zeros(boxes.shape[0], dtype=np.int64), np.empty(3)
    for i in range(boxes.shape[0]):
        for g in range(balls.shape[0]):
            for axis in range(3):
                offset[axis] = balls[g, axis] - boxes[i, axis]
            square = 0.0
            for axis in range(3):
                along = offset[axis]
                if boxes.shape[1] > 6:
                    along = 0.0
                    for k in range(3):
                        along += boxes[i, 6 + 3 * axis + k] * offset[k]
                beyond = abs(along) - boxes[i, 3 + axis]
                if beyond > 0.0:
                    square += beyond * beyond
            if square > balls[g, 3] * balls[g, 3]:
                bits[i] |= np.int64(1) << np.int64(g)
    return bits
