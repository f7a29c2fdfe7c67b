"""LLVM types and literals for one width of SIMD lanes."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

ANGLE_BOUND = {np.dtype(np.float64): 1e9, np.dtype(np.float32): 1e5}
"""Joint positions larger than this [rad or m] are refused: their sine would lose its digits."""
NUMBER_BOUND = {np.dtype(np.float64): 1e100, np.dtype(np.float32): 1e12}
"""Other inputs larger than this are refused: their products would overflow."""
PIECE = 512
"""Configurations that a thread takes at a time: some 20 µs of work; a multiple of all lane counts."""
COUNTER, COUNTERS = np.dtype(np.int64), 4
"""What threads share: turns that were drawn, configurations that are done, pieces with a bad number, all zero at the
start, and regions that pieces are drawn from in turn."""


@dataclass(frozen=True)
class Lanes:
    """A vector of `count` numbers of one type; count 1 is a plain number."""

    count: int
    dtype: np.dtype

    @property
    def scalar(self) -> str:
        return "double" if self.dtype == np.float64 else "float"

    @property
    def integer(self) -> str:
        return "i64" if self.dtype == np.float64 else "i32"

    @property
    def vector(self) -> str:
        return self.of(self.scalar)

    @property
    def mask(self) -> str:
        return self.of("i1")

    @property
    def suffix(self) -> str:
        """How LLVM's intrinsics name this type."""
        number = "f64" if self.dtype == np.float64 else "f32"
        return number if self.count == 1 else f"v{self.count}{number}"

    @property
    def tag(self) -> str:
        """Part of a function's name."""
        return f"{self.scalar}x{self.count}"

    def of(self, element: str) -> str:
        return element if self.count == 1 else f"<{self.count} x {element}>"

    def number(self, value: float) -> str:
        """A constant in every lane, written exactly (LLVM takes the bits of a double for both types)."""
        value = float(self.dtype.type(value))
        bits = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        return self._spread(self.scalar, bits)

    def whole(self, value: int) -> str:
        """An integer constant in every lane."""
        return self._spread(self.integer, str(value))

    def truth(self) -> str:
        """True in every lane."""
        return self._spread("i1", "true")

    def _spread(self, element: str, literal: str) -> str:
        return literal if self.count == 1 else "<" + ", ".join([f"{element} {literal}"] * self.count) + ">"
