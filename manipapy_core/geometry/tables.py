"""Writes the tables that the checker's machine code reads (`codegen.layout`): the robot's once, then each world's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..typing import Array
from .body import Group, GroupPair
from .codegen.layout import (
    FRAME,
    MOST_GROUPS,
    SCRATCH,
    SPHERE_NUMBERS,
    GroupNumber,
    Header,
    ObjectKind,
    PairBlockRow,
    PieceNumber,
    UnitRow,
)
from .codegen.layout import GroupRow as GroupInteger
from .codegen.layout import PairRow as PairInteger
from .fields import MAX_DISTANCE
from .levers import GroupReach
from .object_tables import ObjectTables, groups_out_of_reach
from .piece_rows import RADII, PieceRows, PieceTables, address_of
from .units import Units, units_of

SAFETY = 2e-4
"""Added around the robot towards the world [m]: far above what float32 loses over an arm's length (about 1e-5 m)."""
SELF_SAFETY = 3e-5
"""Added to each of two links towards each other [m]: links of some arms pass each other at 0.06 mm. Single precision
places links of an arm with 3.5 m reach within 1e-6 m, those of a platform 30 m from its origin within 5e-6 m."""
LOSS = 1e-5
"""Rounding error of single precision over an arm's length, taken off these margins where a proof uses them up [m]."""
ROUNDING = 1e-4
"""Added to balls that groups never leave [m]."""
PIECE_TABLES = 3
"""Integers, vertices and clusters of pieces: they stay the same when a box moves."""


@dataclass(frozen=True)
class Padding:
    """What is added around every link and carried object."""

    world: float = 0.0
    """Towards objects of the world [m]."""
    own: float = 0.0
    """Towards other links and carried objects; each of two gets it [m]."""


@dataclass(frozen=True, eq=False)
class CheckerTables:
    """Tables of one robot in one world. Immutable: any number of threads may read it."""

    header: NDArray[np.int64]
    robot: RobotTables = field(repr=False)
    objects: ObjectTables | None = field(repr=False)
    piece_numbers: NDArray[np.float32] = field(repr=False)
    """Of the robot, then of the objects."""
    memory: tuple[Any, ...] = field(repr=False)
    """What the header points to besides those two."""
    far: tuple[NDArray[np.int64], ...] = ()
    """Bits of the groups that never reach each box, of those along the axes of the base and of the others."""

    @cached_property
    def address(self) -> int:
        """What the entries of the checker take as `scene`."""
        return address_of(self.header)

    @property
    def work_vectors(self) -> int:
        """Scratch memory that a call needs, in vectors of lanes."""
        return self.robot.work_vectors

    @property
    def object_names(self) -> tuple[str, ...]:
        """In the order of the objects in the tables."""
        return () if self.objects is None else self.objects.names

    @property
    def moving_names(self) -> tuple[str, ...]:
        """Of the groups that a joint moves, in order."""
        return self.robot.names[int(self.header[Header.FIRST_MOVING]) :]


@dataclass(frozen=True, eq=False)
class RobotTables:
    """The part of the tables that is the same in every world."""

    header: NDArray[np.int64]
    """Without objects."""
    work_vectors: int
    pieces: PieceTables
    """Without padding."""
    piece_numbers: NDArray[np.float32]
    """With it."""
    world_pad: float
    """Padding of pieces of the world: what the robot's own pieces lack towards them [m]."""
    largest_sphere: float
    """Radius [m]."""
    balls: Array
    """Centre and radius of balls that groups, and units of several, never leave [m], shape (balls, 4)."""
    names: tuple[str, ...]
    """Of the groups, in order."""
    memory: tuple[Any, ...] = field(repr=False)
    """What the header points to."""

    @cached_property
    def padding_row(self) -> Array:
        """What is added to the numbers of a piece of the world."""
        row = np.zeros(int(PieceNumber.WIDTH))
        row[RADII] = self.world_pad
        return row


