"""What the pipeline says about one frame: obstacles, what they were made from, and why there are none."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .points.planes import PlaneFound
from .points.voxels import Voxels
from .stereo.depth import DepthMap, Points, points_from_depth
from .stereo.disparity import Disparity
from .tracking.obstacle import Obstacle


class Reason(enum.Enum):
    """Why less is seen than there may be, each with its cure."""

    DARK = "the picture is black; take off the lens cap, switch the light on, or expose longer"
    BRIGHT = "the picture is white; expose shorter"
    FLAT = "the picture shows no texture; stereo needs some: light it with a pattern, or use a depth camera"
    FEW_PIXELS = "few pixels have a depth; check focus, light, calibration and the range of depths"
    NOTHING_IN_BOX = "no point lies in the crop box; check its corners and the camera's pose"
    ONLY_ROBOT = "all points belong to the robot itself; check the padding and the joint positions"
    ONLY_PLANES = "all points belong to tables and floors: nothing stands on them"
    ONLY_NOISE = "points are left, but too few together for an obstacle; check eps, min_samples and least_points"
    CLOCK_WENT_BACK = "the frame is older than the one before; everything was forgotten"
    REPEATED = "the frame has the time stamp of the one before; nothing was updated"


@dataclass(frozen=True, eq=False)
class Perceived:
    """One frame, understood. Everything is in the base frame unless it says otherwise."""

    time_ns: int
    """When the frame was taken [ns]."""
    obstacles: tuple[Obstacle, ...]
    """Confirmed ones, in the order of their ids; `fresh` tells those that this frame shows."""
    candidates: tuple[Obstacle, ...]
    """Seen too few times to be believed yet."""
    reasons: tuple[Reason, ...]
    """Why less is seen than there may be; empty when all is well."""
    valid_share: float
    """Share of pixels with a depth, 0 to 1."""
    stage_times: Mapping[str, float]
    """CPU-independent wall time of each stage [s], in their order."""
    counts: Mapping[str, int]
    """Points that were left after each stage."""
    planes: tuple[PlaneFound, ...]
    voxels: Voxels
    """Those that are neither robot nor table."""
    labels: NDArray[np.int64]
    """Number of each voxel's cluster in this frame, −1 for none, shape (voxels,)."""
    loose_points: Points | None
    """As they came, in the base frame; None for pictures."""
    kept_depth: DepthMap | None
    """Without pixels between things and what is behind them; None for loose points."""
    T_base_optical: NDArray[np.float64]
    """Where the camera was, shape (4, 4)."""
    depth: DepthMap | None
    """None for loose points."""
    disparity: Disparity | None
    """None unless the frame was a stereo pair."""

    @cached_property
    def points(self) -> Points | None:
        """All points, organised as the frame was; made when they are asked for."""
        if self.kept_depth is None:
            return self.loose_points
        return points_from_depth(self.kept_depth, self.T_base_optical)

    @property
    def fresh(self) -> tuple[Obstacle, ...]:
        """Obstacles that this very frame shows."""
        return tuple(obstacle for obstacle in self.obstacles if obstacle.fresh)

    @property
    def total_time(self) -> float:
        """From the frame to its obstacles [s]."""
        return float(sum(self.stage_times.values()))

    def describe(self) -> str:
        """For a person."""
        share, milliseconds = 100.0 * self.valid_share, 1e3 * self.total_time
        lines = [f"{len(self.obstacles)} obstacles, {share:.0f} % of pixels valid, {milliseconds:.1f} ms"]
        for obstacle in self.obstacles:
            size = " × ".join(f"{100.0 * edge:.0f}" for edge in obstacle.size)
            place = ", ".join(f"{value:.2f}" for value in obstacle.centre)
            state = "seen" if obstacle.fresh else f"not seen for {obstacle.unseen:.1f} s"
            label = f" {obstacle.label}" if obstacle.label else ""
            lines.append(f"  {obstacle.name}{label}: {size} cm at ({place}) m, {state}")
        lines += [f"  {reason.value}" for reason in self.reasons]
        return "\n".join(lines)
