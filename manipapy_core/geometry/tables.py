"""Writes the tables that the checker's machine code reads (`codegen.layout`)."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..typing import Array
from .body import Group, GroupPair
from .codegen.layout import (
    CLUSTER,
    CLUSTER_NUMBERS,
    FRAME,
    GROUP_NUMBERS,
    MOST_GROUPS,
    OBJECT_NUMBERS,
    SCRATCH,
    SPHERE_NUMBERS,
    Header,
    ObjectKind,
    PieceKind,
    PieceNumber,
    PieceRow,
)
from .codegen.layout import GroupRow as GroupInteger
from .codegen.layout import ObjectRow as ObjectInteger
from .codegen.layout import PairRow as PairInteger
from .distance import Shape
from .fields import MAX_DISTANCE, Octomap, PointCloud
from .hulls import clustered, hull_levels
from .parts import Part, centred_part
from .shapes import Box, Capsule, ConvexMesh, Cylinder, Plane, Sphere

SAFETY = 2e-4
"""Added around the robot towards the world [m]: far above what float32 loses over an arm's length (about 1e-5 m)."""
SELF_SAFETY = 3e-5
"""Added to each of two links towards each other [m]: links of some arms pass each other at 0.06 mm. Single precision
places links of an arm with 3.5 m reach within 1e-6 m, those of a platform 30 m from its origin within 5e-6 m."""


@dataclass(frozen=True)
class Padding:
    """What is added around every link and carried object."""

    world: float = 0.0
    """Towards objects of the world [m]."""
    own: float = 0.0
    """Towards other links and carried objects; each of two gets it [m]."""

    def __sub__(self, other: Padding) -> Padding:
        return Padding(self.world - other.world, self.own - other.own)


@dataclass(frozen=True, eq=False)
class Thickness:
    """The part of the tables that depends on the padding of the robot."""

    group_numbers: NDArray[np.float32]
    spheres: NDArray[np.float32]
    piece_numbers: NDArray[np.float32]
    planes: NDArray[np.float32]
    robot_pieces: int
    """How many of them, from the first, are the robot's."""
    largest_sphere: float
    """Radius [m]."""
    field_name: str
    """Of an object that is a grid of distances; empty if there is none."""


@dataclass(frozen=True, eq=False)
class CheckerTables:
    """Tables of one robot in one world. Immutable: any number of threads may read it."""

    header: NDArray[np.int64]
    work_vectors: int
    """Scratch memory that a call needs, in vectors of lanes."""
    memory: tuple[Any, ...] = field(repr=False)
    """What the header points to."""
    thickness: Thickness = field(repr=False)
    object_names: tuple[str, ...] = ()
    """In the order of the objects in the tables."""
    moving_names: tuple[str, ...] = ()
    """Of the groups that a joint moves, in order."""

    @property
    def address(self) -> int:
        """What the entries of the checker take as `scene`."""
        return int(self.header.ctypes.data)


@dataclass(frozen=True, eq=False)
class PlacedObject:
    """An object of the world as the tables need it."""

    name: str
    shape: Shape
    T_base_object: Array
    allowed: int
    """Bit g is set: group g may touch it."""


