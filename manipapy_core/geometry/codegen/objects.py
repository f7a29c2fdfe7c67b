"""Distances of points to the objects of the world as LLVM IR, one class per kind of object.

A measure is whatever is cheapest to compare with a radius: a squared distance where a root would be needed, a signed
distance otherwise. `excess` is negative where a ball of that radius reaches the object, `certain` where one that the
robot fills does so beyond doubt.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from ...compiler.llvm.code import Code, Vector3
from .layout import ObjectKind, ObjectRow

SURFACE = 1e-8
"""Points nearer than this [m] count as on the surface: they have no direction of their own in single precision."""


class ObjectCode(ABC):
    """Distances to the objects of one kind; `numbers` and `integers` are the addresses of one object's rows."""

    kind: ObjectKind
    convex = True
    """False: there is no convex piece to check where balls leave it undecided."""

    def __init__(self, code: Code, numbers: str, integers: str):
        self.code, self.numbers, self.integers = code, numbers, integers

    @abstractmethod
    def measure(self, point: Vector3) -> str:
        """What is cheapest to compare with a radius."""

    def excess(self, measure: str, radius: str) -> str:
        """For signed distances."""
        return self.code.subtract(measure, radius)

    def certain(self, measure: str, inner: str) -> str:
        return self.excess(measure, inner)

    def signed(self, point: Vector3) -> str:
        """Signed distance [m]."""
        return self.measure(point)

    def within_margin(self, radius: str, margin: str) -> str:
        """A radius for which no ball of the given one reaches the object that is moved by at most the margin."""
        return self.code.add(radius, margin)

    def coarse(self, point: Vector3, radius: str) -> str:
        """`excess` for the bounding ball of a whole link."""
        return self.excess(self.measure(point), radius)

    def slope(self, point: Vector3) -> list[str]:
        """Unit vector along which the signed distance grows: by differences, where there is no formula."""
        code, step, slope = self.code, self.slope_step(), []
        for axis in range(3):
            ends = []
            for shifted in (code.add(point[axis], step), code.subtract(point[axis], step)):
                ends.append(self.signed([shifted if i == axis else x for i, x in enumerate(point)]))
            slope.append(code.subtract(*ends))
        return _unit(code, slope)

    def slope_step(self) -> str:
        """Of the differences [m]."""
        return self.code.constant(1e-3)


class AlignedBoxCode(ObjectCode):
    """A box along the axes of the base, the most frequent kind."""

    kind = ObjectKind.ALIGNED_BOX

    def offset(self, point: Vector3) -> Vector3:
        """From the centre to a point, along the axes of the box."""
        return self.code.minus(point, self.code.spread3(self.numbers))

    def turned_back(self, v: Vector3) -> list[str]:
        """From the box's axes to the base's."""
        return list(v)

    def beyond(self, point: Vector3) -> list[str]:
        """How far a point lies beyond each pair of faces."""
        return self._beyond(self.offset(point))

    def _beyond(self, offset: Vector3) -> list[str]:
        code = self.code
        return [code.subtract(code.absolute(x), code.spread(self.numbers, 3 + axis)) for axis, x in enumerate(offset)]

    def measure(self, point: Vector3) -> str:
        return _square_outside(self.code, self.beyond(point))

    def excess(self, measure: str, radius: str) -> str:
        return self.code.subtract(measure, self.code.multiply(radius, radius))

    def signed(self, point: Vector3) -> str:
        return _signed(self.code, self.beyond(point))

    def slope(self, point: Vector3) -> list[str]:
        """Away from the nearest point of the box; inside it, towards the nearest face."""
        code, offset = self.code, self.offset(point)
        beyond = self._beyond(offset)
        outside = [code.at_least_zero(x) for x in beyond]
        within = code.let(f"fcmp olt {code.V} {code.dot(outside, outside)}, {code.constant(SURFACE**2)}")
        deepest = _largest(code, beyond)
        direction = []
        for excess, positive, x in zip(beyond, outside, offset):
            nearest = code.let(f"fcmp oge {code.V} {excess}, {deepest}")
            to_face = code.select(nearest, code.constant(1.0), code.constant(0.0))
            direction.append(code.with_sign_of(code.select(within, to_face, positive), x))
        return _unit(code, self.turned_back(direction))


