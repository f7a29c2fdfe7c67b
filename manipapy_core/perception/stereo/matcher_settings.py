"""Settings of stereo matching."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from ...errors import InputError


class Method(enum.Enum):
    """Matching algorithm, from the fastest to the best."""

    BM = "bm"
    """Block matching: three times as fast, needs texture everywhere, loses edges."""
    SGBM_3WAY = "sgbm_3way"
    """Semi-global matching along three directions: nearly as good as five, in two thirds of the time."""
    SGBM = "sgbm"
    """Semi-global matching along five directions."""


@dataclass(frozen=True)
class MatcherSettings:
    """Search range and rejection of matches."""

    method: Method = Method.SGBM_3WAY
    min_depth: float = 0.5
    max_depth: float = 3.0
    """Depth range [m]; the minimum determines the cost of the search. Larger depths become +inf."""
    max_search_depth: float = 12.0
    """Depths up to this are searched as well [m]: otherwise the tiles of a distant floor would be matched wrongly."""
    block_size: int = 3
    """Edge of the matched blocks [pixels], odd; BM uses at least 15."""
    row_step: int = 0
    """Rows averaged into one before matching; 0: two from 360 rows on. The columns determine the precision."""
    column_step: int = 0
    """Columns averaged into one for the search, 1 or 2; 0: two from 440 columns on. With two the search takes a third
    of the time and is refined on all columns; objects narrower than about eight columns may be lost."""
    left_right_tolerance: float = 1.0
    """Tolerance of the left-right check [pixels]."""
    cross_check: bool = False
    """Match a second time from right to left: twice the time, rejects half-occluded pixels."""
    uniqueness_ratio: int = 15
    """Required cost margin between the best and the second-best match [%]."""
    texture_threshold: float = 0.0
    """Minimum mean gradient between neighbouring columns of the search [grey values]; smoother areas are rejected. 0
    chooses: 0.25 for averaged columns, where `max_sigma` adapts to the noise, otherwise 1. The noise of a real camera
    alone gives 1 or 2: without averaged columns, raise it there. A small number, 0.01, keeps all."""
    max_residual: float = 14.0
    """Matches where the images differ by a larger standard deviation are rejected [grey values]; inf keeps all. For
    averaged columns only."""
    max_sigma: float = 0.44
    """Matches with a larger predicted standard deviation are rejected [pixels]; inf keeps all. It is the difference of
    the two images at the match relative to the texture there: with twice the noise, twice the texture is needed. Noise
    without texture gives 0.4 to 1 whatever its amplitude, good texture less than 0.2. Give 0.35 for noisy cameras if
    obstacles appear on plain surfaces, 0.6 for more pixels. Matches with few matched neighbours are rejected as well.
    For averaged columns only."""
    speckle_size: int = 60
    """Smaller connected patches are rejected [pixels, of averaged rows]; 0 keeps all."""
    speckle_range: float = 1.0
    """Largest disparity step within a patch [pixels]."""
    sigma: float = 0.2
    """Standard deviation of a disparity [pixels]."""

    def __post_init__(self) -> None:
        if not 0.0 < self.min_depth < self.max_depth < math.inf:
            raise InputError(f"depths from {self.min_depth} m to {self.max_depth} m; give 0 < min_depth < max_depth")
        if not 0.0 < self.max_search_depth < math.inf:
            raise InputError(f"max_search_depth is {self.max_search_depth} m; give a positive number")
        if not (3 <= self.block_size <= 51 and self.block_size % 2 == 1):
            raise InputError(f"block_size is {self.block_size} pixels; give an odd number from 3 to 51")
        if not 0 <= self.row_step <= 8:
            raise InputError(f"row_step is {self.row_step}; give 0 (automatic) to 8")
        if self.column_step not in (0, 1, 2):
            raise InputError(f"column_step is {self.column_step}; give 0 (automatic), 1 or 2")
        for name in ("left_right_tolerance", "uniqueness_ratio", "texture_threshold", "speckle_size", "speckle_range"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} is {getattr(self, name)}; give a number that is not negative")
        if not self.max_residual > 0.0:
            raise InputError(f"max_residual is {self.max_residual} grey values; give a positive number")
        if not self.max_sigma > 0.0:
            raise InputError(f"max_sigma is {self.max_sigma} pixels; give a positive number")
        if not 0.0 < self.sigma < 10.0:
            raise InputError(f"sigma is {self.sigma} pixels; give more than 0 and less than 10")