def robot_tables(
    frames_address: int,
    joints: int,
    bodies: int,
    groups: Sequence[Group],
    pairs: Sequence[GroupPair],
    *,
    padding: Padding = Padding(),
    keep_alive: Any = None,
    reach: GroupReach | None = None,
) -> RobotTables:
    """Tables of a robot with its carried objects.

    Args:
        frames_address: Of the function that places the bodies.
        groups: Those fixed to the base first.
        padding: Of the robot.
        keep_alive: The owner of that function.
        reach: Of the groups; a table without it is for robots alone, and not for boxes of configurations.
    """
    if len(groups) > MOST_GROUPS:
        raise InputError(f"{len(groups)} links and carried objects have shapes; at most {MOST_GROUPS} can be checked")
    pad, own = padding.world + SAFETY, padding.own + SELF_SAFETY
    rows, units = PieceRows(), units_of(groups, pairs)
    group_integers: list[list[int]] = []
    group_numbers: list[list[float]] = []
    spheres = [np.empty((0, SPHERE_NUMBERS))]
    count = 0
    for group in groups:
        first = rows.count
        for part in group.parts:
            rows.add(part, group.frame)
        last = count + len(group.spheres)
        group_integers.append([group.frame, count, last, first, rows.count])
        capsule = group.capsule
        square = float(capsule.half @ capsule.half)
        group_numbers.append(
            [*group.centre, group.bound + pad, group.reach + pad, group.nearest, group.bound + own, *capsule.middle,
             *capsule.half, capsule.radius + own, 1.0 / square if square > 0.0 else 0.0]
        )  # fmt: skip
        spheres.append(group.spheres + np.array([0.0, 0.0, 0.0, pad, 0.0]))
        count = last
    for centre, bound in units.balls:
        unused = [0.0] * (GroupNumber.WIDTH - GroupNumber.MIDDLE)
        group_numbers.append([*centre, bound + pad, 0.0, 0.0, bound + own, *unused])
        frame = next(groups[run[0]].frame for run, row in zip(units.members, units.rows) if row == len(group_integers))
        group_integers.append([frame, 0, 0, 0, 0])
    balls = len(group_integers)
    pair_rows: list[list[int]] = []
    piece_pairs: list[list[int]] = []
    maps: list[NDArray[np.float32]] = []
    for pair in pairs:
        starts = [group_integers[index][GroupInteger.FIRST_PIECE] for index in (pair.first, pair.second)]
        first = len(piece_pairs)
        piece_pairs += [[starts[0] + a, starts[1] + b] for a, b in pair.part_pairs]
        row = [pair.first, pair.second, first, len(piece_pairs)]
        if pair.clearances is None:
            pair_rows.append([*row, 0, 0, 0])
        else:
            maps.append(np.ascontiguousarray(pair.clearances.distances, dtype=np.float32))
            pair_rows.append([*row, address_of(maps[-1]), *pair.clearances.joints])

    header = np.zeros(Header.OBJECTS + 3 * len(ObjectKind), dtype=np.int64)
    memory: list[Any] = [keep_alive, maps]

    def put(at: int, rows: Any, width: int, dtype: Any) -> None:
        table = np.ascontiguousarray(rows, dtype=dtype).reshape(-1, width)
        memory.append(table)
        header[at] = address_of(table)

    moving = [[row, run[0], run[-1] + 1] for row, run in zip(units.rows, units.members) if groups[run[0]].frame > 0]
    pieces = rows.tables()
    centres_at = FRAME * (bodies + 1)
    spheres_at = centres_at + 3 * balls
    pieces_at = spheres_at + 3 * count
    joints_at = pieces_at + FRAME * pieces.counts.pieces
    halves_at = joints_at + joints
    margins_at = halves_at + joints
    scratch_at = margins_at + balls + len(pairs) + len(units.blocks)
    header[Header.FRAMES_FUNCTION], header[Header.JOINTS] = frames_address, joints
    header[Header.GROUPS], header[Header.BALLS] = len(groups), balls
    header[Header.UNITS], header[Header.PAIR_BLOCKS] = len(moving), len(units.blocks)
    header[Header.FIRST_MOVING] = sum(group.frame == 0 for group in groups)
    header[Header.PAIRS], header[Header.PIECE_PAIRS] = len(pair_rows), len(piece_pairs)
    header[Header.CENTRES_AT : Header.SCRATCH_AT + 1] = (
        centres_at, spheres_at, pieces_at, joints_at, halves_at, margins_at, scratch_at,
    )  # fmt: skip
    put(Header.GROUP_INTEGERS, group_integers, GroupInteger.WIDTH, np.int64)
    put(Header.GROUP_NUMBERS, group_numbers, GroupNumber.WIDTH, np.float32)
    put(Header.SPHERES, np.concatenate(spheres), SPHERE_NUMBERS, np.float32)
    put(Header.UNIT_INTEGERS, moving, UnitRow.WIDTH, np.int64)
    put(Header.PAIR_BLOCK_INTEGERS, units.blocks, PairBlockRow.WIDTH, np.int64)
    put(Header.PAIR_INTEGERS, [pair_rows[index] for index in units.order], PairInteger.WIDTH, np.int64)
    put(Header.APART, [2.0 * own], 1, np.float32)
    put(Header.PIECE_PAIR_INTEGERS, piece_pairs, 2, np.int64)
    limits = np.empty((balls, 4))
    if reach is not None:
        put(Header.LEVERS, _with_units(reach.levers, len(groups), units), joints, np.float32)
        limits[: len(groups)] = np.column_stack([reach.centres, reach.radii + pad + ROUNDING])
        for run, number in zip(units.members, units.rows):
            # Groups of one frame have the same centre.
            limits[number] = limits[max(run, key=lambda index: limits[index, 3])]
    numbers = pieces.padded(own)
    header[Header.PIECE_INTEGERS], header[Header.PIECE_NUMBERS] = address_of(pieces.integers), address_of(numbers)
    header[Header.VERTICES], header[Header.CLUSTERS] = address_of(pieces.vertices), address_of(pieces.clusters)
    radius = max((float(group.spheres[:, 3].max()) for group in groups), default=0.0) + pad
    names = tuple(group.name for group in groups)
    return RobotTables(header, scratch_at + SCRATCH, pieces, numbers, pad - own, radius, limits, names, tuple(memory))