class BoxCode(AlignedBoxCode):
    """A box with axes of its own."""

    kind = ObjectKind.BOX

    def offset(self, point: Vector3) -> Vector3:
        direction = super().offset(point)
        return [self.code.dot(axis, direction) for axis in self._axes()]

    def turned_back(self, v: Vector3) -> list[str]:
        code, rows = self.code, self._axes()
        return [code.dot([row[axis] for row in rows], v) for axis in range(3)]

    def _axes(self) -> list[list[str]]:
        return [self.code.spread3(self.numbers, 6 + 3 * axis) for axis in range(3)]


class RoundCode(ObjectCode):
    """Segment, disc and ball summed: sphere, capsule, cylinder."""

    kind = ObjectKind.ROUND

    def beyond(self, point: Vector3) -> list[str]:
        """How far a point lies beyond the ends and beyond the side."""
        code = self.code
        offset, axis = code.minus(point, code.spread3(self.numbers)), code.spread3(self.numbers, 3)
        lengthwise = code.dot(axis, offset)
        across = code.along(code.negate(lengthwise), axis, offset)
        return [
            code.subtract(code.absolute(lengthwise), code.spread(self.numbers, 6)),
            code.subtract(code.square_root(code.dot(across, across)), code.spread(self.numbers, 7)),
        ]

    def measure(self, point: Vector3) -> str:
        return _square_outside(self.code, self.beyond(point))

    def excess(self, measure: str, radius: str) -> str:
        reach = self.code.add(radius, self.code.spread(self.numbers, 8))
        return self.code.subtract(measure, self.code.multiply(reach, reach))

    def signed(self, point: Vector3) -> str:
        return self.code.subtract(_signed(self.code, self.beyond(point)), self.code.spread(self.numbers, 8))

    def coarse(self, point: Vector3, radius: str) -> str:
        """Of a ball about the segment with the disc in it, which takes no root."""
        code, offset = self.code, self.code.minus(point, self.code.spread3(self.numbers))
        lengthwise = code.dot(self.code.spread3(self.numbers, 3), offset)
        half = code.spread(self.numbers, 6)
        within = code.minimum(code.maximum(lengthwise, code.negate(half)), half)
        apart = code.along(code.negate(within), self.code.spread3(self.numbers, 3), offset)
        reach = code.add(radius, code.add(code.spread(self.numbers, 7), code.spread(self.numbers, 8)))
        return code.subtract(code.dot(apart, apart), code.multiply(reach, reach))


class PlaneCode(ObjectCode):
    """A half space."""

    kind = ObjectKind.PLANE

    def measure(self, point: Vector3) -> str:
        normal = self.code.spread3(self.numbers)
        return self.code.subtract(self.code.dot(normal, point), self.code.spread(self.numbers, 3))

    def slope(self, point: Vector3) -> list[str]:
        return self.code.spread3(self.numbers)


class HullCode(ObjectCode):
    """The largest distance to a face plane: never more than the true distance, and exact inside."""

    kind = ObjectKind.HULL

    def measure(self, point: Vector3) -> str:
        code = self.code
        farthest = code.variable(code.V, code.constant(-1e30))
        planes = code.pointer(self.integers, ObjectRow.DATA)
        first, last = code.whole(self.integers, ObjectRow.FIRST_PLANE), code.whole(self.integers, ObjectRow.LAST_PLANE)
        with code.loop(first, last) as plane:
            row = code.address(code.lanes.scalar, planes, code.times(plane, 4))
            distance = code.subtract(code.dot(code.spread3(row), point), code.spread(row, 3))
            farthest.set(code.maximum(farthest.get(), distance))
        return farthest.get()

    def certain(self, measure: str, inner: str) -> str:
        # Beyond an edge the measure is too small to prove contact; inside it does.
        return measure

    def coarse(self, point: Vector3, radius: str) -> str:
        code = self.code
        offset = code.minus(point, code.spread3(self.numbers))
        reach = code.add(radius, code.spread(self.numbers, 3))
        return code.subtract(code.dot(offset, offset), code.multiply(reach, reach))