def build_scene(
    frames_address: int,
    joints: int,
    bodies: int,
    groups: Sequence[Group],
    pairs: Sequence[GroupPair],
    objects: Iterable[PlacedObject] = (),
    *,
    padding: Padding = Padding(),
    keep_alive: Any = None,
) -> CheckerTables:
    """Tables for the machine code.

    Args:
        frames_address: Of the function that places the bodies.
        groups: Those fixed to the base first.
        padding: Of the robot.
        keep_alive: The owner of that function.
    """
    if len(groups) > MOST_GROUPS:
        raise InputError(f"{len(groups)} links and carried objects have shapes; at most {MOST_GROUPS} can be checked")
    pieces, group_integers, group_numbers, spheres = _robot_rows(tuple(groups), padding)
    pieces, count = pieces.copy(), len(spheres)
    robot_pieces = pieces.count
    pair_rows: list[list[int]] = []
    piece_pairs: list[list[int]] = []
    for pair in pairs:
        starts = [group_integers[index][GroupInteger.FIRST_PIECE] for index in (pair.first, pair.second)]
        first = len(piece_pairs)
        piece_pairs += [[starts[0] + a, starts[1] + b] for a, b in pair.part_pairs]
        pair_rows.append([pair.first, pair.second, first, len(piece_pairs)])

    radius = max((float(group.spheres[:, 3].max()) for group in groups), default=0.0) + padding.world + SAFETY
    # Pieces of the robot are padded towards each other; pieces of the world get the difference.
    tables = _ObjectTables(pieces, radius, (padding.world + SAFETY) - (padding.own + SELF_SAFETY))
    for placed in objects:
        tables.add(placed)

    header = np.zeros(Header.OBJECTS + 3 * len(ObjectKind), dtype=np.int64)
    memory: list[Any] = [keep_alive]

    def put(at: int, rows: Any, width: int, dtype: Any) -> NDArray[Any]:
        table = np.ascontiguousarray(rows, dtype=dtype).reshape(-1, width)
        memory.append(table)
        header[at] = table.ctypes.data
        return table

    centres_at = FRAME * (bodies + 1)
    spheres_at = centres_at + 3 * len(groups)
    pieces_at = spheres_at + 3 * count
    joints_at = pieces_at + FRAME * robot_pieces
    scratch_at = joints_at + joints
    header[Header.FRAMES_FUNCTION], header[Header.JOINTS] = frames_address, joints
    header[Header.GROUPS] = len(groups)
    header[Header.FIRST_MOVING] = sum(group.frame == 0 for group in groups)
    header[Header.PAIRS], header[Header.PIECE_PAIRS] = len(pair_rows), len(piece_pairs)
    header[Header.CENTRES_AT : Header.SCRATCH_AT + 1] = centres_at, spheres_at, pieces_at, joints_at, scratch_at
    put(Header.GROUP_INTEGERS, group_integers, GroupInteger.WIDTH, np.int64)
    own_groups = put(Header.GROUP_NUMBERS, group_numbers, GROUP_NUMBERS, np.float32)
    own_spheres = put(Header.SPHERES, spheres, SPHERE_NUMBERS, np.float32)
    put(Header.PAIR_INTEGERS, pair_rows, PairInteger.WIDTH, np.int64)
    put(Header.PIECE_PAIR_INTEGERS, piece_pairs, 2, np.int64)
    put(Header.PIECE_INTEGERS, pieces.integers, PieceRow.WIDTH, np.int64)
    own_pieces = put(Header.PIECE_NUMBERS, pieces.numbers, PieceNumber.WIDTH, np.float32)
    put(Header.VERTICES, pieces.vertices, 3, np.float32)
    put(Header.CLUSTERS, pieces.clusters, CLUSTER_NUMBERS, np.float32)
    numbers = {}
    for kind in ObjectKind:
        at = Header.OBJECTS + 3 * kind
        header[at] = len(tables.numbers[kind])
        numbers[kind] = put(at + 1, tables.numbers[kind], OBJECT_NUMBERS[kind], np.float32)
        put(at + 2, tables.integers[kind], ObjectInteger.WIDTH, np.int64)
    header.setflags(write=False)
    names = tuple(name for kind in ObjectKind for name in tables.names[kind])
    moving = tuple(group.name for group in groups if group.frame > 0)
    field_name = next(iter(tables.names[ObjectKind.FIELD]), "")
    planes = numbers[ObjectKind.PLANE]
    thickness = Thickness(own_groups, own_spheres, own_pieces, planes, robot_pieces, radius, field_name)
    return CheckerTables(header, scratch_at + SCRATCH, (*memory, *tables.memory), thickness, names, moving)


@functools.lru_cache(maxsize=32)
def _robot_rows(
    groups: tuple[Group, ...], padding: Padding
) -> tuple[_Pieces, list[list[int]], list[list[float]], Array]:
    """Pieces, integers and numbers of groups, and all spheres: what stays the same when the world changes."""
    pad, own = padding.world + SAFETY, padding.own + SELF_SAFETY
    pieces = _Pieces(own)
    integers: list[list[int]] = []
    numbers: list[list[float]] = []
    spheres = [np.empty((0, SPHERE_NUMBERS))]
    count = 0
    for group in groups:
        first = pieces.count
        for part in group.parts:
            pieces.add(part, group.frame)
        last = count + len(group.spheres)
        integers.append([group.frame, count, last, first, pieces.count])
        numbers.append([*group.centre, group.bound + pad, group.reach + pad, group.nearest, group.bound + own])
        spheres.append(group.spheres + np.array([0.0, 0.0, 0.0, pad, 0.0]))
        count = last
    return pieces, integers, numbers, np.concatenate(spheres)


