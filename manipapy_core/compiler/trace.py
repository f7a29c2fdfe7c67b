"""Runs an algorithm on symbols and keeps what it did as a straight-line program.

A `Symbol` behaves like a number. Every operation on it becomes a node of its `Program`; equal nodes are merged and
constants are folded as they appear, so zeros of the robot (a joint axis along z, a massless link) cost nothing.
How the program is turned into code is the emitters' business.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Input:
    """One argument of a kernel."""

    name: str
    shape: tuple[int, ...]
    """Per configuration."""
    shared: bool = False
    """True: one value serves the whole batch (gravity, payload); False: a row per configuration."""
    angle: bool = False
    """True: goes through sin and cos, which bounds its useful size."""

    @property
    def width(self) -> int:
        """Numbers per configuration."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Signature:
    """What a kernel takes and gives."""

    name: str
    inputs: tuple[Input, ...]
    output_shape: tuple[int, ...]
    """Per configuration."""

    @property
    def output_width(self) -> int:
        return math.prod(self.output_shape)


class Symbol:
    """A number that is not known yet."""

    __slots__ = ("program", "index")
    __array_ufunc__ = None  # NumPy scalars on the left must defer to __radd__ and the like

    def __init__(self, program: Program, index: int):
        self.program, self.index = program, index

    def _node(self, op: str, *operands: int) -> Symbol:
        return Symbol(self.program, self.program.node(op, *operands))

    def _lift(self, value: Scalar) -> Symbol:
        return value if isinstance(value, Symbol) else self.program.constant(value)

    def _negated(self) -> int | None:
        """The operand if this symbol is a negation."""
        op, *operands = self.program.nodes[self.index]
        return operands[0] if op == "neg" else None

    def __add__(self, other: Scalar) -> Scalar:
        if not isinstance(other, Symbol):
            if other == 0:
                return self
            other = self._lift(other)
        # a + (-b) = a - b: negations sink towards the outputs, where most of them vanish
        if (negated := other._negated()) is not None:
            return self._node("sub", self.index, negated)
        if (negated := self._negated()) is not None:
            return self._node("sub", other.index, negated)
        return self._node("add", self.index, other.index)

    __radd__ = __add__

    def __neg__(self) -> Symbol:
        op, *operands = self.program.nodes[self.index]
        if op == "neg":
            return Symbol(self.program, operands[0])
        if op == "sub":
            return self._node("sub", operands[1], operands[0])
        return self._node("neg", self.index)

    def __sub__(self, other: Scalar) -> Scalar:
        if not isinstance(other, Symbol):
            return self + (-other)
        if other.index == self.index:
            return 0.0
        if (negated := other._negated()) is not None:
            return self + Symbol(self.program, negated)
        return self._node("sub", self.index, other.index)

    def __rsub__(self, other: float) -> Scalar:
        return -self if other == 0 else self._lift(other) - self

    def __mul__(self, other: Scalar) -> Scalar:
        if not isinstance(other, Symbol):
            if other == 0:
                return 0.0
            if other == 1:
                return self
            if other < 0:
                return -(self * -other)
            other = self._lift(other)
        if (negated := self._negated()) is not None:
            return -(Symbol(self.program, negated) * other)
        if (negated := other._negated()) is not None:
            return -(self * Symbol(self.program, negated))
        return self._node("mul", self.index, other.index)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Scalar:
        if not isinstance(other, Symbol):
            return self * (1.0 / other)
        return self._node("div", self.index, other.index)

    def __rtruediv__(self, other: float) -> Scalar:
        return 0.0 if other == 0 else self._node("div", self._lift(other).index, self.index)

    def sin(self) -> Symbol:
        return self._node("sin", self.index)

    def cos(self) -> Symbol:
        return self._node("cos", self.index)

    def sqrt(self) -> Symbol:
        return self._node("sqrt", self.index)

    def minimum(self, other: Scalar) -> Symbol:
        return self._node("min", self.index, self._lift(other).index)

    def maximum(self, other: Scalar) -> Symbol:
        return self._node("max", self.index, self._lift(other).index)

    def less(self, other: Scalar) -> Mask:
        return Mask(self.program, self.program.node("less", self.index, self._lift(other).index))


