"""Compiled rasteriser for all cameras: an image takes 2 ms, with PyBullet's software renderer 40 ms.

Two passes: the first finds the nearest triangle of every pixel, the second shades each pixel once. Rays pass through
pixel centres, so that depth is exact there. There are no shadows and no specular light; stereo matching needs neither.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ... import lie
from ...jit import njit
from ...typing import Array
from ..camera import Pinhole
from ..scene import Texture
from .png import TEXTURE_SIZE, texture_image
from .surfaces import Surface

SKY = (214, 224, 236)
"""Background colour."""

Drawn = tuple[NDArray[np.uint8], NDArray[np.float32]]
"""Colours, shape (height, width, 3), and depth along z [m], shape (height, width), inf at the background."""


class Rasteriser:
    """Renders a fixed set of bodies at changing poses.

    Args:
        surfaces: One per body, in the order of the poses.
    """

    def __init__(self, surfaces: Sequence[Surface]):
        self._all = Surface.join(surfaces) if surfaces else None
        self._bodies = np.repeat(np.arange(len(surfaces)), [len(surface.patterns) for surface in surfaces])

    def draw(
        self,
        T_world_body: Sequence[Array],
        pinhole: Pinhole,
        T_world_optical: Sequence[Array],
        *,
        towards_lamp: tuple[float, float, float],
        ambient: float,
        diffuse: float,
    ) -> list[Drawn]:
        """Images of one instant by several equal cameras.

        Args:
            T_world_body: Poses of the bodies, shape (4, 4) each.
            pinhole: Of all cameras.
            T_world_optical: Poses of the cameras, shape (4, 4) each.
            towards_lamp: Direction to the light in the world.
            ambient: Ambient light, 0 to 1.
            diffuse: Diffuse light, 0 to 1.
        """
        images = [_empty(pinhole) for _ in T_world_optical]
        if self._all is None:
            return images
        lamp = np.asarray(towards_lamp, dtype=np.float64) / np.linalg.norm(towards_lamp)
        poses = np.stack(T_world_body)
        numbers = np.array([pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy, pinhole.near, pinhole.far])
        for T, (rgb, depth) in zip(T_world_optical, images, strict=True):
            _rasterise(
                self._all.corners,
                self._all.normals,
                self._all.texture,
                self._all.colours,
                self._all.patterns,
                self._bodies,
                np.ascontiguousarray(lie.inverse(T) @ poses),
                np.array([ambient, diffuse], dtype=np.float64),
                # Direction to the light in the frame of each body.
                np.ascontiguousarray(lamp @ poses[:, :3, :3]),
                _textures(),
                numbers,
                rgb,
                depth,
            )
        return images


def _empty(pinhole: Pinhole) -> Drawn:
    shape = (pinhole.height, pinhole.width)
    return np.full((*shape, 3), SKY, np.uint8), np.full(shape, np.inf, np.float32)


@functools.cache
def _textures() -> NDArray[np.uint8]:
    """Mipmaps of all textures in the order of `Texture`, from fine to coarse, one row each."""
    pyramids = []
    for texture in Texture:
        level = texture_image(texture)[..., 0].astype(np.float64)
        levels = [level]
        while len(level) > 1:
            level = level.reshape(len(level) // 2, 2, len(level) // 2, 2).mean(axis=(1, 3))
            levels.append(level)
        pyramids.append(np.concatenate([np.rint(each).astype(np.uint8).ravel() for each in levels]))
    return np.stack(pyramids)


@njit(cache=True, nogil=True)
def _rasterise(corners, normals, texture, colours, patterns, bodies, T, shares, lamp, textures, numbers, rgb, depth):  # type: ignore[no-untyped-def]
    rows, columns = depth.shape
    nearness = np.zeros((rows, columns), np.float32)  # 1 / z of the nearest triangle so far
    owner = np.full((rows, columns), -1, np.int32)
    near = numbers[4]
    # A triangle clipped at the near plane becomes two; each has the slopes of 1/z, u/z, v/z and light/z.
    count = corners.shape[0]
    slopes = np.empty((2 * count, 12))
    view, light = np.empty((3, 3)), np.empty(3)
    corner = np.empty((4, 7))  # x, y, z, u, v, light of a polygon; the last column is 1 / z
    for t in range(count):
        body = bodies[t]
        for k in range(3):
            x, y, z = corners[t, k, 0], corners[t, k, 1], corners[t, k, 2]
            for axis in range(3):
                view[k, axis] = T[body, axis, 0] * x + T[body, axis, 1] * y + T[body, axis, 2] * z + T[body, axis, 3]
        if max(view[0, 2], view[1, 2], view[2, 2]) <= near or _back_facing(view):
            continue
        for k in range(3):
            facing = 0.0
            for axis in range(3):
                facing += normals[t, k, axis] * lamp[body, axis]
            light[k] = shares[0] + shares[1] * max(facing, 0.0)
        n = _clip(view, light, texture[t], near, corner)
        for k in range(n):
            corner[k, 6] = 1.0 / corner[k, 2]
            corner[k, 0] = numbers[0] * corner[k, 0] * corner[k, 6] + numbers[2]
            corner[k, 1] = numbers[1] * corner[k, 1] * corner[k, 6] + numbers[3]
        for part in range(n - 2):
            number = 2 * t + part
            if _slopes(corner, 0, part + 1, part + 2, slopes[number]):
                _fill(corner, 0, part + 1, part + 2, slopes[number], number, nearness, owner)
    _shade(owner, slopes, colours, patterns, textures, numbers[5], rgb, depth)


@njit(cache=True, nogil=True)
def _back_facing(view):  # type: ignore[no-untyped-def]
    """Back-face test: a · ((b − a) × (c − a)) ≥ 0, with the camera at the origin."""
    x1, y1, z1 = view[1, 0] - view[0, 0], view[1, 1] - view[0, 1], view[1, 2] - view[0, 2]
    x2, y2, z2 = view[2, 0] - view[0, 0], view[2, 1] - view[0, 1], view[2, 2] - view[0, 2]
    across = view[0, 0] * (y1 * z2 - z1 * y2) + view[0, 1] * (z1 * x2 - x1 * z2) + view[0, 2] * (x1 * y2 - y1 * x2)
    return across >= 0.0


@njit(cache=True, nogil=True)
def _clip(triangle, light, texture, near, out):  # type: ignore[no-untyped-def]
    """Clips a triangle at the near plane: three or four corners."""
    n = 0
    for k in range(3):
        j = (k + 1) % 3
        zk, zj = triangle[k, 2], triangle[j, 2]
        if zk > near:
            for axis in range(3):
                out[n, axis] = triangle[k, axis]
            out[n, 3], out[n, 4], out[n, 5] = texture[k, 0], texture[k, 1], light[k]
            n += 1
        if (zk > near) != (zj > near):
            s = (near - zk) / (zj - zk)
            for axis in range(3):
                out[n, axis] = triangle[k, axis] + s * (triangle[j, axis] - triangle[k, axis])
            out[n, 3] = texture[k, 0] + s * (texture[j, 0] - texture[k, 0])
            out[n, 4] = texture[k, 1] + s * (texture[j, 1] - texture[k, 1])
            out[n, 5] = light[k] + s * (light[j] - light[k])
            n += 1
    return n


@njit(cache=True, nogil=True)
def _slopes(corner, a, b, c, out):  # type: ignore[no-untyped-def]
    """Values over depth are linear in the image: s₀ x + s₁ y + s₂, four times; False for a degenerate triangle."""
    x1, y1 = corner[b, 0] - corner[a, 0], corner[b, 1] - corner[a, 1]
    x2, y2 = corner[c, 0] - corner[a, 0], corner[c, 1] - corner[a, 1]
    area = x1 * y2 - x2 * y1
    if abs(area) < 1e-12:
        return False
    for k in range(4):
        # The first is 1 / z itself.
        fa = corner[a, 6] * (1.0 if k == 0 else corner[a, 2 + k])
        fb = corner[b, 6] * (1.0 if k == 0 else corner[b, 2 + k]) - fa
        fc = corner[c, 6] * (1.0 if k == 0 else corner[c, 2 + k]) - fa
        sx, sy = (fb * y2 - fc * y1) / area, (fc * x1 - fb * x2) / area
        out[3 * k], out[3 * k + 1] = sx, sy
        out[3 * k + 2] = fa - sx * corner[a, 0] - sy * corner[a, 1]
    return True


@njit(cache=True, nogil=True)
def _fill(corner, a, b, c, slope, number, nearness, owner):  # type: ignore[no-untyped-def]
    """Fills a triangle row by row between the two edges that the row crosses."""
    rows, columns = nearness.shape
    lowest = min(corner[a, 1], corner[b, 1], corner[c, 1])
    highest = max(corner[a, 1], corner[b, 1], corner[c, 1])
    first, last = max(0, int(np.ceil(max(lowest, -1.0)))), min(rows - 1, int(np.floor(min(highest, 1e6))))
    for v in range(first, last + 1):
        left, right = np.inf, -np.inf
        for k in range(3):
            i = a if k == 0 else (b if k == 1 else c)
            j = b if k == 0 else (c if k == 1 else a)
            yi, yj = corner[i, 1], corner[j, 1]
            if (yi <= v) != (yj <= v):
                x = corner[i, 0] + (v - yi) / (yj - yi) * (corner[j, 0] - corner[i, 0])
                left, right = min(left, x), max(right, x)
        if left > right:
            continue
        begin, end = int(np.ceil(max(left, 0.0))), int(np.ceil(min(right, columns - 0.5)))
        value = slope[0] * begin + slope[1] * v + slope[2]
        for u in range(begin, min(end, columns)):
            if value > nearness[v, u]:
                nearness[v, u] = value
                owner[v, u] = number
            value += slope[0]


@njit(cache=True, nogil=True)
def _shade(owner, slopes, colours, patterns, textures, far, rgb, depth):  # type: ignore[no-untyped-def]
    rows, columns = depth.shape
    for v in range(rows):
        for u in range(columns):
            number = owner[v, u]
            if number < 0:
                continue
            s = slopes[number]
            z = 1.0 / (s[0] * u + s[1] * v + s[2])
            if z > far:
                continue
            depth[v, u] = z
            t = number // 2
            x, y = (s[3] * u + s[4] * v + s[5]) * z, (s[6] * u + s[7] * v + s[8]) * z
            bright = (s[9] * u + s[10] * v + s[11]) * z
            if patterns[t] == 0:
                bright *= 255.0
            else:
                # Texture distance between neighbouring pixels, which selects the mipmap level.
                along = abs(s[3] - x * s[0]) + abs(s[6] - y * s[0])
                down = abs(s[4] - x * s[1]) + abs(s[7] - y * s[1])
                bright *= _texel(textures[patterns[t]], x, y, 0.5 * (along + down) * z)
            for k in range(3):
                rgb[v, u, k] = min(max(bright * colours[t, k], 0.0), 255.0)


@njit(cache=True, nogil=True)
def _texel(texture, x, y, width):  # type: ignore[no-untyped-def]
    """Bilinear texture lookup in the mipmap level that matches the pixel width."""
    size, start = TEXTURE_SIZE, 0
    while size > 1 and width * size > 1.5:
        start += size * size
        size //= 2
    column, row = x * size - 0.5, y * size - 0.5
    left, up = np.floor(column), np.floor(row)
    a, b = column - left, row - up
    i, j = int(left) % size, int(up) % size
    right, down = (i + 1) % size, (j + 1) % size
    above = (1.0 - a) * texture[start + j * size + i] + a * texture[start + j * size + right]
    below = (1.0 - a) * texture[start + down * size + i] + a * texture[start + down * size + right]
    return (1.0 - b) * above + b * below
