"""Collision forecast: the speed at which an arm still stops before contact.

From the measured state, the path ahead is the next part of the active trajectory or, without one, the path of a hold:
constant velocity for the reaction time, then the stop profile. All configurations of that path are checked in one batch
against the world and in another against the arm itself, with the body of the robot padded by a margin. Along a
trajectory that is followed closely, 0.4 of both margins is enough.

An arm that is within the margin already may move as long as it does not come nearer; otherwise it could never leave.
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
from ..geometry.warm_up import every_shape
from ..lie import inverse
from ..trajectory import BrakingLimits
from ..trajectory.stopping import stop_durations, stopping_path
from ..typing import Array
from .space import reaches_of

LEVELS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
"""Shares of the margin that a clearance is rounded down to."""
FLOOR = 3
"""Index of the level at which the arm must not come nearer at all, and which a followed trajectory must keep."""
HOLD_COUNT = 10
"""Forecasts in a row that hold the arm after it has reached the floor unforecast, so that none can be missed."""
CONTACT_SAMPLES = 12
"""Configurations along a path at which distances are compared for an arm in contact."""
DISTANCE_TOLERANCE = 1e-4
"""Tolerated decrease of distance for an arm in contact [m]."""
OFF_PATH = 0.1
"""An arm farther than this from its trajectory does not follow it [rad or m]."""
CLOCK_LAG = 0.1
"""Time constant with which the rate of a trajectory follows the allowed rate [s]."""
SLOWEST_CHANGE, FASTEST_CHANGE = 0.5, 50.0
"""Bounds on the change of that rate [1/s], as in the trajectory execution."""
HOLD_BELOW = 0.05
"""An allowed rate below this is a hold."""


@dataclass(frozen=True)
class ForecastSettings:
    """Reaction time, margins and resolution of forecasts."""

    reaction_time: float = 0.05
    """Time from a joint state to the effort that reacts to its forecast [s]."""
    margin: float = 0.005
    """Distance to the world that is kept [m]; 0.4 of it along a followed trajectory."""
    self_margin: float = 0.0041
    """Distance between links that is kept [m], likewise: each is padded by half of it and 0.03 mm of the checker,
    so that 1.7 mm are kept along a followed trajectory. More is not possible for all arms: neighbouring links of a UR5
    are always within 5.4 mm, and the arm would count as near itself everywhere.
    """
    velocity_noise: float = 0.02
    """Joint velocities below this count as noise [rad/s or m/s]."""
    step: float = 0.004
    """Largest motion of any point of the arm between two checked configurations [m]."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            positive(getattr(self, name), name, "s, m or rad/s")
        if self.step >= 2.0 * self.margin:
            raise InputError(f"step is {self.step:g} m; give less than twice the margin of {self.margin:g} m")


@dataclass(frozen=True, eq=False)
class PathPreview:
    """The next part of a trajectory."""

    positions: Array
    """Rows of joint positions [rad or m], the present reference first, shape (rows, n)."""
    spacing: float
    """Trajectory time between two rows [s]."""
    rate: float = 1.0
    """Trajectory seconds per second now."""

    def later(self, seconds: float) -> PathPreview | None:
        """The preview after a time [s]; None if less than three rows would be left."""
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
    """Allowed speed, and the two bodies that come near each other."""

    speed: float
    """Share of full speed at which trajectories may run: 1 free, 0 brake and hold at once."""
    link: str = ""
    """Link, or carried object, that comes near an obstacle; empty while the path is free."""
    other: str = ""
    """The obstacle: an object of the world, or another link."""


FREE = CollisionForecast(1.0)


