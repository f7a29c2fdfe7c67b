"""The compiled halves of a servo cycle: the velocity to aim at, and the step towards it with its checked way to rest.

Between them Python calls the solver of quadratic programs, in those cycles that need it.
"""

from __future__ import annotations

import enum

import numpy as np

from ..geometry.raw_calls import call_five
from ..jit import njit
from . import stops
from .step_bounds import at_limit, bounded, candidate, free_velocity, most_missing
from .tip_task import move_path, scaled_twist, tip_task
from .way_to_rest import MOST_SAMPLES

LIMIT_SHARE = 0.8
"""Share of the speed from which a joint could still stop before its position limit."""
MANY_SAMPLES = MOST_SAMPLES // 2
"""Configurations of a way to rest from which on the arm becomes no faster."""
NEARLY_AT_REST = 0.04
"""Share of the velocity limits below which an arm that is next to an obstacle may set out to leave it."""
CHECKED_AT_ONCE = 64
"""Configurations between two looks at whether one of them collides."""


class StepOutcome(enum.IntEnum):
    """What became of a step."""

    TAKEN = 0
    """Its way to rest is free: it is the new state."""
    COLLIDES = 1
    """The way to rest is not free: the stop of the cycle before continues."""
    BEYOND_LIMITS = 2
    """A joint would break its limits: the stop of the cycle before continues."""
    NEXT_TO = 3
    """It is not free of collision, but the arm is nearly at rest: the state is unchanged, for the caller to decide."""


_TAKEN, _COLLIDES, _BEYOND_LIMITS, _NEXT_TO = (int(item) for item in StepOutcome)


@njit(cache=True, nogil=True)
def tip_velocity(  # type: ignore[no-untyped-def]
    state, pose, jacobians, twist, speeds, reference, has_reference, near, limits, posture, gains, memory, program
):
    """Writes the velocity for a twist in base axes, or the quadratic program for it.

    Args:
        state: Positions, velocities and accelerations, shape (3, n).
        speeds: Highest angular and linear speed.
        reference: Path of the tip, which begins at the pose if there is none.
        near: Rows, distances, and which are between two links.
        limits: Lower and upper positions, velocities, accelerations and jerks.
        gains: Of the task, of the pull on free joints, and of the approach of objects.
        memory: Takes bounds of velocities, the pull, the twist within limits, and what is lost of it.
        program: Takes H, f, rows, their bounds, and the velocity.

    Returns:
        Share of the twist that is within limits; whether a singularity takes part of it; whether the velocity keeps
        all bounds; the pair that is nearest compared with the distance it should keep; and what is missing of that.
    """
    low, high, pull, wanted, lost = memory
    lower, upper, speed, acceleration, jerk = limits
    rows, distance, own = near
    H, f, _, _, _, _ = program
    stops.speeds_towards_limits(state[0], lower, upper, speed, acceleration, jerk, LIMIT_SHARE, low, high)
    too_fast = scaled_twist(twist, speeds[0], speeds[1], wanted)
    if not has_reference:
        for r in range(4):
            for c in range(4):
                reference[r, c] = pose[r, c]
    if len(pull) > 6:
        free_velocity(state[0], posture, rows, distance, own, speed, gains[1], pull)
    fit, is_lost = tip_task(
        jacobians, pose, wanted, reference, pull, state[1], speed, acceleration, gains[0], H, f, lost
    )
    kept, worst, missing = _bounded(near, low, high, gains[2], program)
    return fit / too_fast, is_lost, kept, worst, missing


@njit(cache=True, nogil=True)
def jog_velocity(state, velocities, near, limits, gains, memory, program):  # type: ignore[no-untyped-def]
    """The same for velocities of joints: share within limits, whether bounds are kept, pair, and what is missing."""
    low, high, _, _, lost = memory
    lower, upper, speed, acceleration, jerk = limits
    H, f, _, _, _, _ = program
    stops.speeds_towards_limits(state[0], lower, upper, speed, acceleration, jerk, LIMIT_SHARE, low, high)
    fastest, n = 1.0, len(velocities)
    for j in range(n):
        fastest = max(fastest, abs(velocities[j]) / speed[j])
    for j in range(n):
        f[j] = -velocities[j] / fastest
        for k in range(n):
            H[j, k] = 1.0 if j == k else 0.0
    for i in range(6):
        lost[i] = 0.0
    kept, worst, missing = _bounded(near, low, high, gains[2], program)
    return 1.0 / fastest, kept, worst, missing


