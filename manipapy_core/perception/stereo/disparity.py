"""Stereo matching: disparity of rectified pairs.

OpenCV matches; this module derives its parameters from depths in metres, rejects unreliable matches (no texture, failed
left-right check, speckles, image borders), and gives the uncertainty of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from .camera import StereoModel
from .images import BadImage, GrayImage, opencv
from .matcher_settings import MatcherSettings, Method
from .refine import refined
from .rejection import disagreeing, mean_gradients, smooth_areas, unsupported

FloatImage = NDArray[np.float32]

FIXED_POINT = np.float32(1.0 / 16.0)
"""OpenCV returns disparities in sixteenths of a pixel."""
MAX_DISPARITIES = 1024
AVERAGED_ROWS, AVERAGED_COLUMNS = 360, 440
"""Images with at least this many rows and columns are searched with both averaged in pairs."""
TEXTURE, REFINED_TEXTURE = 1.0, 0.25
"""Automatic texture thresholds [grey values]; refinement rejects noise by its own measure."""
MIN_WIDTH = 32
"""Smallest image width that is matched [pixels]."""


@dataclass(frozen=True, eq=False)
class Disparity:
    """Disparities of one pair with their stereo model."""

    values: FloatImage
    """[pixels]; NaN where rejected; shape (rows, width)."""
    lowest: int
    highest: int
    """Searched range [pixels], from `lowest` to below `highest`."""
    row_step: int
    """Rows of the image per row of `values`."""
    stereo: StereoModel
    """The pair, scaled to the shape of `values`."""
    sigma: float
    """Standard deviation of the values [pixels]."""
    textured: float = 1.0
    """Share of pixels with enough texture to be matched, 0 to 1."""

    @property
    def valid_share(self) -> float:
        """Share of pixels with a disparity, 0 to 1."""
        return float(np.count_nonzero(self.values == self.values) / self.values.size)

    def full_size(self, height: int | None = None) -> FloatImage:
        """Disparities for every row of the image, shape (height, width).

        Args:
            height: Rows of the image, if not a multiple of `row_step`; the last ones are then NaN.
        """
        every = np.repeat(self.values, self.row_step, axis=0)
        missing = 0 if height is None else height - len(every)
        return np.pad(every, ((0, missing), (0, 0)), constant_values=np.nan) if missing > 0 else every


class Matcher:
    """Matches pairs of one rectified stereo model."""

    def __init__(self, stereo: StereoModel, settings: MatcherSettings | None = None):
        """Choose the disparity range and create OpenCV's matcher.

        Raises:
            InputError: The images are too small for the range.
        """
        self.settings = MatcherSettings() if settings is None else settings
        step = self.settings.row_step or (2 if stereo.height >= AVERAGED_ROWS else 1)
        self.row_step = step
        self.stereo = stereo if step == 1 else stereo.scaled(stereo.width, stereo.height // step)
        self._cropped = stereo.height // step * step
        if step > 1 and self._cropped != stereo.height:
            # Rows beyond the last full group are cut off: the scale of the others is exactly the step.
            shortened = _with_height(stereo, self._cropped)
            self.stereo = shortened.scaled(stereo.width, self._cropped // step)
        self.full = stereo
        self.column_step = self.settings.column_step or (2 if stereo.width >= AVERAGED_COLUMNS else 1)
        across = self.column_step
        self._lowest = math.floor(
            stereo.disparity_of(max(self.settings.max_search_depth, self.settings.max_depth)) / across
        )
        span = (stereo.disparity_of(self.settings.min_depth) + 1.0) / across - self._lowest
        self._count = 16 * math.ceil(span / 16.0)
        self.lowest, self.count = across * self._lowest, across * self._count
        if self.count > MAX_DISPARITIES:
            raise InputError(
                f"depths from {self.settings.min_depth:g} m on need {self.count} disparities; at most "
                f"{MAX_DISPARITIES} are searched: raise min_depth, or use smaller images"
            )
        smallest = 16 if self.settings.method is Method.BM else max(self.settings.block_size, 8)
        if stereo.width < max(MIN_WIDTH, self.lowest) or min(self.stereo.height, stereo.height) < smallest:
            raise BadImage(
                f"an image of {stereo.width} × {stereo.height} pixels",
                f"is too small to be matched in blocks of {smallest}",
                "use larger images",
            )
        self._matcher = self._make()

    def match(self, left: GrayImage, right: GrayImage, valid: NDArray[np.bool_] | None = None) -> Disparity:
        """Disparities of a rectified pair, each image of shape (height, width).

        Args:
            valid: Pixels inside the raw left image, see `Rectifier.valid`; if not given, all.
        """
        for name, image in (("the left image", left), ("the right image", right)):
            if image.shape != (self.full.height, self.full.width) or image.dtype != np.uint8:
                cure = f"give {self.full.height} × {self.full.width} grey values of 8 bits"
                raise BadImage(name, f"has shape {image.shape} of {image.dtype}", cure)
        left, right = self._reduced(left), self._reduced(right)
        narrow = self._narrowed(left)
        raw, across = self._search(narrow, self._narrowed(right)), self.column_step
        if across == 1:
            values = raw.astype(np.float32)
            values *= FIXED_POINT
            rejected = raw < self._lowest * 16
        else:
            values, residuals = refined(left, right, raw, self._lowest, across, self.settings.max_sigma)
            rejected = disagreeing(values, residuals, self.settings.max_residual)
        textured = 1.0
        if self.settings.method is not Method.BM:
            gradients = mean_gradients(narrow, averaged=across > 1)
            smooth = smooth_areas(gradients, self.texture_threshold)
            # Noise alone may exceed a low threshold, and is not matched.
            untextured = smooth_areas(gradients, max(self.texture_threshold, TEXTURE))
            textured = 1.0 - float(np.count_nonzero(untextured)) / untextured.size
            rejected |= self._widened(smooth, values.shape[1]) if across > 1 else smooth
        # What the right camera would see left of its image has no match. Blocks at the border resemble it most,
        # and smoothing carries their disparity on.
        rejected |= values > np.arange(values.shape[1], dtype=np.float32) - 2.0 * self.smear
        if valid is not None:
            rejected |= ~valid[: self._cropped].reshape(rejected.shape[0], self.row_step, -1).all(axis=1)
        if across > 1 and math.isfinite(self.settings.max_sigma):
            rejected |= np.isnan(values)
            rejected |= unsupported(rejected)
        values[rejected] = np.nan
        highest = self.lowest + self.count
        return Disparity(values, self.lowest, highest, self.row_step, self.stereo, self.settings.sigma, textured)

    @property
    def smear(self) -> int:
        """Width by which block matching smears an edge [pixels]."""
        return (self.settings.block_size // 2 + 1) * self.column_step

    @property
    def texture_threshold(self) -> float:
        """Minimum mean gradient in use [grey values]."""
        refined_search = self.column_step > 1 and self.settings.method is not Method.BM
        return self.settings.texture_threshold or (REFINED_TEXTURE if refined_search else TEXTURE)

    def _make(self) -> Any:
        cv2, settings, across = opencv(), self.settings, self.column_step
        size, reach = int(settings.speckle_size) // across, max(1, round(settings.speckle_range / across))
        differ = max(1, round(settings.left_right_tolerance / across))
        if settings.method is Method.BM:
            matcher = cv2.StereoBM_create(self._count, max(settings.block_size, 15))
            matcher.setMinDisparity(self._lowest)
            matcher.setUniquenessRatio(int(settings.uniqueness_ratio))
            # BM sums the gradients over the block, after a filter that about quadruples them.
            matcher.setTextureThreshold(int(4 * self.texture_threshold * max(settings.block_size, 15)))
            matcher.setSpeckleWindowSize(size)
            matcher.setSpeckleRange(16 * reach)
            matcher.setDisp12MaxDiff(differ)
            return matcher
        mode = cv2.StereoSGBM_MODE_SGBM if settings.method is Method.SGBM else cv2.StereoSGBM_MODE_SGBM_3WAY
        area = settings.block_size**2
        return cv2.StereoSGBM_create(
            minDisparity=self._lowest,
            numDisparities=self._count,
            blockSize=settings.block_size,
            P1=8 * area,
            P2=32 * area,
            disp12MaxDiff=differ,
            preFilterCap=31,
            uniquenessRatio=int(settings.uniqueness_ratio),
            speckleWindowSize=size,
            speckleRange=reach,
            mode=mode,
        )

    def _search(self, left: GrayImage, right: GrayImage) -> NDArray[np.int16]:
        """Disparities of the averaged columns [1/16 of their pixels]; below the lowest where rejected."""
        raw = self._compute(left, right)
        if self.settings.cross_check:
            raw = np.where(self._inconsistent(raw, left, right), np.int16(16 * self._lowest - 16), raw)
        return raw

    def _narrowed(self, image: GrayImage) -> GrayImage:
        """Columns averaged in groups, for the search; columns beyond the last full group are dropped."""
        if self.column_step == 1:
            return image
        cv2 = opencv()
        width = image.shape[1] // self.column_step
        cut = image[:, : width * self.column_step]
        narrow: GrayImage = cv2.resize(cut, (width, image.shape[0]), interpolation=cv2.INTER_AREA)
        return narrow

    def _widened(self, mask: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
        """A mask of the averaged columns for all columns."""
        wide = np.ones((mask.shape[0], width), np.bool_)
        wide[:, : mask.shape[1] * self.column_step] = np.repeat(mask, self.column_step, axis=1)
        return wide

    def _compute(self, left: GrayImage, right: GrayImage) -> NDArray[np.int16]:
        """Run OpenCV's matcher; it skips as many columns on the left as there are disparities, so a border is added."""
        cv2 = opencv()
        margin = max(self._lowest + self._count, 0)
        wide = [cv2.copyMakeBorder(image, 0, 0, margin, 0, cv2.BORDER_REPLICATE) for image in (left, right)]
        raw: NDArray[np.int16] = self._matcher.compute(*wide)[:, margin:]
        return raw

    def _reduced(self, image: GrayImage) -> GrayImage:
        """Rows averaged in groups: less noise and cost, same disparity resolution."""
        if self.row_step == 1:
            return image
        cv2 = opencv()
        size = (self.full.width, self._cropped // self.row_step)
        smaller: GrayImage = cv2.resize(image[: self._cropped], size, interpolation=cv2.INTER_AREA)
        return smaller

    def _inconsistent(self, raw: NDArray[np.int16], left: GrayImage, right: GrayImage) -> NDArray[np.bool_]:
        """Where the match from right to left does not return to the pixel (left-right check)."""
        mirrored = [np.ascontiguousarray(image[:, ::-1]) for image in (right, left)]
        from_right = self._compute(mirrored[0], mirrored[1]).astype(np.float32)[:, ::-1]
        from_right = np.where(from_right < 16 * self._lowest, np.float32(1e6), from_right * FIXED_POINT)
        values = raw.astype(np.float32) * FIXED_POINT
        column = np.arange(values.shape[1], dtype=np.float32)
        partner = np.clip(np.rint(column - values), 0, values.shape[1] - 1).astype(np.intp)
        back = np.take_along_axis(from_right, partner, axis=1)
        return np.asarray(np.abs(back - values) > self.settings.left_right_tolerance / self.column_step)


def _with_height(stereo: StereoModel, height: int) -> StereoModel:
    return StereoModel(replace(stereo.left, height=height), replace(stereo.right, height=height))
