"""The arithmetic of a program as LLVM instructions: what all functions made from a kernel have in common."""

from __future__ import annotations

from .llvm_sincos import sincos_lines
from .llvm_types import Lanes
from .trace import Kernel

FLAGS = "contract nsz arcp"
"""Fused multiply–add and reciprocals are welcome; NaN and infinity keep their meaning."""
_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_EXTREMES = {"min": "olt", "max": "ogt"}
"""Comparison and choice together are one instruction of the processor, unlike LLVM's NaN-proof intrinsics."""


def declarations(lanes: Lanes) -> str:
    """Intrinsics that the functions of these lanes use."""
    V = lanes.vector
    lines = [
        f"declare {V} @llvm.fma.{lanes.suffix}({V}, {V}, {V})",
        f"declare {V} @llvm.sqrt.{lanes.suffix}({V})",
        f"declare {V} @llvm.fabs.{lanes.suffix}({V})",
    ]
    if lanes.count > 1:
        lines.append(f"declare i1 @llvm.vector.reduce.and.v{lanes.count}i1({lanes.mask})")
    return "\n".join(lines) + "\n"


class ProgramWriter:
    """Writes the nodes of a kernel, lane by lane; inputs must be in `loaded` before they are used."""

    def __init__(self, kernel: Kernel, lanes: Lanes):
        self.kernel, self.lanes = kernel, lanes
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        """LLVM value of each node that has been computed."""
        self.loaded: dict[tuple[str, int], str] = {}
        """LLVM value of each element of each input."""
        self._fresh = 0
        self._angles: dict[int, tuple[str, str]] = {}

    def compute(self, order: list[int]) -> None:
        for index in order:
            op, *operands = self.kernel.nodes[index]
            if op == "const":
                self.names[index] = self.lanes.number(operands[0])
            elif op == "input":
                self.names[index] = self.loaded[operands[0], operands[1]]
            elif op in ("sin", "cos"):
                self._sincos(index, op, operands[0])
            else:
                values = [self.names[operand] for operand in operands]
                self.names[index] = self.let(self._instruction(op, values))

    def _instruction(self, op: str, values: list[str]) -> str:
        V, B = self.lanes.vector, self.lanes.mask
        if op in _ARITHMETIC:
            return f"{_ARITHMETIC[op]} {FLAGS} {V} {values[0]}, {values[1]}"
        if op == "neg":
            return f"fneg {V} {values[0]}"
        if op == "less":
            return f"fcmp olt {V} {values[0]}, {values[1]}"
        if op in ("and", "or"):
            return f"{op} {B} {values[0]}, {values[1]}"
        if op == "select":
            return f"select {B} {values[0]}, {V} {values[1]}, {V} {values[2]}"
        if op in _EXTREMES:
            first = self.let(f"fcmp {_EXTREMES[op]} {V} {values[0]}, {values[1]}")
            return f"select {B} {first}, {V} {values[0]}, {V} {values[1]}"
        return f"call {V} @llvm.{op}.{self.lanes.suffix}({V} {values[0]})"

    def _sincos(self, index: int, op: str, angle: int) -> None:
        """Both are computed where the first of the two is needed."""
        if angle not in self._angles:
            lines, sine, cosine = sincos_lines(self.lanes, self.names[angle], f"%a{angle}.")
            self.lines += lines
            self._angles[angle] = (sine, cosine)
        self.names[index] = self._angles[angle][op == "cos"]

    def load_shared(self, name: str, element: int) -> str:
        """One number of a shared input, in every lane."""
        address = self.let(f"getelementptr {self.lanes.scalar}, ptr %{name}, i64 {element}")
        value = self._spread(self.let(f"load {self.lanes.scalar}, ptr {address}"))
        self.loaded[name, element] = value
        return value

    def _spread(self, value: str) -> str:
        if self.lanes.count == 1:
            return value
        V, L = self.lanes.vector, self.lanes.count
        first = self.let(f"insertelement {V} poison, {self.lanes.scalar} {value}, i32 0")
        return self.let(f"shufflevector {V} {first}, {V} poison, <{L} x i32> zeroinitializer")

    def let(self, instruction: str) -> str:
        """Appends an instruction and names its value."""
        self._fresh += 1
        name = f"%v{self._fresh}"
        self.lines.append(f"{name} = {instruction}")
        return name

    def taken(self) -> list[str]:
        """The lines written since the last time, indented."""
        lines, self.lines = [f"  {line}" for line in self.lines], []
        return lines
