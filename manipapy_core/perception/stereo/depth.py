"""Depth from disparity and points from depth, with uncertainties; compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import ShapeError
from ...geometry.shapes import pose_matrix
from ...jit import njit
from .camera import Camera
from .disparity import Disparity

FloatImage = NDArray[np.float32]

NO_SIGMA = np.float32(np.nan)
SPARSE = 0.3
"""With a larger share of pixels without a neighbour in their row, a depth image has gaps between its pixels."""


@dataclass(frozen=True, eq=False)
class DepthMap:
    """Depth image with standard deviations."""

    depth: FloatImage
    """[m], as in REP 117: NaN not measured, −inf too near, +inf too far; shape (height, width)."""
    sigma: FloatImage
    """Standard deviation of the depth [m]; NaN where the depth is not finite; shape (height, width)."""
    camera: Camera
    """Camera of the image; its P projects points to pixels."""

    @property
    def valid_share(self) -> float:
        """Share of measured pixels, 0 to 1; "too near" and "too far" count as measured."""
        return float(1.0 - np.count_nonzero(np.isnan(self.depth)) / self.depth.size)


@dataclass(frozen=True, eq=False)
class Points:
    """Points of one frame; in organised points those that were not measured are NaN."""

    xyz: FloatImage
    """[m], shape (height, width, 3) or (points, 3)."""
    sigma: FloatImage
    """Standard deviation along the line of sight [m], shape (height, width) or (points,)."""

    @property
    def organised(self) -> bool:
        """Whether points are in the order of pixels."""
        return self.xyz.ndim == 3

    def unorganised(self) -> Points:
        """The measured points, shape (points, 3)."""
        if not self.organised:
            return self
        xyz, sigma = self.xyz.reshape(-1, 3), self.sigma.reshape(-1)
        there = np.isfinite(xyz[:, 2])
        return Points(xyz[there], sigma[there])


def depth_from_disparity(disparity: Disparity, *, min_depth: float = 0.0, max_depth: float = np.inf) -> DepthMap:
    """Depth and its uncertainty from disparity.

    z = f b / d and, to first order, σ_z = z² σ_d / (f b): twice as far is four times as uncertain.

    Args:
        min_depth: Smaller depths become −inf [m].
        max_depth: Larger depths become +inf [m].
    """
    pair = disparity.stereo
    depth, sigma = np.empty_like(disparity.values), np.empty_like(disparity.values)
    _depth_kernel(
        disparity.values,
        np.float32(pair.focal * pair.baseline),
        np.float32(pair.offset),
        np.float32(disparity.sigma),
        np.float32(min_depth),
        np.float32(min(max_depth, 1e30)),
        depth,
        sigma,
    )
    return DepthMap(depth, sigma, pair.left)


def depth_from_image(
    depth: FloatImage,
    camera: Camera,
    *,
    noise: float,
    noise_floor: float = 0.0,
    min_depth: float = 0.0,
    max_depth: float = np.inf,
) -> DepthMap:
    """Image of a depth camera, with the common quadratic noise model.

    Args:
        depth: [m], shape (height, width), as returned by `images.as_depth`.
        noise: Part of σ_z at 1 m [m] that grows with the square of the depth.
        noise_floor: Part of σ_z that is the same at all depths [m].
    """
    expected = (camera.height, camera.width)
    if depth.shape != expected:
        raise ShapeError("the depth image", f"{expected}, the size of its camera", depth.shape)
    with np.errstate(invalid="ignore"):
        kept = np.where(depth < min_depth, np.float32(-np.inf), depth)
        kept = np.where(kept > max_depth, np.float32(np.inf), kept).astype(np.float32)
    with np.errstate(invalid="ignore"):
        model = np.float32(noise_floor) + np.float32(noise) * kept * kept
    sigma = np.where(np.isfinite(kept), model, NO_SIGMA).astype(np.float32)
    return DepthMap(kept, sigma, camera)


def without_flying_pixels(depth_map: DepthMap, *, steepness: float = 3.5, margin: float = 0.5) -> DepthMap:
    """Remove flying pixels: depths between an object and its background that belong to neither.

    A pixel is removed if the depth step to a neighbour in its row or column exceeds that of the steepest valid surface.

    Args:
        steepness: Largest depth step between neighbouring pixels, in pixel widths at that depth.
        margin: Additional tolerance in standard deviations of the depth; neighbours share most of the noise.
    """
    depth = depth_map.depth.copy()
    # Rows may be farther apart than columns: each has its own pixel width.
    across, down = (np.float32(steepness / depth_map.camera.projection[axis, axis]) for axis in range(2))
    _flying_kernel(depth_map.depth, depth_map.sigma, across, down, np.float32(margin), depth)
    return DepthMap(depth, depth_map.sigma, depth_map.camera)


def points_from_depth(depth_map: DepthMap, T_target_optical: ArrayLike | None = None) -> Points:
    """One point per pixel, in any frame.

    Args:
        T_target_optical: Pose of the optical frame in the target frame; if not given, the points are in the optical
            frame.

    Returns:
        Organised points; NaN where the depth is not finite.
    """
    T = np.eye(4) if T_target_optical is None else pose_matrix(T_target_optical, "T_target_optical")
    P = depth_map.camera.projection
    xyz = np.empty((*depth_map.depth.shape, 3), np.float32)
    scale = np.array([P[0, 0], P[1, 1], P[0, 2], P[1, 2]])
    _points_kernel(depth_map.depth, scale, np.ascontiguousarray(T), xyz)
    return Points(xyz, depth_map.sigma)


def cropped_points(depth_map: DepthMap, T_target_optical: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Points:
    """The points in a box, shape (points, 3), in one pass over the image.

    Args:
        T_target_optical: See `points_from_depth`.
        lower: Corner of the box in the target frame [m], shape (3,); may be infinite.
        upper: The opposite corner, shape (3,).
    """
    T = pose_matrix(T_target_optical, "T_target_optical").astype(np.float32)
    P = depth_map.camera.projection
    scale = np.array([P[0, 0], P[1, 1], P[0, 2], P[1, 2]], np.float32)
    box = np.array([lower, upper], dtype=np.float32)
    xyz = np.empty((depth_map.depth.size, 3), np.float32)
    sigma = np.empty(depth_map.depth.size, np.float32)
    count = _cropped_kernel(depth_map.depth, depth_map.sigma, scale, np.ascontiguousarray(T), box, xyz, sigma)
    return Points(xyz[:count], sigma[:count])


def transformed(points: Points, T_target_source: ArrayLike) -> Points:
    """The same points in another frame."""
    T = pose_matrix(T_target_source, "T_target_source")
    with np.errstate(invalid="ignore"):  # points that were not measured stay NaN
        moved = points.xyz @ T[:3, :3].T.astype(np.float32) + T[:3, 3].astype(np.float32)
    return Points(np.ascontiguousarray(moved, dtype=np.float32), points.sigma)


@njit(cache=True, nogil=True)
def _depth_kernel(disparity, focal_baseline, offset, sigma_d, min_depth, max_depth, depth, sigma):  # type: ignore[no-untyped-def]
    rows, columns = disparity.shape
    for v in range(rows):
        for u in range(columns):
            d = disparity[v, u] - offset
            sigma[v, u] = np.nan
            if np.isnan(d):
                depth[v, u] = np.nan
            elif d <= np.float32(0.0):
                depth[v, u] = np.inf
            else:
                z = focal_baseline / d
                if z < min_depth:
                    depth[v, u] = -np.inf
                elif z > max_depth:
                    depth[v, u] = np.inf
                else:
                    depth[v, u] = z
                    sigma[v, u] = z * z * sigma_d / focal_baseline


@njit(cache=True, nogil=True)
def _flying_kernel(depth, sigma, across, down, margin, out):  # type: ignore[no-untyped-def]
    rows, columns = depth.shape
    for v in range(rows):
        for u in range(columns):
            z = depth[v, u]
            if not np.isfinite(z):
                continue
            allowed = across * z + margin * sigma[v, u]
            jump = False
            if u > 0 and u < columns - 1:
                jump = abs(depth[v, u - 1] - z) > allowed or abs(depth[v, u + 1] - z) > allowed
            if not jump and v > 0 and v < rows - 1:
                allowed = down * z + margin * sigma[v, u]
                jump = abs(depth[v - 1, u] - z) > allowed or abs(depth[v + 1, u] - z) > allowed
            if jump:
                out[v, u] = np.nan
    # Residues of wrong matches along edges are one pixel wide; surfaces are wider. Not so in an image with gaps between
    # all pixels, such as depth registered into a larger image.
    single = measured = 0
    for v in range(rows):
        for u in range(columns):
            if np.isfinite(out[v, u]):
                measured += 1
                before = u > 0 and np.isfinite(out[v, u - 1])
                after = u < columns - 1 and np.isfinite(out[v, u + 1])
                single += not (before or after)
    if single > SPARSE * measured:
        return
    for v in range(rows):
        before = False
        for u in range(columns):
            here = np.isfinite(out[v, u])
            after = u < columns - 1 and np.isfinite(out[v, u + 1])
            if here and not before and not after:
                out[v, u] = np.nan
            before = here


@njit(cache=True, nogil=True)
def _points_kernel(depth, scale, T, out):  # type: ignore[no-untyped-def]
    rows, columns = depth.shape
    for v in range(rows):
        y = (v - scale[3]) / scale[1]
        for u in range(columns):
            z = np.float64(depth[v, u])
            if not np.isfinite(z):
                z = np.nan
            x = (u - scale[2]) / scale[0]
            for i in range(3):
                out[v, u, i] = z * (T[i, 0] * x + T[i, 1] * y + T[i, 2]) + T[i, 3]


@njit(cache=True, nogil=True)
def _cropped_kernel(depth, sigma, scale, T, box, xyz, out_sigma):  # type: ignore[no-untyped-def]
    rows, columns = depth.shape
    count = 0
    for v in range(rows):
        y = (v - scale[3]) / scale[1]
        for u in range(columns):
            z = depth[v, u]
            if not np.isfinite(z):
                continue
            x = (u - scale[2]) / scale[0]
            a = z * (T[0, 0] * x + T[0, 1] * y + T[0, 2]) + T[0, 3]
            b = z * (T[1, 0] * x + T[1, 1] * y + T[1, 2]) + T[1, 3]
            c = z * (T[2, 0] * x + T[2, 1] * y + T[2, 2]) + T[2, 3]
            if box[0, 0] <= a <= box[1, 0] and box[0, 1] <= b <= box[1, 1] and box[0, 2] <= c <= box[1, 2]:
                xyz[count, 0], xyz[count, 1], xyz[count, 2] = a, b, c
                out_sigma[count] = sigma[v, u]
                count += 1
    return count
