"""Collision forecast: how fast an arm may go on so that it still stops before contact.

From the measured state the arm is followed along the part of its trajectory that lies ahead, or, where there is none,
along the path of a hold: constant velocity for the reaction time, then the stop profile. All configurations of that
path are compared with the world and with the arm itself in one batch each, by a robot that is thicker by a margin.

An arm that is within the margin already may move on as long as it does not come nearer; otherwise it could never leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from .. import kinematics
from ..checks import positive
from ..errors import InputError, ShapeError
from ..geometry import Checker, RobotBody, WorldSnapshot
from ..geometry.body import link_frames
from ..geometry.table_builder import groups_and_pairs
from ..lie import inverse
from ..trajectory import BrakingLimits
from ..trajectory.stopping import stop_durations, stopping_path
from ..typing import Array
from .space import reaches_of

LEVELS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
"""Shares of the margin that a clearance is rounded down to."""
FLOOR = 3
"""Index of the level from which on the arm must not come nearer at all."""
PULSE = 10
"""Forecasts in a row that hold the arm after it crept to the floor or below, so that none of them can be missed."""
TOUCH_SAMPLES = 12
"""Configurations along a path at which distances are compared for an arm in contact."""
DISTANCE_TOLERANCE = 1e-4
"""Loss of distance that counts as none for an arm in contact [m]."""
OFF_PATH = 0.1
"""An arm this far from its trajectory is not following it [rad or m]."""
CLOCK_LAG = 0.1
"""Time constant with which the rate of a trajectory follows the rate that is asked for [s]."""
SLOWEST_CHANGE, FASTEST_CHANGE = 0.5, 50.0
"""Bounds on how fast that rate changes [1/s], as the executor has them."""
HOLD_BELOW = 0.05
"""An allowed rate below this is a hold."""


@dataclass(frozen=True)
class ForecastSettings:
    """What a forecast counts with."""

    reaction_time: float = 0.05
    """From a measurement to the effort that answers the forecast made from it [s]."""
    margin: float = 0.005
    """Distance to the world that is kept [m]."""
    self_margin: float = 0.002
    """Distance between links that is kept [m]; neighbouring links of some arms are nearer than 4 mm all the time."""
    velocity_noise: float = 0.02
    """Joint velocities below this are taken for noise [rad/s or m/s]."""
    step: float = 0.004
    """Largest motion of any point of the arm between two checked configurations [m]."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            positive(getattr(self, name), name, "s, m or rad/s")
        if self.step >= 2.0 * self.margin:
            raise InputError(f"step is {self.step:g} m; give less than twice the margin of {self.margin:g} m")


@dataclass(frozen=True, eq=False)
class PathPreview:
    """The part of a trajectory that lies ahead."""

    positions: Array
    """Rows of joint positions [rad or m], the present reference first, shape (rows, n)."""
    spacing: float
    """Trajectory time between two rows [s]."""
    rate: float = 1.0
    """Trajectory seconds per second now."""

    def later(self, seconds: float) -> PathPreview | None:
        """The same as it looks after a time [s]; None if less than three rows would be left."""
        skipped = self.rate * seconds / self.spacing
        if skipped <= 0.0:
            return self
        first = int(skipped)
        rows = self.positions[first:]
        if len(rows) < 4:
            return None
        share = skipped - first
        return replace(self, positions=rows[:-1] + share * np.diff(rows, axis=0))


@dataclass(frozen=True)
class CollisionForecast:
    """How free the way is."""

    speed: float
    """Share of full speed at which trajectories may run: 1 free, 0 brake and hold at once."""
    link: str = ""
    """Link, or carried object, that comes near something; empty while the way is free."""
    other: str = ""
    """What it comes near: an object of the world, or another link."""


FREE = CollisionForecast(1.0)


