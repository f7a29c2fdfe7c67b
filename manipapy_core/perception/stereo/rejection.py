"""Rejection of wrong matches: areas without texture, and pixels where the two images do not agree."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .images import GrayImage, opencv

STEP, STEP_REACH = 1.5, 8
"""Beside a step of the disparity of this height [pixels], up to this many columns away, windows show two objects ..."""
STEPPED_SHARE = 0.7
"""... so that only this share of the allowed residual is allowed."""
NOISY_RESIDUALS = 2.5
"""At least this multiple of the median residual of a frame is allowed: noise differs everywhere."""
AVERAGED_GRADIENT = 1.2
"""Ratio of the mean gradient between averaged columns, which are farther apart, to that of the image."""


def smooth_areas(image: GrayImage, threshold: float, *, averaged: bool) -> NDArray[np.bool_]:
    """Where the gradient along the rows is too small for matching.

    Args:
        image: The left image of the search.
        threshold: Minimum mean gradient between neighbouring columns [grey values].
        averaged: Whether the columns of the search are averaged ones.
    """
    cv2 = opencv()
    gradient = np.zeros_like(image)
    gradient[:, 1:] = cv2.absdiff(np.ascontiguousarray(image[:, 1:]), np.ascontiguousarray(image[:, :-1]))
    mean = cv2.boxFilter(gradient, cv2.CV_32F, (5, 5))
    smooth = (mean < threshold * (AVERAGED_GRADIENT if averaged else 1.0)).astype(np.uint8)
    # Blocks at the border of a smooth area contain only its edge, and smear it.
    return np.asarray(cv2.dilate(smooth, np.ones((3, 5), np.uint8)), dtype=np.bool_)


def disagreeing(values: NDArray[np.float32], residuals: NDArray[np.float32], max_residual: float) -> NDArray[np.bool_]:
    """Where the images differ too much at the disparities found.

    On real pairs this rejects most of the gross errors: matches across the outline of an object, and of what only one
    camera sees.

    Args:
        values: Disparities [pixels], NaN for none.
        residuals: Standard deviation of the residual around each pixel [grey values].
        max_residual: Allowed residual [grey values].
    """
    if math.isinf(max_residual):
        return np.zeros(values.shape, np.bool_)
    cv2 = opencv()
    some = residuals[::4, ::4]
    some = some[some > 0.0]
    limit = max(max_residual, NOISY_RESIDUALS * float(np.median(some)) if some.size else 0.0)
    window, missing = np.ones((3, 2 * STEP_REACH + 1), np.uint8), np.isnan(values)
    highest = cv2.dilate(np.where(missing, np.float32(-1e4), values), window)
    lowest = cv2.erode(np.where(missing, np.float32(1e4), values), window)
    allowed = np.where(highest - lowest > STEP, np.float32(STEPPED_SHARE * limit), np.float32(limit))
    return np.asarray(residuals > allowed)
