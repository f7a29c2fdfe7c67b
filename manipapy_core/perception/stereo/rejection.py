"""Rejection of wrong matches: areas without texture, pixels where the two images do not agree, and stray ones."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .images import GrayImage, opencv

STEP, STEP_REACH = 1.5, 8
"""Beside a step of the disparity of this height [pixels], up to this many columns away, windows show two objects ..."""
STEPPED_SHARE = 0.6
"""... so that only this share of the allowed residual is allowed."""
NOISY_RESIDUALS = 2.5
"""At least this multiple of the median residual of a frame is allowed: noise differs everywhere."""
AVERAGED_GRADIENT = 1.2
"""Ratio of the mean gradient between averaged columns, which are farther apart, to that of the image."""

SUPPORT_ROWS, SUPPORT_COLUMNS, SUPPORT_SHARE = 7, 17, 0.35
"""Of a window of this size, this share has to be matched: where noise is matched by chance it is seldom more."""


def mean_gradients(image: GrayImage, *, averaged: bool) -> NDArray[np.float32]:
    """Mean gradient between neighbouring columns around each pixel [grey values].

    Args:
        image: The left image of the search.
        averaged: Whether its columns are averaged ones.
    """
    cv2 = opencv()
    gradient = np.zeros_like(image)
    gradient[:, 1:] = cv2.absdiff(np.ascontiguousarray(image[:, 1:]), np.ascontiguousarray(image[:, :-1]))
    scale = 1.0 / (25.0 * (AVERAGED_GRADIENT if averaged else 1.0))
    mean: NDArray[np.float32] = cv2.boxFilter(gradient, cv2.CV_32F, (5, 5), normalize=False)
    mean *= np.float32(scale)
    return mean


def smooth_areas(gradients: NDArray[np.float32], threshold: float) -> NDArray[np.bool_]:
    """Where the mean gradient is too small for matching."""
    cv2 = opencv()
    smooth = (gradients < threshold).astype(np.uint8)
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


def unsupported(rejected: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where too many of the neighbours are rejected."""
    cv2 = opencv()
    count = cv2.boxFilter(
        rejected.view(np.uint8),
        cv2.CV_8U,
        (SUPPORT_COLUMNS, SUPPORT_ROWS),
        normalize=False,
        borderType=cv2.BORDER_REFLECT,
    )
    return np.asarray(count > (1.0 - SUPPORT_SHARE) * SUPPORT_ROWS * SUPPORT_COLUMNS)
