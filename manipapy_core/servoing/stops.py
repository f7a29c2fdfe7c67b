"""Stops with bounded acceleration and jerk, compiled: phases, samples, and the change towards a desired velocity.

A stop has three phases per joint: the jerk builds up a deceleration, it is kept, and it falls to zero again. Every
joint takes its own, shortest time.
"""

from __future__ import annotations

from ..jit import njit

APPROACH = 0.7
"""Share of the fastest approach of a desired velocity, so that it is not overshot."""
POSITION, VELOCITY, ACCELERATION = 0, 1, 2
"""Kinds of limits."""
_TINY = 1e-12


@njit(cache=True, nogil=True)
def stop_phases(v, a, limit, jerk):  # type: ignore[no-untyped-def]
    """Durations of the three phases of the shortest stop of one joint, and the jerk of the first [s, rad/s³]."""
    end = v + 0.5 * a * abs(a) / jerk
    if abs(end) < _TINY:
        return abs(a) / jerk, 0.0, 0.0, -jerk if a > 0.0 else jerk
    s = -1.0 if end > 0.0 else 1.0
    start, change = s * a, -s * v
    peak = (max(jerk * change + 0.5 * start * start, 0.0)) ** 0.5
    hold = 0.0
    if peak > limit:
        peak = max(limit, start)
        hold = max((change - (2.0 * peak * peak - start * start) / (2.0 * jerk)) / peak, 0.0)
    return max((peak - start) / jerk, 0.0), hold, peak / jerk, s * jerk


@njit(cache=True, nogil=True)
def along_stop(q, v, a, t1, t2, t3, j, t):  # type: ignore[no-untyped-def]
    """Position, velocity and acceleration of one joint at a time since the stop began."""
    for phase in range(3):
        length = t1 if phase == 0 else t2 if phase == 1 else t3
        rate = j if phase == 0 else 0.0 if phase == 1 else -j
        h = min(t, length)
        q += h * (v + h * (0.5 * a + h * rate / 6.0))
        v += h * (a + 0.5 * h * rate)
        a += h * rate
        t -= h
        if t <= 0.0:
            return q, v, a
    return q, 0.0, 0.0


@njit(cache=True, nogil=True)
def advance_stop(state, limit, jerk, dt, out):  # type: ignore[no-untyped-def]
    """Writes the state after `dt` of a stop; states are position, velocity and acceleration, shape (3, n)."""
    for i in range(state.shape[1]):
        q, v, a = state[0, i], state[1, i], state[2, i]
        t1, t2, t3, j = stop_phases(v, a, limit[i], jerk[i])
        out[0, i], out[1, i], out[2, i] = along_stop(q, v, a, t1, t2, t3, j, dt)


@njit(cache=True, nogil=True)
def stop_time(state, limit, jerk):  # type: ignore[no-untyped-def]
    """Time until all joints are at rest [s]."""
    longest = 0.0
    for i in range(state.shape[1]):
        t1, t2, t3, _ = stop_phases(state[1, i], state[2, i], limit[i], jerk[i])
        longest = max(longest, t1 + t2 + t3)
    return longest


@njit(cache=True, nogil=True)
def sample_stop(state, limit, jerk, times, out):  # type: ignore[no-untyped-def]
    """Writes positions, velocities and accelerations at times since the stop began, shape (times, 3, n)."""
    for i in range(state.shape[1]):
        q, v, a = state[0, i], state[1, i], state[2, i]
        t1, t2, t3, j = stop_phases(v, a, limit[i], jerk[i])
        for k in range(len(times)):
            out[k, 0, i], out[k, 1, i], out[k, 2, i] = along_stop(q, v, a, t1, t2, t3, j, times[k])


@njit(cache=True, nogil=True)
def limits_broken(state, lower, upper, speed, limit, jerk):  # type: ignore[no-untyped-def]
    """First joint whose limits a state, or the stop from it, breaks, and the kind of limit; -1 if none."""
    for i in range(state.shape[1]):
        q, v, a = state[0, i], state[1, i], state[2, i]
        if abs(a) > limit[i] * (1.0 + 1e-9):
            return i, ACCELERATION
        peak = abs(v)
        if v * a > 0.0:
            peak = abs(v + 0.5 * a * abs(a) / jerk[i])
        if peak > speed[i] * (1.0 + 1e-9):
            return i, VELOCITY
        t1, t2, t3, j = stop_phases(v, a, limit[i], jerk[i])
        end, _, _ = along_stop(q, v, a, t1, t2, t3, j, t1 + t2 + t3)
        # A joint beyond its limit may move back.
        if (end > upper[i] and end > q) or (end < lower[i] and end < q):
            return i, POSITION
    return -1, POSITION


