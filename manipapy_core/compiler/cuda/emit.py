"""Kernel → CUDA C++: one thread per configuration, in a grid-stride loop.

The source uses nothing of CUDA's mathematics but fma, sqrt and fabs: sine and cosine are those of the CPU kernels, so
that float32 code holds no double arithmetic and the GPU gives the digits of the CPU. A few lines at the top let a
host compiler read the same text, which is how it is tested where there is no GPU.
"""

from __future__ import annotations

import enum
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import CompilerError
from ..llvm.sincos import CONSTANTS as SINCOS
from ..llvm.types import ANGLE_BOUND, NUMBER_BOUND
from ..trace import Input, Kernel, Signature

BLOCK = 256
"""Threads per block; at this size a thread may have all the 255 registers that there are."""

_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

PRELUDE = """\
#ifdef __CUDACC__
// Products with the pitch of a column would be kept in registers from one round of the loop to the next, by dozens.
#define FORGET(number) asm volatile("" : "+l"(number))
#else  // a host compiler: one thread, whose place in the grid the caller sets
#include <cmath>
#include <cstring>
#define FORGET(number)
#define __global__
#define __device__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)
extern "C" {
struct Place { unsigned x; } blockIdx = {0}, threadIdx = {0}, blockDim = {1}, gridDim = {1};
}
static inline int __float_as_int(float x) { int bits; std::memcpy(&bits, &x, sizeof bits); return bits; }
static inline int __double2loint(double x) { long long bits; std::memcpy(&bits, &x, sizeof bits); return (int)bits; }
#endif
"""


class Layout(enum.Enum):
    """How the numbers of a batch lie in memory."""

    ROWS = "rows"
    """(N, n): one configuration after the other."""
    COLUMNS = "columns"
    """(n, N): the first number of all configurations, then the second: neighbouring threads read neighbours."""


@dataclass(frozen=True)
class Real:
    """The numbers of one kernel in C++."""

    dtype: np.dtype

    @property
    def name(self) -> str:
        return "double" if self.dtype == np.float64 else "float"

    @property
    def suffix(self) -> str:
        """Of literals, and of the mathematical functions."""
        return "" if self.dtype == np.float64 else "f"

    def literal(self, value: float) -> str:
        """The value rounded to this type and written exactly."""
        text = f"{float(self.dtype.type(value)).hex()}{self.suffix}"
        return f"({text})" if text.startswith("-") else text

    def call(self, function: str, *operands: str) -> str:
        return f"{function}{self.suffix}({', '.join(operands)})"


def function_name(signature: Signature, dtype: np.dtype, layout: Layout) -> str:
    return f"{signature.name}_{Real(dtype).name}_{layout.value}"


def source(kernel: Kernel, dtype: np.dtype, layout: Layout = Layout.ROWS) -> str:
    """A whole CUDA C++ file with one kernel."""
    return "\n".join([PRELUDE, emit_sincos(dtype), emit(kernel, dtype, layout)])


def emit(kernel: Kernel, dtype: np.dtype, layout: Layout = Layout.ROWS) -> str:
    """The kernel `name(inputs…, out, refused, count)`, to stand below the prelude and the sine of its type.

    It sets *refused to 1 if an input was NaN, infinite or absurd, and leaves it alone otherwise.
    """
    real = Real(dtype)
    body = _Emitter(kernel, real, layout)
    arguments = [f"const {real.name} *__restrict__ in_{argument.name}" for argument in kernel.inputs]
    arguments += [f"{real.name} *__restrict__ out", "int *__restrict__ refused", "long long count"]
    separator = ",\n    "
    return "\n".join(
        [
            f'extern "C" __global__ void __launch_bounds__({BLOCK}) {function_name(kernel.signature, dtype, layout)}(',
            f"    {separator.join(arguments)})",
            "{",
            "  bool fine = true;",
            *(f"  {line}" for line in body.before_loop()),
            "  const long long stride = (long long)gridDim.x * blockDim.x;",
            "  for (long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += stride) {",
            *(f"    {line}" for line in body.inside_loop()),
            "  }",
            "  if (!fine) *refused = 1;",
            "}",
            "",
        ]
    )


