"""Conversion of stereo pairs, depth images and point clouds to points in the base frame."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import InputError
from ..points.detected_plane import DetectedPlane
from ..result import Reason
from ..settings import PerceptionSettings
from ..tracking.line_of_sight import LineOfSight
from .camera import Camera, StereoModel
from .depth import (
    DepthMap,
    Points,
    cropped_points,
    depth_from_disparity,
    depth_from_image,
    transformed,
    without_flying_pixels,
)
from .disparity import Disparity, Matcher
from .frames import DepthImage, Frame, PointSet, StereoPair
from .images import AnyImage, GrayImage, as_depth, as_gray, resized
from .noise import LEAST, SAMPLES, DepthNoise, NoiseEstimator
from .rectify import DepthRectifier, Rectifier

DARK_LEVEL, BRIGHT_LEVEL = 8.0, 247.0
"""Mean grey values beyond which an image is black or white."""
MIN_CONTRAST = 3.0
"""Standard deviation of grey values below which an image has no texture."""


@dataclass
class StageLog:
    """Reasons, times and counts of the stages of one frame."""

    reasons: list[Reason] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    began: float = field(default_factory=time.perf_counter)

    def done(self, stage: str) -> None:
        """End a stage."""
        now = time.perf_counter()
        self.times[stage] = now - self.began
        self.began = now

    def stage(self, stage: str, left: int, reason: Reason | None) -> None:
        """End a stage that leaves this many points or clusters; the first that leaves none adds its reason."""
        before = next(reversed(self.counts.values())) if self.counts else 1
        self.counts[stage] = left
        if left == 0 and before > 0 and reason is not None and not self.reasons:
            self.reasons.append(reason)
        self.done(stage)


@dataclass(frozen=True, eq=False)
class MeasuredPoints:
    """Points of a frame and the data they come from."""

    points: Points
    """In the base frame; at least those in the crop box."""
    line_of_sight: LineOfSight
    valid_share: float
    depth: DepthMap | None = None
    filtered: DepthMap | None = None
    """Depth without flying pixels."""
    disparity: Disparity | None = None
    image: AnyImage | None = None
    camera: Camera | None = None
    blur: float = 0.0
    """Angle by which outlines are smeared [rad]."""


class PointSource:
    """Converts frames to points; rectifier and matcher are created at the first stereo pair and after every change."""

    def __init__(self, stereo: StereoModel | None, settings: PerceptionSettings | None = None):
        self._stereo = stereo
        self._settings = PerceptionSettings() if settings is None else settings
        self._matcher: tuple[Rectifier, Matcher] | None = None
        self._noise: dict[type[Frame], NoiseEstimator] = {}
        self._rectified: tuple[object, DepthRectifier] | None = None

    @property
    def stereo(self) -> StereoModel | None:
        """Calibration of stereo pairs."""
        return self._stereo

    @stereo.setter
    def stereo(self, stereo: StereoModel | None) -> None:
        self._stereo, self._matcher, self._noise = stereo, None, {}

    @property
    def settings(self) -> PerceptionSettings:
        """Settings of the whole pipeline."""
        return self._settings

    @settings.setter
    def settings(self, settings: PerceptionSettings) -> None:
        self._settings, self._matcher = settings, None

    def to_points(self, frame: Frame, log: StageLog) -> MeasuredPoints:
        """Points of a frame; reasons and times of the stages are added to `log`.

        Raises:
            InputError: The frame cannot be used.
        """
        if isinstance(frame, StereoPair):
            return self._from_pair(frame, log)
        if isinstance(frame, DepthImage):
            return self._from_depth_image(frame, log)
        return self._from_point_set(frame, log)

    def noise_of(self, kind: type[Frame], model: DepthNoise) -> DepthNoise:
        """Measured noise of the frames of a kind; the model before it is measured."""
        if not self._settings.measure_noise:
            return model
        # Stereo also has gross errors: its noise is never taken to be less than the model.
        if kind not in self._noise or self._noise[kind].model != model:
            self._noise[kind] = NoiseEstimator(model, least=1.0 if kind is StereoPair else LEAST)
        return self._noise[kind].noise

    def measure_noise(self, frame: Frame, measured: MeasuredPoints, planes: Sequence[DetectedPlane]) -> None:
        """Update the noise of the camera by the planes of a frame, for the next one."""
        estimator = self._noise.get(type(frame))
        if estimator is None or not planes or not self._settings.measure_noise or not estimator.due():
            return
        T = frame.T_base_optical
        if measured.depth is not None:
            P, depth = measured.depth.camera.projection, measured.depth.depth
            step = max(1, int(np.sqrt(depth.size / SAMPLES)))
            v, u = np.mgrid[0 : depth.shape[0] : step, 0 : depth.shape[1] : step]
            z = depth[v, u].astype(np.float64)
            seen = np.isfinite(z)
            u, v, z = u[seen], v[seen], z[seen]
            rays = np.column_stack([(u - P[0, 2]) / P[0, 0], (v - P[1, 2]) / P[1, 1], np.ones(len(z))])
        else:
            points = measured.points.unorganised().xyz
            optical = (points[:: 1 + len(points) // SAMPLES].astype(np.float64) - T[:3, 3]) @ T[:3, :3]
            optical = optical[np.isfinite(optical).all(axis=1) & (optical[:, 2] > 1e-3)]
            z = optical[:, 2]
            rays = optical / z[:, None]
        estimator.update(rays, z, T, planes)

    def _from_pair(self, frame: StereoPair, log: StageLog) -> MeasuredPoints:
        left = as_gray(frame.left, frame.encoding, name="the left image")
        right = as_gray(frame.right, frame.encoding, name="the right image")
        self._check_exposure(left, log)
        rectifier, matcher = self._rectifier_and_matcher(left.shape[1], left.shape[0])
        size = (matcher.full.width, matcher.full.height)
        left, right = rectifier.pair(resized(left, *size), resized(right, *size))
        log.done("rectify")
        disparity = matcher.match(left, right, rectifier.valid)
        log.done("match")
        limits, scale = self._settings.matcher, matcher.stereo.focal * matcher.stereo.baseline
        noise = self.noise_of(StereoPair, DepthNoise(0.0, limits.sigma / scale))
        disparity = replace(disparity, sigma=noise.growth * scale)
        depth = depth_from_disparity(disparity, min_depth=limits.min_depth, max_depth=limits.max_depth)
        measured = self._from_depth(depth, frame, log, disparity.textured)
        # A block that contains an edge gives the background the depth of the foreground.
        blur = matcher.smear / float(depth.camera.projection[0, 0])
        return replace(measured, disparity=disparity, image=left, camera=matcher.full.left, blur=blur)

    def _from_depth_image(self, frame: DepthImage, log: StageLog) -> MeasuredPoints:
        metres = as_depth(frame.depth, frame.encoding)
        if frame.raw and not frame.camera.rectified:
            metres = self._depth_rectifier(frame.camera).image(metres)
            log.done("rectify")
        limits = self._settings.matcher
        noise = self.noise_of(DepthImage, self._depth_model)
        depth = depth_from_image(
            metres, frame.camera, noise=noise.growth, noise_floor=noise.floor, max_depth=limits.max_depth
        )
        measured = self._from_depth(depth, frame, log)
        blur = 1.0 / float(frame.camera.projection[0, 0])
        return replace(measured, image=frame.colour, camera=frame.camera, blur=blur)

    def _depth_rectifier(self, camera: Camera) -> DepthRectifier:
        """Created on demand, and again for another camera."""
        known = self._rectified
        key = (camera.width, camera.height, camera.K.tobytes(), camera.D.tobytes(), camera.R.tobytes(),
               camera.projection.tobytes())  # fmt: skip
        if known is None or known[0] != key:
            known = self._rectified = (key, DepthRectifier(camera))
        return known[1]

    def _from_depth(self, depth: DepthMap, frame: Frame, log: StageLog, textured: float = 1.0) -> MeasuredPoints:
        filtered = without_flying_pixels(depth) if self._settings.flying_pixels else depth
        log.done("depth")
        points = cropped_points(filtered, frame.T_base_optical, self._settings.lower, self._settings.upper)
        self._check_valid_share(depth.valid_share, log, textured)
        log.done("points")
        line_of_sight = LineOfSight.of_depth(depth, frame.T_base_optical)
        return MeasuredPoints(points, line_of_sight, depth.valid_share, depth=depth, filtered=filtered)

    def _from_point_set(self, frame: PointSet, log: StageLog) -> MeasuredPoints:
        noise = self.noise_of(PointSet, self._depth_model)
        optical = frame.in_optical_frame(noise.growth, noise.floor)
        share = float(np.mean(np.isfinite(optical.xyz[..., 2]))) if optical.sigma.size else 0.0
        self._check_valid_share(share, log)
        xyz = optical.xyz.reshape(-1, 3)
        line_of_sight = LineOfSight.of_points(xyz[np.isfinite(xyz).all(axis=1)], frame.T_base_optical)
        points = transformed(optical, frame.T_base_optical)
        log.done("points")
        return MeasuredPoints(points, line_of_sight, share)

    @property
    def _depth_model(self) -> DepthNoise:
        return DepthNoise(self._settings.depth_noise_floor, self._settings.depth_noise)

    def _rectifier_and_matcher(self, width: int, height: int) -> tuple[Rectifier, Matcher]:
        """Rectifier and matcher for images of this size, created on demand."""
        if self._stereo is None:
            raise InputError("the frame is a stereo pair, but the pipeline has no stereo model; set `stereo`")
        if (self._stereo.width, self._stereo.height) != (width, height):
            sizes = f"{width} × {height} pixels, the calibration is for {self._stereo.width} × {self._stereo.height}"
            raise InputError(f"the images have {sizes}; use the camera_info of these images")
        if self._matcher is None:
            scale = min(1.0, self._settings.max_width / width)
            stereo = self._stereo if scale == 1.0 else self._stereo.scaled(round(width * scale), round(height * scale))
            self._matcher = Rectifier(stereo), Matcher(stereo, self._settings.matcher)
        return self._matcher

    def _check_exposure(self, image: GrayImage, log: StageLog) -> None:
        some = image[::4, ::4]
        mean, contrast = float(some.mean()), float(some.std())
        if mean < DARK_LEVEL and contrast < MIN_CONTRAST:
            log.reasons.append(Reason.DARK)
        elif mean > BRIGHT_LEVEL and contrast < MIN_CONTRAST:
            log.reasons.append(Reason.BRIGHT)
        elif contrast < MIN_CONTRAST:
            log.reasons.append(Reason.FLAT)

    def _check_valid_share(self, share: float, log: StageLog, textured: float = 1.0) -> None:
        few = share < self._settings.min_valid_share and share <= self._settings.min_matched_share * textured
        if few and not log.reasons:
            log.reasons.append(Reason.FEW_PIXELS)
