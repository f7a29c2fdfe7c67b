"""Corners of a motion polytope, checked for contact with the convex parts of the arm; those that touch are cut off.

Rows of near points bound the parts that are near at the start. A link of several parts may meet an object with another
one, from another side. Every corner is therefore placed and measured; one that touches adds the row of the two points
that meet first on the straight joint motion to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..geometry.gjk import new_memory, separation
from ..jit import njit
from ..model.chain import Chain
from ..typing import Array
from .constraints import motion_rows, with_curvature
from .joint_set import JointSet
from .near_points import WORLD, NearPoints, Origin, frame_poses
from .near_search import ROW, ball_gap, place
from .near_tables import SceneTables, scene_tables

CLEARANCE = 1e-4
"""Parts nearer than this touch [m]: a hundred times the error of a distance."""
ROUNDS = 12
"""How often corners are cut off; two or three rounds are usual."""
SHARES = np.arange(17) / 16
"""Of the motion to a corner, at which the first contact is looked for."""


class CornerCheck:
    """Distances of the parts of an arm after small motions from one configuration."""

    def __init__(self, origin: Origin, q: Array, security: float = 0.0):
        self.body, self.q = origin.body, q
        self.scene: SceneTables = scene_tables(origin.body, origin.snapshot)
        arm = self.scene.arm
        self.parts, self.pairs = self.scene.part_pairs
        if not origin.self_collision:
            self.pairs = self.pairs[len(arm.pairs) :]
        self._T = np.empty((len(self.scene.solids.kind), 4, 4))
        self._T[len(arm.T_frame_solid) :] = self.scene.T_base_object
        start, _ = self._nearest(q[None], np.full(len(self.parts), security + 2.0 * CLEARANCE))
        # Parts that touch at the start have their rows; parts within the security distance may not touch.
        self.limits = np.where(start > security + CLEARANCE, security + CLEARANCE, CLEARANCE)
        self.limits[start <= CLEARANCE] = -np.inf

    def _nearest(self, q: Array, limits: Array) -> tuple[Array, NDArray[np.int64]]:
        """Least distance of each pair of parts over some configurations, and which configuration has it.

        Args:
            q: Shape (count, n).
            limits: Distances from here on are not of interest [m], shape (part pairs,).

        Returns:
            Distance [m] and number of the configuration; infinite and -1 where none is below the limit.
        """
        arm, solids = self.scene.arm, self.scene.solids
        distance, at = np.full(len(self.parts), np.inf), np.full(len(self.parts), -1)
        frames = frame_poses(self.body, q)
        nearest_of_motions(
            solids.arrays, solids.bound, self._T, arm.first, arm.frame, arm.T_frame_solid, arm.balls, frames,
            self.pairs, self.parts, limits, limits.max(initial=-np.inf), distance, at,
        )  # fmt: skip
        return distance, at

    def first_contacts(self, dq: Array) -> tuple[NearPoints, Array, Array] | None:
        """The points that meet first on motions to those corners that touch; None if no corner does.

        Args:
            dq: Corners [rad or m], shape (corners, n).

        Returns:
            The points where they are at the start, the motion to the corner of each, and the share of that motion that
            is free.
        """
        if not len(dq):
            return None
        _, at = self._nearest(self.q + dq, self.limits)
        touching = np.flatnonzero(at >= 0)
        if not len(touching):
            return None
        motions, parts, limits = dq[at[touching]], self.parts[touching], self.limits[touching]
        frames = frame_poses(self.body, self.q + SHARES[:, None, None] * motions)
        frame, T = self.scene.frame_of_solid[parts], self.scene.T_frame_solid[parts]
        rows, share = np.empty((len(touching), ROW)), np.empty(len(touching))
        for k in range(len(touching)):
            moving = np.ascontiguousarray(frames[:, k][:, frame[k]])
            share[k], step = last_free(self.scene.solids.arrays, *parts[k], moving, T[k], SHARES, limits[k], rows[k])
            _pull_back(rows[k], moving[step], moving[0])
        bodies = np.where(frame > 0, frame - 1, WORLD)
        own = parts[:, 1] < len(self.scene.arm.T_frame_solid)
        found = NearPoints(
            tuple(("", "") for _ in touching), rows[:, 0], rows[:, 1:4], rows[:, 4:7], np.zeros(len(rows)),
            rows[:, 7:10], bodies[:, 0], bodies[:, 1], own,
        )  # fmt: skip
        return found, motions, share


def _pull_back(row: Array, then: Array, now: Array) -> None:
    """Moves the points and the direction of a row with their bodies, whose poses are given, shape (2, 4, 4)."""
    back = [a @ np.linalg.inv(b) for a, b in zip(now, then)]
    row[1:4] = back[1][:3, :3] @ row[1:4]
    row[4:7] = back[0][:3, :3] @ row[4:7] + back[0][:3, 3]
    row[7:10] = back[1][:3, :3] @ row[7:10] + back[1][:3, 3]
    row[0] = row[1:4] @ (row[7:10] - row[4:7])


def cut_off(
    chain: Chain,
    q: ArrayLike,
    joints: JointSet,
    lifted: JointSet,
    security: float,
    contacts: tuple[NearPoints, Array, Array],
) -> JointSet:
    """A set of forward and backward motions without the corners that touch.

    Args:
        joints: Bounds of the motions.
        lifted: From `with_curvature`, from which corners are cut off.
        contacts: From `CornerCheck.first_contacts`.
    """
    near, motions, share = contacts
    A, b = motion_rows(chain, q, near, security)
    rows = with_curvature(chain, q, JointSet(joints.lower, joints.upper, A, b), near)
    reached = share[:, None] * motions
    y = np.concatenate([np.maximum(reached, 0.0), np.maximum(-reached, 0.0)], axis=1)
    value = np.einsum("kn,kn->k", rows.A, y)
    # A row that does not see the approach is replaced by one across the motion.
    blind = value <= 1e-6
    across = reached / np.maximum(np.abs(joints.lower), np.abs(joints.upper)).clip(1e-12) ** 2
    A = np.where(blind[:, None], np.concatenate([across, -across], axis=1), rows.A)
    b = np.where(blind, np.einsum("kn,kn->k", across, reached), np.clip(value, 0.0, rows.b))
    return lifted.with_rows(A, b)


@njit(cache=True, nogil=True)
def nearest_of_motions(  # type: ignore[no-untyped-def]
    solids, bound, T, first, frame, T_frame_solid, balls, frames, pairs, parts, limits, highest, distance, at
):
    """Writes the least distance of each pair of parts that is below its limit, and the configuration of it.

    Args:
        frames: Poses of the frames, shape (configurations, frames, 4, 4).
        pairs: First group, second group or number of groups + solid, and the range of their parts, shape (pairs, 4).
        parts: Solids, shape (part pairs, 2).
        limits: Per pair of parts [m].
        highest: Of the limits.
    """
    memory, out, centres = new_memory(), np.empty(ROW), np.empty((len(frame), 3))
    groups = len(frame)
    for c in range(len(frames)):
        place(first, frame, T_frame_solid, frames[c], balls, T, centres)
        for p in range(len(pairs)):
            a, b = pairs[p, 0], pairs[p, 1]
            x, y, z = centres[a, 0], centres[a, 1], centres[a, 2]
            if b < groups:
                x, y, z = x - centres[b, 0], y - centres[b, 1], z - centres[b, 2]
                size = balls[a, 3] + balls[b, 3]
            else:
                s = b - groups
                x, y, z = x - T[s, 0, 3], y - T[s, 1, 3], z - T[s, 2, 3]
                size = balls[a, 3] + bound[s]
            if (x * x + y * y + z * z) ** 0.5 - size > highest:
                continue
            for k in range(pairs[p, 2], pairs[p, 3]):
                limit = min(limits[k], distance[k])
                i, j = parts[k, 0], parts[k, 1]
                if ball_gap(bound, T, i, j) < limit:
                    separation(solids, i, T[i], j, T[j], limit, out, memory)
                    if out[0] < limit:
                        distance[k], at[k] = out[0], c


@njit(cache=True, nogil=True)
def last_free(solids, i, j, frames, T_frame_solid, shares, limit, row):  # type: ignore[no-untyped-def]
    """Writes the nearest points of two solids at the last share of a motion before they touch: there their direction is
    exact. Returns the share at which they touch, below 1, and the number of that of the points.

    Args:
        frames: Of both solids at all shares, shape (shares, 2, 4, 4).
        T_frame_solid: Shape (2, 4, 4).
        shares: Evenly spread from 0 to 1.
        limit: Distance below which they touch [m].
    """
    memory, after, T = new_memory(), np.empty(ROW), np.zeros((2, 4, 4))
    step = 0
    while step < len(shares):
        for side in range(2):
            for r in range(3):
                for c in range(4):
                    T[side, r, c] = frames[step, side, r, 3] if c == 3 else 0.0
                    for k in range(3):
                        T[side, r, c] += frames[step, side, r, k] * T_frame_solid[side, k, c]
        separation(solids, i, T[0], j, T[1], np.inf, after, memory)
        if step > 0 and after[0] < limit:
            break
        row[:] = after
        step += 1
    gone = (row[0] - limit) / max(row[0] - after[0], 1e-12)
    return min(shares[step - 1] + gone * shares[1], 1.0 - 1e-3), step - 1
