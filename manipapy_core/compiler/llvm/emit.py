"""Kernel → LLVM IR: a loop over the batch whose body handles as many configurations as there are lanes.

`ProgramWriter` writes the arithmetic, which all functions made from a kernel share.

Arrays are row-major, one row of numbers per configuration. The body reads whole rows with wide loads, transposes
them in registers so that each lane holds one configuration, runs the program, and transposes the results back.
Sums of squares are taken on the way, one instruction per number: the function returns false if an input was NaN,
infinite or absurdly large.
"""

from __future__ import annotations

from ..trace import Input, Kernel
from .sincos import sincos_lines
from .types import ANGLE_BOUND, NUMBER_BOUND, Lanes

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


def function_name(kernel: Kernel, lanes: Lanes) -> str:
    return f"{kernel.name}_{lanes.tag}"


def emit(kernel: Kernel, lanes: Lanes) -> str:
    """IR of `i1 name(inputs…, out, first, last)`, which handles configurations first … last − 1.

    `last − first` must be a multiple of the lane count.
    """
    body = _Emitter(kernel, lanes)
    arguments = [f"ptr %{argument.name}" for argument in kernel.inputs] + ["ptr %out", "i64 %first", "i64 %last"]
    return "\n".join(
        [
            f"define i1 @{function_name(kernel, lanes)}({', '.join(arguments)}) #0 {{",
            "entry:",
            *body.before_loop(),
            "  %some = icmp slt i64 %first, %last",
            "  br i1 %some, label %loop, label %done",
            "loop:",
            "  %k = phi i64 [%first, %entry], [%k.next, %loop]",
            f"  %ok.loop = phi {lanes.mask} [{body.shared_ok}, %entry], [%ok.body, %loop]",
            *body.inside_loop(),
            f"  %k.next = add i64 %k, {lanes.count}",
            "  %more = icmp slt i64 %k.next, %last",
            "  br i1 %more, label %loop, label %done",
            "done:",
            f"  %ok = phi {lanes.mask} [{body.shared_ok}, %entry], [%ok.body, %loop]",
            *body.verdict(),
            "}",
            "",
        ]
    )


