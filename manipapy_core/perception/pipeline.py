"""The pipeline: a frame of any kind in, tracked obstacles out.

All that is compiled, loaded before the first picture comes.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from .. import lie
from ..geometry import RobotBody
from .points.outliers import inliers
from .points.planes import PlaneFilter, PlaneFound
from .points.self_filter import NoConfiguration, SelfFilter
from .points.voxels import Voxels, voxel_grid
from .result import Perceived, Reason
from .settings import PerceptionSettings
from .shapes.clusters import Cluster, ClusterSettings, find_clusters
from .shapes.labels import Detector, label_clusters
from .shapes.subthreshold import find_subthreshold_objects
from .stereo.camera import StereoModel
from .stereo.disparity import MatcherSettings
from .stereo.frames import Frame, StereoPair
from .stereo.to_points import MeasuredPoints, PointSource, StageTimes
from .tracking.line_of_sight import LineOfSight
from .tracking.obstacle import Obstacle
from .tracking.tracker import Tracker

BLIND = frozenset({Reason.DARK, Reason.BRIGHT, Reason.FLAT, Reason.FEW_PIXELS})
"""With these, nothing that is seen is believed."""


class PerceptionPipeline:
    """Sees obstacles. One frame at a time; settings may change between frames, from any thread.

    Unknown space: obstacles that are out of sight, hidden, or on surfaces without a measurement stay where they were
    last seen, with the time since then; they go when they are seen to be gone. Space that was never seen holds none.
    """

    def __init__(
        self,
        stereo: StereoModel | None = None,
        *,
        body: RobotBody | None = None,
        settings: PerceptionSettings | None = None,
        detector: Detector | None = None,
    ):
        """Prepare.

        Args:
            stereo: The cameras of stereo pairs; not needed for depth images and points.
            body: The robot that shall not be taken for an obstacle. Its chain's base is the base of all poses.
            detector: Gives obstacles their labels.
        """
        self.body, self.detector = body, detector
        self._measurer = PointSource(stereo)
        self._lock = threading.Lock()
        self._last_time_ns: int | None = None
        self._last: tuple[Obstacle, ...] = ()
        self._tracker = Tracker()
        self._planes = PlaneFilter()
        self._self_filter: SelfFilter | None = None
        self.configure(PerceptionSettings() if settings is None else settings)

    @property
    def stereo(self) -> StereoModel | None:
        """The cameras of stereo pairs; another pair may take over between frames."""
        return self._measurer.stereo

    @stereo.setter
    def stereo(self, stereo: StereoModel | None) -> None:
        with self._lock:
            self._measurer.stereo = stereo

    @property
    def settings(self) -> PerceptionSettings:
        """As of the next frame."""
        return self._settings

    def configure(self, settings: PerceptionSettings) -> None:
        """Use other settings from the next frame on; obstacles keep their ids."""
        with self._lock:
            self._settings = settings
            self._measurer.settings = settings
            self._tracker.settings = settings.tracks
            self._planes = PlaneFilter(settings.planes)
            if self.body is not None:
                self._self_filter = SelfFilter(
                    self.body, padding=settings.self_padding, deviations=settings.self_deviations
                )

    def reset(self) -> None:
        """Forget all obstacles and planes; ids go on."""
        with self._lock:
            self._forget()

    def feed(self, frame: Frame) -> Perceived:
        """Take a frame, and tell what is there.

        Raises:
            InputError: The frame cannot be used (sizes, encodings, calibration, a missing configuration); says why.
                The state is as before, so that obstacles only become older.
        """
        with self._lock:
            return self._feed(frame)

    def _forget(self) -> None:
        self._tracker.reset()
        self._planes.forget()
        self._last_time_ns, self._last = None, ()

    def _feed(self, frame: Frame) -> Perceived:
        work, settings = StageTimes(), self._settings
        if self._self_filter is not None and frame.q is None:
            raise NoConfiguration(frame.time_ns, None, None)
        measured = self._measurer.measure(frame, work)
        repeated = frame.time_ns == self._last_time_ns
        if self._last_time_ns is not None and frame.time_ns < self._last_time_ns:
            self._forget()
            work.reasons.append(Reason.CLOCK_WENT_BACK)
        eye = frame.T_base_optical[:3, 3]
        voxels = voxel_grid(
            measured.points, settings.voxel, lower=settings.lower, upper=settings.upper, least=settings.voxel_least
        )
        if np.isfinite(settings.reach):
            voxels = voxels.select(np.einsum("ij,ij->i", voxels.xyz, voxels.xyz) <= settings.reach**2)
        if not BLIND.isdisjoint(work.reasons):
            # What a blind camera seems to see is noise; obstacles stay where they were and grow older.
            voxels = voxels.select(np.zeros(len(voxels), np.bool_))
        work.stage("voxels", len(voxels), Reason.NOTHING_IN_BOX)
        if self._self_filter is not None and frame.q is not None:
            voxels = voxels.select(self._self_filter.outside(voxels, frame.q, eye, blur=measured.blur))
            work.stage("self", len(voxels), Reason.ONLY_ROBOT)
        stays, planes = self._planes.split(voxels, eye)
        chosen = np.flatnonzero(stays)
        work.stage("planes", len(chosen), Reason.ONLY_PLANES)
        if np.isfinite(settings.outlier_deviations):
            chosen = chosen[inliers(voxels.xyz[chosen], deviations=settings.outlier_deviations)]
            work.stage("outliers", len(chosen), None)
        clusters, labels = self._cluster(voxels, chosen, planes, eye, measured)
        shown = labels >= 0
        shown[chosen] = True
        voxels, labels = voxels.select(shown), labels[shown]
        work.stage("clusters", len(clusters), Reason.ONLY_NOISE)
        names = None
        if self.detector is not None and measured.image is not None and measured.camera is not None:
            found = self.detector.detect(np.asarray(measured.image, dtype=np.uint8))
            names = label_clusters(clusters, found, measured.camera, frame.T_base_optical)
            work.done("detect")
        if repeated:
            work.reasons.append(Reason.REPEATED)
        else:
            doubtful = self._near_robot(clusters, frame, measured.blur)
            self._last = self._tracker.update(frame.time_ns, clusters, measured.sight, names, doubtful)
        self._last_time_ns = frame.time_ns
        work.done("tracks")
        return self._result(frame, work, measured, voxels, labels, planes)

    def _cluster(
        self,
        voxels: Voxels,
        chosen: NDArray[np.intp],
        planes: tuple[PlaneFound, ...],
        eye: NDArray[np.float64],
        measured: MeasuredPoints,
    ) -> tuple[tuple[Cluster, ...], NDArray[np.int64]]:
        """Things among the chosen points, and those that rise from a plane too little to be chosen.

        Returns:
            The things, and per point of all the number of its thing, −1 for none.
        """
        how, up, blur = self._settings.clusters, self._settings.planes.up, measured.blur
        sight = measured.sight if measured.depth is not None else None
        clear = voxels.select(chosen)
        clusters, own = find_clusters(clear, how, planes=planes, up=up, eye=eye, sight=sight, blur=blur)
        labels = np.full(len(voxels), -1, np.int64)
        labels[chosen] = own
        if sight is not None:
            bumps = find_subthreshold_objects(
                voxels, how, planes=planes, clusters=clusters, up=up, sight=sight, blur=blur
            )
            for number, (_, members) in enumerate(bumps, len(clusters)):
                labels[members] = number
            clusters += tuple(bump for bump, _ in bumps)
        return clusters, labels

    def _near_robot(self, clusters: Sequence[Cluster], frame: Frame, blur: float) -> list[bool]:
        """Which clusters hug the robot so closely that they may be what the filter has left of it."""
        if self._self_filter is None or frame.q is None or not clusters:
            return [False] * len(clusters)
        points = np.concatenate([cluster.points for cluster in clusters])
        sizes = [len(cluster.points) for cluster in clusters]
        sigma = np.repeat(np.array([cluster.sigma for cluster in clusters], np.float32), sizes)
        seen = Voxels(points, sigma, np.ones(len(points), np.int32), self._settings.voxel)
        eye = frame.T_base_optical[:3, 3]
        free = self._self_filter.outside(seen, frame.q, eye, blur=blur, beyond=self._settings.self_shell)
        return [float(part.mean()) < 0.5 for part in np.split(free, np.cumsum(sizes)[:-1])]

    def _result(
        self,
        frame: Frame,
        work: StageTimes,
        measured: MeasuredPoints,
        voxels: Voxels,
        labels: NDArray[np.int64],
        planes: tuple[PlaneFound, ...],
    ) -> Perceived:
        return Perceived(
            time_ns=frame.time_ns,
            obstacles=tuple(obstacle for obstacle in self._last if obstacle.confirmed),
            candidates=tuple(obstacle for obstacle in self._last if not obstacle.confirmed),
            reasons=tuple(work.reasons),
            valid_share=measured.valid_share,
            stage_times=MappingProxyType(work.times),
            counts=MappingProxyType(work.counts),
            planes=planes,
            voxels=voxels,
            labels=labels,
            loose_points=None if measured.kept is not None else measured.points,
            kept_depth=measured.kept,
            T_base_optical=frame.T_base_optical,
            depth=measured.depth,
            disparity=measured.disparity,
        )


def warm_up(body: RobotBody | None) -> None:
    """Understand two small pictures, so that the first real one takes no longer than the others.

    Args:
        body: The robot that is to be filtered out; None if there is none.
    """
    random = np.random.default_rng(0)
    picture = random.integers(0, 256, (96, 160), dtype=np.uint8)
    stereo = StereoModel.ideal(160, 96, 120.0, 120.0, 80.0, 48.0, 0.1)
    # As large pictures are matched, which is all that small ones need, and the refinement.
    pipeline = PerceptionPipeline(
        stereo, body=body, settings=PerceptionSettings(matcher=MatcherSettings(column_step=2))
    )
    q = None if body is None else np.zeros(body.chain.n)
    for number in range(2):
        # Everything is as far away as a shift of twelve pixels says.
        pair = StereoPair(number, np.eye(4), np.roll(picture, 12, axis=1), picture, q)
        pipeline.feed(pair)
    _understand_a_cube()


def _understand_a_cube() -> None:
    """A thing on a table, since noise holds none."""
    rows = np.arange(0.0, 0.05, 0.01)
    xyz = np.stack(np.meshgrid(rows, rows, rows + 0.01), axis=-1).reshape(-1, 3).astype(np.float32)
    voxels = Voxels(xyz, np.full(len(xyz), 0.002, np.float32), np.full(len(xyz), 4, np.int32), 0.01)
    table = PlaneFound(np.array([0.0, 0.0, 1.0]), 0.0, 1000, False, np.full(2, -1.0), np.full(2, 1.0), 1.0)
    T = lie.pose(lie.exp_so3([0.0, 0.75 * np.pi, 0.0]), [-1.0, 0.0, 1.0])
    K = np.array([[100.0, 0.0, 40.0], [0.0, 100.0, 30.0], [0.0, 0.0, 1.0]])
    sight = LineOfSight(np.full((60, 80), np.sqrt(2.0), np.float32), K, T)
    find_clusters(voxels, ClusterSettings(), planes=(table,), eye=T[:3, 3], sight=sight, blur=0.02)
