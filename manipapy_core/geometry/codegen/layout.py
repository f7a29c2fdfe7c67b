"""The tables that the collision checker's machine code reads: one header of 64-bit numbers, and rows behind it.

The code is the same for every robot and every world; only the tables differ. They are written by
`geometry.tables` and read by `check`, `convex`, `objects` and `distances`.
"""

from __future__ import annotations

import enum


class Header(enum.IntEnum):
    """Element of the header: a count, an address, or an offset into the workspace counted in vectors of lanes."""

    FRAMES_FUNCTION = 0
    JOINTS = enum.auto()
    GROUPS = enum.auto()
    FIRST_MOVING = enum.auto()
    """Groups before this one are fixed to the base: they are not checked against the world."""
    BALLS = enum.auto()
    """Rows of group numbers: those of the groups, then of units of more than one group."""
    UNITS = enum.auto()
    """Of groups with the same frame; those that move."""
    UNIT_INTEGERS = enum.auto()
    PAIR_BLOCKS = enum.auto()
    """Of pairs between the same two units."""
    PAIR_BLOCK_INTEGERS = enum.auto()
    GROUP_INTEGERS = enum.auto()
    GROUP_NUMBERS = enum.auto()
    SPHERES = enum.auto()
    PIECE_INTEGERS = enum.auto()
    PIECE_NUMBERS = enum.auto()
    VERTICES = enum.auto()
    CLUSTERS = enum.auto()
    PAIRS = enum.auto()
    PAIR_INTEGERS = enum.auto()
    APART = enum.auto()
    """Address of the distance that two groups must have [m]."""
    PIECE_PAIRS = enum.auto()
    PIECE_PAIR_INTEGERS = enum.auto()
    LEVERS = enum.auto()
    """How far points of every ball move, then those of every pair and block against each other, per unit of a joint."""
    CENTRES_AT = enum.auto()
    """Centres of the groups' bounding spheres, 3 vectors each."""
    SPHERES_AT = enum.auto()
    """Centres of the fine spheres, 3 vectors each."""
    PIECES_AT = enum.auto()
    """Centre and axes of the robot's pieces, 12 vectors each."""
    JOINTS_AT = enum.auto()
    HALVES_AT = enum.auto()
    """Half widths of a box of configurations, 1 vector per joint."""
    MARGINS_AT = enum.auto()
    """What is added around every ball towards the world, then between the groups of every pair and between the units of
    every block of pairs, 1 vector each."""
    SCRATCH_AT = enum.auto()
    FAR_ALIGNED_BOXES = enum.auto()
    """For each box along the axes of the base the bits of the groups that never reach it."""
    FAR_BOXES = enum.auto()
    """The same for boxes with axes of their own."""
    OBJECTS = enum.auto()
    """For every `ObjectKind` in turn: count, address of the numbers, address of the integers."""


class GroupRow(enum.IntEnum):
    """Integers of a group: what moves with one link."""

    FRAME = 0
    """0 is the base, body i is i + 1."""
    FIRST_SPHERE = enum.auto()
    LAST_SPHERE = enum.auto()
    FIRST_PIECE = enum.auto()
    LAST_PIECE = enum.auto()
    WIDTH = enum.auto()


class GroupNumber(enum.IntEnum):
    """Where the numbers of a group begin."""

    CENTRE = 0
    """Of the bounding ball."""
    RADIUS = 3
    """Of that ball towards the world."""
    REACH = 4
    """How far the fine spheres reach from the centre."""
    NEAREST = 5
    """How far from the centre the nearest of them begins; negative if it holds the centre."""
    OWN_RADIUS = 6
    """Of the bounding ball towards other groups."""
    MIDDLE = 7
    """Of the segment of the bounding capsule."""
    HALF = 10
    """From there to one of its ends."""
    CAPSULE = 13
    """Radius of the capsule towards other groups."""
    INVERSE = 14
    """1 / HALF², or 0 [1/m²]."""
    WIDTH = 15


SPHERE_NUMBERS = 5
"""Centre x, y, z; radius; radius of the ball about the centre that the link certainly fills."""


class UnitRow(enum.IntEnum):
    """Integers of a unit."""

    BALL = 0
    FIRST_GROUP = enum.auto()
    LAST_GROUP = enum.auto()
    WIDTH = enum.auto()


