"""Result of one frame: obstacles, intermediate data, and reasons for missing detections."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .points.detected_plane import DetectedPlane
from .points.voxels import Voxels
from .stereo.depth import DepthMap, Points, points_from_depth
from .stereo.disparity import Disparity
from .tracking.obstacle import Obstacle


class Reason(enum.Enum):
    """Why a frame may contain undetected obstacles, each with its cure."""

    DARK = "the image is black; take off the lens cap, switch the light on, or expose longer"
    BRIGHT = "the image is white; expose shorter"
    FLAT = "the image shows no texture; stereo needs some: light it with a pattern, or use a depth camera"
    FEW_PIXELS = "few pixels have a depth; check focus, light, calibration and the depth range"
    NOTHING_IN_BOX = "no point lies in the crop box; check its corners and the camera's pose"
    ONLY_ROBOT = "all points belong to the robot itself; check the padding and the joint positions"
    ONLY_PLANES = "all points belong to planes; no object stands on them"
    ONLY_NOISE = "the remaining points form no cluster; check eps, min_samples and min_points"
    TILTED = "the largest plane is tilted more than max_tilt; check the camera's pose and `up`, or raise max_tilt"
    CLOCK_WENT_BACK = "the frame is older than the previous one; all tracks were reset"
    REPEATED = "the frame has the time stamp of the previous one; nothing was updated"


UNUSABLE = frozenset({Reason.DARK, Reason.BRIGHT, Reason.FLAT, Reason.FEW_PIXELS})
"""Reasons to discard the points of a stereo pair; those of a depth camera are few, but measured."""


@dataclass(frozen=True, eq=False)
class PerceptionResult:
    """Result of one frame, in the base frame unless stated otherwise."""

    time_ns: int
    """When the frame was taken [ns]."""
    obstacles: tuple[Obstacle, ...]
    """Confirmed obstacles, ordered by id; `fresh` for those detected in this frame."""
    candidates: tuple[Obstacle, ...]
    """Objects of this frame that are not confirmed yet: they are forgotten if the next frame does not show them."""
    reasons: tuple[Reason, ...]
    """Why obstacles may be undetected; empty if there is no problem."""
    valid_share: float
    """Share of pixels with a depth, 0 to 1."""
    stage_times: Mapping[str, float]
    """Wall time of each stage [s], in order."""
    counts: Mapping[str, int]
    """Points or clusters left after each stage."""
    planes: tuple[DetectedPlane, ...]
    voxels: Voxels
    """Voxels that are neither robot nor plane."""
    labels: NDArray[np.int64]
    """Cluster index of each voxel in this frame, −1 for none, shape (voxels,)."""
    raw_points: Points | None
    """Input points in the base frame; None for images."""
    filtered_depth: DepthMap | None
    """Depth without flying pixels; None for point clouds."""
    T_base_optical: NDArray[np.float64]
    """Camera pose, shape (4, 4)."""
    depth: DepthMap | None
    """None for point clouds."""
    disparity: Disparity | None
    """None unless the frame is a stereo pair."""

    @cached_property
    def points(self) -> Points | None:
        """All points, organised as the frame; computed on demand."""
        if self.filtered_depth is None:
            return self.raw_points
        return points_from_depth(self.filtered_depth, self.T_base_optical)

    @property
    def sees(self) -> bool:
        """Whether the frame tells what is in view now; if not, all obstacles are remembered from former frames."""
        unusable = self.disparity is not None and not UNUSABLE.isdisjoint(self.reasons)
        return self.valid_share > 0.0 and not unusable and Reason.REPEATED not in self.reasons

    @property
    def covered(self) -> tuple[Obstacle, ...]:
        """All that a planner must keep clear of: what is seen now, confirmed or not, and what is remembered."""
        return tuple(sorted((*self.obstacles, *self.candidates), key=lambda obstacle: obstacle.id))

    @property
    def fresh(self) -> tuple[Obstacle, ...]:
        """Obstacles detected in this frame."""
        return tuple(obstacle for obstacle in self.obstacles if obstacle.fresh)

    @property
    def total_time(self) -> float:
        """From the frame to its obstacles [s]."""
        return float(sum(self.stage_times.values()))

    def describe(self) -> str:
        """Summary as text."""
        share, milliseconds = 100.0 * self.valid_share, 1e3 * self.total_time
        lines = [f"{len(self.obstacles)} obstacles, {share:.0f} % of pixels valid, {milliseconds:.1f} ms"]
        for obstacle in self.obstacles:
            size = " × ".join(f"{100.0 * edge:.0f}" for edge in obstacle.size)
            place = ", ".join(f"{value:.2f}" for value in obstacle.centre)
            state = "detected" if obstacle.fresh else f"not detected for {obstacle.unseen:.1f} s"
            label = f" {obstacle.label}" if obstacle.label else ""
            lines.append(f"  {obstacle.name}{label}: {size} cm at ({place}) m, {state}")
        lines += [f"  {reason.value}" for reason in self.reasons]
        return "\n".join(lines)