def thickened(scene: CheckerTables, by: Padding) -> CheckerTables:
    """The same scene with a robot padded by this much more; a hundredth of the work of building it again."""
    old = scene.thickness
    radius = old.largest_sphere + by.world
    if old.field_name:
        check_reach(radius)
    groups, spheres, pieces = old.group_numbers.copy(), old.spheres.copy(), old.piece_numbers.copy()
    planes = old.planes.copy()
    groups[:, 3:5] += np.float32(by.world)  # bound and reach, after the centre
    groups[:, 6] += np.float32(by.own)
    spheres[:, 3] += np.float32(by.world)
    radii = [PieceNumber.BALL, PieceNumber.BOUND, PieceNumber.FINE_BALL]
    pieces[: old.robot_pieces, radii] += np.float32(by.own)
    pieces[old.robot_pieces :, radii] += np.float32(by.world - by.own)
    planes[:, 4] += np.float32(by.world - by.own)
    header = scene.header.copy()
    tables = {
        Header.GROUP_NUMBERS: groups,
        Header.SPHERES: spheres,
        Header.PIECE_NUMBERS: pieces,
        Header.OBJECTS + 3 * ObjectKind.PLANE + 1: planes,
    }
    for at, table in tables.items():
        header[at] = table.ctypes.data
    header.setflags(write=False)
    new = replace(
        old, group_numbers=groups, spheres=spheres, piece_numbers=pieces, planes=planes, largest_sphere=radius
    )
    return replace(scene, header=header, memory=(*scene.memory, *tables.values()), thickness=new)


def check_reach(radius: float) -> None:
    """Raises an InputError if distances in grids do not reach as far as the robot's largest sphere."""
    if radius > MAX_DISTANCE:
        raise InputError(
            f"the robot's largest sphere has radius {radius:.3g} m, distances around points reach "
            f"{MAX_DISTANCE:g} m; give the robot smaller parts or a smaller overshoot"
        )


class _Pieces:
    """Rows of convex pieces, of the robot and of the world."""

    def __init__(self, pad: float):
        self.pad = pad
        self.integers: list[list[int]] = []
        self.numbers: list[list[float]] = []
        self.vertices: list[list[float]] = []
        self.clusters: list[list[float]] = []

    @property
    def count(self) -> int:
        return len(self.integers)

    def copy(self) -> _Pieces:
        """To be added to; the rows themselves are shared."""
        other = _Pieces(self.pad)
        other.integers, other.numbers = self.integers[:], self.numbers[:]
        other.vertices, other.clusters = self.vertices[:], self.clusters[:]
        return other

    def add(self, part: Part, frame: int, *, pad: float | None = None) -> int:
        """Appends a part and returns its number."""
        shape = part.shape
        kind, half, disc, ball = PieceKind.ROUND, [0.0, 0.0, 0.0], 0.0, self.pad if pad is None else pad
        added, core, filled = 0.0, 0.0, 0.0
        axes = part.T_frame_shape[:3, :3]
        bound = part.bound + ball
        ranges = [len(self.vertices)] * 4 + [len(self.clusters)] * 2
        if isinstance(shape, Box):
            kind, half = PieceKind.BOX, (0.5 * shape.size).tolist()
        elif isinstance(shape, ConvexMesh):
            kind = PieceKind.HULL
            levels = hull_levels(shape)
            axes = axes @ levels.axes
            ranges[:4] = 2 * self._add_vertices(levels.coarse.vertices @ levels.axes)
            if levels.fine is not levels.coarse:
                vertices, balls = clustered(levels.fine.vertices @ levels.axes, CLUSTER)
                ranges[2:4] = self._add_vertices(vertices)
                self.clusters += balls.tolist()
                ranges[5] = len(self.clusters)
            added, ball = levels.coarse.ball - levels.fine.ball, ball + levels.fine.ball
            core, filled = levels.core, levels.filled
        elif isinstance(shape, Cylinder):
            half[2], disc = 0.5 * shape.length, shape.radius
            filled = min(half[2], disc)
            core = half[2] - filled
        else:
            core = half[2] = 0.5 * shape.length if isinstance(shape, Capsule) else 0.0
            ball += shape.radius
        self.integers.append([frame, kind, *ranges])
        self.numbers.append([*axes.T.ravel(), *part.centre, *half, disc, ball + added, bound, core, filled, ball])
        return self.count - 1

    def _add_vertices(self, vertices: Array) -> list[int]:
        first = len(self.vertices)
        self.vertices += vertices.tolist()
        return [first, len(self.vertices)]