class FieldCode(ObjectCode):
    """Cells of a grid that hold their distance to the nearest occupied cell."""

    kind = ObjectKind.FIELD
    convex = False

    def measure(self, point: Vector3) -> str:
        code, count = self.code, self.code.L
        scale, whole = code.spread(self.numbers, 3), code.lanes.of("i32")
        steps = [code.whole(self.integers, ObjectRow.FIRST_PLANE), code.whole(self.integers, ObjectRow.LAST_PLANE), "1"]
        index = "zeroinitializer" if count > 1 else "0"
        for axis, step in enumerate(steps):
            cell = code.multiply(code.subtract(point[axis], code.spread(self.numbers, axis)), scale)
            inside = code.minimum(code.at_least_zero(cell), code.spread(self.numbers, 4 + axis))
            number = code.let(f"fptosi {code.V} {inside} to {whole}")
            part = code.let(f"mul {whole} {number}, {self._everywhere(step)}")
            index = code.let(f"add {whole} {index}, {part}")
        return gather(code, code.pointer(self.integers, ObjectRow.DATA), index)

    def within_margin(self, radius: str, margin: str) -> str:
        # Distances jump from cell to cell, by at most the diagonal of one more than the way between two points.
        code = self.code
        diagonal = code.divide(code.constant(math.sqrt(3.0)), code.spread(self.numbers, 3))
        moves = code.let(f"fcmp ogt {code.V} {margin}, {code.constant(0.0)}")
        return code.add(radius, code.select(moves, code.add(margin, diagonal), margin))

    def slope_step(self) -> str:
        return self.code.divide(self.code.constant(1.0), self.code.spread(self.numbers, 3))

    def _everywhere(self, number: str) -> str:
        code = self.code
        short = code.let(f"trunc i64 {number} to i32")
        if code.L == 1:
            return short
        first = code.let(f"insertelement <{code.L} x i32> poison, i32 {short}, i32 0")
        return code.let(
            f"shufflevector <{code.L} x i32> {first}, <{code.L} x i32> poison, <{code.L} x i32> zeroinitializer"
        )


OBJECT_CODES: tuple[type[ObjectCode], ...] = (AlignedBoxCode, BoxCode, RoundCode, PlaneCode, HullCode, FieldCode)


def gather(code: Code, table: str, index: str) -> str:
    """One load per lane: as quick as the gather instruction, and the same for all versions of LLVM."""
    if code.L == 1:
        return code.number(table, code.let(f"sext i32 {index} to i64"))
    result = "poison"
    for lane in range(code.L):
        element = code.let(f"extractelement <{code.L} x i32> {index}, i32 {lane}")
        number = code.number(table, code.let(f"sext i32 {element} to i64"))
        result = code.let(f"insertelement {code.V} {result}, {code.lanes.scalar} {number}, i32 {lane}")
    return result


def _square_outside(code: Code, beyond: list[str]) -> str:
    total = ""
    for distance in map(code.at_least_zero, beyond):
        total = code.multiply_add(distance, distance, total) if total else code.multiply(distance, distance)
    return total


def _signed(code: Code, beyond: list[str]) -> str:
    """Distance outside; inside, how far the nearest face is, negative."""
    outside = code.square_root(_square_outside(code, beyond))
    return code.add(outside, code.minimum(_largest(code, beyond), code.constant(0.0)))


def _largest(code: Code, values: list[str]) -> str:
    largest = values[0]
    for value in values[1:]:
        largest = code.maximum(largest, value)
    return largest


def _unit(code: Code, v: Vector3) -> list[str]:
    length = code.square_root(code.add(code.dot(v, v), code.constant(1e-20)))
    return [code.divide(x, length) for x in v]