class _Emitter:
    """Writes the parts of one kernel; values are named v<node>."""

    def __init__(self, kernel: Kernel, real: Real, layout: Layout):
        self.kernel, self.real, self.layout = kernel, real, layout
        self.names: dict[int, str] = {}
        self.angles: set[int] = set()
        self.places: dict[int, list[int]] = defaultdict(list)
        for place, index in enumerate(kernel.outputs):
            self.places[index].append(place)

    def before_loop(self) -> Iterator[str]:
        """Shared inputs, and all that follows from them alone."""
        for argument in self.kernel.inputs:
            if argument.shared:
                yield from self._load(argument)
        for index in self.kernel.order:
            if index in self.kernel.uniform:
                yield from self._compute(index)

    def inside_loop(self) -> Iterator[str]:
        if self.layout is Layout.COLUMNS:
            yield "long long pitch = count;"
            yield "FORGET(pitch);"
        for argument in self.kernel.inputs:
            if not argument.shared:
                yield from self._load(argument)
        for index in self.kernel.order:
            if index not in self.kernel.uniform:
                yield from self._compute(index)
            # stored as soon as it is known, which frees its register
            for place in self.places[index]:
                width = self.kernel.signature.output_width
                yield f"out[{self._position(place, width)}] = {self.names[index]};"

    def _load(self, argument: Input) -> Iterator[str]:
        bound = self.real.literal((ANGLE_BOUND if argument.angle else NUMBER_BOUND)[self.real.dtype])
        for element in range(argument.width):
            name = f"{argument.name}_{element}"
            where = str(element) if argument.shared else self._position(element, argument.width)
            yield f"const {self.real.name} {name} = in_{argument.name}[{where}];"
            yield f"fine &= {self.real.call('fabs', name)} <= {bound};"  # false for NaN

    def _position(self, element: int, width: int) -> str:
        if self.layout is Layout.ROWS:
            return f"k * {width} + {element}"
        return f"{element} * pitch + k"

    def _compute(self, index: int) -> Iterator[str]:
        op, *operands = self.kernel.nodes[index]
        if op == "const":
            self.names[index] = self.real.literal(operands[0])
        elif op == "input":
            self.names[index] = f"{operands[0]}_{operands[1]}"
        elif op in ("sin", "cos"):
            yield from self._sincos(index, op, operands[0])
        else:
            self.names[index] = f"v{index}"
            yield f"const {self.real.name} v{index} = {self._expression(op, operands)};"

    def _expression(self, op: str, operands: Sequence[int]) -> str:
        values = [self.names[operand] for operand in operands]
        if op in _OPERATORS:
            return f"{values[0]} {_OPERATORS[op]} {values[1]}"
        if op == "neg":
            return f"-{values[0]}"
        if op == "sqrt":
            return self.real.call("sqrt", values[0])
        raise CompilerError(f"kernel {self.kernel.name!r} has the operation {op!r}, which no GPU kernel has needed yet")

    def _sincos(self, index: int, op: str, angle: int) -> Iterator[str]:
        """Both are computed where the first of the two is needed."""
        if angle not in self.angles:
            self.angles.add(angle)
            yield f"{self.real.name} s{angle}, c{angle};"
            yield f"sine_cosine({self.names[angle]}, s{angle}, c{angle});"
        self.names[index] = f"{op[0]}{angle}"


def emit_sincos(dtype: np.dtype) -> str:
    """Sine and cosine together, by the reduction and the polynomials of the CPU kernels."""
    real, c = Real(dtype), SINCOS[dtype]
    R, number = real.name, real.literal

    def fma(a: str, b: str, addend: str) -> str:
        return real.call("fma", a, b, addend)

    def polynomial(coefficients: Sequence[float]) -> str:
        value = number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = fma(value, "z", number(coefficient))
        return value

    reduced = "x"
    for part in c.half_pi:
        reduced = fma("turns", number(-part), reduced)
    low_bits = "__double2loint" if dtype == np.float64 else "__float_as_int"
    return f"""\
__device__ __forceinline__ void sine_cosine({R} x, {R} &sine, {R} &cosine)
{{
  const {R} shifted = {fma("x", number(2 / math.pi), number(c.rounding))};
  const {R} turns = shifted - {number(c.rounding)};
  const int quadrant = {low_bits}(shifted);
  const {R} r = {reduced};
  const {R} z = r * r;
  const {R} s = {fma(polynomial(c.sine), "r * z", "r")};
  const {R} c = {fma(polynomial(c.cosine), "z * z", fma("z", number(-0.5), number(1.0)))};
  const {R} even = quadrant & 1 ? c : s, odd = quadrant & 1 ? s : c;
  sine = quadrant & 2 ? -even : even;
  cosine = (quadrant + 1) & 2 ? -odd : odd;
}}
"""