class _ObjectTables:
    """Rows of objects by kind."""

    def __init__(self, pieces: _Pieces, largest_sphere: float, pad: float):
        """`pad` is added around pieces and planes: what the robot's own pieces lack towards the world [m]."""
        self.pieces, self.largest_sphere, self.pad = pieces, largest_sphere, pad
        self.numbers: dict[ObjectKind, list[list[float]]] = {kind: [] for kind in ObjectKind}
        self.integers: dict[ObjectKind, list[list[int]]] = {kind: [] for kind in ObjectKind}
        self.names: dict[ObjectKind, list[str]] = {kind: [] for kind in ObjectKind}
        self.memory: list[Any] = []

    def add(self, placed: PlacedObject) -> None:
        shape, T = placed.shape, placed.T_base_object
        if isinstance(shape, (PointCloud, Octomap)):
            self._add_field(placed, shape)
        elif isinstance(shape, Plane):
            normal = T[:3, :3] @ shape.normal
            self._row(ObjectKind.PLANE, placed, [*normal, float(shape.offset + normal @ T[:3, 3]), self.pad])
        else:
            part = centred_part(shape, T)
            piece = self.pieces.add(part, 0, pad=self.pad)
            T, shape = part.T_frame_shape, part.shape
            if isinstance(shape, Box):
                aligned = np.sum(np.abs(T[:3, :3]) > 1e-7) == 3
                half = np.abs(T[:3, :3]) @ (0.5 * shape.size) if aligned else 0.5 * shape.size
                axes = [] if aligned else T[:3, :3].T.ravel().tolist()
                kind = ObjectKind.ALIGNED_BOX if aligned else ObjectKind.BOX
                self._row(kind, placed, [*T[:3, 3], *half, *axes], piece)
            elif isinstance(shape, ConvexMesh):
                normals = shape.planes[:, :3] @ T[:3, :3].T
                planes = np.column_stack([normals, shape.planes[:, 3] + normals @ T[:3, 3]]).astype(np.float32)
                row = [*T[:3, 3], part.bound]
                self._row(ObjectKind.HULL, placed, row, piece, 0, len(planes), self._address(planes))
            else:
                half_length = 0.0 if isinstance(shape, Sphere) else 0.5 * shape.length
                disc, ball = (shape.radius, 0.0) if isinstance(shape, Cylinder) else (0.0, shape.radius)
                self._row(ObjectKind.ROUND, placed, [*T[:3, 3], *T[:3, 2], half_length, disc, ball], piece)

    def _add_field(self, placed: PlacedObject, shape: PointCloud | Octomap) -> None:
        T, grid = placed.T_base_object, shape.grid
        if not np.array_equal(T[:3, :3], np.eye(3)):
            raise InputError(
                f"object {placed.name!r} is a grid along its own axes, turned in the world; "
                "turn its points into the base frame instead"
            )
        check_reach(self.largest_sphere)
        x, y, z = grid.distances.shape
        row = [*(grid.lower + T[:3, 3]), 1.0 / grid.cell, x - 1, y - 1, z - 1]
        self._row(ObjectKind.FIELD, placed, row, -1, y * z, z, self._address(grid.distances))

    def _address(self, table: NDArray[np.float32]) -> int:
        table = np.ascontiguousarray(table, dtype=np.float32)
        self.memory.append(table)
        return int(table.ctypes.data)

    def _row(self, kind: ObjectKind, placed: PlacedObject, numbers: list[float], *integers: int) -> None:
        # Bit 63 makes the number negative in two's complement.
        allowed = placed.allowed - (1 << 64) if placed.allowed >> 63 else placed.allowed
        filled = [allowed, *integers, *[0] * (ObjectInteger.WIDTH - 1 - len(integers))]
        self.numbers[kind].append(numbers)
        self.integers[kind].append(filled)
        self.names[kind].append(placed.name)
