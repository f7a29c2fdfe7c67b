"""Inverse reachability map: where the base may stand, seen from the tip.

Every configuration of a reachability map is a pose of the base in the frame of the tip. Transformed to a grasp, these
are poses of the base in the world. On a floor only those remain that stand upright at its height. Where the last joint
turns, it is turned until the base is upright, and where the first one turns about the floor's normal, the base takes
every heading that its limits leave: a map of some 10⁵ configurations then covers the floor densely.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import ik, lie
from ..compiler import kernels_of
from ..errors import InputError, ShapeError
from ..ik.bounds import search_bounds
from ..model.chain import Chain
from ..typing import Array
from .grid4 import TURN
from .grid6 import PoseGrid
from .map_checks import inverse_problem
from .placement import BasePlacement, Combine, Floor, PlacementMap, combined
from .reach_map import ReachMap
from .storage import FORMAT, InvalidMap, identity, read_archive, require_same, versions, write_archive

SLACK = {4: 1.1, 6: 0.5}
"""An entry stands on a floor if its height and tilt differ by at most this share of a cell; by dimensions of the map.
Maps of four dimensions have one entry where others have many."""
ROLLS = 96
"""Turns of the last joint that are tried where each of them leaves the base upright."""
PARALLEL = 1e-6
"""The first joint turns about the floor's normal if their directions differ by less [rad]."""


