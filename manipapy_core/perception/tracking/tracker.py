"""Clusters of one frame joined to those of the frames before: ids that stay, velocities, and when to forget.

A constant-velocity Kalman filter per obstacle, one variance for all three axes. What is not seen stays: an obstacle
goes only when lines of sight went through where it was, in several frames. Space that no frame has shown is unknown:
it holds no obstacle, and is not claimed to be free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...typing import Array
from ..shapes.clusters import Cluster
from .line_of_sight import LineOfSight
from .obstacle import Obstacle

LEAST_SHARE = 0.5
"""Of the volume of a known box that a seen one must have to be the same."""


@dataclass(frozen=True)
class TrackSettings:
    """When to believe, when to forget."""

    confirm: int = 2
    """Frames in a row that must show a thing before it is confirmed; one that does not lets it go."""
    forget_empty: int = 3
    """Frames in a row that must show the place of a confirmed thing empty before it goes."""
    forget_unseen: float = math.inf
    """Also forget what was not seen for this long [s]; by default never."""
    gate: float = 0.10
    """How far a thing may be from where it was expected [m], beside its own size and uncertainty."""
    acceleration: float = 1.0
    """How quickly things may change their velocity [m/s²]."""
    still: float = 0.03
    """Below this speed [m/s] and below 1.5 standard deviations, a thing stands still."""
    steady: float = 0.015
    """The box of a thing that stands still stays as it is while what is seen lies in it, give or take this [m]: what
    was planned past it need not be planned anew for every tremble."""
    margin: float = 0.03
    """A line of sight must end so far behind a place [m] to show it empty, beside three standard deviations."""

    def __post_init__(self) -> None:
        if self.confirm < 1 or self.forget_empty < 1:
            raise InputError("confirm and forget_empty must be at least 1")
        for name in ("forget_unseen", "gate", "acceleration", "margin"):
            if not getattr(self, name) > 0.0:
                raise InputError(f"{name} is {getattr(self, name)}; give a positive number")


@dataclass
class _Track:
    """The changing state behind one obstacle."""

    id: int
    cluster: Cluster
    position: Array
    velocity: Array
    covariance: Array
    """Of position and velocity along any axis, shape (2, 2)."""
    first_seen_ns: int
    last_seen_ns: int
    hits: int = 1
    empty: int = 0
    merged: int = 0
    label: str = ""
    score: float = 0.0


class Tracker:
    """Keeps the obstacles of a scene."""

    def __init__(self, settings: TrackSettings | None = None):
        self.settings = TrackSettings() if settings is None else settings
        self._tracks: list[_Track] = []
        self._next_id = 1
        self._time_ns: int | None = None

    def reset(self) -> None:
        """Forget everything but the numbers that were given out."""
        self._tracks, self._time_ns = [], None

    def update(
        self,
        time_ns: int,
        clusters: Sequence[Cluster],
        sight: LineOfSight | None,
        labels: Sequence[tuple[str, float]] | None = None,
        doubtful: Sequence[bool] | None = None,
    ) -> tuple[Obstacle, ...]:
        """Take a frame.

        Args:
            time_ns: When the picture was taken; later than the frame before.
            clusters: What it shows.
            sight: Its lines of sight; without them nothing is ever seen to be empty.
            labels: What a detector called each cluster, and how sure it was.
            doubtful: Which clusters may be leftovers of the robot itself: they keep known obstacles where they are, but
                confirm none and begin none.

        Returns:
            Obstacles in the order of their ids, unconfirmed ones included.
        """
        elapsed = 0.0 if self._time_ns is None else 1e-9 * (time_ns - self._time_ns)
        if elapsed < 0.0:
            raise InputError(f"the frame is {-elapsed:.3f} s older than the one before; reset after a jump of time")
        self._time_ns = time_ns
        for track in self._tracks:
            self._predict(track, elapsed)
        taken = self._match(clusters)
        names = [("", 0.0)] * len(clusters) if labels is None else list(labels)
        doubts = [False] * len(clusters) if doubtful is None else list(doubtful)
        for index, cluster in enumerate(clusters):
            owner = taken.get(index)
            if doubts[index] and (owner is None or owner.hits < self.settings.confirm):
                continue
            if owner is None:
                self._begin(time_ns, cluster, names[index])
            else:
                self._correct(owner, time_ns, cluster, names[index])
        self._forget(time_ns, sight)
        return tuple(self._obstacle(track, time_ns) for track in self._tracks)

    def _predict(self, track: _Track, elapsed: float) -> None:
        # What is out of sight is expected where it was last seen, not where it was heading: it may have stopped.
        F = np.array([[1.0, elapsed], [0.0, 1.0]])
        noise = self.settings.acceleration**2 * np.array(
            [[elapsed**4 / 4, elapsed**3 / 2], [elapsed**3 / 2, elapsed**2]]
        )
        if track.empty == 0 and track.last_seen_ns == self._time_before(elapsed):
            track.position = track.position + elapsed * track.velocity
        track.covariance = F @ track.covariance @ F.T + noise

    def _time_before(self, elapsed: float) -> int:
        assert self._time_ns is not None
        return self._time_ns - round(elapsed * 1e9)

    def _match(self, clusters: Sequence[Cluster]) -> dict[int, _Track]:
        """The nearest pairs first; a pair too far apart is none."""
        pairs = []
        for number, track in enumerate(self._tracks):
            spread = math.sqrt(track.covariance[0, 0])
            for index, cluster in enumerate(clusters):
                distance = float(np.linalg.norm(cluster.centre - track.position))
                larger = 0.5 * float(max(track.cluster.size.max(), cluster.size.max()))
                allowed = self.settings.gate + min(larger, 0.15) + 2.0 * min(spread, 0.3)
                if distance <= allowed:
                    # Of two candidates at the same place, the one of the same size; of two tracks, the older one.
                    unlike = 0.3 * float(np.abs(np.sort(cluster.size) - np.sort(track.cluster.size)).sum())
                    pairs.append((distance + unlike - 0.02 * (track.hits >= self.settings.confirm), number, index))
        taken: dict[int, _Track] = {}
        used: set[int] = set()
        for _, number, index in sorted(pairs):
            if number not in used and index not in taken:
                used.add(number)
                taken[index] = self._tracks[number]
        return taken

    def _begin(self, time_ns: int, cluster: Cluster, name: tuple[str, float]) -> None:
        variance = self._measured_variance(cluster)
        self._tracks.append(
            _Track(
                self._next_id,
                cluster,
                cluster.centre.copy(),
                np.zeros(3),
                np.diag([variance, 0.25]),
                time_ns,
                time_ns,
                label=name[0],
                score=name[1],
            )
        )
        self._next_id += 1

    def _correct(self, track: _Track, time_ns: int, cluster: Cluster, name: tuple[str, float]) -> None:
        gain = track.covariance[:, 0] / (track.covariance[0, 0] + self._measured_variance(cluster))
        innovation = cluster.centre - track.position
        track.position = track.position + gain[0] * innovation
        track.velocity = track.velocity + gain[1] * innovation
        track.covariance = (np.eye(2) - np.outer(gain, [1.0, 0.0])) @ track.covariance
        if self._moves(track) or not _says_nothing_new(track.cluster, cluster, self.settings.steady):
            track.cluster = cluster
        track.last_seen_ns = time_ns
        track.hits, track.empty, track.merged = track.hits + 1, 0, 0
        if name[0] and name[1] >= 0.8 * track.score:  # a weaker word does not overrule a stronger one
            track.label, track.score = name

    def _measured_variance(self, cluster: Cluster) -> float:
        # The middle of a seen half jitters by a part of a cell and of the noise; noise of near points is shared.
        return (0.004 + 0.5 * cluster.sigma) ** 2

    def _forget(self, time_ns: int, sight: LineOfSight | None) -> None:
        kept = []
        seen_now = [track for track in self._tracks if track.last_seen_ns == time_ns]
        for track in self._tracks:
            if track.last_seen_ns != time_ns:
                if track.hits < self.settings.confirm:
                    continue
                self._look_for(track, sight, seen_now)
                unseen = 1e-9 * (time_ns - track.last_seen_ns)
                gone = max(track.empty, track.merged) >= self.settings.forget_empty
                if gone or unseen > self.settings.forget_unseen:
                    continue
            kept.append(track)
        self._tracks = kept

    def _look_for(self, track: _Track, sight: LineOfSight | None, seen_now: Sequence[_Track]) -> None:
        swallowed = any(_holds(other.cluster, track.cluster.centre) for other in seen_now)
        track.merged = track.merged + 1 if swallowed else 0
        if sight is None:
            return
        margin = self.settings.margin + 3.0 * track.cluster.sigma
        evidence = sight.look_at(track.cluster.points, margin)
        if evidence.seen_empty:
            track.empty += 1
            track.velocity = np.zeros(3)
        elif evidence.occupied > evidence.empty:
            track.empty = 0

    def _moves(self, track: _Track) -> bool:
        sigma_v = math.sqrt(max(track.covariance[1, 1], 0.0))
        return float(np.linalg.norm(track.velocity)) > max(self.settings.still, 1.5 * sigma_v)

    def _obstacle(self, track: _Track, time_ns: int) -> Obstacle:
        sigma_p, sigma_v = (math.sqrt(max(track.covariance[k, k], 0.0)) for k in range(2))
        confirmed = track.hits >= self.settings.confirm
        velocity = track.velocity.copy() if confirmed and self._moves(track) else np.zeros(3)
        velocity.setflags(write=False)
        return Obstacle(
            id=track.id,
            cluster=track.cluster,
            velocity=velocity,
            position_sigma=sigma_p,
            velocity_sigma=sigma_v,
            first_seen_ns=track.first_seen_ns,
            last_seen_ns=track.last_seen_ns,
            age=1e-9 * (time_ns - track.first_seen_ns),
            unseen=1e-9 * (time_ns - track.last_seen_ns),
            hits=track.hits,
            confirmed=confirmed,
            label=track.label,
            score=track.score,
        )


def _says_nothing_new(known: Cluster, seen: Cluster, tolerance: float) -> bool:
    """Whether a box lies in the one that is known, and is not much smaller."""
    if np.prod(seen.size) < LEAST_SHARE * np.prod(known.size):
        return False
    corners = 0.5 * seen.size * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    in_base = corners @ seen.T_base_box[:3, :3].T + seen.centre
    local = (in_base - known.centre) @ known.T_base_box[:3, :3]
    return bool(np.all(np.abs(local) <= 0.5 * known.size + tolerance + 0.5 * seen.sigma))


def _holds(cluster: Cluster, point: Array) -> bool:
    local = cluster.T_base_box[:3, :3].T @ (point - cluster.centre)
    return bool(np.all(np.abs(local) <= 0.5 * cluster.size + cluster.padding))
