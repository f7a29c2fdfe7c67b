"""Writes LLVM functions with loops and branches over vectors of lanes, for code that is driven by tables.

Traced programs are straight lines; a collision check is not. `Code` gives its loops, branches and variables names
that read like the algorithm. Variables live on the stack in the text; LLVM's passes move them to registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .types import Lanes

FLAGS = "contract nsz"
Vector3 = Sequence[str]
"""Names of three vectors of lanes: x, y, z."""


class Variable:
    """A place on the stack."""

    def __init__(self, code: Code, kind: str, initial: str):
        self.code, self.kind = code, kind
        self.address = code.reserve(kind)
        self.set(initial)

    def get(self) -> str:
        return self.code.let(f"load {self.kind}, ptr {self.address}")

    def set(self, value: str) -> None:
        self.code.do(f"store {self.kind} {value}, ptr {self.address}")


class Code:
    """One function under construction. Vectors hold one number per lane; masks are integers, one bit per lane."""

    def __init__(self, lanes: Lanes):
        self.lanes = lanes
        self.V, self.L = lanes.vector, lanes.count
        self.mask = f"i{lanes.count}"
        self._lines: list[str] = []
        self._reserved: list[str] = []
        self._fresh = 0

    def function(self, head: str, *, internal: bool = True) -> str:
        """The finished text; `head` is such as `i64 @name(ptr %table)`."""
        linkage = "internal " if internal else ""
        lines = [f"define {linkage}{head} #0 {{", "entry:", *self._reserved, "br label %start", "start:", *self._lines]
        return "\n".join([*lines, "unreachable", "}"]) + "\n"

    def let(self, instruction: str) -> str:
        """Appends an instruction and names its value."""
        name = f"%{self._number()}"
        self._lines.append(f"{name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        self._lines.append(instruction)

    def reserve(self, kind: str) -> str:
        """Address of a new place on the stack."""
        name = f"%{self._number()}"
        self._reserved.append(f"{name} = alloca {kind}")
        return name

    def variable(self, kind: str, initial: str) -> Variable:
        return Variable(self, kind, initial)

    def _number(self) -> str:
        self._fresh += 1
        return f"v{self._fresh}"

    # Arithmetic on vectors of lanes

    def constant(self, value: float) -> str:
        return self.lanes.number(value)

    def add(self, a: str, b: str) -> str:
        return self.let(f"fadd {FLAGS} {self.V} {a}, {b}")

    def subtract(self, a: str, b: str) -> str:
        return self.let(f"fsub {FLAGS} {self.V} {a}, {b}")

    def multiply(self, a: str, b: str) -> str:
        return self.let(f"fmul {FLAGS} {self.V} {a}, {b}")

    def divide(self, a: str, b: str) -> str:
        return self.let(f"fdiv {FLAGS} {self.V} {a}, {b}")

    def negate(self, a: str) -> str:
        return self.let(f"fneg {self.V} {a}")

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """a·b + c."""
        V = self.V
        return self.let(f"call {V} @llvm.fma.{self.lanes.suffix}({V} {a}, {V} {b}, {V} {c})")

    def absolute(self, a: str) -> str:
        return self.let(f"call {self.V} @llvm.fabs.{self.lanes.suffix}({self.V} {a})")

    def square_root(self, a: str) -> str:
        return self.let(f"call {self.V} @llvm.sqrt.{self.lanes.suffix}({self.V} {a})")

    def minimum(self, a: str, b: str) -> str:
        return self._choose("olt", a, b)

    def maximum(self, a: str, b: str) -> str:
        return self._choose("ogt", a, b)

    def _choose(self, comparison: str, a: str, b: str) -> str:
        first = self.let(f"fcmp {comparison} {self.V} {a}, {b}")
        return self.select(first, a, b)

    def select(self, condition: str, a: str, b: str) -> str:
        return self.let(f"select {self.lanes.mask} {condition}, {self.V} {a}, {self.V} {b}")

    def with_sign_of(self, size: str, sign: str) -> str:
        V = self.V
        return self.let(f"call {V} @llvm.copysign.{self.lanes.suffix}({V} {size}, {V} {sign})")

    def at_least_zero(self, a: str) -> str:
        return self.maximum(a, self.constant(0.0))

    # Vectors in space

    def dot(self, a: Vector3, b: Vector3) -> str:
        return self.multiply_add(a[0], b[0], self.multiply_add(a[1], b[1], self.multiply(a[2], b[2])))

    def minus(self, a: Vector3, b: Vector3) -> list[str]:
        return [self.subtract(x, y) for x, y in zip(a, b)]

    def along(self, factor: str, direction: Vector3, start: Vector3) -> list[str]:
        """start + factor · direction."""
        return [self.multiply_add(factor, x, y) for x, y in zip(direction, start)]

    # Masks

    def bits(self, condition: str) -> str:
        """A comparison of vectors as an integer."""
        return self.let(f"bitcast {self.lanes.mask} {condition} to {self.mask}")

    def where_negative(self, a: str) -> str:
        """The sign bits: one instruction where a comparison takes two."""
        whole = self.lanes.of(self.lanes.integer)
        bits = self.let(f"bitcast {self.V} {a} to {whole}")
        return self.bits(self.let(f"icmp slt {whole} {bits}, {self.lanes.whole(0)}"))

    def both(self, a: str, b: str) -> str:
        return self.let(f"and {self.mask} {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.let(f"or {self.mask} {a}, {b}")

    def without(self, a: str, b: str) -> str:
        """Lanes of a that are not in b."""
        return self.both(a, self.let(f"xor {self.mask} {b}, -1"))

    def some(self, mask: str) -> str:
        return self.let(f"icmp ne {self.mask} {mask}, 0")

    def none(self, mask: str) -> str:
        return self.let(f"icmp eq {self.mask} {mask}, 0")

    # Whole numbers, addresses, memory

    def plus(self, a: str, b: str | int) -> str:
        return self.let(f"add i64 {a}, {b}")

    def times(self, a: str, b: str | int) -> str:
        return self.let(f"mul i64 {a}, {b}")

    def equal(self, a: str, b: str | int) -> str:
        return self.let(f"icmp eq i64 {a}, {b}")

    def address(self, element: str, base: str, index: str | int) -> str:
        """Address of an element of a table."""
        return self.let(f"getelementptr {element}, ptr {base}, i64 {index}")

    def whole(self, base: str, index: str | int) -> str:
        return self.let(f"load i64, ptr {self.address('i64', base, index)}")

    def pointer(self, base: str, index: str | int) -> str:
        return self.let(f"load ptr, ptr {self.address('ptr', base, index)}")

    def number(self, base: str, index: str | int) -> str:
        return self.let(f"load {self.lanes.scalar}, ptr {self.address(self.lanes.scalar, base, index)}")

    def spread(self, base: str, index: str | int) -> str:
        """A number of a table in every lane."""
        return self.splat(self.number(base, index))

    def spread3(self, base: str, index: int = 0) -> list[str]:
        return [self.spread(base, index + axis) for axis in range(3)]

    def splat(self, number: str) -> str:
        if self.L == 1:
            return number
        first = self.let(f"insertelement {self.V} poison, {self.lanes.scalar} {number}, i32 0")
        return self.let(f"shufflevector {self.V} {first}, {self.V} poison, <{self.L} x i32> zeroinitializer")

    def vector(self, base: str, index: str | int) -> str:
        """A vector of lanes; the index counts vectors."""
        return self.let(f"load {self.V}, ptr {self.address(self.V, base, index)}, align 4")

    def vectors(self, base: str, count: int, first: str | int = 0) -> list[str]:
        start = self.address(self.V, base, first)
        return [self.vector(start, index) for index in range(count)]

    def keep(self, base: str, values: Sequence[str], first: str | int = 0) -> None:
        """Stores vectors of lanes one after the other."""
        start = self.address(self.V, base, first)
        for index, value in enumerate(values):
            self.do(f"store {self.V} {value}, ptr {self.address(self.V, start, index)}, align 4")

    # Control

    @contextmanager
    def loop(self, first: str | int, last: str | int) -> Iterator[str]:
        """Runs its body for first … last − 1."""
        label = self._number()
        index = self.variable("i64", str(first))
        self.do(f"br label %head.{label}")
        self.do(f"head.{label}:")
        value = index.get()
        more = self.let(f"icmp slt i64 {value}, {last}")
        self.do(f"br i1 {more}, label %body.{label}, label %end.{label}")
        self.do(f"body.{label}:")
        yield value
        index.set(self.plus(value, 1))
        self.do(f"br label %head.{label}")
        self.do(f"end.{label}:")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        label = self._number()
        self.do(f"br i1 {condition}, label %then.{label}, label %end.{label}")
        self.do(f"then.{label}:")
        yield
        self.do(f"br label %end.{label}")
        self.do(f"end.{label}:")

    def leave(self, result: str) -> None:
        """Returns; what is written after it, if anything, is not reached."""
        self.do(f"ret {result}")
        self.do(f"after.{self._number()}:")

    def return_when(self, condition: str, result: str) -> None:
        label = self._number()
        self.do(f"br i1 {condition}, label %leave.{label}, label %stay.{label}")
        self.do(f"leave.{label}:")
        self.do(f"ret {result}")
        self.do(f"stay.{label}:")