@dataclass(frozen=True, eq=False)
class InverseMap:
    """Poses of the base in the frame of the tip; made by `InverseMap.build` or `InverseMap.load`."""

    chain: Chain
    q: NDArray[np.float32]
    """A configuration per entry [rad or m], shape (count, n)."""
    quality: NDArray[np.float32]
    """Of each entry, shape (count,)."""
    resolution: float
    """Width of a cell of the reachability map [m]."""
    tilt_width: float
    """Angle across one [rad]."""
    slack: float
    """By how much of a cell the height and the tilt of an entry may differ from those of a floor."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """Of the reachability map that it was made from."""

    @classmethod
    def build(cls, reach: ReachMap, *, penalised: bool = True) -> InverseMap:
        """The inverse of a reachability map.

        Args:
            penalised: Score by the quality in which joint limits count.
        """
        tilts = reach.grid.tilts if isinstance(reach.grid, PoseGrid) else reach.grid.shape[1]
        quality = reach.penalised if penalised else reach.best
        good = quality > 0.0
        return cls(
            reach.chain,
            reach.seed[good],
            quality[good],
            reach.grid.resolution,
            np.pi / tilts,
            SLACK[6 if isinstance(reach.grid, PoseGrid) else 4],
            dict(reach.attributes),
        )

    def __len__(self) -> int:
        return len(self.q)

    @cached_property
    def T_tip_base(self) -> Array:
        """Poses of the base in the frame of the tip, shape (count, 4, 4)."""
        return lie.inverse(kernels_of(self.chain).forward.run(self.q.astype(np.float64)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the map atomically; HDF5 if the name ends so, else NumPy's format."""
        attributes = {
            **self.attributes,
            "format": FORMAT,
            "kind": "inverse",
            "identity": identity(self.chain),
            "resolution": self.resolution,
            "tilt_width": self.tilt_width,
            "slack": self.slack,
            "versions": versions(),
        }
        write_archive(Path(path), attributes, {"q": self.q, "quality": self.quality})

    @classmethod
    def load(cls, path: str | os.PathLike[str], chain: Chain) -> InverseMap:
        """Reads a map for an arm.

        Raises:
            MapMismatch: If it was made for an arm with another geometry, other limits or other ends.
            InvalidMap: If it is something else.
        """
        file = Path(path)
        attributes, tables = read_archive(file)
        if attributes.get("kind") != "inverse" or not {"q", "quality"} <= tables.keys():
            raise InvalidMap(file, "is not an inverse map")
        require_same(file, attributes.get("identity"), identity(chain))
        known = ("format", "kind", "identity", "resolution", "tilt_width", "slack", "versions")
        rest = {name: value for name, value in attributes.items() if name not in known}
        try:
            resolution, tilt_width, slack = (float(attributes[name]) for name in ("resolution", "tilt_width", "slack"))
        except (LookupError, TypeError, ValueError) as error:
            raise InvalidMap(file, f"has no valid resolution ({error})") from error
        problem = inverse_problem(tables, (resolution, tilt_width, slack), chain)
        if problem:
            raise InvalidMap(file, problem)
        return cls(chain, tables["q"], tables["quality"], resolution, tilt_width, slack, rest)

    def at(self, T_world_tip: ArrayLike) -> Array:
        """Poses of the base in the world for a grasp, of every entry: T_world_base, shape (count, 4, 4)."""
        return _pose(T_world_tip) @ self.T_tip_base

    def on_floor(
        self,
        grasps: ArrayLike,
        floor: Floor = Floor(),  # noqa: B008  (frozen)
        *,
        combine: Combine = Combine.MINIMUM,
        headings: int = 16,
    ) -> PlacementMap:
        """Scores of places on a floor, from the entries that stand on it for each of the grasps.

        Args:
            grasps: Poses of the tip T_world_tip, shape (4, 4) or (grasps, 4, 4).
            headings: Directions of the base.
        """
        T = np.asarray(grasps, dtype=np.float64)
        if T.ndim not in (2, 3) or T.shape[-2:] != (4, 4) or not T.size:
            raise ShapeError("grasps", "(4, 4) or (grasps, 4, 4), at least one", T.shape)
        if headings < 1:
            raise InputError(f"headings is {headings}; give at least 1")
        T = T.reshape(-1, 4, 4)
        found = [self._standing(grasp, floor, headings) for grasp in T]
        step = self.resolution
        low = np.max([rows[:, :2].min(axis=0, initial=np.inf) for rows, _ in found], axis=0)
        high = np.min([rows[:, :2].max(axis=0, initial=-np.inf) for rows, _ in found], axis=0)
        angle = TURN * np.arange(headings) / headings
        if not (high >= low).all():
            return PlacementMap(np.zeros(0), np.zeros(0), angle, np.zeros((0, 0, headings)), T, floor)
        first, last = np.round(low / step).astype(int), np.round(high / step).astype(int)
        shape = (*(last - first + 1), headings)
        scores = np.zeros((len(T), *shape))
        for score, (rows, quality) in zip(scores, found):
            i, j = (np.round(rows[:, k] / step).astype(int) - first[k] for k in range(2))
            inside = (i >= 0) & (j >= 0) & (i < shape[0]) & (j < shape[1])
            np.maximum.at(score, (i[inside], j[inside], rows[inside, 2].astype(int)), quality[inside])
        x, y = (step * np.arange(first[k], last[k] + 1) for k in range(2))
        total = combined(scores.reshape(len(T), -1), combine).reshape(shape)
        total[~floor.allows(*np.meshgrid(x, y, angle, indexing="ij"))] = 0.0
        return PlacementMap(x, y, angle, total, T, floor)

    def place(
        self,
        grasps: ArrayLike,
        floor: Floor = Floor(),  # noqa: B008  (frozen)
        *,
        count: int = 5,
        apart: float = 0.1,
        combine: Combine = Combine.MINIMUM,
        headings: int = 16,
        collision: Callable[[Array, Array], NDArray[np.bool_]] | None = None,
    ) -> list[BasePlacement]:
        """The best places, each with configurations that inverse kinematics has found for every grasp, best first.

        Args:
            count: How many, at most.
            apart: Least distance between two of them [m].
            collision: Takes T_world_base (4, 4) and configurations (N, n), gives True for each that collides.
        """
        scored = self.on_floor(grasps, floor, combine=combine, headings=headings)
        found: list[BasePlacement] = []
        for x, y, heading, score in scored.ranked():
            if len(found) == count:
                break
            if any(np.hypot(x - other.x, y - other.y) < apart for other in found):
                continue
            T_world_base = floor.bases(np.array(x), np.array(y), np.array(heading))
            check = None if collision is None else lambda q, T=T_world_base: collision(T, q)
            answers = [
                ik.solve(self.chain, lie.inverse(T_world_base) @ grasp, collision=check) for grasp in scored.grasps
            ]
            if all(answer.solved for answer in answers):
                q = np.array([answer.q for answer in answers])
                found.append(BasePlacement(T_world_base, x, y, heading, score, q))
        return found

    def _standing(self, T_world_tip: Array, floor: Floor, headings: int) -> tuple[Array, NDArray[np.float32]]:
        """Entries that stand on a floor for a grasp: x and y [m] and number of the heading, (count, 3); quality."""
        normal = floor.T_world_floor[:3, 2] @ T_world_tip[:3, :3]
        up = self.T_tip_base[:, :3, :3] @ floor.T_floor_base[2, :3]
        bounds, joints = search_bounds(self.chain, True), self.q.astype(np.float64)
        T_tip_base, chosen = self.T_tip_base, np.arange(len(self))
        if self._ends[1] is not None:
            axis, point = self._ends[1]
            tilt, wanted = np.arccos(np.clip(up @ axis, -1, 1)), float(np.arccos(np.clip(normal @ axis, -1, 1)))
            chosen = np.flatnonzero(np.abs(tilt - wanted) <= self.slack * self.tilt_width)
            up = up[chosen]
            turn = np.arctan2(np.cross(up, normal) @ axis, up @ normal - (up @ axis) * (normal @ axis))
            # With its axis along the normal the last joint leaves the base upright at every turn.
            turns = ROLLS if min(wanted, np.pi - wanted) < self.tilt_width else 1
            chosen = np.repeat(chosen, turns)
            turn = (turn[:, None] + TURN * np.arange(turns) / turns).ravel()
            open_ = _within(joints[chosen, -1] - turn, bounds.lower[-1], bounds.upper[-1])
            chosen = chosen[open_]
            T_tip_base = _turned(axis, point, turn[open_]) @ T_tip_base[chosen]
        upright = np.arccos(np.clip(T_tip_base[:, :3, :3] @ floor.T_floor_base[2, :3] @ normal, -1.0, 1.0))
        level = upright <= self.slack * self.tilt_width
        T_tip_base, chosen = T_tip_base[level], chosen[level]
        T_world_base = T_world_tip @ T_tip_base
        places = lie.inverse(floor.T_world_floor) @ T_world_base @ lie.inverse(floor.T_floor_base)
        level = np.abs(places[:, 2, 3]) <= self.slack * self.resolution
        chosen, places = chosen[level], places[level]
        heading = np.arctan2(places[:, 1, 0], places[:, 0, 0])
        width = TURN / headings
        axis_base = self._ends[0]
        if axis_base is None or np.linalg.norm(np.cross(axis_base[0], floor.T_floor_base[2, :3])) > PARALLEL:
            nearest = np.round(heading / width).astype(int) % headings
            return np.column_stack([places[:, :2, 3], nearest]), self.quality[chosen]
        axis, point = axis_base
        sign = np.sign(axis @ floor.T_floor_base[2, :3])
        rows, quality = [], []
        for number in range(headings):
            # The base turns about its first joint, which turns back as far.
            forward = sign * (number * width - heading)
            open_ = _within(joints[chosen, 0] - forward, bounds.lower[0], bounds.upper[0])
            back = floor.T_floor_base @ _turned(axis, point, forward[open_]) @ lie.inverse(floor.T_floor_base)
            moved = (places[open_] @ back)[:, :2, 3]
            rows.append(np.column_stack([moved, np.full(len(moved), number)]))
            quality.append(self.quality[chosen[open_]])
        return np.concatenate(rows), np.concatenate(quality)

    @cached_property
    def _ends(self) -> tuple[tuple[Array, Array] | None, tuple[Array, Array] | None]:
        """Axis and a point of it: of the first joint in the base frame, of the last one in the tip's; None if unfit."""
        bodies, chain = self.chain.bodies, self.chain
        serial = all(body.parent == index - 1 and body.dof == index for index, body in enumerate(bodies))
        carrier, T_body_tip = chain.link_placements[chain.link_names.index(chain.tip)]
        if not bodies or not serial or carrier != len(bodies) - 1:
            return None, None
        first, last = bodies[0], bodies[-1]
        T = first.T_parent_body
        base = (T[:3, :3] @ first.axis, T[:3, 3]) if first.revolute and first.ratio == 1.0 else None
        T = lie.inverse(T_body_tip)
        tip = (T[:3, :3] @ last.axis, T[:3, 3]) if last.revolute and last.ratio == 1.0 else None
        return base, tip


def _pose(T: ArrayLike) -> Array:
    pose = np.asarray(T, dtype=np.float64)
    if pose.shape != (4, 4):
        raise ShapeError("T_world_tip", "(4, 4)", pose.shape)
    return pose


def _within(angle: Array, low: float, high: float) -> NDArray[np.bool_]:
    """Which angles lie between limits, whole turns added."""
    return angle - TURN * np.floor((angle - low) / TURN) <= high


def _turned(axis: Array, point: Array, angle: Array) -> Array:
    """Rotations about a line, shape (count, 4, 4)."""
    T = np.tile(np.eye(4), (len(angle), 1, 1))
    T[:, :3, :3] = lie.exp_so3(angle[:, None] * axis)
    T[:, :3, 3] = point - T[:, :3, :3] @ point
    return T
