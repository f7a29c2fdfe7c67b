"""A frame of any kind to points in the base frame: what of the pipeline depends on the kind of camera."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from ...errors import InputError
from ..result import Reason
from ..settings import PerceptionSettings
from ..tracking.line_of_sight import LineOfSight
from .calibration import Rectifier
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

DARKEST, BRIGHTEST = 8.0, 247.0
"""Mean grey values beyond which a picture is black or white."""
LEAST_CONTRAST = 3.0
"""Standard deviation of grey values below which a picture shows nothing."""


@dataclass
class StageTimes:
    """What is gathered while one frame goes through."""

    reasons: list[Reason] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    began: float = field(default_factory=time.perf_counter)

    def done(self, stage: str) -> None:
        """Close a stage."""
        now = time.perf_counter()
        self.times[stage] = now - self.began
        self.began = now

    def stage(self, stage: str, left: int, reason: Reason | None) -> None:
        """Close a stage that leaves so many points or clusters; the first that leaves nothing tells the reason."""
        before = next(reversed(self.counts.values())) if self.counts else 1
        self.counts[stage] = left
        if left == 0 and before > 0 and reason is not None and not self.reasons:
            self.reasons.append(reason)
        self.done(stage)


@dataclass(frozen=True, eq=False)
class MeasuredPoints:
    """A frame as points, whatever it was."""

    points: Points
    """At least those in the crop box, in the base frame."""
    sight: LineOfSight
    valid_share: float
    depth: DepthMap | None = None
    kept: DepthMap | None = None
    """Without flying pixels."""
    disparity: Disparity | None = None
    image: AnyImage | None = None
    camera: Camera | None = None
    blur: float = 0.0
    """How far outlines are smeared, as an angle [rad]."""


class PointSource:
    """Makes points of frames. What a stereo pair needs is made at its first frame and after every change."""

    def __init__(self, stereo: StereoModel | None, settings: PerceptionSettings | None = None):
        self._stereo = stereo
        self._settings = PerceptionSettings() if settings is None else settings
        self._matcher: tuple[Rectifier, Matcher] | None = None

    @property
    def stereo(self) -> StereoModel | None:
        """The cameras of stereo pairs."""
        return self._stereo

    @stereo.setter
    def stereo(self, stereo: StereoModel | None) -> None:
        self._stereo, self._matcher = stereo, None

    @property
    def settings(self) -> PerceptionSettings:
        """Of the whole pipeline."""
        return self._settings

    @settings.setter
    def settings(self, settings: PerceptionSettings) -> None:
        self._settings, self._matcher = settings, None

    def measure(self, frame: Frame, work: StageTimes) -> MeasuredPoints:
        """Points of a frame; reasons not to believe it and times of stages go into `work`.

        Raises:
            InputError: The frame cannot be used; says why.
        """
        if isinstance(frame, StereoPair):
            return self._measure_pair(frame, work)
        if isinstance(frame, DepthImage):
            return self._measure_depth(frame, work)
        return self._measure_points(frame, work)

    def _measure_pair(self, frame: StereoPair, work: StageTimes) -> MeasuredPoints:
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
        measured = self._from_depth(depth, frame, work, disparity.textured)
        # A block that holds an edge gives what is behind the edge the depth of what is before it.
        blur = matcher.smear / float(depth.camera.projection[0, 0])
        return replace(measured, disparity=disparity, image=left, camera=matcher.full.left, blur=blur)

    def _measure_depth(self, frame: DepthImage, work: StageTimes) -> MeasuredPoints:
        metres = as_depth(frame.depth, frame.encoding)
        limits = self._settings.matcher
        noise = self._settings.depth_noise
        depth = depth_from_image(metres, frame.camera, noise=noise, nearest=0.0, farthest=limits.farthest)
        measured = self._from_depth(depth, frame, work)
        blur = 1.0 / float(frame.camera.projection[0, 0])
        return replace(measured, image=frame.colour, camera=frame.camera, blur=blur)

    def _from_depth(self, depth: DepthMap, frame: Frame, work: StageTimes, textured: float = 1.0) -> MeasuredPoints:
        kept = without_flying_pixels(depth) if self._settings.flying_pixels else depth
        work.done("depth")
        points = cropped_points(kept, frame.T_base_optical, self._settings.lower, self._settings.upper)
        self._judge_share(depth.valid_share, work, textured)
        work.done("points")
        sight = LineOfSight.of_depth(depth, frame.T_base_optical)
        return MeasuredPoints(points, sight, depth.valid_share, depth=depth, kept=kept)

    def _measure_points(self, frame: PointSet, work: StageTimes) -> MeasuredPoints:
        optical = frame.in_optical_frame(self._settings.depth_noise)
        share = float(np.mean(np.isfinite(optical.xyz[..., 2]))) if optical.sigma.size else 0.0
        self._judge_share(share, work)
        loose = optical.xyz.reshape(-1, 3)
        sight = LineOfSight.of_points(loose[np.isfinite(loose).all(axis=1)], frame.T_base_optical)
        points = transformed(optical, frame.T_base_optical)
        work.done("points")
        return MeasuredPoints(points, sight, share)

    def _matching(self, width: int, height: int) -> tuple[Rectifier, Matcher]:
        """For pictures of this size; made at the first frame and after every change."""
        if self._stereo is None:
            raise InputError("a stereo pair came, but the pipeline has no stereo model; give it one")
        if (self._stereo.width, self._stereo.height) != (width, height):
            sizes = f"{width} × {height} pixels, the calibration is for {self._stereo.width} × {self._stereo.height}"
            raise InputError(f"the pictures have {sizes}; use the camera_info of these pictures")
        if self._matcher is None:
            scale = min(1.0, self._settings.largest_width / width)
            stereo = self._stereo if scale == 1.0 else self._stereo.scaled(round(width * scale), round(height * scale))
            self._matcher = Rectifier(stereo), Matcher(stereo, self._settings.matcher)
        return self._matcher

    def _judge(self, image: GrayImage, work: StageTimes) -> None:
        some = image[::4, ::4]
        mean, contrast = float(some.mean()), float(some.std())
        if mean < DARKEST and contrast < LEAST_CONTRAST:
            work.reasons.append(Reason.DARK)
        elif mean > BRIGHTEST and contrast < LEAST_CONTRAST:
            work.reasons.append(Reason.BRIGHT)
        elif contrast < LEAST_CONTRAST:
            work.reasons.append(Reason.FLAT)

    def _judge_share(self, share: float, work: StageTimes, textured: float = 1.0) -> None:
        few = share < self._settings.least_valid and share <= self._settings.least_matched * textured
        if few and not work.reasons:
            work.reasons.append(Reason.FEW_PIXELS)