@njit(cache=True, nogil=True)
def _bounded(near, low, high, gains, program):  # type: ignore[no-untyped-def]
    rows, distance, own = near
    H, f, A, lower, upper, v = program
    # Nearer than the security distance the arm backs off.
    kept = bounded(H, f, rows, distance, own, low, high, gains, gains[3], A, lower, upper, v)
    worst, missing = most_missing(distance, own, gains[1], gains[2])
    return kept, worst, missing


@njit(cache=True, nogil=True)
def bound_again(near, low, high, gains, program):  # type: ignore[no-untyped-def]
    """Writes the quadratic program without backing off, for an arm between two objects, say."""
    rows, distance, own = near
    H, f, A, lower, upper, v = program
    bounded(H, f, rows, distance, own, low, high, gains, 0.0, A, lower, upper, v)


@njit(cache=True, nogil=True)
def advance(  # type: ignore[no-untyped-def]
    state, out, path, qd, together, dt, limits, gaps, allowed, samples, code, work, hits, memory, tip
):
    """Changes the velocity towards the given one and takes the step if the way to rest from there is free.

    Args:
        state: Positions, velocities and accelerations, shape (3, n); the new ones are written here.
        out: Takes the state that was tried.
        path: Takes the configurations of its way to rest.
        qd: Velocity to aim at; slower if the way to rest of the cycle before took many configurations.
        samples: Configurations of the way to rest of the cycle before.
        code: Addresses of the checker and of its scene.
        work, hits: Memory of the checker.
        memory: As of `tip_velocity`.
        tip: Whether the path of the tip is kept, pose, reference, Jacobians, gains.

    Returns:
        StepOutcome; joint that breaks its limits or is bounded by them, -1 for none; number of configurations; whether
        the path is still kept; highest joint speed of the new state.
    """
    low, high, _, wanted, _ = memory
    lower, upper, speed, acceleration, jerk = limits
    keeps, pose, reference, jacobians, gains = tip
    # What stands in the way decides on the path.
    keeps = keeps and at_limit(qd, low, high, speed) < 0
    if keeps:
        move_path(pose, reference, wanted, jacobians[0], qd, gains, dt)
    if samples > MANY_SAMPLES:
        # Their number grows with the square of the speed: the arm becomes no faster than can be checked.
        now, aim = 0.0, 0.0
        for j in range(len(qd)):
            now += state[1, j] * state[1, j]
            aim += qd[j] * qd[j]
        scale = min(np.sqrt(now * MANY_SAMPLES / samples) / max(np.sqrt(aim), 1e-9), 1.0)
        for j in range(len(qd)):
            qd[j] *= scale
    joint, count = candidate(state, qd, together, lower, upper, speed, acceleration, jerk, dt, gaps, allowed, out, path)
    outcome = _TAKEN
    if joint >= 0:
        outcome = _BEYOND_LIMITS
    elif count == 0:
        outcome = _COLLIDES
    elif not is_free(code, path, count, work, hits):
        outcome = _COLLIDES if _fastest(state[1]) > NEARLY_AT_REST * _fastest(speed) else _NEXT_TO
    if outcome == _TAKEN:
        copy_state(out, state)
        joint = at_limit(qd, low, high, speed)
    elif outcome != _NEXT_TO:
        take_stop(state, acceleration, jerk, dt, out)
    return outcome, joint, count, keeps, _fastest(state[1])


@njit(cache=True, nogil=True)
def take_stop(state, acceleration, jerk, dt, out):  # type: ignore[no-untyped-def]
    """Goes on with the stop from a state, for one cycle."""
    stops.advance_stop(state, acceleration, jerk, dt, out)
    copy_state(out, state)


@njit(cache=True, nogil=True)
def copy_state(source, target):  # type: ignore[no-untyped-def]
    """Writes one state over another."""
    for r in range(3):
        for j in range(source.shape[1]):
            target[r, j] = source[r, j]


@njit(cache=True, nogil=True)
def is_free(code, path, count, work, hits):  # type: ignore[no-untyped-def]
    """Whether no configuration of a path collides, by a checker (addresses of its entry and of its scene)."""
    first, row = 0, path.strides[0]
    while first < count:
        now = min(count - first, CHECKED_AT_ONCE)
        if call_five(code[0], code[1], path.ctypes.data + first * row, now, work.ctypes.data, hits.ctypes.data):
            return False  # a number that is not finite
        for k in range(now):
            if hits[k]:
                return False
        first += now
    return True


@njit(cache=True, nogil=True)
def _fastest(v):  # type: ignore[no-untyped-def]
    most = 0.0
    for j in range(len(v)):
        most = max(most, abs(v[j]))
    return most