class Mask:
    """A truth value that is not known yet: what comparisons give and choices take."""

    __slots__ = ("program", "index")

    def __init__(self, program: Program, index: int):
        self.program, self.index = program, index

    def __and__(self, other: Truth) -> Truth:
        if isinstance(other, bool):
            return self if other else False
        return Mask(self.program, self.program.node("and", self.index, other.index))

    __rand__ = __and__

    def __or__(self, other: Truth) -> Truth:
        if isinstance(other, bool):
            return True if other else self
        return Mask(self.program, self.program.node("or", self.index, other.index))

    __ror__ = __or__

    def select(self, yes: Scalar, no: Scalar) -> Symbol:
        """Both are computed; there is no jump."""
        yes, no = (value if isinstance(value, Symbol) else self.program.constant(value) for value in (yes, no))
        return Symbol(self.program, self.program.node("select", self.index, yes.index, no.index))


Scalar = float | Symbol
Truth = bool | Mask
TRUTHS = frozenset({"less", "and", "or"})
"""Operations that give true or false instead of a number."""
DECISIONS = TRUTHS | {"select", "min", "max"}
"""Operations of iterations (inverse kinematics). Kernels of `kernels.RECIPES` have none of them, so an emitter that
serves only those may refuse them."""
_COMMUTATIVE = frozenset({"add", "mul", "and", "or"})
Node = tuple[Any, ...]
"""An operation and the indices of its operands; an input's name and element; a constant's value."""


class Program:
    """Straight-line code: node i may only use nodes before it."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[Node, int] = {}

    def node(self, op: str, *operands: Any) -> int:
        """The index of this node, an old one if the same value was computed before."""
        if op in _COMMUTATIVE and operands[0] > operands[1]:
            operands = operands[::-1]
        key = (op, *operands)
        index = self._known.get(key)
        if index is None:
            index = self._known[key] = len(self.nodes)
            self.nodes.append(key)
        return index

    def constant(self, value: float) -> Symbol:
        return Symbol(self, self.node("const", float(value)))

    def input(self, name: str, width: int) -> list[Symbol]:
        return [Symbol(self, self.node("input", name, element)) for element in range(width)]

    def needed(self, indices: Iterable[int]) -> set[int]:
        """These nodes and all that they are computed from."""
        found: set[int] = set()
        pending = list(indices)
        while pending:
            index = pending.pop()
            if index not in found:
                found.add(index)
                pending.extend(operands_of(self.nodes[index]))
        return found

    def copy(self) -> Program:
        """The same nodes with the same indices."""
        other = Program()
        other.nodes, other._known = list(self.nodes), dict(self._known)
        return other


@dataclass(frozen=True)
class Kernel:
    """A finished program with its arguments and results, ready for an emitter."""

    signature: Signature
    nodes: tuple[Node, ...]
    order: tuple[int, ...]
    """Indices of the nodes that the outputs need, in a valid order."""
    outputs: tuple[int, ...]
    uniform: frozenset[int]
    """Nodes that depend on shared inputs and constants alone: computed once per call."""

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def inputs(self) -> tuple[Input, ...]:
        return self.signature.inputs

    @property
    def operations(self) -> int:
        """Arithmetic operations per configuration, sine and cosine counted as one each."""
        return sum(self.nodes[i][0] not in ("input", "const") and i not in self.uniform for i in self.order)


def operands_of(node: Node) -> tuple[int, ...]:
    return () if node[0] in ("input", "const") else node[1:]


def trace(signature: Signature, algorithm: Callable[..., Iterable[Scalar | Mask]]) -> Kernel:
    """Runs the algorithm on symbols, one list of numbers per input, and keeps what its outputs need."""
    program = Program()
    outputs = algorithm(*(program.input(argument.name, argument.width) for argument in signature.inputs))
    results = [value if isinstance(value, (Symbol, Mask)) else program.constant(value) for value in outputs]
    assert len(results) == signature.output_width, (signature, len(results))

    shared = {argument.name for argument in signature.inputs if argument.shared}
    uniform: set[int] = set()
    order = sorted(program.needed(result.index for result in results))
    for index in order:
        op, *operands = program.nodes[index]
        known = operands[0] in shared if op == "input" else op == "const" or uniform.issuperset(operands)
        if known:
            uniform.add(index)
    return Kernel(
        signature=signature,
        nodes=tuple(program.nodes),
        order=tuple(order),
        outputs=tuple(result.index for result in results),
        uniform=frozenset(uniform),
    )
