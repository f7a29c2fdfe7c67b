"""Batches of point-to-point motions, written in one pass over memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..errors import InputError, ShapeError
from ..jit import njit
from ..typing import Array
from .joint_trajectory import JointTrajectory, TimeScaling, finite_array, path_fraction


def joint_trajectories(
    starts: ArrayLike,
    goals: ArrayLike,
    duration: float,
    samples: int,
    *,
    scaling: TimeScaling = TimeScaling.QUINTIC,
    dtype: DTypeLike = np.float64,
    out: NDArray[np.floating] | None = None,
) -> JointTrajectory:
    """Many motions as `joint_trajectory` computes them; the first axis of the arrays is the motion.

    Args:
        starts: Joint positions [rad or m], shape (motions, n).
        goals: Joint positions [rad or m], shape (motions, n).
        duration: The same for every motion [s], positive.
        samples: Number of equally spaced times, at least 2.
        dtype: Of the result: float64, or float32 for half the memory and half the time.
        out: Memory for positions, velocities and accelerations, shape (3, motions, samples, n), contiguous; the
            result then shares it. Allocating new memory takes longer than filling it.
    """
    starts, goals = finite_array(starts, "starts"), finite_array(goals, "goals")
    if starts.ndim != 2 or starts.shape != goals.shape or not starts.size:
        raise ShapeError("goals", f"the shape of starts, {starts.shape}, with two axes", goals.shape)
    law = path_fraction(duration, samples, scaling)
    wanted = np.dtype(dtype if out is None else out.dtype)
    if wanted not in (np.float32, np.float64):
        raise InputError(f"dtype is {wanted}; give float32 or float64")
    shape = (3, len(starts), samples, starts.shape[1])
    rows = np.empty(shape, wanted) if out is None else out
    if rows.shape != shape or not rows.flags.c_contiguous:
        raise ShapeError("out", f"{shape}, contiguous", rows.shape)
    # All motions share the path fraction and its derivatives.
    laws: Array = np.concatenate([law.s, law.rate, law.rate_change], axis=1).T
    spread = np.repeat(laws, starts.shape[1], axis=1).astype(wanted)
    fill(starts.astype(wanted), (goals - starts).astype(wanted), spread, rows.reshape(3, len(starts), -1))
    rows[0, :, -1] = goals  # exact at the end, without rounding
    return JointTrajectory(law.times, *rows)


def _stream(typing_context, target, start, way, law, kind):  # type: ignore[no-untyped-def]
    """Writes start + way · law for one vector with a non-temporal store, past the caches.

    Without the hint every cache line is read before it is overwritten, which takes as long as the writing.

    Args:
        target: Address, a multiple of the 32 bytes of a vector; the next three are addresses too.
        kind: A number of the type that is written.
    """
    signature = types.void(types.int64, types.int64, types.int64, types.int64, kind)
    count = 8 if kind == types.float32 else 4
    element = ir.FloatType() if kind == types.float32 else ir.DoubleType()

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        pointer = ir.VectorType(element, count).as_pointer()
        places = [builder.inttoptr(address, pointer) for address in arguments[:4]]
        first, second, third = (builder.load(place, align=element_bytes) for place in places[1:])
        stored = builder.store(builder.fadd(first, builder.fmul(second, third)), places[0], align=VECTOR)
        hint = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        stored.set_metadata("nontemporal", hint)
        return context.get_dummy_value()

    element_bytes = VECTOR // count
    return signature, generate


def _fence(typing_context):  # type: ignore[no-untyped-def]
    """Makes non-temporal stores visible to other threads."""

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


VECTOR = 32
"""Bytes that are written at once."""
stream: Any = intrinsic(_stream)
fence: Any = intrinsic(_fence)


@njit(cache=True, nogil=True)
def fill(starts, ways, laws, out):  # type: ignore[no-untyped-def]
    """Writes positions, velocities and accelerations of every motion, all its samples as one row."""
    n = starts.shape[1]
    nothing = np.zeros(n, starts.dtype)
    pattern = np.empty((2, n * (VECTOR // starts.itemsize)), starts.dtype)
    for motion in range(starts.shape[0]):
        fill_row(out[0, motion], starts[motion], ways[motion], laws[0], pattern)
        fill_row(out[1, motion], nothing, ways[motion], laws[1], pattern)
        fill_row(out[2, motion], nothing, ways[motion], laws[2], pattern)
    fence()


@njit(cache=True, nogil=True)
def fill_row(row, start, way, law, pattern):  # type: ignore[no-untyped-def]
    """Element by element up to the first whole vector of memory, vector by vector, and the rest.

    The pattern of joints repeats after as many vectors as there are joints: `pattern` takes the starts and ways of
    one such period, which stay in the nearest cache.
    """
    n, width, size = start.shape[0], row.shape[0], row.itemsize
    step, i = VECTOR // size, 0
    while i < width and (row.ctypes.data + i * size) % VECTOR:
        row[i] = start[i % n] + way[i % n] * law[i]
        i += 1
    for k in range(n * step):
        pattern[0, k] = start[(i + k) % n]
        pattern[1, k] = way[(i + k) % n]
    starts, ways = pattern[0].ctypes.data, pattern[1].ctypes.data
    while i + n * step <= width:
        at = i * size
        for k in range(n):
            inner = k * VECTOR
            stream(row.ctypes.data + at + inner, starts + inner, ways + inner, law.ctypes.data + at + inner, row[0])
        i += n * step
    while i < width:
        row[i] = start[i % n] + way[i % n] * law[i]
        i += 1
