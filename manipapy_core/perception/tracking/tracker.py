"""Multi-object tracking: persistent ids, velocities, and removal of obstacles observed to be gone.

A constant-velocity Kalman filter per obstacle, with one variance for all three axes. Undetected obstacles are kept: a
track is removed only after its place was observed to be free in several frames. Space that no frame has shown is
unknown: it holds no obstacle, and is not reported as free.

What is seen is covered: the hull of an obstacle holds all its points of this frame. An obstacle may have been two
objects that touched: all parts that it splits into are as confirmed as it was.

Clusters are assigned to tracks by SciPy's `linear_sum_assignment` (global nearest neighbour). In simulated scenes of
eight objects, half of them moving at up to 0.4 m/s, it gave 12 identity switches where taking the nearest pairs first
gave 22 (12 600 detections), and 59 instead of 64 with a tenth of the detections missing. In static scenes both gave 23
with a tenth missing, and 146 against 143 with three tenths missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, MissingPackage
from ...typing import Array
from ..shapes.cluster import Cluster
from ..shapes.padding import DEFAULT_PADDING, PaddingSettings
from .line_of_sight import LineOfSight
from .obstacle import Obstacle

MIN_VOLUME_SHARE = 0.5
"""A detected box with less than this share of the known volume replaces it."""
MAX_ADDED_POINTS = 0.5
"""The points of a kept box get the detected points outside their hull, up to this share of the detected ones; with more
the detected points replace them."""
MIN_ADDED_POINTS = 50
"""... unless there are only this many."""
MIN_PART_SHARE = 0.25
"""A cluster is part of a known obstacle if this share of its points lies in the padded box of that obstacle."""


@dataclass(frozen=True)
class TrackSettings:
    """Confirmation, association and removal of tracks."""

    confirm: int = 2
    """Consecutive detections that confirm a track; a tentative track is removed by one miss."""
    forget_empty: int = 3
    """Consecutive frames with free-space evidence that remove a confirmed track."""
    forget_unseen: float = math.inf
    """Also remove a track without detection for this long [s]; by default never."""
    gate: float = 0.10
    """Gate of the association [m], in addition to size and uncertainty."""
    acceleration: float = 1.0
    """Standard deviation of the acceleration, the process noise [m/s²]."""
    min_speed: float = 0.03
    """Objects slower than this [m/s], or than 1.5 standard deviations, are static."""
    box_tolerance: float = 0.015
    """The box of a static object is kept while the detected box lies in it, within this tolerance [m], so that jitter
    does not trigger replanning."""
    margin: float = 0.03
    """A ray must end this far behind a place [m], plus three standard deviations, to show that it is free."""

    def __post_init__(self) -> None:
        if self.confirm < 1 or self.forget_empty < 1:
            raise InputError("confirm and forget_empty must be at least 1")
        for name in ("forget_unseen", "gate", "acceleration", "margin"):
            if not getattr(self, name) > 0.0:
                raise InputError(f"{name} is {getattr(self, name)}; give a positive number")


@dataclass
class _Track:
    """State of one track."""

    id: int
    cluster: Cluster
    position: Array
    velocity: Array
    covariance: Array
    """Of position and velocity along any axis, shape (2, 2)."""
    first_seen_ns: int
    last_seen_ns: int
    hits: int = 1
    free: int = 0
    merged: int = 0
    label: str = ""
    score: float = 0.0


class Tracker:
    """Tracks the obstacles of a scene.

    Args:
        padding: Enlargement of the obstacles' shapes.
    """

    def __init__(self, settings: TrackSettings | None = None, padding: PaddingSettings = DEFAULT_PADDING):
        self.settings = TrackSettings() if settings is None else settings
        self.padding = padding
        self._tracks: list[_Track] = []
        self._next_id = 1
        self._time_ns: int | None = None

    def reset(self) -> None:
        """Remove all tracks; ids are not reused."""
        self._tracks, self._time_ns = [], None

    def update(
        self,
        time_ns: int,
        clusters: Sequence[Cluster],
        line_of_sight: LineOfSight | None,
        labels: Sequence[tuple[str, float]] | None = None,
        doubtful: Sequence[bool] | None = None,
    ) -> tuple[Obstacle, ...]:
        """Update the tracks with one frame.

        Args:
            time_ns: Time of the image; later than the previous frame.
            clusters: Detections.
            line_of_sight: Free-space evidence of the frame; without it no track is removed as free.
            labels: Label and score of each cluster from a detector.
            doubtful: Which clusters may be residue of the self filter: they update confirmed tracks, but confirm and
                start none.

        Returns:
            Obstacles ordered by id, including tentative ones.
        """
        elapsed = 0.0 if self._time_ns is None else 1e-9 * (time_ns - self._time_ns)
        if elapsed < 0.0:
            raise InputError(
                f"the frame is {-elapsed:.3f} s older than the previous one; reset the tracker after a time jump"
            )
        self._time_ns = time_ns
        for track in self._tracks:
            self._predict(track, elapsed)
        matched = self._associate(clusters)
        confirmed = [track.cluster for track in self._tracks if track.hits >= self.settings.confirm]
        names = [("", 0.0)] * len(clusters) if labels is None else list(labels)
        doubts = [False] * len(clusters) if doubtful is None else list(doubtful)
        for index, cluster in enumerate(clusters):
            owner = matched.get(index)
            # An obstacle that consists of several objects may split: its track belongs to one part.
            part = owner is None and any(_is_part(cluster, known) for known in confirmed)
            if doubts[index] and not part and (owner is None or owner.hits < self.settings.confirm):
                continue
            if owner is None:
                self._start(time_ns, cluster, names[index], self.settings.confirm if part else 1)
            else:
                self._correct(owner, time_ns, cluster, names[index])
        self._remove_gone(time_ns, line_of_sight)
        return tuple(self._obstacle(track, time_ns) for track in self._tracks)

    def _predict(self, track: _Track, elapsed: float) -> None:
        # An undetected object is expected at its last position, not along its velocity: it may have stopped.
        F = np.array([[1.0, elapsed], [0.0, 1.0]])
        noise = self.settings.acceleration**2 * np.array(
            [[elapsed**4 / 4, elapsed**3 / 2], [elapsed**3 / 2, elapsed**2]]
        )
        if track.free == 0 and track.last_seen_ns == self._time_before(elapsed):
            track.position = track.position + elapsed * track.velocity
        track.covariance = F @ track.covariance @ F.T + noise

    def _time_before(self, elapsed: float) -> int:
        assert self._time_ns is not None
        return self._time_ns - round(elapsed * 1e9)

    def _associate(self, clusters: Sequence[Cluster]) -> dict[int, _Track]:
        """Track of each cluster: the assignment of minimum total cost, where leaving a pair apart costs its gate."""
        if not self._tracks or not clusters:
            return {}
        values = np.zeros((len(self._tracks), len(clusters)))
        for row, track in enumerate(self._tracks):
            spread = math.sqrt(track.covariance[0, 0])
            for column, cluster in enumerate(clusters):
                distance = float(np.linalg.norm(cluster.centre - track.position))
                larger = 0.5 * float(max(track.cluster.size.max(), cluster.size.max()))
                gate = self.settings.gate + min(larger, 0.15) + 2.0 * min(spread, 0.3)
                if distance <= gate:
                    # Of two candidates at the same place, the one of the same size; of two tracks, the older one.
                    unlike = 0.3 * float(np.abs(np.sort(cluster.size) - np.sort(track.cluster.size)).sum())
                    cost = distance + unlike - 0.02 * (track.hits >= self.settings.confirm)
                    # Negative for every pair within its gate: such a pair is never left apart without an alternative.
                    values[row, column] = min(cost - gate, -1e-9)
        rows, columns = _minimum_assignment(values)
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        return {column: self._tracks[row] for row, column in pairs if values[row, column] < 0.0}

    def _start(self, time_ns: int, cluster: Cluster, name: tuple[str, float], hits: int) -> None:
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
                hits,
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
        if self._moves(track) or not _is_same_box(track.cluster, cluster, self.settings.box_tolerance):
            track.cluster = cluster
        else:
            track.cluster = _covering(track.cluster, cluster)
        track.last_seen_ns = time_ns
        track.hits, track.free, track.merged = track.hits + 1, 0, 0
        if name[0] and name[1] >= 0.8 * track.score:  # a much lower score does not replace a label
            track.label, track.score = name

    def _measured_variance(self, cluster: Cluster) -> float:
        # The centre of a partial view jitters by part of a cell and of the noise; neighbouring points share noise.
        return (0.004 + 0.5 * cluster.sigma) ** 2

    def _remove_gone(self, time_ns: int, line_of_sight: LineOfSight | None) -> None:
        kept = []
        detected = [track for track in self._tracks if track.last_seen_ns == time_ns]
        for track in self._tracks:
            if track.last_seen_ns != time_ns:
                if track.hits < self.settings.confirm:
                    continue
                self._check_gone(track, line_of_sight, detected)
                unseen = 1e-9 * (time_ns - track.last_seen_ns)
                gone = max(track.free, track.merged) >= self.settings.forget_empty
                if gone or unseen > self.settings.forget_unseen:
                    continue
            kept.append(track)
        self._tracks = kept

    def _check_gone(self, track: _Track, line_of_sight: LineOfSight | None, detected: Sequence[_Track]) -> None:
        merged = any(_contains(other.cluster, track.cluster.centre) for other in detected)
        track.merged = track.merged + 1 if merged else 0
        if line_of_sight is None:
            return
        margin = self.settings.margin + 3.0 * track.cluster.sigma
        evidence = line_of_sight.evidence_at(track.cluster.points, margin)
        if evidence.is_free:
            track.free += 1
            track.velocity = np.zeros(3)
        elif evidence.occupied > evidence.free:
            track.free = 0

    def _moves(self, track: _Track) -> bool:
        sigma_v = math.sqrt(max(track.covariance[1, 1], 0.0))
        return float(np.linalg.norm(track.velocity)) > max(self.settings.min_speed, 1.5 * sigma_v)

    def _obstacle(self, track: _Track, time_ns: int) -> Obstacle:
        sigma_p, sigma_v = (math.sqrt(max(track.covariance[k, k], 0.0)) for k in range(2))
        confirmed = track.hits >= self.settings.confirm
        velocity = track.velocity.copy() if confirmed and self._moves(track) else np.zeros(3)
        velocity.setflags(write=False)
        unseen = 1e-9 * (time_ns - track.last_seen_ns)
        return Obstacle(
            id=track.id,
            cluster=track.cluster,
            velocity=velocity,
            position_sigma=sigma_p,
            velocity_sigma=sigma_v,
            first_seen_ns=track.first_seen_ns,
            last_seen_ns=track.last_seen_ns,
            age=1e-9 * (time_ns - track.first_seen_ns),
            unseen=unseen,
            hits=track.hits,
            padding=track.cluster.padding + self.padding.drift(float(np.linalg.norm(velocity)), sigma_v, unseen),
            confirmed=confirmed,
            label=track.label,
            score=track.score,
        )


def _minimum_assignment(values: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the assignment with the smallest sum."""
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise MissingPackage("scipy", "tracking", "perception") from None
    rows, columns = linear_sum_assignment(values)
    return rows, columns


