"""Depth noise of this camera, measured on the tables that it sees.

Data sheets and models state less noise than real cameras have: on real tables a structured-light camera has a
standard deviation of 1.6, 2.0 and 2.5 mm at 0.6, 0.8 and 1.0 m, which is a floor and a part that grows with the square
of the depth. A plane of known pose gives the true depth of each of its pixels; the deviations from it, by depth, give
both parts. All later stages use the result through the standard deviation of each depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...typing import Array
from ..points.detected_plane import DetectedPlane

SAMPLES = 3000
"""Approximate number of pixels per frame that are compared with the planes."""
FIRST_FRAMES, EVERY = 5, 5
"""Each of the first frames is used, then every fifth: the noise of a camera changes slowly."""
MIN_SAMPLES = 300
"""No estimate with fewer pixels on planes."""
BANDS = 8
"""Depth bands, with equal numbers of pixels."""
GATE_DEVIATIONS, GATE_MARGIN = 4.0, 0.004
"""Pixels within this many expected standard deviations and this margin [m] of a plane show its noise."""
MIN_STEEPNESS = 0.2
"""Sine of the angle between line of sight and plane below which pixels are not used: small tilts matter most there."""
QUANTILE, NORMAL_QUANTILE = 0.8, 1.2816
"""Quantile of the absolute deviation used as a measure, and that of a normal distribution in standard deviations."""
MIN_DEPTH_RATIO = 1.3
"""Floor and growth are fitted apart only if the largest depth is this many times the smallest; else both are scaled."""
BLEND = 0.2
"""Share of a new frame in the estimate."""
LEAST, MOST = 0.5, 5.0
"""Limits of the estimate, relative to the model that it starts from."""


@dataclass(frozen=True)
class DepthNoise:
    """σ_z = floor + growth · z²."""

    floor: float
    """[m]"""
    growth: float
    """At 1 m [m]."""

    def __post_init__(self) -> None:
        if not (self.floor >= 0.0 and self.growth >= 0.0 and 0.0 < self.floor + self.growth < np.inf):
            raise InputError(f"depth noise: floor {self.floor} m, growth {self.growth} m; give positive numbers")

    def at(self, z: ArrayLike) -> Array:
        """Standard deviation at depths [m]."""
        return np.asarray(self.floor + self.growth * np.square(z))


class NoiseEstimator:
    """Estimates the noise of one camera, frame by frame.

    Args:
        model: The noise before the first estimate. Without a floor, as for stereo, whose noise is constant in pixels of
            disparity, the estimate has none either.
        least: Smallest estimate, relative to the model.
    """

    def __init__(self, model: DepthNoise, *, least: float = LEAST):
        self.model, self._least = model, least
        self.noise, self._calls = model, 0
        """The current estimate."""
        self.frames = 0
        """Frames with a measured plane."""

    def due(self) -> bool:
        """Whether the next frame is to be used."""
        self._calls += 1
        return self.frames < FIRST_FRAMES or self._calls % EVERY == 0

    def update(self, rays: Array, z: Array, T_base_optical: Array, planes: Sequence[DetectedPlane]) -> None:
        """Include a frame.

        Args:
            rays: Directions of pixels in the optical frame, with z = 1, shape (pixels, 3).
            z: Their measured depths [m], finite, shape (pixels,).
            T_base_optical: Camera pose, shape (4, 4).
            planes: Planes of this frame.
        """
        depths, deviations = [], []
        directions = rays @ T_base_optical[:3, :3].T
        lengths = np.linalg.norm(directions, axis=1)
        for plane in planes:
            slope = directions @ plane.normal
            usable = np.abs(slope) > MIN_STEEPNESS * lengths
            true = (plane.offset - float(plane.normal @ T_base_optical[:3, 3])) / np.where(usable, slope, 1.0)
            gate = GATE_MARGIN + GATE_DEVIATIONS * self.noise.at(true)
            near = usable & (true > 0.0) & (np.abs(z - true) < gate)
            depths.append(true[near])
            deviations.append(np.abs(z[near] - true[near]))
        if sum(map(len, depths)) < MIN_SAMPLES:
            return
        found = self._fit(np.concatenate(depths), np.concatenate(deviations))
        share = BLEND if self.frames else 1.0
        self.noise = DepthNoise(
            (1.0 - share) * self.noise.floor + share * found.floor,
            (1.0 - share) * self.noise.growth + share * found.growth,
        )
        self.frames += 1

    def _fit(self, depths: Array, deviations: Array) -> DepthNoise:
        """Floor and growth by least squares over depth bands."""
        order = np.argsort(depths)
        bands = np.array_split(order, BANDS)
        z = np.array([np.median(depths[band]) for band in bands])
        sigma = np.array([np.quantile(deviations[band], QUANTILE) for band in bands]) / NORMAL_QUANTILE
        model = self.model
        scale = float(np.median(sigma / model.at(z)))
        if model.floor == 0.0 or z[-1] < MIN_DEPTH_RATIO * z[0]:
            scale = min(max(scale, self._least), MOST)
            return DepthNoise(scale * model.floor, scale * model.growth)
        A = np.column_stack([np.ones(len(z)), z * z]) / sigma[:, None]
        (floor, growth), *_ = np.linalg.lstsq(A, np.ones(len(z)), rcond=None)
        if floor < 0.0:
            floor, growth = 0.0, float(np.median(sigma / (z * z)))
        elif growth < 0.0:
            floor, growth = float(np.median(sigma)), 0.0
        low, high = self._least, MOST
        # Limits of the whole at the depths of this frame, not of its parts.
        ratio = np.median((floor + growth * z * z) / model.at(z))
        factor = min(max(float(ratio), low), high) / max(float(ratio), 1e-9)
        return DepthNoise(float(factor * floor), float(factor * growth))