class CollisionForecaster:
    """Forecasts for one arm in a world that may change between calls. For one thread.

    Args:
        body: The arm.
        bounds: How hard a hold brakes, and how hard a trajectory slows down.
        settings: Reaction time and margins.
    """

    def __init__(self, body: RobotBody, bounds: BrakingLimits, settings: ForecastSettings | None = None):
        self.body, self.bounds = body, bounds
        self.settings = settings or ForecastSettings()
        # World and arm each have a margin of their own: neighbouring links are always close to each other.
        self._world = _WorldClearance(replace(body, pairs=()), self.settings.margin)
        self._arm = _SelfClearance(body, self.settings.self_margin)
        self._snapshot: WorldSnapshot | None = None
        self._reaches = np.zeros(body.chain.n)

    def forecast(
        self, q: Array, qd: Array, snapshot: WorldSnapshot, path: PathPreview | None = None
    ) -> CollisionForecast:
        """The forecast for a measured state.

        Args:
            q: Joint positions [rad or m], shape (n,).
            qd: Joint velocities [rad/s or m/s], shape (n,).
            snapshot: The world.
            path: What the arm is about to do; not given: a hold is assumed.
        """
        n = self.body.chain.n
        for name, values in (("q", q), ("qd", qd)):
            if values.shape != (n,):
                raise ShapeError(name, f"({n},)", values.shape)
        if not (np.isfinite(q).all() and np.isfinite(qd).all()):
            return CollisionForecast(0.0, other="a joint state that is not finite")
        if snapshot is not self._snapshot:
            self._snapshot, self._reaches = snapshot, reaches_of(self.body, snapshot)
            self._world.change(snapshot)
            self._arm.change(snapshot)
        clearances = (self._world, self._arm)
        crept = [clearance for clearance in clearances if clearance.measure(q)]
        if crept:
            return CollisionForecast(0.0, *crept[0].nearest(q))
        if path is not None and not _follows(path, q):
            path = None
        rows, times, drifts = self._rows(q, qd, path)
        hits = [clearance.first_hit(rows, path is not None and not drifts) for clearance in clearances]
        found = [(index, clearance) for index, clearance in zip(hits, clearances) if index >= 0]
        if not found:
            return FREE
        index, clearance = min(found, key=lambda entry: entry[0])
        near = clearance.nearest(rows[index])
        if path is None:
            return CollisionForecast(0.0, *near)
        if drifts:
            # Slowing the trajectory down does not help against a motion away from it.
            still, times, _ = self._rows(q, qd, path, drift=False)
            found_still = [hit for clearance in clearances if (hit := clearance.first_hit(still, True)) >= 0]
            if not found_still:
                return CollisionForecast(0.0, *near)
            index = min(found_still)
        return CollisionForecast(self._allowed_rate(path, float(times[max(index - 1, 0)])), *near)

    def _rows(self, q: Array, qd: Array, path: PathPreview | None, drift: bool = True) -> tuple[Array, Array, bool]:
        """Configurations ahead (rows, n), so dense that no point moves farther than the step between two of them;
        their times [s], of the trajectory if there is one; and whether the arm drifts off its trajectory.
        """
        s, brake = self.settings, self.bounds.brake
        if path is None:
            velocity = _beyond(qd, s.velocity_noise)
            end = s.reaction_time + (float(stop_durations(velocity, brake).max()) if velocity.any() else 0.0)
            count = math.ceil(float(self._reaches @ np.abs(velocity)) * end / s.step) + 2
            times = np.linspace(0.0, end, count)
            return stopping_path(q, velocity, brake, s.reaction_time, times), times, bool(velocity.any())
        ahead, spacing = path.positions - path.positions[0], path.spacing
        # On its trajectory the arm may pass at the floor of the margin, so the samples are closer together.
        step = min(s.step, 2.0 * LEVELS[FLOOR] * s.margin)
        counts = np.ceil(np.abs(np.diff(ahead, axis=0)) @ self._reaches / step).astype(np.int64)
        counts = np.maximum(counts, 1)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.append(np.repeat(np.arange(len(counts)), counts) + within / np.repeat(counts, counts), len(counts))
        first = np.minimum(places.astype(np.int64), len(counts) - 1)
        rows = q + ahead[first] + (places - first)[:, None] * (ahead[first + 1] - ahead[first])
        times = places * spacing
        if not drift:
            return rows, times, False
        expected = path.rate * (4.0 * ahead[1] - ahead[2]) / (2.0 * spacing)
        velocity = _beyond(_across(qd - expected, expected), s.velocity_noise + 0.05 * np.abs(expected))
        if velocity.any():
            rows = rows + stopping_path(np.zeros_like(q), velocity, brake, s.reaction_time, times)
        return rows, times, bool(velocity.any())

    def _allowed_rate(self, path: PathPreview, time: float) -> float:
        """Rate of a trajectory whose clock must stop within a trajectory time [s]; 0: it cannot any more."""
        speeds = np.abs(np.diff(path.positions, axis=0)).max(axis=0) / path.spacing
        longest = float(np.max(speeds / self.bounds.acceleration))
        change = min(FASTEST_CHANGE, max(SLOWEST_CHANGE, 1.0 / longest)) if longest > 0.0 else FASTEST_CHANGE
        reaction, rate = self.settings.reaction_time, path.rate
        if time <= rate * (CLOCK_LAG + reaction) + 0.5 * rate * rate / change:
            return 0.0
        # The largest r with r lag + r² / (2 change) = time, with twice the lag and less than the full change, so that
        # the clock can follow.
        lag, change = 2.0 * (CLOCK_LAG + reaction), 0.7 * change
        allowed = change * (math.sqrt(lag * lag + 2.0 * time / change) - lag)
        return 0.0 if allowed < HOLD_BELOW else min(allowed, 1.0)


