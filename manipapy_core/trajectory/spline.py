"""Piecewise polynomials through joint points: linear, cubic or quintic by what the points carry."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiler.formulas import Input, compile_formula
from ..typing import Array

TERMS = 6
"""Coefficients of a quintic; lower orders leave the last ones zero."""


def evaluate(n: int, u: Sequence[Any], rate: Sequence[Any], coefficients: Sequence[Any]) -> list[Any]:
    """Position, velocity and acceleration of n polynomials: 3×n row by row, straight-line code over any scalar.

    Args:
        u: Time within the segment over its length, one number.
        rate: One over the length of the segment [1/s], one number.
        coefficients: Of u⁰ to u⁵, 6×n row by row.
    """
    rows = [[coefficients[n * k + j] for j in range(n)] for k in range(TERMS)]
    x, r = u[0], rate[0]
    position, velocity, acceleration = [], [], []
    for j in range(n):
        c = [row[j] for row in rows]
        position.append(((((c[5] * x + c[4]) * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0])
        slope = (((5.0 * c[5] * x + 4.0 * c[4]) * x + 3.0 * c[3]) * x + 2.0 * c[2]) * x + c[1]
        velocity.append(slope * r)
        bend = ((20.0 * c[5] * x + 12.0 * c[4]) * x + 6.0 * c[3]) * x + 2.0 * c[2]
        acceleration.append(bend * (r * r))
    return [*position, *velocity, *acceleration]


@functools.cache
def evaluation_kernel(n: int) -> Any:
    """Compiled `evaluate`: kernel(u, rate, coefficients, out)."""
    inputs = [Input("u", (1,)), Input("rate", (1,)), Input("coefficients", (TERMS, n))]
    return compile_formula(f"polynomials_{n}", inputs, (3, n), functools.partial(evaluate, n))


def segments(
    h: Array,
    start: tuple[Array, Array | None, Array | None],
    end: tuple[Array, Array | None, Array | None],
) -> Array:
    """Coefficients of segments, any batch shape in front.

    Args:
        h: Lengths [s], shape (..., 1).
        start: Positions, velocities and accelerations at the start of each segment, shape (..., n). Without
            accelerations the segments are cubic, without velocities linear.
        end: The same at the end.

    Returns:
        Coefficients of u⁰ to u⁵ with u from 0 to 1, shape (..., 6, n).
    """
    p0, v0, a0 = start
    p1, v1, a1 = end
    c = np.zeros((*p0.shape[:-1], TERMS, p0.shape[-1]))
    delta = p1 - p0
    c[..., 0, :] = p0
    if v0 is None or v1 is None:
        c[..., 1, :] = delta
        return c
    s0, s1 = v0 * h, v1 * h
    c[..., 1, :] = s0
    if a0 is None or a1 is None:
        c[..., 2, :] = 3.0 * delta - 2.0 * s0 - s1
        c[..., 3, :] = s0 + s1 - 2.0 * delta
        return c
    b0, b1 = a0 * h**2, a1 * h**2
    c[..., 2, :] = 0.5 * b0
    c[..., 3, :] = 10.0 * delta - 6.0 * s0 - 4.0 * s1 - 1.5 * b0 + 0.5 * b1
    c[..., 4, :] = -15.0 * delta + 8.0 * s0 + 7.0 * s1 + 1.5 * b0 - b1
    c[..., 5, :] = 6.0 * delta - 3.0 * (s0 + s1) - 0.5 * (b0 - b1)
    return c


class Segment(NamedTuple):
    """One polynomial of a spline."""

    number: int
    """Among those of the spline."""
    start: float
    """[s]"""
    end: float
    """[s]"""
    rate: float
    """One over its length [1/s]."""
    coefficients: Array
    """Of u⁰ to u⁵, shape (6, n)."""

    def share(self, t: float) -> float:
        """How much of the segment is over at a time, 0 to 1."""
        share = (t - self.start) * self.rate
        return share if 0.0 <= share <= 1.0 else float(share > 0.5)


class Spline:
    """Points joined by polynomials; before the first and after the last it does not exist.

    Args:
        times: Strictly increasing [s], shape (m,), m ≥ 1.
        positions: [rad or m], shape (m, n).
        velocities: [rad/s or m/s], shape (m, n), or None for straight lines.
        accelerations: [rad/s² or m/s²], shape (m, n), or None for cubics.
    """

    def __init__(
        self, times: Array, positions: Array, velocities: Array | None = None, accelerations: Array | None = None
    ):
        self.times, self.positions = times, positions
        self.velocities = velocities
        self.accelerations = accelerations if velocities is not None else None
        self.n = positions.shape[1]
        self.first, self.duration = float(times[0]), float(times[-1])
        """Times of the first and the last point [s]."""
        lengths = np.diff(times)
        points = (self.positions, self.velocities, self.accelerations)
        start = tuple(None if values is None else values[:-1] for values in points)
        end = tuple(None if values is None else values[1:] for values in points)
        self.coefficients = segments(lengths[:, None], start, end)  # type: ignore[arg-type]
        self.rates = 1.0 / lengths
        # Plain lists: bisect reads them far faster than arrays.
        self._starts: list[float] = times[:-1].tolist()
        self._ends: list[float] = times[1:].tolist()
        self._rates: list[float] = self.rates.tolist()
        self._kernel = evaluation_kernel(self.n)
        self._u, self._rate = np.zeros(1), np.zeros(1)

    def sample(self, t: float, out: Array) -> None:
        """Position, velocity and acceleration at a time between the first and the last point, shape (3, n)."""
        segment = self.segment(t)
        self._u[0], self._rate[0] = segment.share(t), segment.rate
        self._kernel(self._u, self._rate, segment.coefficients, out)

    def segment(self, t: float, last: int = -1) -> Segment:
        """The one that a time falls into.

        Args:
            t: [s]
            last: Where the last one was found: the next is nearly always the one after it.
        """
        k, starts = last + 1, self._starts
        if k >= len(starts) or not starts[k] <= t < self._ends[k]:
            k = max(bisect.bisect_right(starts, t) - 1, 0)
        return Segment(k, starts[k], self._ends[k], self._rates[k], self.coefficients[k])

    def sample_many(self, t: Array) -> Array:
        """The same for many times at once, shape (k, 3, n)."""
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.rates) - 1)
        return self._evaluate((t - self.times[k]) * self.rates[k], k)

    def inner_samples(self, per_segment: int) -> tuple[Array, Array]:
        """Times and samples within every segment, shapes (k,) and (k, 3, n): what the points do not show."""
        fractions = np.arange(1, per_segment + 1) / (per_segment + 1.0)
        k = np.repeat(np.arange(len(self.rates)), per_segment)
        u = np.tile(fractions, len(self.rates))
        return self.times[k] + u / self.rates[k], self._evaluate(u, k)

    def _evaluate(self, u: Array, k: Any) -> Array:
        out = np.empty((len(u), 3, self.n))
        coefficients = np.ascontiguousarray(self.coefficients[k])
        if len(u) and not self._kernel(np.ascontiguousarray(u), np.ascontiguousarray(self.rates[k]), coefficients, out):
            out.fill(np.nan)
        return out
