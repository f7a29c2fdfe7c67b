"""Search bounds of the joints, windings, and the reach of the tip."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from ..compiler import Mechanism
from ..model.chain import Chain
from ..typing import Array

TURN = 2.0 * math.pi
UNLIMITED_SLIDE = 10.0
"""Where a prismatic joint has no limits, it is searched this far [m] either way."""


@dataclass(frozen=True)
class Bounds:
    """Where each element of q is searched."""

    lower: Array
    """[rad or m], shape (n,)."""
    upper: Array
    """[rad or m], shape (n,)."""
    stops: tuple[bool, ...]
    """Stopped at its bounds; an element that is not may turn all the way round and is searched over one turn."""
    turns: tuple[bool, ...]
    """A full turn of this element brings the arm back to where it was."""


@functools.lru_cache(maxsize=64)
def search_bounds(chain: Chain, limits: bool) -> Bounds:
    """The limits of the chain, or none: then revolute joints may turn freely and prismatic ones keep theirs.

    A mimic joint's element of q keeps its limits too, since a turn of it is not a turn of all the joints it moves.
    """
    lower, upper = chain.limits.lower.copy(), chain.limits.upper.copy()
    stops, turning = [], []
    for j in range(chain.n):
        moved = [body for body in chain.bodies if body.dof == j]
        turns = len(moved) == 1 and moved[0].revolute and abs(moved[0].ratio) == 1.0
        free = turns and (not limits or upper[j] - lower[j] >= TURN - 1e-9)
        if free:
            middle = 0.5 * (lower[j] + upper[j]) if math.isfinite(upper[j] - lower[j]) and limits else 0.0
            lower[j], upper[j] = middle - math.pi, middle + math.pi
        elif not math.isfinite(upper[j] - lower[j]):
            reach = TURN if all(body.revolute for body in moved) else UNLIMITED_SLIDE
            lower[j], upper[j] = max(lower[j], -reach), min(upper[j], reach)
        stops.append(not free)
        turning.append(turns)
    for array in (lower, upper):
        array.setflags(write=False)
    return Bounds(lower, upper, tuple(stops), tuple(turning))


def to_winding(q: Array, bounds: Bounds) -> Array:
    """Elements that may turn freely brought into the turn that is searched."""
    free = ~np.array(bounds.stops)
    middle = 0.5 * (bounds.lower + bounds.upper)
    return np.where(free, q - TURN * np.round((q - middle) / TURN), q)


def inside(q: Array, bounds: Bounds) -> Array:
    """The rows of q (N, n) that are within the bounds after whole turns of the elements that allow it."""
    middle = 0.5 * (bounds.lower + bounds.upper)
    moved = np.where(bounds.turns, q - TURN * np.round((q - middle) / TURN), q)
    return moved[((moved >= bounds.lower) & (moved <= bounds.upper)).all(axis=1)]


def nearest_winding(q: Array, goal: Array, chain: Chain, bounds: Bounds, limits: bool) -> Array:
    """Whole turns added to the free elements so that they come closest to a goal, inside the limits."""
    turns = TURN * np.round((goal - q) / TURN)
    if limits:
        room = np.floor((chain.limits.upper - q) / TURN + 1e-12), np.ceil((chain.limits.lower - q) / TURN - 1e-12)
        turns = np.clip(turns, TURN * room[1], TURN * room[0])
    return np.where(np.array(bounds.stops), q, q + turns)


@dataclass(frozen=True)
class Reach:
    """A ball that contains the last joint at every configuration."""

    centre: Array
    """On the first axis, base frame [m], shape (3,)."""
    radius: float
    """[m]"""
    T_tip_last: Array
    """Origin of the last body's frame in the tip frame, shape (3,)."""

    def excludes(self, T: Array) -> bool:
        """True if no configuration can have this pose, limits or not."""
        last = T[:3, :3] @ self.T_tip_last + T[:3, 3]
        return bool(np.linalg.norm(last - self.centre) > self.radius + 1e-6)


def reach(mechanism: Mechanism, bounds: Bounds) -> Reach:
    """By the triangle inequality over the frames of the bodies; prismatic joints count fully extended."""
    radius, index, centre = 0.0, mechanism.tip.body, np.zeros(3)
    while index >= 0:
        body = mechanism.bodies[index]
        if not body.revolute:
            travel = np.abs(body.ratio * np.array([bounds.lower[body.dof], bounds.upper[body.dof]]))
            radius += float(travel.max())
        if body.parent >= 0:
            radius += float(np.linalg.norm(body.translation))
        else:
            centre = np.array(body.translation)
        index = body.parent
    R = np.reshape(mechanism.tip.rotation, (3, 3))
    return Reach(centre, radius, -R.T @ np.array(mechanism.tip.translation))