class _Clearance:
    """How near the arm is to one kind of obstacle, and whether a path brings it nearer."""

    def __init__(self, body: RobotBody, margin: float):
        self._checker = Checker(body)
        self._paddings = tuple(share * margin for share in LEVELS)
        self._snapshot = WorldSnapshot()
        self._level: int | None = 0
        """Of the last measurement; index of the levels, None in contact."""
        self._nearest_level: int | None = None
        """The nearest that the arm has been in this world; None before the first measurement."""
        self._pulse = 0
        self._start = np.zeros(body.chain.n)

    def change(self, snapshot: WorldSnapshot) -> None:
        """Another world."""
        self._snapshot = self._of(snapshot)
        self._nearest_level = None

    def measure(self, q: Array) -> bool:
        """Takes note of a configuration; True: the arm crept to the floor, or farther, without a forecast of it."""
        self._start = q
        self._level = next((i for i, p in enumerate(self._paddings) if not self._hits(p, q[None]).any()), None)
        depth = len(LEVELS) if self._level is None else self._level
        before, self._nearest_level = self._nearest_level, depth
        if before is not None:
            if depth > before and depth >= FLOOR:
                self._pulse = PULSE
            elif before - 2 < depth <= before:
                self._nearest_level = before  # one level back and forth is noise
        self._pulse = max(self._pulse - 1, 0)
        return self._pulse > 0

    def first_hit(self, rows: Array, followed: bool) -> int:
        """First configuration of a path that comes too near; -1: none does.

        Args:
            followed: The arm follows the path closely, so that the floor is margin enough: a planner may have had no
                room for more.
        """
        if self._level is None:
            return self._first_nearer(rows)
        # Between margin and floor a millimetre less is noise; below the floor nothing is.
        level = self._level + 1 if 0 < self._level < FLOOR else self._level
        level = max(level, FLOOR) if followed else level
        hits = np.flatnonzero(self._hits(self._paddings[level], rows))
        return int(hits[0]) if len(hits) else -1

    def nearest(self, q: Array) -> tuple[str, str]:
        """Names of the two that are nearest to each other at a configuration."""
        distances, names = self._distances(q[None])
        return names[int(distances[0].argmin())] if len(names) else ("", "")

    def _first_nearer(self, rows: Array) -> int:
        """First configuration at which a pair that is in contact now, by its covering spheres, is nearer still."""
        chosen = np.unique(np.linspace(0, len(rows) - 1, TOUCH_SAMPLES).astype(np.int64))
        distances, _ = self._distances(np.vstack([self._start, rows[chosen]]))
        allowed = np.minimum(distances[0], 0.0) - DISTANCE_TOLERANCE
        nearer = np.flatnonzero((distances[1:] < allowed).any(axis=1))
        return int(chosen[nearer[0]]) if len(nearer) else -1

    def _hits(self, padding: float, rows: Array) -> NDArray[np.bool_]:
        return self._checker.padded(padding).check(rows, snapshot=self._snapshot)

    def _of(self, snapshot: WorldSnapshot) -> WorldSnapshot:
        """The part of a world that counts here."""
        raise NotImplementedError

    def _distances(self, rows: Array) -> tuple[Array, list[tuple[str, str]]]:
        """Distances by covering spheres [m], shape (rows, pairs), and the names of the pairs."""
        raise NotImplementedError


