"""Collision checks of straight joint motions, from compiled code.

The checker's machine code is called by its address, a plain number at run time, so that what Numba compiles (and keeps
on disk) serves every robot and every world.
"""

from __future__ import annotations

import math

import numpy as np

from ...geometry.raw_calls import call_five
from ...jit import njit

MAX_STRIDES = 1 << 20
"""Of one motion, so that a step far too small does not make a call last for minutes."""

EDGE, CHECK, SCENE, LANES, ONWARDS, BOXES, NEAREST = range(7)
"""Contents of the `code` of a planning space: addresses of two functions and of the scene, SIMD lanes, and addresses of
three more functions."""
COUNTED_EDGES, COUNTED_SAMPLES = range(2)
"""Indices in `counters`."""
DIVISIONS = {"error_model": "numpy"}
"""Options of functions called for each motion: an exception where a divisor is zero, which none is, would keep Numba
from leaving out that arguments are counted as referenced, which takes a dozen instructions that lock memory."""


@njit(cache=True, nogil=True)
def next_random(state):  # type: ignore[no-untyped-def]
    """A number in [0, 1) from 64 bits of state (xorshift by G. Marsaglia): the same everywhere for the same seed."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return (x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def seed_random(state, seed):  # type: ignore[no-untyped-def]
    """Spreads a seed over the state, which must not be zero."""
    state[0] = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0xD1B54A32D192ED03)
    if state[0] == np.uint64(0):
        state[0] = np.uint64(1)
    for _ in range(8):
        next_random(state)


@njit(cache=True, nogil=True, **DIVISIONS)
def samples_of(a, b, step, weights):  # type: ignore[no-untyped-def]
    """How many intervals a motion is cut into: joints move less than a step, and no point of the arm more than a unit.

    Args:
        step: Euclidean distance over the joints [rad or m].
        weights: Units that the farthest point moves per joint [1/rad or 1/m]; zeros leave only the step.
    """
    square, travel = 0.0, 0.0
    for j in range(a.shape[0]):
        way = abs(b[j] - a[j])
        square += way * way
        travel += way * weights[j]
    return max(math.sqrt(square) / step, travel)


@njit(cache=True, nogil=True, **DIVISIONS)
def is_free(code, a, b, step, weights, work, counters):  # type: ignore[no-untyped-def]
    """Whether the straight motion from a to b is free at its samples, both ends included."""
    wanted = samples_of(a, b, step, weights) + 1.0
    strides = min(max(1, math.ceil(wanted / code[LANES])), MAX_STRIDES)
    counters[COUNTED_EDGES] += 1
    counters[COUNTED_SAMPLES] += strides * code[LANES]
    return call_five(code[EDGE], code[SCENE], a, b, strides, work) == 0


@njit(cache=True, nogil=True, **DIVISIONS)
def is_free_onwards(code, a, b, step, weights, work, counters):  # type: ignore[no-untyped-def]
    """As `is_free` where a is known to be free and not checked again: a third less for the edge of a tree."""
    strides = min(max(1, math.ceil(samples_of(a, b, step, weights) / code[LANES])), MAX_STRIDES)
    counters[COUNTED_EDGES] += 1
    counters[COUNTED_SAMPLES] += strides * code[LANES]
    return call_five(code[ONWARDS], code[SCENE], a, b, strides, work) == 0
