"""The perception pipeline: a stereo pair, depth image or point cloud in, tracked obstacles out."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from .. import lie
from ..compile_notice import compiling
from ..errors import InputError
from ..geometry import AttachedObject, RobotBody
from .points.detected_plane import DetectedPlane
from .points.outliers import inliers
from .points.planes import PlaneFilter
from .points.self_filter import NoConfiguration, SelfFilter
from .points.voxels import Voxels, voxel_grid
from .result import UNUSABLE, PerceptionResult, Reason
from .settings import PerceptionSettings
from .shapes.cluster import Cluster
from .shapes.clusters import ClusterSettings, find_clusters
from .shapes.labels import Detector, label_clusters
from .shapes.splitting import convex_parts
from .shapes.subthreshold import find_subthreshold_objects
from .stereo.camera import StereoModel
from .stereo.frames import DepthImage, Frame, StereoPair
from .stereo.matcher_settings import MatcherSettings
from .stereo.to_points import MeasuredPoints, PointSource, StageLog
from .tracking.line_of_sight import LineOfSight
from .tracking.obstacle import Obstacle
from .tracking.tracker import Tracker

SURFACE_PIXELS = 4
"""A voxel of a depth camera with this many pixels is no outlier."""


class PerceptionPipeline:
    """Detects and tracks obstacles, one frame at a time; settings may change between frames, from any thread.

    Unknown space: obstacles that are out of view, occluded, or on surfaces without a measurement keep their last
    pose, with the time since their last detection; they are removed once their place was observed to be free. Space
    that was never observed holds no obstacle.
    """

    def __init__(
        self,
        stereo: StereoModel | None = None,
        *,
        body: RobotBody | None = None,
        settings: PerceptionSettings | None = None,
        detector: Detector | None = None,
    ):
        """Create the pipeline.

        Args:
            stereo: Calibration of stereo pairs; not needed for depth images and points.
            body: The robot to filter out. The base of its chain is the base frame of all poses.
            detector: Labels obstacles.
        """
        self.body, self.detector = body, detector
        self._source = PointSource(stereo)
        self._lock = threading.Lock()
        self._last_time_ns: int | None = None
        self._last: tuple[Obstacle, ...] = ()
        self._tracker = Tracker()
        self._planes = PlaneFilter()
        self._self_filter: SelfFilter | None = None
        self._attached: tuple[AttachedObject, ...] = ()
        self.configure(PerceptionSettings() if settings is None else settings)

    @property
    def stereo(self) -> StereoModel | None:
        """Calibration of stereo pairs; may be replaced between frames."""
        return self._source.stereo

    @stereo.setter
    def stereo(self, stereo: StereoModel | None) -> None:
        with self._lock:
            self._source.stereo = stereo

    @property
    def settings(self) -> PerceptionSettings:
        """Settings from the next frame on."""
        return self._settings

    def configure(self, settings: PerceptionSettings) -> None:
        """Change the settings from the next frame on; obstacles keep their ids."""
        with self._lock:
            self._settings = settings
            self._source.settings = settings
            self._tracker.settings, self._tracker.padding = settings.tracks, settings.padding
            self._planes = PlaneFilter(settings.planes)
            self._build_self_filter()

    def carry(self, attached: Iterable[AttachedObject]) -> None:
        """Set the objects that the robot carries from the next frame on: they are filtered out like its links.

        Raises:
            UnknownLink: One moves with a link that the robot does not have.
        """
        with self._lock:
            before, self._attached = self._attached, tuple(attached)
            try:
                self._build_self_filter()
            except InputError:
                self._attached = before
                raise

    def _build_self_filter(self) -> None:
        if self.body is not None:
            padding, deviations = self._settings.self_padding, self._settings.self_deviations
            self._self_filter = SelfFilter(self.body, padding=padding, deviations=deviations, attached=self._attached)

    def reset(self) -> None:
        """Remove all obstacles and planes; ids are not reused."""
        with self._lock:
            self._clear()

    def feed(self, frame: Frame) -> PerceptionResult:
        """Process a frame.

        Raises:
            InputError: The frame cannot be used (sizes, encodings, calibration, missing joint positions). The state is
                unchanged; obstacles only age.
        """
        with self._lock:
            return self._feed(frame)

    def _clear(self) -> None:
        self._tracker.reset()
        self._planes.reset()
        self._last_time_ns, self._last = None, ()

    def _feed(self, frame: Frame) -> PerceptionResult:
        log, settings = StageLog(), self._settings
        if self._self_filter is not None and frame.q is None:
            raise NoConfiguration(frame.time_ns, None, None)
        measured = self._source.to_points(frame, log)
        repeated = frame.time_ns == self._last_time_ns
        if self._last_time_ns is not None and frame.time_ns < self._last_time_ns:
            self._clear()
            log.reasons.append(Reason.CLOCK_WENT_BACK)
        viewpoint = frame.T_base_optical[:3, 3]
        voxels = voxel_grid(
            measured.points,
            settings.voxel_size,
            lower=settings.lower,
            upper=settings.upper,
            min_points=settings.voxel_min_points,
        )
        if np.isfinite(settings.reach):
            voxels = voxels.select(np.einsum("ij,ij->i", voxels.xyz, voxels.xyz) <= settings.reach**2)
        if isinstance(frame, StereoPair) and not UNUSABLE.isdisjoint(log.reasons):
            # The points of an unusable image are noise; obstacles keep their pose and age.
            voxels = voxels.select(np.zeros(len(voxels), np.bool_))
        log.stage("voxels", len(voxels), Reason.NOTHING_IN_BOX)
        if self._self_filter is not None and frame.q is not None:
            voxels = voxels.select(self._self_filter.outside(voxels, frame.q, viewpoint, blur=measured.blur))
            log.stage("self", len(voxels), Reason.ONLY_ROBOT)
        stays, planes = self._planes.split(voxels, viewpoint)
        chosen = np.flatnonzero(stays)
        log.stage("planes", len(chosen), Reason.ONLY_PLANES)
        if not repeated:
            self._source.measure_noise(frame, measured, planes)
        if self._planes.tilt is not None:
            log.reasons.append(Reason.TILTED)
        if np.isfinite(settings.outlier_deviations):
            near = inliers(voxels.xyz[chosen], deviations=settings.outlier_deviations)
            if isinstance(frame, DepthImage):
                # The visible edge of a half-hidden object has few neighbours, but more pixels than noise in the air.
                near |= voxels.counts[chosen] >= SURFACE_PIXELS
            chosen = chosen[near]
            log.stage("outliers", len(chosen), None)
        clusters, labels = self._cluster(voxels, chosen, planes, viewpoint, measured)
        kept = labels >= 0
        kept[chosen] = True
        voxels, labels = voxels.select(kept), labels[kept]
        log.stage("clusters", len(clusters), Reason.ONLY_NOISE)
        names = None
        if self.detector is not None and measured.image is not None and measured.camera is not None:
            detections = self.detector.detect(np.asarray(measured.image, dtype=np.uint8))
            names = label_clusters(clusters, detections, measured.camera, frame.T_base_optical)
            log.done("detect")
        if repeated:
            log.reasons.append(Reason.REPEATED)
        else:
            doubtful = self._near_robot(clusters, frame, measured.blur)
            self._last = self._tracker.update(frame.time_ns, clusters, measured.line_of_sight, names, doubtful)
        self._last_time_ns = frame.time_ns
        log.done("tracks")
        return self._result(frame, log, measured, voxels, labels, planes)

    def _cluster(
        self,
        voxels: Voxels,
        chosen: NDArray[np.intp],
        planes: tuple[DetectedPlane, ...],
        viewpoint: NDArray[np.float64],
        measured: MeasuredPoints,
    ) -> tuple[tuple[Cluster, ...], NDArray[np.int64]]:
        """Clusters of the chosen points, and subthreshold objects on the planes.

        Returns:
            The clusters, and per voxel the index of its cluster, −1 for none.
        """
        settings, padding = self._settings.clusters, self._settings.padding
        up, blur = self._settings.planes.up, measured.blur
        line_of_sight = measured.line_of_sight if measured.depth is not None else None
        clear = voxels.select(chosen)
        clusters, own = find_clusters(
            clear,
            settings,
            planes=planes,
            up=up,
            viewpoint=viewpoint,
            line_of_sight=line_of_sight,
            free_space=measured.line_of_sight,
            blur=blur,
            padding=padding,
        )
        labels = np.full(len(voxels), -1, np.int64)
        labels[chosen] = own
        if line_of_sight is not None:
            subthreshold = find_subthreshold_objects(
                voxels,
                settings,
                planes=planes,
                clusters=clusters,
                up=up,
                line_of_sight=line_of_sight,
                blur=blur,
                padding=padding,
            )
            for number, (_, members) in enumerate(subthreshold, len(clusters)):
                labels[members] = number
            clusters += tuple(cluster for cluster, _ in subthreshold)
        return clusters, labels

    def _near_robot(self, clusters: Sequence[Cluster], frame: Frame, blur: float) -> list[bool]:
        """Which clusters are so close to the robot that they may be residue of the self filter."""
        if self._self_filter is None or frame.q is None or not clusters:
            return [False] * len(clusters)
        points = np.concatenate([cluster.points for cluster in clusters])
        sizes = [len(cluster.points) for cluster in clusters]
        sigma = np.repeat(np.array([cluster.sigma for cluster in clusters], np.float32), sizes)
        cells = Voxels(points, sigma, np.ones(len(points), np.int32), self._settings.voxel_size)
        viewpoint = frame.T_base_optical[:3, 3]
        free = self._self_filter.outside(cells, frame.q, viewpoint, blur=blur, extra_padding=self._settings.self_shell)
        return [float(part.mean()) < 0.5 for part in np.split(free, np.cumsum(sizes)[:-1])]

    def _result(
        self,
        frame: Frame,
        log: StageLog,
        measured: MeasuredPoints,
        voxels: Voxels,
        labels: NDArray[np.int64],
        planes: tuple[DetectedPlane, ...],
    ) -> PerceptionResult:
        return PerceptionResult(
            time_ns=frame.time_ns,
            obstacles=tuple(obstacle for obstacle in self._last if obstacle.confirmed),
            candidates=tuple(obstacle for obstacle in self._last if not obstacle.confirmed),
            reasons=tuple(log.reasons),
            valid_share=measured.valid_share,
            stage_times=MappingProxyType(log.times),
            counts=MappingProxyType(log.counts),
            planes=planes,
            voxels=voxels,
            labels=labels,
            raw_points=None if measured.filtered is not None else measured.points,
            filtered_depth=measured.filtered,
            T_base_optical=frame.T_base_optical,
            depth=measured.depth,
            disparity=measured.disparity,
        )


def warm_up(body: RobotBody | None) -> None:
    """Load the compiled code by processing two small images, so that the first frame takes no longer than the next.

    Args:
        body: The robot to filter out; None: no self filter.
    """
    with compiling("perception", 20.0):
        inliers(np.zeros((10, 3)))
        _warm_up_images(body)
        _warm_up_clusters()


def _warm_up_images(body: RobotBody | None) -> None:
    random = np.random.default_rng(0)
    image = random.integers(0, 256, (96, 160), dtype=np.uint8)
    stereo = StereoModel.ideal(160, 96, 120.0, 120.0, 80.0, 48.0, 0.1)
    # column_step=2 as for large images: it also compiles the refinement.
    pipeline = PerceptionPipeline(
        stereo, body=body, settings=PerceptionSettings(matcher=MatcherSettings(column_step=2))
    )
    q = None if body is None else np.zeros(body.chain.n)
    for number in range(2):
        # A shift of twelve pixels is a wall at one depth.
        pair = StereoPair(number, np.eye(4), np.roll(image, 12, axis=1), image, q)
        pipeline.feed(pair)


def _warm_up_clusters() -> None:
    """Cluster and split a cube on a table, since the noise images contain none."""
    rows = np.arange(0.0, 0.05, 0.01)
    xyz = np.stack(np.meshgrid(rows, rows, rows + 0.01), axis=-1).reshape(-1, 3).astype(np.float32)
    voxels = Voxels(xyz, np.full(len(xyz), 0.002, np.float32), np.full(len(xyz), 4, np.int32), 0.01)
    table = DetectedPlane(np.array([0.0, 0.0, 1.0]), 0.0, 1000, False, np.full(2, -1.0), np.full(2, 1.0), 1.0)
    T = lie.pose(lie.exp_so3([0.0, 0.75 * np.pi, 0.0]), [-1.0, 0.0, 1.0])
    K = np.array([[100.0, 0.0, 40.0], [0.0, 100.0, 30.0], [0.0, 0.0, 1.0]])
    line_of_sight = LineOfSight(np.full((60, 80), np.sqrt(2.0), np.float32), K, T)
    find_clusters(
        voxels, ClusterSettings(), planes=(table,), viewpoint=T[:3, 3], line_of_sight=line_of_sight, blur=0.02
    )
    # An image without depth in front of anything: every chord is free, so that the whole search runs.
    convex_parts(voxels, LineOfSight(np.full((60, 80), np.inf, np.float32), K, T))
