"""Piecewise polynomials through joint points: linear, cubic or quintic by what the points carry.

The executor samples these polynomials every tick, the verifier bounds the same ones: coefficients and formulas exist
once. Formulas are plain arithmetic, so that they are traced into kernels and compiled by Numba alike.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler import Input, compile_formula
from ..jit import njit
from ..typing import Array
from .joint_trajectory import JointTrajectory

TERMS = 6
"""Coefficients of a quintic; lower orders leave the last ones zero."""
SUBSTEPS = 8
"""Parts of a segment at whose ends velocities and positions are compared with their limits."""

Point = tuple[Array, Array | None, Array | None]
"""Positions, velocities and accelerations, shape (..., n) each."""


def position(u: Any, c0: Any, c1: Any, c2: Any, c3: Any, c4: Any, c5: Any) -> Any:
    """Value of a quintic at u."""
    return ((((c5 * u + c4) * u + c3) * u + c2) * u + c1) * u + c0


def velocity(u: Any, c1: Any, c2: Any, c3: Any, c4: Any, c5: Any) -> Any:
    """First derivative of a quintic by u."""
    return (((5.0 * c5 * u + 4.0 * c4) * u + 3.0 * c3) * u + 2.0 * c2) * u + c1


def acceleration(u: Any, c2: Any, c3: Any, c4: Any, c5: Any) -> Any:
    """Second derivative of a quintic by u."""
    return ((20.0 * c5 * u + 12.0 * c4) * u + 6.0 * c3) * u + 2.0 * c2


def jerk(u: Any, c3: Any, c4: Any, c5: Any) -> Any:
    """Third derivative of a quintic by u."""
    return (60.0 * c5 * u + 24.0 * c4) * u + 6.0 * c3


def quintic_terms(delta: Any, s0: Any, s1: Any, b0: Any, b1: Any) -> tuple[Any, Any, Any, Any]:
    """Coefficients of u² to u⁵ of a quintic from 0 to 1.

    Args:
        delta: Difference of the positions at its ends.
        s0: Velocity at the start by u; `s1` at the end.
        b0: Acceleration at the start by u; `b1` at the end.
    """
    return (
        0.5 * b0,
        10.0 * delta - 6.0 * s0 - 4.0 * s1 - 1.5 * b0 + 0.5 * b1,
        -15.0 * delta + 8.0 * s0 + 7.0 * s1 + 1.5 * b0 - b1,
        6.0 * delta - 3.0 * (s0 + s1) - 0.5 * (b0 - b1),
    )


def evaluate(n: int, u: Sequence[Any], rate: Sequence[Any], coefficients: Sequence[Any]) -> list[Any]:
    """Position, velocity and acceleration of n polynomials: 3×n row by row, straight-line code over any scalar.

    Args:
        u: Time within the segment over its length, one number.
        rate: One over the length of the segment [1/s], one number.
        coefficients: Of u⁰ to u⁵, 6×n row by row.
    """
    x, r = u[0], rate[0]
    columns: list[Any] = [[coefficients[n * k + j] for k in range(TERMS)] for j in range(n)]
    return [
        *(position(x, *c) for c in columns),
        *(velocity(x, *c[1:]) * r for c in columns),
        *(acceleration(x, *c[2:]) * (r * r) for c in columns),
    ]


@functools.cache
def evaluation_kernel(n: int) -> Any:
    """Compiled `evaluate`: kernel(u, rate, coefficients, out)."""
    inputs = [Input("u", (1,)), Input("rate", (1,)), Input("coefficients", (TERMS, n))]
    return compile_formula(f"polynomials_{n}", inputs, (3, n), functools.partial(evaluate, n))


def segment_coefficients(h: Array, start: Point, end: Point) -> Array:
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
    for order, values in enumerate(quintic_terms(delta, s0, s1, a0 * h**2, a1 * h**2), 2):
        c[..., order, :] = values
    return c


def quintic_coefficients(trajectory: JointTrajectory) -> Array:
    """Coefficients of the quintics through the points of a trajectory, as `Spline` has them, shape (m - 1, 6, n).

    Args:
        trajectory: With velocities and accelerations.
    """
    arrays = (np.ascontiguousarray(rows, dtype=np.float64) for rows in (trajectory.times, *trajectory.states()))
    coefficients: Array = _quintics(*arrays)
    return coefficients


class Segment(NamedTuple):
    """One polynomial of a spline."""

    number: int
    """Index in the spline."""
    start: float
    """[s]"""
    end: float
    """[s]"""
    rate: float
    """One over its length [1/s]."""
    coefficients: Array
    """Of u⁰ to u⁵, shape (6, n)."""

    def share(self, t: float) -> float:
        """Time since the start of the segment over its length, 0 to 1."""
        share = (t - self.start) * self.rate
        return share if 0.0 <= share <= 1.0 else float(share > 0.5)


class Spline:
    """Points joined by polynomials, defined from the first point to the last.

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
        self.lengths = np.diff(times)
        """Of the segments [s], shape (m - 1,)."""
        points = (self.positions, self.velocities, self.accelerations)
        start = tuple(None if values is None else values[:-1] for values in points)
        end = tuple(None if values is None else values[1:] for values in points)
        self.coefficients = segment_coefficients(self.lengths[:, None], start, end)  # type: ignore[arg-type]
        """Of u⁰ to u⁵, shape (m - 1, 6, n)."""
        self.rates = 1.0 / self.lengths
        # Plain lists: bisect reads them far faster than arrays.
        self._starts: list[float] = times[:-1].tolist()
        self._ends: list[float] = times[1:].tolist()
        self._rates: list[float] = self.rates.tolist()
        self._kernel = evaluation_kernel(self.n)
        self._u, self._rate = np.zeros(1), np.zeros(1)

    @classmethod
    def of(cls, trajectory: JointTrajectory) -> Spline:
        """The curve of a trajectory."""
        return cls(trajectory.times, trajectory.positions, trajectory.velocities, trajectory.accelerations)

    def sample(self, t: float, out: Array) -> None:
        """Position, velocity and acceleration at a time between the first and the last point, shape (3, n)."""
        segment = self.segment(t)
        self._u[0], self._rate[0] = segment.share(t), segment.rate
        self._kernel(self._u, self._rate, segment.coefficients, out)

    def segment(self, t: float, last: int = -1) -> Segment:
        """The segment that a time falls into.

        Args:
            t: [s]
            last: Index of the segment found last: the next is nearly always the one after it.
        """
        k, starts = last + 1, self._starts
        if k >= len(starts) or not starts[k] <= t < self._ends[k]:
            k = max(bisect.bisect_right(starts, t) - 1, 0)
        return Segment(k, starts[k], self._ends[k], self._rates[k], self.coefficients[k])

    def sample_many(self, t: Array) -> Array:
        """Position, velocity and acceleration at many times, shape (k, 3, n)."""
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.rates) - 1)
        return self.within(k, (t - self.times[k]) * self.rates[k])

    def inner_samples(self, per_segment: int) -> tuple[Array, Array]:
        """Times and samples between the points, the same number in every segment, shapes (k,) and (k, 3, n)."""
        shares = np.arange(1, per_segment + 1) / (per_segment + 1.0)
        k = np.repeat(np.arange(len(self.rates)), per_segment)
        u = np.tile(shares, len(self.rates))
        return self.times[k] + u / self.rates[k], self.within(k, u)

    def within(self, segment: NDArray[np.int64], u: Array) -> Array:
        """Position, velocity and acceleration at shares of segments, shape (k, 3, n).

        Args:
            segment: Indices, shape (k,).
            u: Time since the start of the segment over its length, 0 to 1, shape (k,).
        """
        out = np.empty((len(u), 3, self.n))
        coefficients = np.ascontiguousarray(self.coefficients[segment])
        rates = np.ascontiguousarray(self.rates[segment])
        if len(u) and not self._kernel(np.ascontiguousarray(u), rates, coefficients, out):
            out.fill(np.nan)
        return out

    def positions_within(self, segment: NDArray[np.int64], u: Array) -> Array:
        """Positions alone, as `within` gives them, shape (k, n)."""
        return _positions(self.coefficients, segment, u)

    def extremes(self) -> tuple[Array, Array, Array, Array, Array]:
        """Per joint: largest velocity, acceleration and jerk, smallest and largest position, shape (n,) each.

        Accelerations and jerks are exact; velocities and positions are those at the ends of `SUBSTEPS` parts of every
        segment.
        """
        rows = extremes_of(self.coefficients, self.lengths)
        return rows[0], rows[1], rows[2], rows[3], rows[4]


