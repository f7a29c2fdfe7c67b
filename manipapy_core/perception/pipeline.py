"""The pipeline: a frame of any kind in, tracked obstacles out."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..geometry import RobotBody
from .camera import Camera, StereoModel
from .clusters import Cluster, find_clusters
from .depth import (
    DepthMap,
    Points,
    cropped_points,
    depth_from_disparity,
    depth_from_image,
    transformed,
    without_flying_pixels,
)
from .detect import Detector, label_clusters
from .disparity import Disparity, Matcher
from .frames import DepthImage, Frame, PointSet, StereoPair
from .images import AnyImage, GrayImage, as_depth, as_gray, resized
from .obstacles import Obstacle
from .outliers import inliers
from .planes import PlaneFilter, PlaneFound
from .rectify import Rectifier
from .result import Perceived, Reason
from .self_filter import NoConfiguration, SelfFilter
from .settings import PipelineSettings
from .sight import Sight
from .tracking import Tracker
from .voxels import Voxels, voxel_grid

DARKEST, BRIGHTEST = 8.0, 247.0
"""Mean grey values beyond which a picture is black or white."""
LEAST_CONTRAST = 3.0
"""Standard deviation of grey values below which a picture shows nothing."""
BLIND = frozenset({Reason.DARK, Reason.BRIGHT, Reason.FLAT, Reason.FEW_PIXELS})
"""With these, nothing that is seen is believed."""


@dataclass
class _Work:
    """What is gathered while one frame goes through."""

    reasons: list[Reason] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    began: float = field(default_factory=time.perf_counter)

    def done(self, stage: str) -> None:
        now = time.perf_counter()
        self.times[stage] = now - self.began
        self.began = now


@dataclass(frozen=True, eq=False)
class _Measured:
    """A frame as points, whatever it was."""

    points: Points
    """At least those in the crop box, in the base frame."""
    sight: Sight
    valid_share: float
    depth: DepthMap | None = None
    kept: DepthMap | None = None
    """Without flying pixels."""
    disparity: Disparity | None = None
    image: AnyImage | None = None
    camera: Camera | None = None
    blur: float = 0.0
    """How far outlines are smeared, as an angle [rad]."""


class Pipeline:
    """Sees obstacles. One frame at a time; settings may change between frames, from any thread.

    Unknown space: obstacles that are out of sight, hidden, or on surfaces without a measurement stay where they were
    last seen, with the time since then; they go when they are seen to be gone. Space that was never seen holds none.
    """

    def __init__(
        self,
        stereo: StereoModel | None = None,
        *,
        body: RobotBody | None = None,
        settings: PipelineSettings | None = None,
        detector: Detector | None = None,
    ):
        """Prepare.

        Args:
            stereo: The cameras of stereo pairs; not needed for depth images and points.
            body: The robot that shall not be taken for an obstacle. Its chain's base is the base of all poses.
            detector: Gives obstacles their labels.
        """
        self.stereo, self.body, self.detector = stereo, body, detector
        self._lock = threading.Lock()
        self._last_time_ns: int | None = None
        self._last: tuple[Obstacle, ...] = ()
        self._matcher: tuple[tuple[int, int], Rectifier, Matcher] | None = None
        self._tracker = Tracker()
        self._planes = PlaneFilter()
        self._self_filter: SelfFilter | None = None
        self.configure(PipelineSettings() if settings is None else settings)

    @property
    def settings(self) -> PipelineSettings:
        """As of the next frame."""
        return self._settings

    def configure(self, settings: PipelineSettings) -> None:
        """Use other settings from the next frame on; obstacles keep their ids."""
        with self._lock:
            self._settings = settings
            self._matcher = None
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
        work, settings = _Work(), self._settings
        if self._self_filter is not None and frame.q is None:
            raise NoConfiguration(frame.time_ns, None, None)
        measured = self._measure(frame, work)
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
        self._stage(work, "voxels", len(voxels), Reason.NOTHING_IN_BOX)
        if self._self_filter is not None and frame.q is not None:
            voxels = voxels.select(self._self_filter.outside(voxels, frame.q, eye, blur=measured.blur))
            self._stage(work, "self", len(voxels), Reason.ONLY_ROBOT)
        stays, planes = self._planes.split(voxels, eye)
        voxels = voxels.select(stays)
        self._stage(work, "planes", len(voxels), Reason.ONLY_PLANES)
        if np.isfinite(settings.outlier_deviations):
            voxels = voxels.select(inliers(voxels.xyz, deviations=settings.outlier_deviations))
            self._stage(work, "outliers", len(voxels), None)
        clusters, labels = find_clusters(voxels, settings.clusters, planes=planes, up=settings.planes.up, eye=eye)
        self._stage(work, "clusters", len(clusters), Reason.ONLY_NOISE)
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
        work: _Work,
        measured: _Measured,
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

    def _stage(self, work: _Work, stage: str, left: int, reason: Reason | None) -> None:
        """Close a stage; the first that leaves nothing tells the reason."""
        before = next(reversed(work.counts.values())) if work.counts else 1
        work.counts[stage] = left
        if left == 0 and before > 0 and reason is not None and not work.reasons:
            work.reasons.append(reason)
        work.done(stage)

    def _measure(self, frame: Frame, work: _Work) -> _Measured:
        if isinstance(frame, StereoPair):
            return self._measure_pair(frame, work)
        if isinstance(frame, DepthImage):
            return self._measure_depth(frame, work)
        return self._measure_points(frame, work)

    def _measure_pair(self, frame: StereoPair, work: _Work) -> _Measured:
        left = as_gray(frame.left, frame.encoding, name="the left image")
        right = as_gray(frame.right, frame.encoding, name="the right image")
        self._judge(left, work)
        rectifier, matcher = self._matching(left.shape[1], left.shape[0])
        size = (matcher.full.width, matcher.full.height)
        left, right = rectifier.pair(resized(left, *size), resized(right, *size))
        work.done("rectify")
        disparity = matcher.match(left, right, rectifier.seen)
        work.done("match")
        limits = self._settings.matcher
        depth = depth_from_disparity(disparity, nearest=limits.nearest, farthest=limits.farthest)
        measured = self._from_depth(depth, frame, work)
        # A block that holds an edge gives what is behind the edge the depth of what is before it.
        blur = (limits.block // 2 + 1) / float(depth.camera.projection[0, 0])
        return replace(measured, disparity=disparity, image=left, camera=matcher.full.left, blur=blur)

    def _measure_depth(self, frame: DepthImage, work: _Work) -> _Measured:
        metres = as_depth(frame.depth, frame.encoding)
        limits = self._settings.matcher
        noise = self._settings.depth_noise
        depth = depth_from_image(metres, frame.camera, noise=noise, nearest=0.0, farthest=limits.farthest)
        measured = self._from_depth(depth, frame, work)
        blur = 1.0 / float(frame.camera.projection[0, 0])
        return replace(measured, image=frame.colour, camera=frame.camera, blur=blur)

    def _from_depth(self, depth: DepthMap, frame: Frame, work: _Work) -> _Measured:
        kept = without_flying_pixels(depth) if self._settings.flying_pixels else depth
        work.done("depth")
        points = cropped_points(kept, frame.T_base_optical, self._settings.lower, self._settings.upper)
        self._judge_share(depth.valid_share, work)
        work.done("points")
        sight = Sight.of_depth(depth, frame.T_base_optical)
        return _Measured(points, sight, depth.valid_share, depth=depth, kept=kept)

    def _measure_points(self, frame: PointSet, work: _Work) -> _Measured:
        optical = frame.in_optical_frame(self._settings.depth_noise)
        share = float(np.mean(np.isfinite(optical.xyz[..., 2]))) if optical.sigma.size else 0.0
        self._judge_share(share, work)
        loose = optical.xyz.reshape(-1, 3)
        sight = Sight.of_points(loose[np.isfinite(loose).all(axis=1)], frame.T_base_optical)
        points = transformed(optical, frame.T_base_optical)
        work.done("points")
        return _Measured(points, sight, share)

    def _matching(self, width: int, height: int) -> tuple[Rectifier, Matcher]:
        """For pictures of this size; made at the first frame and after every change."""
        if self.stereo is None:
            raise InputError("a stereo pair came, but the pipeline has no stereo model; give it one")
        if (self.stereo.width, self.stereo.height) != (width, height):
            sizes = f"{width} × {height} pixels, the calibration is for {self.stereo.width} × {self.stereo.height}"
            raise InputError(f"the pictures have {sizes}; use the camera_info of these pictures")
        if self._matcher is None or self._matcher[0] != (width, height):
            scale = min(1.0, self._settings.largest_width / width)
            stereo = self.stereo if scale == 1.0 else self.stereo.scaled(round(width * scale), round(height * scale))
            self._matcher = ((width, height), Rectifier(stereo), Matcher(stereo, self._settings.matcher))
        return self._matcher[1], self._matcher[2]

    def _judge(self, image: GrayImage, work: _Work) -> None:
        some = image[::4, ::4]
        mean, contrast = float(some.mean()), float(some.std())
        if mean < DARKEST and contrast < LEAST_CONTRAST:
            work.reasons.append(Reason.DARK)
        elif mean > BRIGHTEST and contrast < LEAST_CONTRAST:
            work.reasons.append(Reason.BRIGHT)
        elif contrast < LEAST_CONTRAST:
            work.reasons.append(Reason.FLAT)

    def _judge_share(self, share: float, work: _Work) -> None:
        if share < self._settings.least_valid and not work.reasons:
            work.reasons.append(Reason.FEW_PIXELS)