@njit(cache=True, nogil=True)
def broken_between(state, out, lower, upper, speed, dt):  # type: ignore[no-untyped-def]
    """First joint that breaks its limits on the way from a state to the next, at constant jerk; -1 if none."""
    for i in range(state.shape[1]):
        v, a, change = state[1, i], state[2, i], (out[2, i] - state[2, i]) / dt
        if a * out[2, i] < 0.0:
            peak = abs(v - 0.5 * a * a / change)  # where the acceleration is zero
            if peak > speed[i] * (1.0 + 1e-9) and peak > max(abs(v), abs(out[1, i])):
                return i
        highest, lowest = max(state[0, i], out[0, i]), min(state[0, i], out[0, i])
        if v * out[1, i] < 0.0:  # it turns round, at most this far beyond both ends
            beyond = 0.5 * dt * min(abs(v), abs(out[1, i]))
            highest, lowest = (highest + beyond, lowest) if v > 0.0 else (highest, lowest - beyond)
        # A joint beyond its limit may move back.
        if (highest > upper[i] and highest > state[0, i]) or (lowest < lower[i] and lowest < state[0, i]):
            return i
    return -1


@njit(cache=True, nogil=True)
def speeds_towards_limits(q, lower, upper, speed, limit, jerk, share, low, high):  # type: ignore[no-untyped-def]
    """Writes lowest and highest velocities from which every joint stops before its position limit."""
    for i in range(len(q)):
        lost = 0.5 * limit[i] * limit[i] / jerk[i]
        for side in range(2):
            room = upper[i] - q[i] if side else q[i] - lower[i]
            allowed = 0.0
            if room > 0.0:
                # v²/(2 A) + v A/(2 J) ≤ room, which is never less than the way of the stop.
                allowed = share * ((lost * lost + 2.0 * limit[i] * room) ** 0.5 - lost)
                allowed = min(allowed, speed[i])
            if side:
                high[i] = allowed
            else:
                low[i] = -allowed


@njit(cache=True, nogil=True)
def change_velocity(state, desired, together, limit, jerk, dt, out):  # type: ignore[no-untyped-def]
    """Writes the state after `dt`, on the way to desired velocities with bounded acceleration and jerk.

    Together, all joints change in proportion: from rest the arm moves along the direction of the desired velocity at
    once. Otherwise each joint changes as fast as it can, and one that is to rest does not wait for the others.
    """
    n = state.shape[1]
    slowest, gain = 0.5 / dt, 1.0
    for i in range(n):
        slowest = min(slowest, _approach_rate(desired[i] - state[1, i], limit[i], jerk[i], dt))
    for i in range(n):
        gain = min(gain, _jerk_share(slowest * (desired[i] - state[1, i]) - state[2, i], jerk[i], dt))
    for i in range(n):
        q, v, a = state[0, i], state[1, i], state[2, i]
        rate, share = slowest, gain
        if not together:
            rate = _approach_rate(desired[i] - v, limit[i], jerk[i], dt)
            share = _jerk_share(rate * (desired[i] - v) - a, jerk[i], dt)
        j = share * (rate * (desired[i] - v) - a) / dt
        out[0, i] = q + dt * (v + dt * (0.5 * a + dt * j / 6.0))
        out[1, i] = v + dt * (a + 0.5 * dt * j)
        out[2, i] = a + dt * j


@njit(cache=True, nogil=True)
def _approach_rate(change, limit, jerk, dt):  # type: ignore[no-untyped-def]
    """Rate at which a velocity may approach the desired one without overshooting it [1/s]."""
    e = abs(change)
    return min(0.5 / dt, limit / e, APPROACH * (2.0 * jerk / e) ** 0.5) if e > _TINY else 0.5 / dt


@njit(cache=True, nogil=True)
def _jerk_share(change, jerk, dt):  # type: ignore[no-untyped-def]
    """Share of a change of acceleration that the jerk limit allows in one cycle."""
    return min(1.0, jerk * dt / abs(change)) if abs(change) > _TINY else 1.0
