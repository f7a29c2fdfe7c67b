"""Disparity of rectified pairs: how many pixels to the left the right camera sees each pixel of the left one.

OpenCV matches; this file chooses its numbers from what the user knows (depths in metres), leaves out what cannot be
trusted (no texture, left and right disagree, specks, edges of the picture), and says how sure the rest is.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from .camera import StereoModel
from .images import BadImage, GrayImage, opencv
from .refine import refined

FloatImage = NDArray[np.float32]

FIXED_POINT = np.float32(1.0 / 16.0)
"""OpenCV gives disparities in sixteenths of a pixel."""
MOST_DISPARITIES = 1024
SMALLEST = 32
"""Narrower pictures [pixels] hold nothing that could be matched."""
AVERAGED_CHANGE = 1.2
"""How much more averaged columns, which lie farther apart, change from one to the next than those of the picture."""


class Method(enum.Enum):
    """How pixels are matched, from the fastest to the best."""

    BM = "bm"
    """Blocks alone: three times as fast, needs texture everywhere, loses edges."""
    SGBM_3WAY = "sgbm_3way"
    """Semi-global along three directions: nearly as good as five, in two thirds of the time."""
    SGBM = "sgbm"
    """Semi-global along five directions."""


@dataclass(frozen=True)
class MatcherSettings:
    """What is matched, and what of it is believed."""

    method: Method = Method.SGBM_3WAY
    nearest: float = 0.5
    farthest: float = 3.0
    """Depths that are wanted [m]; the nearest one decides what the search costs. Beyond, nothing is there."""
    horizon: float = 12.0
    """Depths up to this are searched all the same [m]: tiles of a floor beyond it would find a wrong partner."""
    block: int = 3
    """Edge of the compared blocks [pixels], odd; BM uses 15 at least."""
    row_step: int = 0
    """Rows that are averaged into one before matching; 0: two from 400 rows on. Precision lies in the columns."""
    column_step: int = 0
    """Columns that are averaged into one for the search, 1 or 2; 0: two from 600 columns on. With two the search takes
    a third of the time and is refined on all columns after it; what is narrower than some eight columns may be lost."""
    left_right: float = 1.0
    """How far the matches from left and from right may disagree [pixels]."""
    thorough: bool = False
    """Match a second time from the right, on mirrored pictures: twice the time, nothing half-hidden is believed."""
    uniqueness: int = 10
    """By how many percent the best match must beat the second."""
    texture: float = 1.0
    """Least mean change between neighbouring columns of the search [grey values]; what is smoother cannot be matched.
    With a real camera noise alone makes 1 or 2: raise it there."""
    speckle_size: int = 60
    """Smaller patches of one depth are left out [pixels, of averaged rows]; 0 keeps all."""
    speckle_range: float = 1.0
    """Largest step within a patch [pixels]."""
    sigma: float = 0.2
    """Standard deviation of a disparity [pixels]."""

    def __post_init__(self) -> None:
        if not 0.0 < self.nearest < self.farthest < math.inf:
            raise InputError(f"depths from {self.nearest} m to {self.farthest} m; give 0 < nearest < farthest")
        if not 0.0 < self.horizon < math.inf:
            raise InputError(f"horizon is {self.horizon} m; give a positive number")
        if not (3 <= self.block <= 51 and self.block % 2 == 1):
            raise InputError(f"block is {self.block} pixels; give an odd number from 3 to 51")
        if not 0 <= self.row_step <= 8:
            raise InputError(f"row_step is {self.row_step}; give 0 (automatic) to 8")
        if self.column_step not in (0, 1, 2):
            raise InputError(f"column_step is {self.column_step}; give 0 (automatic), 1 or 2")
        for name in ("left_right", "uniqueness", "texture", "speckle_size", "speckle_range"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} is {getattr(self, name)}; give a number that is not negative")
        if not 0.0 < self.sigma < 10.0:
            raise InputError(f"sigma is {self.sigma} pixels; give more than 0 and less than 10")


@dataclass(frozen=True, eq=False)
class Disparity:
    """Disparities of one pair, and how to turn them into depth."""

    values: FloatImage
    """[pixels]; NaN where nothing is believed; shape (rows, width)."""
    lowest: int
    highest: int
    """Range that was searched [pixels], from `lowest` to below `highest`."""
    row_step: int
    """Rows of the picture per row of `values`."""
    stereo: StereoModel
    """The pair, scaled to the shape of `values`."""
    sigma: float
    """Standard deviation of the values [pixels]."""
    textured: float = 1.0
    """Share of pixels with enough texture to be matched at all, 0 to 1."""

    @property
    def valid_share(self) -> float:
        """Share of pixels with a disparity, 0 to 1."""
        return float(np.count_nonzero(self.values == self.values) / self.values.size)

    def full_size(self, height: int | None = None) -> FloatImage:
        """Disparities for every row of the picture, shape (height, width).

        Args:
            height: Rows of the picture, if they are no multiple of `row_step`; the last ones are then NaN.
        """
        every = np.repeat(self.values, self.row_step, axis=0)
        missing = 0 if height is None else height - len(every)
        return np.pad(every, ((0, missing), (0, 0)), constant_values=np.nan) if missing > 0 else every


class Matcher:
    """Matches pairs of one rectified stereo model."""

    def __init__(self, stereo: StereoModel, settings: MatcherSettings | None = None):
        """Choose the range of disparities and make OpenCV's matcher.

        Raises:
            InputError: The pictures are too small for the range.
        """
        self.settings = MatcherSettings() if settings is None else settings
        step = self.settings.row_step or (2 if stereo.height >= 400 else 1)
        self.row_step = step
        self.stereo = stereo if step == 1 else stereo.scaled(stereo.width, stereo.height // step)
        self._cropped = stereo.height // step * step
        if step > 1 and self._cropped != stereo.height:
            # Rows that do not fill a last step are cut off: the scale of those that stay is exactly the step.
            shortened = _with_height(stereo, self._cropped)
            self.stereo = shortened.scaled(stereo.width, self._cropped // step)
        self.full = stereo
        self.column_step = self.settings.column_step or (2 if stereo.width >= 600 else 1)
        across = self.column_step
        self._lowest = math.floor(stereo.disparity_of(max(self.settings.horizon, self.settings.farthest)) / across)
        span = (stereo.disparity_of(self.settings.nearest) + 1.0) / across - self._lowest
        self._count = 16 * math.ceil(span / 16.0)
        self.lowest, self.count = across * self._lowest, across * self._count
        if self.count > MOST_DISPARITIES:
            raise InputError(
                f"depths from {self.settings.nearest:g} m on need {self.count} disparities; at most {MOST_DISPARITIES} "
                "are searched: look farther away, or use smaller pictures"
            )
        smallest = 16 if self.settings.method is Method.BM else max(self.settings.block, 8)
        if stereo.width < max(SMALLEST, self.lowest) or min(self.stereo.height, stereo.height) < smallest:
            raise BadImage(
                f"a picture of {stereo.width} × {stereo.height} pixels",
                f"is too small to be matched in blocks of {smallest}",
                "use larger pictures",
            )
        self._matcher = self._make()

    def match(self, left: GrayImage, right: GrayImage, seen: NDArray[np.bool_] | None = None) -> Disparity:
        """Disparities of a rectified pair, each picture of shape (height, width).

        Args:
            seen: Pixels that the left camera has seen at all, see `Rectifier.seen`; if not given, all.
        """
        for name, image in (("the left image", left), ("the right image", right)):
            if image.shape != (self.full.height, self.full.width) or image.dtype != np.uint8:
                cure = f"give {self.full.height} × {self.full.width} grey values of 8 bits"
                raise BadImage(name, f"has shape {image.shape} of {image.dtype}", cure)
        left, right = self._reduced(left), self._reduced(right)
        narrow = self._narrowed(left)
        raw = self._search(narrow, self._narrowed(right))
        if self.column_step == 1:
            values = raw.astype(np.float32)
            values *= FIXED_POINT
            wrong = raw < self._lowest * 16
        else:
            values = refined(left, right, raw, self._lowest, self.column_step)
            wrong = np.zeros(values.shape, np.bool_)
        textured = 1.0
        if self.settings.method is not Method.BM and self.settings.texture > 0.0:
            smooth = self._smooth(narrow)
            if self.column_step > 1:
                smooth = self._widened(smooth, values.shape[1])
            textured = 1.0 - float(np.count_nonzero(smooth)) / smooth.size
            wrong |= smooth
        # A partner left of the right picture's edge was never seen.
        wrong |= values > np.arange(values.shape[1], dtype=np.float32)
        if seen is not None:
            wrong |= ~seen[: self._cropped].reshape(wrong.shape[0], self.row_step, -1).all(axis=1)
        values[wrong] = np.nan
        highest = self.lowest + self.count
        return Disparity(values, self.lowest, highest, self.row_step, self.stereo, self.settings.sigma, textured)

    @property
    def smear(self) -> int:
        """How far a block that holds an edge smears it [pixels]."""
        return (self.settings.block // 2 + 1) * self.column_step

    def _make(self) -> Any:
        cv2, chosen, across = opencv(), self.settings, self.column_step
        size, reach = int(chosen.speckle_size) // across, max(1, round(chosen.speckle_range / across))
        differ = max(1, round(chosen.left_right / across))
        if chosen.method is Method.BM:
            matcher = cv2.StereoBM_create(self._count, max(chosen.block, 15))
            matcher.setMinDisparity(self._lowest)
            matcher.setUniquenessRatio(int(chosen.uniqueness))
            # BM adds the changes up over the block, after a filter that about quadruples them.
            matcher.setTextureThreshold(int(4 * chosen.texture * max(chosen.block, 15)))
            matcher.setSpeckleWindowSize(size)
            matcher.setSpeckleRange(16 * reach)
            matcher.setDisp12MaxDiff(differ)
            return matcher
        mode = cv2.StereoSGBM_MODE_SGBM if chosen.method is Method.SGBM else cv2.StereoSGBM_MODE_SGBM_3WAY
        area = chosen.block**2
        return cv2.StereoSGBM_create(
            minDisparity=self._lowest,
            numDisparities=self._count,
            blockSize=chosen.block,
            P1=8 * area,
            P2=32 * area,
            disp12MaxDiff=differ,
            preFilterCap=31,
            uniquenessRatio=int(chosen.uniqueness),
            speckleWindowSize=size,
            speckleRange=reach,
            mode=mode,
        )

    def _search(self, left: GrayImage, right: GrayImage) -> NDArray[np.int16]:
        """Disparities of the averaged columns [1/16 of their pixels]; below the lowest where nothing is believed."""
        raw = self._compute(left, right)
        if self.settings.thorough:
            raw = np.where(self._disagreeing(raw, left, right), np.int16(16 * self._lowest - 16), raw)
        return raw

    def _narrowed(self, image: GrayImage) -> GrayImage:
        """Columns averaged in groups, for the search; those that do not fill a last group are left out."""
        if self.column_step == 1:
            return image
        cv2 = opencv()
        width = image.shape[1] // self.column_step
        cut = image[:, : width * self.column_step]
        narrow: GrayImage = cv2.resize(cut, (width, image.shape[0]), interpolation=cv2.INTER_AREA)
        return narrow

    def _widened(self, mask: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
        """A mask of the narrowed picture for all columns."""
        wide = np.ones((mask.shape[0], width), np.bool_)
        wide[:, : mask.shape[1] * self.column_step] = np.repeat(mask, self.column_step, axis=1)
        return wide

    def _compute(self, left: GrayImage, right: GrayImage) -> NDArray[np.int16]:
        """OpenCV leaves out as many columns on the left as it searches disparities: a margin keeps them."""
        cv2 = opencv()
        margin = max(self._lowest + self._count, 0)
        wide = [cv2.copyMakeBorder(image, 0, 0, margin, 0, cv2.BORDER_REPLICATE) for image in (left, right)]
        raw: NDArray[np.int16] = self._matcher.compute(*wide)[:, margin:]
        return raw

    def _reduced(self, image: GrayImage) -> GrayImage:
        """Rows averaged in groups: noise goes down, cost too, and disparities stay as fine as before."""
        if self.row_step == 1:
            return image
        cv2 = opencv()
        size = (self.full.width, self._cropped // self.row_step)
        smaller: GrayImage = cv2.resize(image[: self._cropped], size, interpolation=cv2.INTER_AREA)
        return smaller

    def _smooth(self, image: GrayImage) -> NDArray[np.bool_]:
        """Where a block has too little change along its rows to be matched."""
        cv2 = opencv()
        change = np.zeros_like(image)
        change[:, 1:] = cv2.absdiff(np.ascontiguousarray(image[:, 1:]), np.ascontiguousarray(image[:, :-1]))
        mean = cv2.boxFilter(change, cv2.CV_32F, (5, 5))
        least = self.settings.texture * (1.0 if self.column_step == 1 else AVERAGED_CHANGE)
        smooth = (mean < least).astype(np.uint8)
        # Blocks at the rim of a smooth area see its edge alone, and smear what is beside it.
        return np.asarray(cv2.dilate(smooth, np.ones((3, 5), np.uint8)), dtype=np.bool_)

    def _disagreeing(self, raw: NDArray[np.int16], left: GrayImage, right: GrayImage) -> NDArray[np.bool_]:
        """Where the match of the match is not the pixel itself."""
        mirrored = [np.ascontiguousarray(image[:, ::-1]) for image in (right, left)]
        from_right = self._compute(mirrored[0], mirrored[1]).astype(np.float32)[:, ::-1]
        from_right = np.where(from_right < 16 * self._lowest, np.float32(1e6), from_right * FIXED_POINT)
        values = raw.astype(np.float32) * FIXED_POINT
        column = np.arange(values.shape[1], dtype=np.float32)
        partner = np.clip(np.rint(column - values), 0, values.shape[1] - 1).astype(np.intp)
        back = np.take_along_axis(from_right, partner, axis=1)
        return np.asarray(np.abs(back - values) > self.settings.left_right / self.column_step)


def _with_height(stereo: StereoModel, height: int) -> StereoModel:
    from dataclasses import replace

    return StereoModel(replace(stereo.left, height=height), replace(stereo.right, height=height))
