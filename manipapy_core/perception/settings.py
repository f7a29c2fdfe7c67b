"""Everything about the pipeline that a user may change, also while it runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..errors import InputError
from .points.planes import PlaneSettings
from .shapes.clusters import ClusterSettings
from .stereo.disparity import MatcherSettings
from .tracking.tracker import TrackSettings


@dataclass(frozen=True)
class PerceptionSettings:
    """One description of the whole pipeline; parts of it can be replaced with `dataclasses.replace`."""

    matcher: MatcherSettings = field(default_factory=MatcherSettings)
    planes: PlaneSettings = field(default_factory=PlaneSettings)
    clusters: ClusterSettings = field(default_factory=ClusterSettings)
    tracks: TrackSettings = field(default_factory=TrackSettings)
    largest_width: int = 640
    """Wider pictures are made smaller first [pixels]."""
    depth_noise: float = 0.002
    """σ_z of a depth camera at 1 m [m]; it grows with the square of the depth."""
    lower: tuple[float, float, float] = (-math.inf, -math.inf, -math.inf)
    upper: tuple[float, float, float] = (math.inf, math.inf, math.inf)
    """Corners of the crop box in the base frame [m]: outside nothing is looked at."""
    reach: float = math.inf
    """Nor farther from the base than this [m]: where the arm never gets, nothing is in its way."""
    voxel: float = 0.01
    """Edge of the cells that points are merged in [m]."""
    voxel_least: int = 1
    """Cells with fewer points are noise."""
    self_padding: float = 0.025
    """The robot counts as so much thicker [m] ..."""
    self_deviations: float = 2.0
    """... and, along the line of sight, by so many standard deviations of the depth."""
    self_shell: float = 0.03
    """What lies mostly within this around that [m] may be a leftover of the robot: no obstacle begins there."""
    flying_pixels: bool = True
    """Leave out pixels between a thing and what is behind it."""
    outlier_deviations: float = 2.5
    """Points lonelier than the mean by so many standard deviations are left out; inf keeps all."""
    least_valid: float = 0.05
    """Below this share of measured pixels a frame is not believed, and the result says so, 0 to 1 ..."""
    least_matched: float = 0.3
    """... unless this share of the pixels that have texture was matched: of things on a plain table that is enough."""

    def __post_init__(self) -> None:
        if self.largest_width < 16:
            raise InputError(f"largest_width is {self.largest_width}; give at least 16 pixels")
        for name in ("depth_noise", "voxel", "outlier_deviations", "reach"):
            if not getattr(self, name) > 0.0:
                raise InputError(f"{name} is {getattr(self, name)}; give a positive number")
        for name in ("voxel_least", "self_padding", "self_deviations", "self_shell", "least_valid", "least_matched"):
            if not getattr(self, name) >= 0.0:
                raise InputError(f"{name} is {getattr(self, name)}; give a number that is not negative")
        if not all(low < high for low, high in zip(self.lower, self.upper)):
            raise InputError(f"the crop box goes from {self.lower} to {self.upper}; lower must be below upper")