class _Emitter(ProgramWriter):
    """Writes the parts of one function; rows of the arrays become lanes and lanes become rows."""

    def __init__(self, kernel: Kernel, lanes: Lanes):
        super().__init__(kernel, lanes)
        self.shared_ok = lanes.truth()
        self.rows: dict[str, str] = {}

    def before_loop(self) -> list[str]:
        """Shared inputs in every lane, and all that follows from them alone."""
        for argument in self.kernel.inputs:
            if argument.shared:
                values = [self.load_shared(argument.name, element) for element in range(argument.width)]
                self.shared_ok = self._check(argument, values, self.shared_ok)
        self.compute([index for index in self.kernel.order if index in self.kernel.uniform])
        return self.taken()

    def inside_loop(self) -> list[str]:
        ok = "%ok.loop"
        for argument in self.kernel.inputs:
            if not argument.shared:
                values = self._load_rows(argument.name, argument.width)
                for element, value in enumerate(values):
                    self.loaded[argument.name, element] = value
                ok = self._check(argument, values, ok)
        self.compute([index for index in self.kernel.order if index not in self.kernel.uniform])
        self._store_rows("out", [self.names[index] for index in self.kernel.outputs])
        # the name that the loop's phi waits for
        self.lines.append(f"%ok.body = and {self.lanes.mask} {ok}, {self.lanes.truth()}")
        return self.taken()

    def verdict(self) -> list[str]:
        if self.lanes.count == 1:
            return ["  ret i1 %ok"]
        reduce = f"@llvm.vector.reduce.and.v{self.lanes.count}i1"
        return [f"  %all = call i1 {reduce}({self.lanes.mask} %ok)", "  ret i1 %all"]

    def _check(self, argument: Input, values: list[str], ok: str) -> str:
        """Whether an input's length is within the bound, so that each of its numbers surely is."""
        V, bound = self.lanes.vector, (ANGLE_BOUND if argument.angle else NUMBER_BOUND)[self.lanes.dtype]
        squares = self.let(f"fmul {V} {values[0]}, {values[0]}")
        for value in values[1:]:
            squares = self.let(f"call {V} @llvm.fma.{self.lanes.suffix}({V} {value}, {V} {value}, {V} {squares})")
        small = self.let(f"fcmp ole {V} {squares}, {self.lanes.number(bound * bound)}")  # false for NaN
        return self.let(f"and {self.lanes.mask} {ok}, {small}")

    def _load_rows(self, name: str, width: int) -> list[str]:
        """Element j of all lanes' rows as one vector, for every j."""
        L, values = self.lanes.count, []
        for offset, size in _groups(width, L):
            rows = []
            for lane in range(L):
                address = self._address(name, lane * width + offset, width)
                rows.append(self.let(f"load {self._short(size)}, ptr {address}, align {self.lanes.dtype.itemsize}"))
            values += self._transpose(self._join(rows, size), size)
        return values

    def _store_rows(self, name: str, values: list[str]) -> None:
        L, width = self.lanes.count, len(values)
        for offset, size in _groups(width, L):
            joined = self._transpose(values[offset : offset + size], size)
            for lane in range(L):
                row = self._cut(joined[lane % size], lane // size, size)
                address = self._address(name, lane * width + offset, width)
                itemsize = self.lanes.dtype.itemsize
                self.lines.append(f"store {self._short(size)} {row}, ptr {address}, align {itemsize}")

    def _join(self, rows: list[str], size: int) -> list[str]:
        """Full vectors: number r holds rows r, r + size, r + 2·size … one after the other."""
        joined = []
        for first in range(size):
            parts, length = rows[first::size], size
            while len(parts) > 1:
                pairs = zip(parts[::2], parts[1::2])
                parts = [self._shuffle(a, b, length, list(range(2 * length))) for a, b in pairs]
                length *= 2
            joined.append(parts[0])
        return joined

    def _cut(self, joined: str, part: int, size: int) -> str:
        L = self.lanes.count
        if size == L:
            return joined
        if size == 1:
            return self.let(f"extractelement {self.lanes.vector} {joined}, i32 {part}")
        return self._shuffle(joined, "poison", L, list(range(part * size, (part + 1) * size)))

    def _transpose(self, vectors: list[str], size: int) -> list[str]:
        """Transposes every size × size block of `size` full vectors: one exchange per power of two."""
        L, distance = self.lanes.count, 1
        vectors = list(vectors)
        while distance < size:
            for i in range(size):
                if not i & distance:
                    a, b = vectors[i], vectors[i + distance]
                    low = [p if not p & distance else L + p - distance for p in range(L)]
                    high = [p + distance if not p & distance else L + p for p in range(L)]
                    vectors[i] = self._shuffle(a, b, L, low)
                    vectors[i + distance] = self._shuffle(a, b, L, high)
            distance *= 2
        return vectors

    def _shuffle(self, a: str, b: str, length: int, picks: list[int]) -> str:
        if length == 1:  # two plain numbers make a vector of two
            half = self.let(f"insertelement <2 x {self.lanes.scalar}> poison, {self.lanes.scalar} {a}, i32 0")
            return self.let(f"insertelement <2 x {self.lanes.scalar}> {half}, {self.lanes.scalar} {b}, i32 1")
        V = f"<{length} x {self.lanes.scalar}>"
        mask = ", ".join(f"i32 {pick}" for pick in picks)
        return self.let(f"shufflevector {V} {a}, {V} {b}, <{len(picks)} x i32> <{mask}>")

    def _address(self, name: str, element: int, width: int) -> str:
        if name not in self.rows:
            start = self.let(f"mul i64 %k, {width}")
            self.rows[name] = self.let(f"getelementptr {self.lanes.scalar}, ptr %{name}, i64 {start}")
        return self.let(f"getelementptr {self.lanes.scalar}, ptr {self.rows[name]}, i64 {element}")

    def _short(self, size: int) -> str:
        return self.lanes.scalar if size == 1 else f"<{size} x {self.lanes.scalar}>"


def _groups(width: int, lanes: int) -> list[tuple[int, int]]:
    """Cuts a row into pieces of 2^k numbers, at most one vector long: (offset, size) each."""
    groups, offset, size = [], 0, lanes
    while offset < width:
        while size > width - offset:
            size //= 2
        groups.append((offset, size))
        offset += size
    return groups