def _covering(known: Cluster, detected: Cluster) -> Cluster:
    """The known cluster with the detected points that lie outside its hull, so that what is seen is covered."""
    in_known_box = replace(detected, T_base_box=known.T_base_box, size=known.size, radius=known.radius)
    try:
        planes = known.hull(known.padding).planes
    except InputError:
        return in_known_box  # no volume
    outside = [
        points[np.any(points @ planes[:, :3].T > planes[:, 3], axis=1)]
        for points in (detected.points.astype(np.float64), detected.hidden)
    ]
    if not any(map(len, outside)):
        return known
    # Stray points of many frames must not add up.
    added = np.concatenate([known.hidden, *outside])
    if len(added) - len(detected.hidden) > max(MAX_ADDED_POINTS * len(detected.points), MIN_ADDED_POINTS):
        return in_known_box
    return replace(known, hidden=added)


def _is_part(cluster: Cluster, known: Cluster) -> bool:
    """Whether a cluster lies mostly in the padded box of a known obstacle."""
    local = np.abs((cluster.points - known.centre) @ known.T_base_box[:3, :3])
    inside = np.all(local <= 0.5 * known.size + known.padding, axis=1)
    return float(inside.mean()) >= MIN_PART_SHARE


def _is_same_box(known: Cluster, detected: Cluster, tolerance: float) -> bool:
    """Whether a detected box lies in the known one, and is not much smaller."""
    if np.prod(detected.size) < MIN_VOLUME_SHARE * np.prod(known.size):
        return False
    corners = 0.5 * detected.size * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    in_base = corners @ detected.T_base_box[:3, :3].T + detected.centre
    local = (in_base - known.centre) @ known.T_base_box[:3, :3]
    return bool(np.all(np.abs(local) <= 0.5 * known.size + tolerance + 0.5 * detected.sigma))


def _contains(cluster: Cluster, point: Array) -> bool:
    local = cluster.T_base_box[:3, :3].T @ (point - cluster.centre)
    return bool(np.all(np.abs(local) <= 0.5 * cluster.size + cluster.padding))
