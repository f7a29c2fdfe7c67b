"""Settings of the perception pipeline; all may change while it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..errors import InputError
from .points.planes import PlaneSettings
from .shapes.clusters import ClusterSettings
from .shapes.padding import DEFAULT_PADDING, PaddingSettings
from .stereo.matcher_settings import MatcherSettings
from .tracking.tracker import TrackSettings


@dataclass(frozen=True)
class PerceptionSettings:
    """Settings of the whole pipeline; change parts with `dataclasses.replace`."""

    matcher: MatcherSettings = field(default_factory=MatcherSettings)
    planes: PlaneSettings = field(default_factory=PlaneSettings)
    clusters: ClusterSettings = field(default_factory=ClusterSettings)
    tracks: TrackSettings = field(default_factory=TrackSettings)
    padding: PaddingSettings = DEFAULT_PADDING
    """Enlargement of the obstacles' shapes."""
    max_width: int = 640
    """Wider images are scaled down first [pixels]."""
    depth_noise: float = 0.0014
    """Part of σ_z of a depth camera at 1 m [m] that grows with the square of the depth ..."""
    depth_noise_floor: float = 0.0011
    """... and the part that is the same at all depths [m]."""
    measure_noise: bool = True
    """Measure the noise of the camera on the tables that it sees, see `stereo/noise.py`; otherwise the values above and
    `MatcherSettings.sigma` hold."""
    lower: tuple[float, float, float] = (-math.inf, -math.inf, -math.inf)
    upper: tuple[float, float, float] = (math.inf, math.inf, math.inf)
    """Corners of the crop box in the base frame [m]; points outside are dropped."""
    reach: float = math.inf
    """Points farther from the base than this [m] are dropped: the arm does not reach them."""
    voxel_size: float = 0.01
    """Edge of a voxel [m]."""
    voxel_min_points: int = 1
    """Voxels with fewer points are dropped as noise."""
    self_padding: float = 0.025
    """Padding of the robot in the self filter [m] ..."""
    self_deviations: float = 2.0
    """... plus this many standard deviations of the depth along the line of sight."""
    self_shell: float = 0.03
    """A cluster mostly within this distance of the padded robot [m] may be residue of the robot and starts no track."""
    flying_pixels: bool = True
    """Remove flying pixels: depths between an object and its background."""
    outlier_deviations: float = 2.5
    """Outliers: points whose mean distance to their neighbours exceeds the mean by this many standard deviations; inf
    keeps all."""
    min_valid_share: float = 0.05
    """A frame with a smaller share of measured pixels is discarded, with a reason, 0 to 1 ..."""
    min_matched_share: float = 0.3
    """... unless this share of the textured pixels was matched: enough for objects on a table without texture."""

    def __post_init__(self) -> None:
        if self.max_width < 16:
            raise InputError(f"max_width is {self.max_width}; give at least 16 pixels")
        for name in ("depth_noise", "voxel_size", "outlier_deviations", "reach"):
            if not getattr(self, name) > 0.0:
                raise InputError(f"{name} is {getattr(self, name)}; give a positive number")
        for name in (
            "voxel_min_points",
            "depth_noise_floor",
            "self_padding",
            "self_deviations",
            "self_shell",
            "min_valid_share",
            "min_matched_share",
        ):
            if not getattr(self, name) >= 0.0:
                raise InputError(f"{name} is {getattr(self, name)}; give a number that is not negative")
        if not all(low < high for low, high in zip(self.lower, self.upper)):
            raise InputError(f"the crop box goes from {self.lower} to {self.upper}; lower must be below upper")
