"""From disparities or depth to points, with the uncertainty of each; compiled."""

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


@dataclass(frozen=True, eq=False)
class DepthMap:
    """Depth along the optical axis, pixel by pixel."""

    depth: FloatImage
    """[m], as REP 117 wants it: NaN not measured, −inf nearer and +inf farther than can be seen; (height, width)."""
    sigma: FloatImage
    """Standard deviation of the depth [m]; NaN where there is none; shape (height, width)."""
    camera: Camera
    """Whose picture this is; its P relates points and pixels."""

    @property
    def valid_share(self) -> float:
        """Share of pixels that were measured, 0 to 1; "too near" and "nothing there" are measurements as well."""
        return float(1.0 - np.count_nonzero(np.isnan(self.depth)) / self.depth.size)


@dataclass(frozen=True, eq=False)
class Points:
    """Points of one frame; those that were not measured are NaN while the picture's order is kept."""

    xyz: FloatImage
    """[m], shape (height, width, 3) or (points, 3)."""
    sigma: FloatImage
    """Standard deviation along the line of sight [m], shape (height, width) or (points,)."""

    @property
    def organised(self) -> bool:
        """Whether points are still in the order of pixels."""
        return self.xyz.ndim == 3

    def unorganised(self) -> Points:
        """Those that were measured, in rows."""
        if not self.organised:
            return self
        xyz, sigma = self.xyz.reshape(-1, 3), self.sigma.reshape(-1)
        there = np.isfinite(xyz[:, 2])
        return Points(xyz[there], sigma[there])


def depth_from_disparity(disparity: Disparity, *, nearest: float = 0.0, farthest: float = np.inf) -> DepthMap:
    """Depth and its uncertainty.

    z = f b / d and, to first order, σ_z = z² σ_d / (f b): twice as far is four times as uncertain.

    Args:
        nearest: What is nearer becomes −inf [m].
        farthest: What is farther becomes +inf [m].
    """
    pair = disparity.stereo
    depth, sigma = np.empty_like(disparity.values), np.empty_like(disparity.values)
    _depth_kernel(
        disparity.values,
        np.float32(pair.focal * pair.baseline),
        np.float32(pair.offset),
        np.float32(disparity.sigma),
        np.float32(nearest),
        np.float32(min(farthest, 1e30)),
        depth,
        sigma,
    )
    return DepthMap(depth, sigma, pair.left)


def depth_from_image(
    depth: FloatImage, camera: Camera, *, noise: float, nearest: float = 0.0, farthest: float = np.inf
) -> DepthMap:
    """A depth camera's picture, with the usual model of its uncertainty.

    Args:
        depth: [m], shape (height, width), as `images.as_depth` gives it.
        noise: σ_z at 1 m [m]; it grows with the square of the depth.
    """
    expected = (camera.height, camera.width)
    if depth.shape != expected:
        raise ShapeError("the depth image", f"{expected}, the size of its camera", depth.shape)
    with np.errstate(invalid="ignore"):
        kept = np.where(depth < nearest, np.float32(-np.inf), depth)
        kept = np.where(kept > farthest, np.float32(np.inf), kept).astype(np.float32)
    sigma = np.where(np.isfinite(kept), np.float32(noise) * kept * kept, NO_SIGMA).astype(np.float32)
    return DepthMap(kept, sigma, camera)


def without_flying_pixels(depth_map: DepthMap, *, steepness: float = 3.5, margin: float = 0.5) -> DepthMap:
    """Drops pixels between a thing and what is behind it, where a matcher invents depths that are in neither.

    A pixel goes if a neighbour on its row or column jumps by more than the steepest surface that is still believed.

    Args:
        steepness: Of that surface: change of depth from one pixel to the next, in widths of a pixel there.
        margin: How many standard deviations of the depth a neighbour may differ as well; neighbours share most noise.
    """
    depth = depth_map.depth.copy()
    # Rows may be farther apart than columns: each has its own width of a pixel.
    across, down = (np.float32(steepness / depth_map.camera.projection[axis, axis]) for axis in range(2))
    _flying_kernel(depth_map.depth, depth_map.sigma, across, down, np.float32(margin), depth)
    return DepthMap(depth, depth_map.sigma, depth_map.camera)


def points_from_depth(depth_map: DepthMap, T_target_optical: ArrayLike | None = None) -> Points:
    """One point per pixel, in any frame.

    Args:
        T_target_optical: Pose of the optical frame in the frame that the points shall be in; if not given, they stay
            in the optical frame.

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
    """Only the points in a box, in rows, in one sweep over the picture.

    Args:
        T_target_optical: See `points_from_depth`.
        lower: Corner of the box in the target frame [m], shape (3,); may lie at infinity.
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
def _depth_kernel(disparity, focal_baseline, offset, sigma_d, nearest, farthest, depth, sigma):  # type: ignore[no-untyped-def]
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
                if z < nearest:
                    depth[v, u] = -np.inf
                elif z > farthest:
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
    # What is left of a wrong match along an edge or a grain is one pixel wide; surfaces are wider.
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
