"""Configurations to check along a cycle and the stop after it, so close that nothing is missed between them; compiled.

How far a point of a link moves is bounded by the joints that carry it: the variation of each times the distance of the
link's ball from its axis. A pair whose distance is larger than its motion until rest cannot meet. For the others the
configurations lie so close that no pair moves farther, from one to the next, than twice what the padding of the checker
leaves. Between two of them every pair is then at most that far from one that was checked, and has no contact.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit import njit
from . import stops

MOST_SAMPLES = 1024
"""Configurations of a way to rest; one that needs more counts as not free."""
STEP = 0.95
"""Part of the largest step between two configurations that is aimed at."""


@njit(cache=True, nogil=True)
def set_levers(frames, centres, balls, frame, mechanism, levers):  # type: ignore[no-untyped-def]
    """Writes how far each group moves per unit of q of each body that carries it, at most, shape (groups, bodies)."""
    _, _, _, axis, _, ratio, revolute, parent = mechanism
    for g in range(len(frame)):
        body = frame[g] - 1
        while body >= 0:
            lever = 1.0
            if revolute[body]:
                F, u = frames[body + 1], axis[body]
                x = F[0, 0] * u[0] + F[0, 1] * u[1] + F[0, 2] * u[2]
                y = F[1, 0] * u[0] + F[1, 1] * u[1] + F[1, 2] * u[2]
                z = F[2, 0] * u[0] + F[2, 1] * u[1] + F[2, 2] * u[2]
                d0, d1, d2 = centres[g, 0] - F[0, 3], centres[g, 1] - F[1, 3], centres[g, 2] - F[2, 3]
                c0, c1, c2 = y * d2 - z * d1, z * d0 - x * d2, x * d1 - y * d0
                lever = math.sqrt(c0 * c0 + c1 * c1 + c2 * c2) + balls[g, 3]
            levers[g, body] = abs(ratio[body]) * lever
            body = parent[body]


@njit(cache=True, nogil=True)
def variations(state, out, limit, jerk, dt, found):  # type: ignore[no-untyped-def]
    """Writes how much each joint moves in the cycle and the stop after it, both directions added, at most."""
    for i in range(state.shape[1]):
        v, a = out[1, i], out[2, i]
        t1, t2, t3, j = stops.stop_phases(v, a, limit[i], jerk[i])
        end, _, _ = stops.along_stop(out[0, i], v, a, t1, t2, t3, j, t1 + t2 + t3)
        found[i] = dt * max(abs(state[1, i]), abs(v)) + abs(end - out[0, i])
        if v * (v + 0.5 * a * abs(a) / jerk[i]) < 0.0:
            found[i] += 2.0 * abs(v) * (t1 + t2 + t3)  # it turns round


@njit(cache=True, nogil=True)
def set_weights(moved, levers, clear, apart, pairs, frame, mechanism, allowed, weights):  # type: ignore[no-untyped-def]
    """Writes weights of joint steps: no critical pair moves too far if the weighted sum of a step is at most 1.

    Args:
        moved: Variation of each joint until rest, shape (n,).
        levers: Of `set_levers`; those that hold until rest are written into it.
        clear: Distance of each group from all objects, at least [m], shape (groups,).
        apart: Distance of each pair of groups, at least [m], shape (pairs,).
        allowed: Reserve and largest motion between two configurations towards objects, then between links [m].
    """
    _, _, _, _, dof, ratio, revolute, parent = mechanism
    steps = np.empty(len(weights))
    _clear(weights)
    for g in range(len(frame)):
        total, body = 0.0, frame[g] - 1
        while body >= 0:
            if revolute[body]:
                levers[g, body] += abs(ratio[body]) * total
            total += moved[dof[body]] * levers[g, body]
            body = parent[body]
        if total + allowed[0] > clear[g]:
            _clear(steps)
            _add_steps(g, frame[g] - 1, -1, levers, dof, parent, steps)
            _raise_weights(weights, steps, allowed[1])
    for k in range(len(pairs)):
        a, b = pairs[k, 0], pairs[k, 1]
        common, other = frame[a] - 1, frame[b] - 1
        while common != other:  # a body has a larger number than those that carry it
            if common > other:
                common = parent[common]
            else:
                other = parent[other]
        _clear(steps)
        _add_steps(a, frame[a] - 1, common, levers, dof, parent, steps)
        _add_steps(b, frame[b] - 1, common, levers, dof, parent, steps)
        total = 0.0
        for i in range(len(steps)):
            total += moved[i] * steps[i]
        if total + allowed[2] > apart[k]:
            _raise_weights(weights, steps, allowed[3])


@njit(cache=True, nogil=True)
def _clear(values):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        values[i] = 0.0


@njit(cache=True, nogil=True)
def _add_steps(g, body, end, levers, dof, parent, steps):  # type: ignore[no-untyped-def]
    """Adds how far a group moves per unit of each joint between two bodies."""
    while body != end:
        steps[dof[body]] += levers[g, body]
        body = parent[body]


@njit(cache=True, nogil=True)
def _raise_weights(weights, steps, allowed):  # type: ignore[no-untyped-def]
    for i in range(len(weights)):
        weights[i] = max(weights[i], steps[i] / allowed)


@njit(cache=True, nogil=True)
def way_to_rest(state, out, limit, jerk, dt, weights, path):  # type: ignore[no-untyped-def]
    """Writes configurations of the cycle from a state to the next and of the stop from there, its end last.

    Returns:
        How many; 0 if there is no room for all.
    """
    n, most = state.shape[1], len(path)
    phases, q, v, after = np.empty((n, 4)), np.empty(n), np.empty(n), np.empty(n)
    first = speed = longest = 0.0
    for i in range(n):
        q[i], v[i] = out[0, i], out[1, i]
        t1, t2, t3, j = stops.stop_phases(v[i], out[2, i], limit[i], jerk[i])
        phases[i, 0], phases[i, 1], phases[i, 2], phases[i, 3] = t1, t2, t3, j
        longest = max(longest, t1 + t2 + t3)
        first += weights[i] * dt * max(abs(state[1, i]), abs(v[i]))
        speed += weights[i] * abs(v[i])
    # The first one is half a step from the state, which may lie between two that were checked.
    between = math.ceil(max(first - 0.5, 0.0) / STEP)
    if between + 2 > most:
        return 0
    for k in range(between + 1):
        share = (k + 0.5) / (between + 0.5)
        for i in range(n):
            path[k, i] = state[0, i] + share * (out[0, i] - state[0, i])
    count, t = between + 1, 0.0
    while longest - t > 1e-9:
        if count == most:
            return 0
        h, step = min(STEP / max(speed, 1e-9), longest - t), 2.0
        while step > 1.0:
            step = 0.0
            for i in range(n):
                path[count, i], after[i], _ = stops.along_stop(
                    out[0, i], out[1, i], out[2, i], phases[i, 0], phases[i, 1], phases[i, 2], phases[i, 3], t + h
                )
                moved = abs(path[count, i] - q[i]) if v[i] * after[i] > 0.0 else h * max(abs(v[i]), abs(after[i]))
                step += weights[i] * moved
            if step > 1.0:
                h *= max(STEP / step, 0.1)
        t += h
        speed = 0.0
        for i in range(n):
            q[i], v[i] = path[count, i], after[i]
            speed += weights[i] * abs(v[i])
        count += 1
    return count
