"""Rows of the checker's tables and places in its scratch memory, as LLVM IR; what all levels of a check share."""

from __future__ import annotations

from ...compiler.llvm.code import Code, Vector3
from .layout import OBJECT_NUMBERS, SPHERE_NUMBERS, GroupNumber, GroupRow, Header, ObjectRow
from .objects import ObjectCode

NOTE = 12
"""Vector of the scratch memory with 64-bit numbers: bits of the groups whose spheres are placed, of those whose pieces
are, then what the last motion touched: kind of an object (or `PAIR`), group, and index of the object (or pair)."""
PAIR = -1
MARGIN_STEP = 5
"""Number among the notes: from the margin of one row to the next, 0 where a single one, which is zero, is for all."""
Ball = tuple[Vector3, str, str]
"""Centre, radius and margin."""


def group_rows(code: Code, group: str) -> tuple[str, str]:
    """Addresses of a group's integers and numbers."""
    integers, numbers = code.pointer("%scene", Header.GROUP_INTEGERS), code.pointer("%scene", Header.GROUP_NUMBERS)
    return (
        code.address("i64", integers, code.times(group, GroupRow.WIDTH)),
        code.address(code.lanes.scalar, numbers, code.times(group, GroupNumber.WIDTH)),
    )


def object_tables(code: Code, kind: type[ObjectCode]) -> tuple[str, str, str]:
    """Count of the objects of a kind, addresses of their numbers and integers."""
    at = Header.OBJECTS + 3 * kind.kind
    return code.whole("%scene", at), code.pointer("%scene", at + 1), code.pointer("%scene", at + 2)


def object_code(code: Code, kind: type[ObjectCode], tables: tuple[str, str, str], index: str) -> ObjectCode:
    _, numbers, integers = tables
    return kind(
        code,
        code.address(code.lanes.scalar, numbers, code.times(index, OBJECT_NUMBERS[kind.kind])),
        code.address("i64", integers, code.times(index, ObjectRow.WIDTH)),
    )


def centre_of_group(code: Code, group: str) -> list[str]:
    return code.vectors("%work", 3, code.plus(code.times(group, 3), code.whole("%scene", Header.CENTRES_AT)))


def margin_of(code: Code, row: str) -> str:
    """What is added around a ball towards the world; the rows of pairs and their blocks come behind those of balls."""
    step = code.whole(note_of(code), MARGIN_STEP)
    return code.vector("%work", code.plus(code.times(row, step), code.whole("%scene", Header.MARGINS_AT)))


class SphereRow:
    """A fine sphere in place."""

    def __init__(self, code: Code, sphere: str):
        row = code.address(
            code.lanes.scalar, code.pointer("%scene", Header.SPHERES), code.times(sphere, SPHERE_NUMBERS)
        )
        at = code.plus(code.times(sphere, 3), code.whole("%scene", Header.SPHERES_AT))
        self.centre = code.vectors("%work", 3, at)
        self.radius, self.inner = code.spread(row, 3), code.spread(row, 4)


def ball_excess(code: Code, a: Vector3, b: Vector3, reach: str) -> str:
    """Negative where two points are nearer than `reach`."""
    apart = code.minus(a, b)
    return code.subtract(code.dot(apart, apart), code.multiply(reach, reach))


def note_of(code: Code) -> str:
    return code.address(code.V, "%work", code.plus(code.whole("%scene", Header.SCRATCH_AT), NOTE))


def near_ball(item: ObjectCode, ball: Ball) -> str:
    centre, radius, margin = ball
    return item.code.where_negative(item.coarse(centre, item.within_margin(radius, margin)))


def enough(code: Code, possible: str, hit: str) -> str:
    """Whether every possible lane touches, or one does where %any is set."""
    none, one = code.none(code.without(possible, hit)), code.let(f"and i1 %any, {code.some(hit)}")
    return code.let(f"or i1 {none}, {one}")