def _with_units(levers: NDArray[np.float32], groups: int, units: Units) -> NDArray[np.float32]:
    """Levers with those of units behind the groups, pairs in their new order, and those of blocks behind them."""
    pairs = levers[groups:][units.order]
    together = [levers[list(run)].max(axis=0) for run in units.members if len(run) > 1]
    blocks = [pairs[first:last].max(axis=0) for _, _, first, last in units.blocks]
    empty = np.empty((0, levers.shape[1]), dtype=np.float32)
    return np.concatenate(
        [
            levers[:groups],
            empty if not together else np.array(together),
            pairs,
            empty if not blocks else np.array(blocks),
        ]
    )


def scene_tables(
    robot: RobotTables, objects: ObjectTables | None = None, last: CheckerTables | None = None
) -> CheckerTables:
    """Tables of a robot in a world; for a robot alone without objects.

    Args:
        last: Of another world, of which as much as possible is used again.
    """
    if objects is None:
        return CheckerTables(robot.header, robot, None, robot.piece_numbers, ())
    memory: list[Any] = []

    def put(at: int, table: NDArray[Any]) -> None:
        memory.append(table)
        header[at] = address_of(table)

    own, others = robot.pieces, objects.pieces
    first_time = last is None or not _one_changed(robot, objects, last)
    if not first_time:
        assert last is not None
        header, numbers = last.header.copy(), last.piece_numbers.copy()
        np.add(others.numbers[objects.changed], robot.padding_row, out=numbers[len(own.integers) + objects.changed])
        memory += last.memory[:PIECE_TABLES]
    else:
        header = robot.header.copy()
        numbers = np.concatenate([robot.piece_numbers, others.padded(robot.world_pad)])
        put(Header.PIECE_INTEGERS, np.concatenate([own.integers, others.integers]))
        put(Header.VERTICES, np.concatenate([own.vertices, others.vertices]))
        put(Header.CLUSTERS, np.concatenate([own.clusters, others.clusters]))
    header[Header.OBJECTS :] = objects.entries
    header[Header.PIECE_NUMBERS] = address_of(numbers)
    far = _far_groups(robot, objects, None if first_time else last)
    before = (None, None) if first_time or last is None else last.far
    for at, bits, same in zip((Header.FAR_ALIGNED_BOXES, Header.FAR_BOXES), far, before):
        if bits is not same:
            header[at] = address_of(bits)
    planes = objects.numbers[ObjectKind.PLANE]
    if len(planes):
        planes = planes.copy()
        planes[:, 4] = robot.world_pad
        put(Header.OBJECTS + 3 * ObjectKind.PLANE + 1, planes)
    if len(objects.numbers[ObjectKind.FIELD]):
        check_reach(robot.largest_sphere)
    return CheckerTables(header, robot, objects, numbers, tuple(memory), far)


def _far_groups(robot: RobotTables, objects: ObjectTables, last: CheckerTables | None) -> tuple[NDArray[np.int64], ...]:
    """Bits of the groups that never reach each box; those of the last tables, if given, without the box that moved."""
    tables = objects.numbers[ObjectKind.ALIGNED_BOX], objects.numbers[ObjectKind.BOX]
    if last is None:
        return tuple(groups_out_of_reach(table, robot.balls) for table in tables)
    row, far = objects.changed, list(last.far)
    kind = int(row >= len(tables[0]))
    row -= len(tables[0]) if kind else 0
    far[kind] = far[kind].copy()
    far[kind][row] = 0  # Compared with every group: to find those out of reach takes longer than to move the box.
    return tuple(far)


def _one_changed(robot: RobotTables, objects: ObjectTables, last: CheckerTables) -> bool:
    """Whether only one piece differs from what was there."""
    return last.robot is robot and last.objects is not None and last.objects.number == objects.made_from


def check_reach(radius: float) -> None:
    """Raises an InputError if distances in grids do not reach as far as the robot's largest sphere."""
    if radius > MAX_DISTANCE:
        raise InputError(
            f"the robot's largest sphere has radius {radius:.3g} m, distances around points reach "
            f"{MAX_DISTANCE:g} m; give the robot smaller parts or a smaller overshoot"
        )
