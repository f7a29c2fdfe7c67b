"""Rows of a servo cycle: how fast the arm may approach the objects near it and itself, computed in one compiled call.

`polytopes.near_points` gives up to four points per pair and their names; a cycle of some 100 µs has time for one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler import kernels_of
from ..geometry import RobotBody, WorldSnapshot
from ..geometry.body import link_frames
from ..geometry.gjk import BOX, CYLINDER, copy_row, new_memory, separation_from
from ..geometry.table_builder import groups_and_pairs
from ..jit import njit
from ..polytopes.constraints import obstacle_rows
from ..polytopes.near_points import TOUCHING_RADIUS, near_points
from ..polytopes.near_search import ROW, ball_gap, place
from ..polytopes.near_tables import SceneTables, scene_tables
from ..typing import Array
from .way_to_rest import set_levers


@dataclass(eq=False, slots=True)
class NearRows:
    """Speed of approach of near pairs per joint rate, and their distances."""

    rows: Array
    """Shape (count, n)."""
    distance: Array
    """[m], shape (count,)."""
    own: NDArray[np.bool_]
    """Whether both are parts of the arm, shape (count,)."""
    pair: NDArray[np.int64]
    """For `NearRowSearch.names`, shape (count,)."""


class NearRowSearch:
    """Near pairs of an arm and one snapshot of its world.

    Args:
        body: Of the robot.
        snapshot: Its world.
        influence: Distance within which objects count [m].
        self_influence: The same between two parts of the arm [m].
    """

    def __init__(self, body: RobotBody, snapshot: WorldSnapshot, influence: float, self_influence: float):
        self.body, self.snapshot, self.influence, self.self_influence = body, snapshot, influence, self_influence
        self.scene: SceneTables = scene_tables(body, snapshot)
        arm, chain = self.scene.arm, body.chain
        self._links = kernels_of(chain).link_poses
        self._mechanism = _mechanism(body)
        self._T = np.empty((len(self.scene.solids.kind), 4, 4))
        self._T[len(arm.T_frame_solid) :] = self.scene.T_base_object
        most = len(arm.pairs) + len(self.scene.pairs)
        self._found, self._owner = np.empty((most, ROW)), np.empty(most, np.int64)
        self._rows, self._distance, self._own = np.empty((most, chain.n)), np.empty(most), np.empty(most, np.bool_)
        # Of every pair of parts, and of every part and object, as found last; none at first.
        objects = len(self.scene.T_base_object)
        self._parts = np.column_stack([arm.parts, np.arange(len(arm.parts))])
        self._directions = np.zeros((len(arm.parts) + len(arm.T_frame_solid) * objects, 3))
        self._winners = np.full(most, -1, np.int64)
        self._centres, self._frames = np.empty((len(arm.groups), 3)), np.tile(np.eye(4), (len(chain.bodies) + 1, 1, 1))
        self._fields = WorldSnapshot(
            objects={item.name: item for item, _, _ in self.scene.fields},
            attached=snapshot.attached,
            allowed=snapshot.allowed,
        )
        self._field_names: list[tuple[str, str]] = []
        checked = groups_and_pairs(body, snapshot)[1]
        rare = np.array([(pair.first, pair.second) for pair in checked if not pair.comes_near], dtype=np.int64)
        pairs = np.concatenate([arm.pairs[:, :2], rare.reshape(-1, 2)])
        groups = len(arm.groups)
        self._clear, self._apart = np.full(groups, np.inf), np.empty(len(pairs))
        self._levers = np.zeros((groups, len(chain.bodies)))
        self._by_field = np.zeros(groups, dtype=np.bool_)
        for _, _, bounded in self.scene.fields:
            self._by_field |= bounded
        self.gaps = self._levers, self._clear, self._apart, pairs, arm.frame, self._mechanism
        """Arguments of `way_to_rest.set_weights`, as of the last call of `rows`."""

    def rows(self, q: Array) -> NearRows:
        """Rows at a configuration, shape (n,); views of buffers that are valid until the next call."""
        scene, arm = self.scene, self.scene.arm
        count = _near_rows(
            self._links.run(q), self._mechanism, scene.solids.arrays, scene.solids.bound, self._T, arm.first, arm.frame,
            arm.T_frame_solid, arm.balls, arm.pairs, self._parts, scene.pairs, self._centres, self._frames,
            self.influence, self.self_influence, self._found, self._owner, self._rows, self._distance, self._own,
            self._directions, self._winners, self.gaps, self._by_field,
        )  # fmt: skip
        found = NearRows(self._rows[:count], self._distance[:count], self._own[:count], self._owner[:count])
        return self._with_fields(q, found) if scene.fields else found

    def names(self, pair: int) -> tuple[str, str]:
        """Link, and the object or link near it."""
        scene, arm = self.scene, self.scene.arm
        if pair < len(arm.pairs):
            return arm.groups[arm.pairs[pair, 0]].name, arm.groups[arm.pairs[pair, 1]].name
        index = pair - len(arm.pairs)
        if index < len(scene.pairs):
            return arm.groups[scene.pairs[index, 0]].name, scene.object_names[scene.pairs[index, 1]]
        return self._field_names[index - len(scene.pairs)]

    def _with_fields(self, q: Array, found: NearRows) -> NearRows:
        """With the rows of point clouds and octomaps."""
        near = near_points(self.body, self._fields, q, influence=self.influence, per_pair=1, self_collision=False)
        self._field_names = list(near.names)
        first = len(self.scene.arm.pairs) + len(self.scene.pairs)
        return NearRows(
            np.concatenate([found.rows, obstacle_rows(self.body.chain, q, near)]),
            np.concatenate([found.distance, near.distance]),
            np.concatenate([found.own, np.zeros(len(near), dtype=np.bool_)]),
            np.concatenate([found.pair, first + np.arange(len(near))]),
        )


def _mechanism(body: RobotBody) -> tuple[NDArray[Any], ...]:
    """Per frame: a link in it, its rotation and position there; per body: axis, joint of q, ratio, kind, ancestors."""
    chain = body.chain
    count = len(chain.bodies)
    link, R, p = np.zeros(count + 1, np.int64), np.zeros((count + 1, 3, 3)), np.zeros((count + 1, 3))
    for index, (name, (rotation, position)) in enumerate(link_frames(chain).items()):
        frame = body.frame_of(name)
        if frame > 0:
            link[frame], R[frame], p[frame] = index, rotation, position
    axis = np.array([item.axis for item in chain.bodies], dtype=np.float64)
    dof = np.array([item.dof for item in chain.bodies], dtype=np.int64)
    ratio = np.array([item.ratio for item in chain.bodies], dtype=np.float64)
    revolute = np.array([item.revolute for item in chain.bodies], dtype=np.bool_)
    parent = np.array([item.parent for item in chain.bodies], dtype=np.int64)
    return link, R, p, axis, dof, ratio, revolute, parent


@njit(cache=True, nogil=True)
def _is_far(solids, bound, T, part, solid, reach):  # type: ignore[no-untyped-def]
    """Whether a part of the arm is proved farther from an object than `reach` by balls, cylinder axes and boxes."""
    kind, size, ball = solids[0], solids[3], solids[4]
    x, y, z = T[part, 0, 3] - T[solid, 0, 3], T[part, 1, 3] - T[solid, 1, 3], T[part, 2, 3] - T[solid, 2, 3]
    square, within = x * x + y * y + z * z, bound[part] + bound[solid] + reach
    if square > within * within:
        return True
    if kind[part] == CYLINDER:
        along = T[part, 0, 2] * x + T[part, 1, 2] * y + T[part, 2, 2] * z
        beyond = max(abs(along) - size[part, 2], 0.0)
        across = (max(square - along * along, 0.0)) ** 0.5 - size[part, 0]
        within = bound[solid] + ball[part] + reach
        if across > within or (across > 0.0 and across * across + beyond * beyond > within * within):
            return True
    if kind[solid] == BOX:
        outside = 0.0
        for c in range(3):
            beyond = abs(T[solid, 0, c] * x + T[solid, 1, c] * y + T[solid, 2, c] * z) - size[solid, c]
            outside += max(beyond, 0.0) ** 2
        within = bound[part] + ball[solid] + reach
        return outside > within * within
    return False


@njit(cache=True, nogil=True)
def _nearest(solids, bound, T, parts, start, end, reach, directions, winner, out, trial, memory):  # type: ignore[no-untyped-def]
    """Writes the nearest points of some pairs of parts; returns their distance, or the reach if that is less.

    Args:
        parts: Both solids and the row of `directions`, shape (pairs, 3).
        directions: Of the cycle before; the search continues from them, and those found are written there.
        winner: Row of `directions` of the pair that was nearest in the cycle before; it is likely to be so again, and
            the others are then proved to be farther by one direction.

    Returns:
        The distance, and the new winner.
    """
    least, n, before = reach, memory[2][3], winner
    for turn in range(2):
        for p in range(start, end):
            i, j, at = parts[p, 0], parts[p, 1], parts[p, 2]
            if (at == before) != (turn == 0) or ball_gap(bound, T, i, j) >= least:
                continue
            for r in range(3):
                n[r] = directions[at, r]
            if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
                for r in range(3):
                    n[r] = T[j, r, 3] - T[i, r, 3]
            separation_from(solids, i, T[i], j, T[j], least, trial, memory)
            for r in range(3):
                directions[at, r] = trial[1 + r]
            if trial[0] < least:
                least, winner = trial[0], at
                copy_row(trial, out)
    return least, winner


@njit(cache=True, nogil=True)
def _near_rows(  # type: ignore[no-untyped-def]
    links, mechanism, solids, bound, T, first, frame, T_frame_solid, balls, pairs, parts, object_pairs, centres, frames,
    influence, self_influence, found, owner, rows, distance, own, directions,
    winners, gaps, by_field,
):  # fmt: skip
    """Writes one near point and its row per near pair, and distances of all pairs; returns how many are near."""
    levers, clear, apart, all_pairs, _, _ = gaps
    link, R, p, axis, dof, ratio, revolute, parent = mechanism
    for f in range(1, len(link)):
        L = links[link[f]]
        for r in range(3):
            frames[f, r, 3] = L[r, 3]
            for c in range(3):
                frames[f, r, c] = L[r, 0] * R[f, c, 0] + L[r, 1] * R[f, c, 1] + L[r, 2] * R[f, c, 2]
                frames[f, r, 3] -= frames[f, r, c] * p[f, c]
    place(first, frame, T_frame_solid, frames, balls, T, centres)
    set_levers(frames, centres, balls, frame, mechanism, levers)
    for g in range(len(first) - 1):
        clear[g] = -np.inf if by_field[g] else np.inf
    for k in range(len(pairs), len(all_pairs)):
        a, b = all_pairs[k, 0], all_pairs[k, 1]
        x, y, z = centres[a, 0] - centres[b, 0], centres[a, 1] - centres[b, 1], centres[a, 2] - centres[b, 2]
        apart[k] = math.sqrt(x * x + y * y + z * z) - balls[a, 3] - balls[b, 3]
    objects_at = len(T_frame_solid)
    memory = new_memory()
    widest = 0
    for g in range(len(first) - 1):
        widest = max(widest, first[g + 1] - first[g])
    near_parts = np.empty((widest, 3), np.int64)
    trial = np.empty(ROW)
    total = 0
    for k in range(len(pairs) + len(object_pairs)):
        if k < len(pairs):
            a, b = pairs[k, 0], pairs[k, 1]
            reach, body_b = self_influence, frame[b] - 1
            x, y, z = centres[a, 0] - centres[b, 0], centres[a, 1] - centres[b, 1], centres[a, 2] - centres[b, 2]
            gap = math.sqrt(x * x + y * y + z * z) - balls[a, 3] - balls[b, 3]
            apart[k] = gap
            if gap > reach:
                continue
            start, end = pairs[k, 2], pairs[k, 3]
            gap, winners[k] = _nearest(
                solids, bound, T, parts, start, end, reach, directions, winners[k], found[total], trial, memory
            )
        else:
            a, solid = object_pairs[k - len(pairs), 0], objects_at + object_pairs[k - len(pairs), 1]
            reach, body_b = influence, -1
            x, y, z = centres[a, 0] - T[solid, 0, 3], centres[a, 1] - T[solid, 1, 3], centres[a, 2] - T[solid, 2, 3]
            gap = math.sqrt(x * x + y * y + z * z) - balls[a, 3] - bound[solid]
            if gap > reach:
                clear[a] = min(clear[a], gap)
                continue
            count = 0
            for s in range(first[a], first[a + 1]):
                if not _is_far(solids, bound, T, s, solid, reach):
                    near_parts[count, 0], near_parts[count, 1] = s, solid
                    near_parts[count, 2] = len(parts) + s * (len(T) - objects_at) + solid - objects_at
                    count += 1
            gap, winners[k] = _nearest(
                solids, bound, T, near_parts, 0, count, reach, directions, winners[k], found[total], trial, memory
            )
        if k < len(pairs):
            apart[k] = gap
        else:
            clear[a] = min(clear[a], gap)
        if gap >= reach:
            continue
        row = found[total]
        for j in range(rows.shape[1]):
            rows[total, j] = 0.0
        for side in range(2):
            body, sign = (frame[a] - 1, 1.0) if side == 0 else (body_b, -1.0)
            # The point of the link is the centre of a ball that touches it from inside.
            at, inside = (4, TOUCHING_RADIUS) if side == 0 else (7, 0.0)
            while body >= 0:
                F, u = frames[body + 1], axis[body]
                x = F[0, 0] * u[0] + F[0, 1] * u[1] + F[0, 2] * u[2]
                y = F[1, 0] * u[0] + F[1, 1] * u[1] + F[1, 2] * u[2]
                z = F[2, 0] * u[0] + F[2, 1] * u[1] + F[2, 2] * u[2]
                if revolute[body]:
                    d0 = row[at] - inside * row[1] - F[0, 3]
                    d1 = row[at + 1] - inside * row[2] - F[1, 3]
                    d2 = row[at + 2] - inside * row[3] - F[2, 3]
                    x, y, z = y * d2 - z * d1, z * d0 - x * d2, x * d1 - y * d0
                rows[total, dof[body]] += sign * ratio[body] * (row[1] * x + row[2] * y + row[3] * z)
                body = parent[body]
        owner[total], distance[total], own[total] = k, row[0], k < len(pairs)
        total += 1
    return total