class CollisionForecaster:
    """Forecasts for one arm in a world that may change between calls. For one thread.

    Args:
        body: The arm.
        bounds: Decelerations of a hold and of a trajectory.
        settings: Reaction time and margins.
    """

    def __init__(self, body: RobotBody, bounds: BrakingLimits, settings: ForecastSettings | None = None):
        self.body, self.bounds = body, bounds
        self.settings = settings or ForecastSettings()
        # World and arm have different margins: neighbouring links are always close to each other.
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
            path: The next part of the active trajectory; None: a hold is assumed.
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
        at_floor = [clearance for clearance in clearances if clearance.measure(q)]
        if at_floor:
            return CollisionForecast(0.0, *at_floor[0].nearest(q))
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
            # Slowing the trajectory down does not stop a drift off it.
            still, times, _ = self._rows(q, qd, path, drift=False)
            found_still = [hit for clearance in clearances if (hit := clearance.first_hit(still, True)) >= 0]
            if not found_still:
                return CollisionForecast(0.0, *near)
            index = min(found_still)
        return CollisionForecast(self._allowed_rate(path, float(times[max(index - 1, 0)])), *near)

    def warm_up(self) -> None:
        """Compile everything that forecasts need, so that none of them takes long."""
        chain = self.body.chain
        q = np.clip(np.zeros(chain.n), chain.limits.lower, chain.limits.upper)
        world = every_shape(self.body, q)
        rows = np.tile(q, (CONTACT_SAMPLES, 1))
        self.forecast(q, np.zeros(chain.n), world.snapshot(), PathPreview(rows, 0.1))
        self.forecast(q, np.full(chain.n, 0.1), world.snapshot())
        for clearance in (self._world, self._arm):
            clearance.warm_up(rows)
        self._snapshot = None

    def _rows(self, q: Array, qd: Array, path: PathPreview | None, drift: bool = True) -> tuple[Array, Array, bool]:
        """Configurations ahead (rows, n), so dense that no point moves farther than the step between two rows;
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
        # Along a followed trajectory only the floor of the margin is kept, so the samples are closer together.
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
        """Allowed rate of a trajectory that must stop within a trajectory time [s]; 0: too late to slow down."""
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
    """Distance of the arm to one kind of obstacle, and whether a path decreases it."""

    def __init__(self, body: RobotBody, margin: float):
        self._checker = Checker(body)
        self._paddings = tuple(share * margin for share in LEVELS)
        self._snapshot = WorldSnapshot()
        self._level: int | None = 0
        """Level of the last measurement, an index of `LEVELS`; None in contact."""
        self._nearest_level: int | None = None
        """Deepest level so far in this world; None before the first measurement."""
        self._holds_left = 0
        self._start = np.zeros(body.chain.n)

    def warm_up(self, rows: Array) -> None:
        """Runs every check once."""
        for padding in self._paddings:
            self._hits(padding, rows)
        self._first_nearer(rows)

    def change(self, snapshot: WorldSnapshot) -> None:
        """Sets another world."""
        self._snapshot = self._of(snapshot)
        self._nearest_level = None

    def measure(self, q: Array) -> bool:
        """Measures the clearance of a configuration; True: the arm has reached the floor without a forecast of it."""
        self._start = q
        self._level = next((i for i, p in enumerate(self._paddings) if not self._hits(p, q[None]).any()), None)
        depth = len(LEVELS) if self._level is None else self._level
        before, self._nearest_level = self._nearest_level, depth
        if before is not None:
            if depth > before and depth >= FLOOR:
                self._holds_left = HOLD_COUNT
            elif before - 2 < depth <= before:
                self._nearest_level = before  # a change by one level is noise
        self._holds_left = max(self._holds_left - 1, 0)
        return self._holds_left > 0

    def first_hit(self, rows: Array, followed: bool) -> int:
        """Index of the first configuration of a path that comes too near; -1: none.

        Args:
            followed: Whether the arm follows a trajectory closely, so that the floor of the margin is enough: a planner
                may not have found a path with more.
        """
        if self._level is None:
            return self._first_nearer(rows)
        # Between margin and floor one level less is noise; below the floor it is not.
        level = self._level + 1 if 0 < self._level < FLOOR else self._level
        level = max(level, FLOOR) if followed else level
        hits = np.flatnonzero(self._hits(self._paddings[level], rows))
        return int(hits[0]) if len(hits) else -1

    def nearest(self, q: Array) -> tuple[str, str]:
        """Names of the two nearest bodies at a configuration."""
        distances, names = self._distances(q[None])
        return names[int(distances[0].argmin())] if len(names) else ("", "")

    def _first_nearer(self, rows: Array) -> int:
        """First configuration at which a pair in contact, by its covering spheres, comes nearer; -1: none."""
        chosen = np.unique(np.linspace(0, len(rows) - 1, CONTACT_SAMPLES).astype(np.int64))
        distances, _ = self._distances(np.vstack([self._start, rows[chosen]]))
        allowed = np.minimum(distances[0], 0.0) - DISTANCE_TOLERANCE
        nearer = np.flatnonzero((distances[1:] < allowed).any(axis=1))
        return int(chosen[nearer[0]]) if len(nearer) else -1

    def _hits(self, padding: float, rows: Array) -> NDArray[np.bool_]:
        return self._checker.padded(padding, self_padding=padding).check(rows, snapshot=self._snapshot)

    def _of(self, snapshot: WorldSnapshot) -> WorldSnapshot:
        """The part of a world that is checked."""
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
    """Clearance between the links of the arm, and between them and carried objects."""

    def __init__(self, body: RobotBody, margin: float):
        super().__init__(body, 0.5 * margin)  # both links of a pair are padded
        chain, frames = body.chain, link_frames(body.chain)
        self._links: dict[int, tuple[int, Array]] = {}
        """A link of every frame, as an index of the chain's links, and T_link_frame."""
        for number, name in enumerate(chain.link_names):
            T_frame_link = np.eye(4)
            T_frame_link[:3, :3], T_frame_link[:3, 3] = frames[name]
            self._links[body.frame_of(name)] = number, inverse(T_frame_link)
        self._groups, self._pairs = groups_and_pairs(body, self._snapshot)

    def change(self, snapshot: WorldSnapshot) -> None:
        """Sets another world."""
        super().change(snapshot)
        self._groups, self._pairs = groups_and_pairs(self._checker.body, self._snapshot)

    def _of(self, snapshot: WorldSnapshot) -> WorldSnapshot:
        return replace(snapshot, objects=MappingProxyType({}))

    def _distances(self, rows: Array) -> tuple[Array, list[tuple[str, str]]]:
        groups, pairs = self._groups, self._pairs
        poses = kinematics.link_poses(self._checker.body.chain, rows)
        placed = {frame: poses[:, link] @ T_link_frame for frame, (link, T_link_frame) in self._links.items()}
        placed[0] = np.broadcast_to(np.eye(4), (len(rows), 4, 4))
        distances = np.full((len(rows), len(pairs)), np.inf)
        middles = np.stack([_moved(placed[group.frame], group.centre[None])[:, 0] for group in groups], axis=1)
        first_index, second_index = [p.first for p in pairs], [p.second for p in pairs]
        reaches = np.array([group.reach for group in groups])
        apart = np.linalg.norm(middles[:, first_index] - middles[:, second_index], axis=-1).min(axis=0)
        bounds = apart - reaches[first_index] - reaches[second_index]
        # Pairs whose bounding spheres are apart are not in contact; of those only the nearest is needed.
        for column in np.flatnonzero(bounds <= max(0.0, float(bounds.min(initial=0.0)))):
            pair = pairs[column]
            first, second = groups[pair.first], groups[pair.second]
            a, b = (_moved(placed[group.frame], group.spheres[:, :3]) for group in (first, second))
            gaps = np.linalg.norm(a[:, :, None] - b[:, None], axis=-1)
            distances[:, column] = (gaps - first.spheres[:, None, 3] - second.spheres[:, 3]).min(axis=(1, 2))
        return distances, [(groups[pair.first].name, groups[pair.second].name) for pair in pairs]


def _moved(T: Array, points: Array) -> Array:
    """Points (p, 3) transformed by poses (r, 4, 4), shape (r, p, 3)."""
    moved: Array = np.einsum("rij,pj->rpi", T[:, :3, :3], points) + T[:, None, :3, 3]
    return moved


def _follows(path: PathPreview, q: Array) -> bool:
    """Whether an arm is at its trajectory."""
    return len(path.positions) >= 3 and bool(np.abs(path.positions[0] - q).max() < OFF_PATH)


def _across(velocity: Array, direction: Array) -> Array:
    """The component of a velocity perpendicular to a direction: a faster motion along the path is no drift."""
    length = float(direction @ direction)
    return velocity - (velocity @ direction) / length * direction if length > 1e-12 else velocity


def _beyond(values: Array, noise: Array | float) -> Array:
    """Values with a dead zone of the noise around zero."""
    return np.sign(values) * np.maximum(np.abs(values) - noise, 0.0)