def extremes_of(coefficients: Array, lengths: Array) -> Array:
    """As `Spline.extremes`, of coefficients (segments, 6, n) and lengths of the segments [s], shape (5, n)."""
    rows: Array = _extremes(coefficients, lengths)
    return rows


_position, _velocity, _acceleration, _jerk = (
    njit(cache=True, nogil=True)(formula) for formula in (position, velocity, acceleration, jerk)
)


_quintic_terms = njit(cache=True, nogil=True)(quintic_terms)


@njit(cache=True, nogil=True)
def _quintics(times, positions, velocities, accelerations):  # type: ignore[no-untyped-def]
    segments, n = times.shape[0] - 1, positions.shape[1]
    out = np.empty((segments, TERMS, n))
    for i in range(segments):
        h = times[i + 1] - times[i]
        for j in range(n):
            delta, s0, s1 = positions[i + 1, j] - positions[i, j], velocities[i, j] * h, velocities[i + 1, j] * h
            b0, b1 = accelerations[i, j] * h**2, accelerations[i + 1, j] * h**2
            c2, c3, c4, c5 = _quintic_terms(delta, s0, s1, b0, b1)
            out[i, 0, j], out[i, 1, j], out[i, 2, j] = positions[i, j], s0, c2
            out[i, 3, j], out[i, 4, j], out[i, 5, j] = c3, c4, c5
    return out