class _WorldClearance(_Clearance):
    """Clearance of the arm and its load to the objects of the world."""

    def _of(self, snapshot: WorldSnapshot) -> WorldSnapshot:
        names = [*(group.name for group in self._checker.body.groups), *snapshot.attached]
        own = {frozenset({a, b}) for a in snapshot.attached for b in names if a != b}
        return replace(snapshot, allowed=snapshot.allowed | own)

    def _distances(self, rows: Array) -> tuple[Array, list[tuple[str, str]]]:
        found = self._checker.distances(rows, snapshot=self._snapshot)
        objects = found.object_index[0]
        names = [(link, found.object_names[i] if i >= 0 else "") for link, i in zip(found.links, objects)]
        return found.distance.astype(np.float64), names


class _SelfClearance(_Clearance):
    """Clearance between the links of the arm, and between them and what they carry."""

    def _of(self, snapshot: WorldSnapshot) -> WorldSnapshot:
        return replace(snapshot, objects=MappingProxyType({}))

    def _distances(self, rows: Array) -> tuple[Array, list[tuple[str, str]]]:
        body = self._checker.body
        groups, pairs = groups_and_pairs(body, self._snapshot)
        chain, frames = body.chain, link_frames(body.chain)
        poses = kinematics.link_poses(chain, rows)
        placed: dict[int, Array] = {0: np.broadcast_to(np.eye(4), (len(rows), 4, 4))}
        for number, name in enumerate(chain.link_names):
            T_frame_link = np.eye(4)
            T_frame_link[:3, :3], T_frame_link[:3, 3] = frames[name]
            placed[body.frame_of(name)] = poses[:, number] @ inverse(T_frame_link)
        distances = np.full((len(rows), len(pairs)), np.inf)
        middles = [_moved(placed[group.frame], group.centre[None])[:, 0] for group in groups]
        bounds = np.array(
            [
                np.linalg.norm(middles[p.first] - middles[p.second], axis=1).min()
                - groups[p.first].reach
                - groups[p.second].reach
                for p in pairs
            ]
        )
        # Pairs whose enclosing balls are apart are not in contact; of those the nearest alone is of interest.
        for column in np.flatnonzero(bounds <= max(0.0, float(bounds.min(initial=0.0)))):
            pair = pairs[column]
            first, second = groups[pair.first], groups[pair.second]
            a, b = (_moved(placed[group.frame], group.spheres[:, :3]) for group in (first, second))
            gaps = np.linalg.norm(a[:, :, None] - b[:, None], axis=-1)
            distances[:, column] = (gaps - first.spheres[:, None, 3] - second.spheres[:, 3]).min(axis=(1, 2))
        return distances, [(groups[pair.first].name, groups[pair.second].name) for pair in pairs]


def _moved(T: Array, points: Array) -> Array:
    """Points (p, 3) under each of some poses (r, 4, 4), shape (r, p, 3)."""
    moved: Array = np.einsum("rij,pj->rpi", T[:, :3, :3], points) + T[:, None, :3, 3]
    return moved


def _follows(path: PathPreview, q: Array) -> bool:
    """Whether an arm is where its trajectory has it."""
    return len(path.positions) >= 3 and bool(np.abs(path.positions[0] - q).max() < OFF_PATH)


def _across(velocity: Array, direction: Array) -> Array:
    """The part of a velocity that does not point along a direction: faster along the path is no way off it."""
    length = float(direction @ direction)
    return velocity - (velocity @ direction) / length * direction if length > 1e-12 else velocity


def _beyond(values: Array, noise: Array | float) -> Array:
    """What of some numbers lies beyond the noise, towards zero."""
    return np.sign(values) * np.maximum(np.abs(values) - noise, 0.0)
