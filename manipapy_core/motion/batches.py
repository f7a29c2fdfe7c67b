"""Many point-to-point motions at once: one pass over memory, which is all that it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..compiler import kernels
from ..errors import InputError, ShapeError
from .trajectories import Array, JointTrajectory, TimeScaling, _normalised_times, _numbers


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
    """Many motions, each as `joint_trajectory` gives it; arrays have the motions as their first axis.

    Args:
        starts: Joint positions [rad or m], shape (motions, n).
        goals: Joint positions [rad or m], shape (motions, n).
        duration: Of every motion [s], positive.
        samples: Number of equally spaced times, at least 2.
        dtype: Of the result: float64, or float32 for half the memory and half the time.
        out: Memory for positions, velocities and accelerations, shape (3, motions, samples, n), contiguous; the
            result then shares it. New memory takes longer to come by than it takes to fill.
    """
    starts, goals = _numbers(starts, "starts"), _numbers(goals, "goals")
    if starts.ndim != 2 or starts.shape != goals.shape or not starts.size:
        raise ShapeError("goals", f"the shape of starts, {starts.shape}, with two axes", goals.shape)
    u, rate = _normalised_times(duration, samples)
    wanted = np.dtype(dtype if out is None else out.dtype)
    if wanted not in (np.float32, np.float64):
        raise InputError(f"dtype is {wanted}; give float32 or float64")
    shape = (3, len(starts), samples, starts.shape[1])
    rows = np.empty(shape, wanted) if out is None else out
    if rows.shape != shape or not rows.flags.c_contiguous:
        raise ShapeError("out", f"{shape}, contiguous", rows.shape)
    # All motions share one law: its three rows for a joint that goes from 0 to 1.
    laws: Array = kernels.joint_trajectory(scaling.value, 1).run(u, np.zeros(1), np.ones(1), rate)[..., 0].T
    spread = np.repeat(laws, starts.shape[1], axis=1).astype(wanted)
    fill(starts.astype(wanted), (goals - starts).astype(wanted), spread, rows.reshape(3, len(starts), -1))
    rows[0, :, -1] = goals  # exactly, whatever rounding says
    return JointTrajectory(u[:, 0] * duration, *rows)


def _stream(typing_context, target, start, way, law, kind):  # type: ignore[no-untyped-def]
    """Writes start + way · law for one vector past the caches: what is written here is not read again soon.

    Without the hint every line of memory is read before it is overwritten, which takes as long as the writing.

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
    """Makes what was streamed visible to other threads."""

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
    """Positions, velocities and accelerations of every motion, all its samples as one row.

    The start and the way of a motion are written as often as it has samples, so that the loop over a row is plain.
    """
    n, width = starts.shape[1], laws.shape[1]
    start, way, nothing = np.empty(width, starts.dtype), np.empty(width, starts.dtype), np.zeros(width, starts.dtype)
    for motion in range(starts.shape[0]):
        for i in range(width // n):
            for j in range(n):
                start[i * n + j] = starts[motion, j]
                way[i * n + j] = ways[motion, j]
        fill_row(out[0, motion], start, way, laws[0])
        fill_row(out[1, motion], nothing, way, laws[1])
        fill_row(out[2, motion], nothing, way, laws[2])
    fence()


@njit(cache=True, nogil=True)
def fill_row(row, start, way, law):  # type: ignore[no-untyped-def]
    """Element by element up to the first whole vector of memory, vector by vector, and the rest."""
    width, size = row.shape[0], row.itemsize
    step, i = VECTOR // size, 0
    while i < width and (row.ctypes.data + i * size) % VECTOR:
        row[i] = start[i] + way[i] * law[i]
        i += 1
    while i + step <= width:
        at = i * size
        stream(row.ctypes.data + at, start.ctypes.data + at, way.ctypes.data + at, law.ctypes.data + at, row[0])
        i += step
    while i < width:
        row[i] = start[i] + way[i] * law[i]
        i += 1