@njit(cache=True, nogil=True)
def _positions(coefficients, segment, u):  # type: ignore[no-untyped-def]
    n = coefficients.shape[2]
    out = np.empty((u.shape[0], n))
    for i in range(u.shape[0]):
        c = coefficients[segment[i]]
        for j in range(n):
            out[i, j] = _position(u[i], c[0, j], c[1, j], c[2, j], c[3, j], c[4, j], c[5, j])
    return out


@njit(cache=True, nogil=True)
def _zeros_and_vertex(a, b, c):  # type: ignore[no-untyped-def]
    """Zeros and vertex of a + b x + c x² within 0 to 1; 0 in place of those that are not there."""
    if abs(c) < 1e-300:
        x = -a / b if abs(b) > 1e-300 else 0.0
        x = x if 0.0 < x < 1.0 else 0.0
        return x, x, x
    vertex = -0.5 * b / c
    inside = vertex * vertex - a / c
    spread = math.sqrt(inside) if inside > 0.0 else 0.0
    first, second = vertex - spread, vertex + spread
    return (
        vertex if 0.0 < vertex < 1.0 else 0.0,
        first if 0.0 < first < 1.0 else 0.0,
        second if 0.0 < second < 1.0 else 0.0,
    )


@njit(cache=True, nogil=True)
def _extremes(coefficients, lengths):  # type: ignore[no-untyped-def]
    n = coefficients.shape[2]
    out = np.zeros((5, n))
    out[3], out[4] = np.inf, -np.inf
    for i in range(coefficients.shape[0]):
        h = lengths[i]
        for j in range(n):
            c0, c1, c2 = coefficients[i, 0, j], coefficients[i, 1, j], coefficients[i, 2, j]
            c3, c4, c5 = coefficients[i, 3, j], coefficients[i, 4, j], coefficients[i, 5, j]
            fastest, strongest, roughest = 0.0, 0.0, 0.0
            for k in range(SUBSTEPS + 1):
                u = k / SUBSTEPS
                q = _position(u, c0, c1, c2, c3, c4, c5)
                out[3, j], out[4, j] = min(out[3, j], q), max(out[4, j], q)
                fastest = max(fastest, abs(_velocity(u, c1, c2, c3, c4, c5)))
                strongest = max(strongest, abs(_acceleration(u, c2, c3, c4, c5)))
                roughest = max(roughest, abs(_jerk(u, c3, c4, c5)))
            # Acceleration is largest where the jerk is zero, the jerk where its own slope is.
            for u in _zeros_and_vertex(6.0 * c3, 24.0 * c4, 60.0 * c5):
                strongest = max(strongest, abs(_acceleration(u, c2, c3, c4, c5)))
                roughest = max(roughest, abs(_jerk(u, c3, c4, c5)))
            out[0, j] = max(out[0, j], fastest / h)
            out[1, j] = max(out[1, j], strongest / (h * h))
            out[2, j] = max(out[2, j], roughest / (h * h * h))
    return out