class PairBlockRow(enum.IntEnum):
    """Integers of a block of pairs."""

    FIRST_BALL = 0
    SECOND_BALL = enum.auto()
    FIRST_PAIR = enum.auto()
    LAST_PAIR = enum.auto()
    WIDTH = enum.auto()


class PieceKind(enum.IntEnum):
    """Convex pieces with a ball around, by the kind of their support function."""

    ROUND = 0
    """A segment along z and a disc across it: sphere, capsule, cylinder."""
    BOX = 1
    HULL = 2


class PieceRow(enum.IntEnum):
    """Integers of a piece."""

    FRAME = 0
    KIND = enum.auto()
    FIRST_VERTEX = enum.auto()
    """Of a hull's coarse level."""
    LAST_VERTEX = enum.auto()
    FIRST_FINE_VERTEX = enum.auto()
    """Of a hull's fine level; the same as of the coarse one where there is one level."""
    LAST_FINE_VERTEX = enum.auto()
    FIRST_CLUSTER = enum.auto()
    """Of the fine level's vertices; none where there are few vertices."""
    LAST_CLUSTER = enum.auto()
    WIDTH = enum.auto()


class PieceNumber(enum.IntEnum):
    """Where the numbers of a piece begin."""

    X_AXIS = 0
    Y_AXIS = 3
    Z_AXIS = 6
    CENTRE = 9
    HALF = 12
    """Half lengths along the axes."""
    DISC = 15
    BALL = 16
    """Radius; of a hull around its coarse level."""
    BOUND = 17
    """Radius of a ball about the centre that holds the piece."""
    CORE = 18
    """Half length of the segment along z in the middle of a round piece or a hull."""
    FILLED = 19
    """Radius of the balls about the core (a segment or a box) that the piece fills."""
    FINE_BALL = 20
    """Radius of the ball around a hull's fine level; of other pieces the same as BALL."""
    WIDTH = 21


CLUSTER = 16
"""Vertices of each cluster, which are neighbours, in the order of the clusters."""
CLUSTER_NUMBERS = 4
"""Centre x, y, z and radius of a ball that holds the vertices of a cluster."""


class PairRow(enum.IntEnum):
    """Integers of a pair of groups that may collide."""

    FIRST = 0
    SECOND = enum.auto()
    FIRST_PIECE_PAIR = enum.auto()
    LAST_PIECE_PAIR = enum.auto()
    MAP = enum.auto()
    """Address of lower bounds of their distance, in cells of a turn of two joints; 0 without."""
    FIRST_JOINT = enum.auto()
    SECOND_JOINT = enum.auto()
    WIDTH = enum.auto()


MAP_CELLS = 64
"""Of a turn of either joint; each holds the bound inside it, and inside it and its eight neighbours [m]."""


class ObjectKind(enum.IntEnum):
    """How the distance of a point to an object of the world is computed."""

    ALIGNED_BOX = 0
    BOX = 1
    ROUND = 2
    PLANE = 3
    HULL = 4
    FIELD = 5


OBJECT_NUMBERS = {
    ObjectKind.ALIGNED_BOX: 6,  # centre, half lengths
    ObjectKind.BOX: 15,  # centre, half lengths, axes x, y, z
    ObjectKind.ROUND: 9,  # centre, axis, half length, disc, ball
    ObjectKind.PLANE: 5,  # outward normal, offset along it, added to the balls of pieces
    ObjectKind.HULL: 4,  # centre, bounding radius
    ObjectKind.FIELD: 7,  # lower corner, cells per metre, the largest index along x, y, z
}


class ObjectRow(enum.IntEnum):
    """Integers of an object."""

    ALLOWED = 0
    """Bit g is set: group g may touch it."""
    PIECE = enum.auto()
    FIRST_PLANE = enum.auto()
    """Rows of a hull's face planes in DATA; for a field the steps along x and y in its DATA."""
    LAST_PLANE = enum.auto()
    DATA = enum.auto()
    """Address of face planes (normal, offset) or of a field's distances."""
    WIDTH = enum.auto()


MOST_GROUPS = 64
"""As many as there are bits in `Object.ALLOWED`."""
FRAME = 12
"""Vectors of a frame: rotation row by row, then translation; and of a placed piece: centre, then its axes."""
SCRATCH = 28
"""Vectors of scratch memory: a placed piece of the world, and notes, for which one lane is enough."""
