"""Analytic depth images of tables with objects, with the measured noise, holes and quantisation of a depth camera.

The noise is that of a structured-light camera on real tables: a standard deviation of 1.6, 2.0 and 2.5 mm about the
plane at 0.6, 0.8 and 1.0 m. Half of its variance is shared by neighbouring pixels. Depths are whole steps of an eighth
of a pixel of disparity. Not measured are single pixels, patches, pixels along outlines, and what the projector beside
the camera does not light; some pixels along outlines lie between an object and its background.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import gaussian_filter

from manipapy_core import lie
from manipapy_core.perception import Camera, DepthImage

NOISE_FLOOR, NOISE_GROWTH = 1.094e-3, 1.406e-3
"""σ_z = NOISE_FLOOR + NOISE_GROWTH z² [m]."""
BASELINE = 0.075
"""From camera to projector [m]."""
DISPARITY_STEP = 0.125
"""[pixels]"""
FRAME_NS = 100_000_000
WIDTH, HEIGHT, FOCAL = 640, 480, 570.0
CAMERA = Camera.from_info(
    WIDTH,
    HEIGHT,
    [FOCAL, 0.0, 319.5, 0.0, FOCAL, 239.5, 0.0, 0.0, 1.0],
    [],
    np.eye(3).ravel(),
    [FOCAL, 0.0, 319.5, 0.0, 0.0, FOCAL, 239.5, 0.0, 0.0, 0.0, 1.0, 0.0],
)
TABLE, FLOOR, NOTHING = -1, -2, -3
"""Labels of pixels that show no object."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A box, standing cylinder or ball."""

    kind: str
    size: np.ndarray
    """Edges of a box; diameter, diameter, height of a cylinder; diameters of a ball [m]."""
    T: np.ndarray = field(default_factory=lambda: np.eye(4))
    """Pose of its centre, z up."""

    @property
    def top(self) -> float:
        """Height of its highest point [m]."""
        return float(self.T[2, 3] + 0.5 * self.size[2])


def box(size: Sequence[float], at: Sequence[float], turn: float = 0.0, bottom: float = 0.0) -> Solid:
    """A box whose lower face has this centre and height [m]."""
    return _standing("box", np.array(size, dtype=float), at, turn, bottom)


def can(diameter: float, height: float, at: Sequence[float], bottom: float = 0.0) -> Solid:
    """A standing cylinder."""
    return _standing("cylinder", np.array([diameter, diameter, height]), at, 0.0, bottom)


def ball(diameter: float, at: Sequence[float], bottom: float = 0.0) -> Solid:
    """A ball."""
    return _standing("ball", np.full(3, diameter), at, 0.0, bottom)


def _standing(kind: str, size: np.ndarray, at: Sequence[float], turn: float, bottom: float) -> Solid:
    return Solid(kind, size, lie.pose(lie.exp_so3([0.0, 0.0, turn]), [at[0], at[1], bottom + 0.5 * size[2]]))


def camera_at(distance: float, elevation: float, azimuth: float = 0.0, target: Sequence[float] = (0.0, 0.0, 0.0)):
    """Pose of a camera at this distance [m] from the target, at an elevation [rad]; π/2 is straight above."""
    away = np.array(
        [math.cos(azimuth) * math.cos(elevation), math.sin(azimuth) * math.cos(elevation), math.sin(elevation)]
    )
    z = -away
    x = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    return lie.pose(np.column_stack([x, np.cross(z, x), z]), np.asarray(target) + distance * away)


@dataclass(frozen=True, eq=False)
class DepthScene:
    """Objects on tables above a floor."""

    objects: Sequence[Solid]
    tables: Sequence[Solid] = (box((1.4, 1.0, 0.03), (0.0, 0.0), bottom=-0.03),)
    floor: float | None = -0.75
    """Height of the floor [m]; None: nothing below the tables."""

    def truth(self, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Depths [m], inf for nothing, and labels of the pixels: the object's number, or TABLE, FLOOR, NOTHING."""
        v, u = np.mgrid[0:HEIGHT, 0:WIDTH]
        rays = np.stack([(u - 319.5) / FOCAL, (v - 239.5) / FOCAL, np.ones(u.shape)], axis=-1) @ T[:3, :3].T
        depth, labels = np.full(u.shape, np.inf), np.full(u.shape, NOTHING)
        if self.floor is not None:
            with np.errstate(divide="ignore"):
                z = (self.floor - T[2, 3]) / rays[..., 2]
            depth, labels = np.where(z > 0, z, np.inf), np.where(z > 0, FLOOR, NOTHING)
        for label, solid in [*((TABLE, table) for table in self.tables), *enumerate(self.objects)]:
            z = _hit(solid, T[:3, 3], rays)
            nearer = z < depth
            depth[nearer], labels[nearer] = z[nearer], label
        return depth, labels

    def frame(self, T: np.ndarray, seed: int, number: int = 0) -> tuple[DepthImage, np.ndarray]:
        """A noisy frame, and the labels of its measured pixels (NOTHING for those not measured)."""
        depth, labels = self.truth(T)
        noisy, owner = with_sensor_noise(depth, np.random.default_rng([seed, number]))
        # Pixels along outlines belong to nothing.
        labels = np.where(np.isfinite(noisy) & owner, labels, NOTHING)
        return DepthImage(number * FRAME_NS, T, noisy, CAMERA), labels


def points_of(frame: DepthImage, chosen: np.ndarray) -> np.ndarray:
    """Measured points of chosen pixels in the base frame [m], shape (points, 3)."""
    v, u = np.nonzero(chosen)
    z = np.asarray(frame.depth, dtype=np.float64)[v, u]
    optical = np.column_stack([(u - 319.5) / FOCAL * z, (v - 239.5) / FOCAL * z, z])
    return optical @ frame.T_base_optical[:3, :3].T + frame.T_base_optical[:3, 3]


def inside_share(points: np.ndarray, hulls: Sequence) -> float:
    """Share of points inside any of the hulls; 1 without points."""
    return float(inside(points, hulls).mean()) if len(points) else 1.0


def inside(points: np.ndarray, hulls: Sequence) -> np.ndarray:
    """Which points are inside any of the hulls."""
    covered = np.zeros(len(points), np.bool_)
    for hull in hulls:
        covered |= np.all(points @ hull.planes[:, :3].T <= hull.planes[:, 3] + 1e-6, axis=1)
    return covered


def with_sensor_noise(depth: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The depth image of a real camera, and which of its pixels show one surface only."""
    far = ~np.isfinite(depth) | (depth > 4.0)
    z = np.where(far, 4.0, depth)
    waves = gaussian_filter(random.normal(size=z.shape), 1.5)
    noise = (random.normal(size=z.shape) + waves / waves.std()) / math.sqrt(2.0)
    out = z + (NOISE_FLOOR + NOISE_GROWTH * z * z) * noise
    low = np.minimum.reduce([np.roll(z, step, axis) for step in (-1, 0, 1) for axis in (0, 1)])
    high = np.maximum.reduce([np.roll(z, step, axis) for step in (-1, 0, 1) for axis in (0, 1)])
    edge, chance = high - low > 0.02, random.random(z.shape)
    flying = edge & (chance < 0.1)
    out = np.where(flying, low + random.random(z.shape) * (high - low), out)
    disparity = FOCAL * BASELINE / out
    out = FOCAL * BASELINE / (np.rint(disparity / DISPARITY_STEP) * DISPARITY_STEP)
    holes = far | (edge & (chance > 0.6)) | (random.random(z.shape) < 0.02) | _unlit(z)
    patches = gaussian_filter(random.normal(size=z.shape), 4.0)
    holes |= patches > np.quantile(patches, 0.985)
    out[holes] = np.nan
    return out.astype(np.float32), ~flying


def _unlit(z: np.ndarray) -> np.ndarray:
    """Which pixels the projector does not reach, because something nearer is in the way."""
    rows, columns = np.indices(z.shape)
    at = np.rint(columns - FOCAL * BASELINE / z).astype(int) + 200
    nearest = np.full((z.shape[0], z.shape[1] + 200), np.inf)
    np.minimum.at(nearest, (rows, np.clip(at, 0, nearest.shape[1] - 1)), z)
    return z > nearest[rows, np.clip(at, 0, nearest.shape[1] - 1)] + 0.02


def _hit(solid: Solid, origin: np.ndarray, rays: np.ndarray) -> np.ndarray:
    """Depth of the first hit of each ray, inf for none."""
    R = solid.T[:3, :3]
    p, d, half = (origin - solid.T[:3, 3]) @ R, rays @ R, 0.5 * solid.size
    with np.errstate(divide="ignore", invalid="ignore"):
        if solid.kind == "box":
            first, last = (-half * np.sign(d) - p) / d, (half * np.sign(d) - p) / d
            enter, leave = np.nanmax(first, axis=-1), np.nanmin(last, axis=-1)
        else:
            scale = np.ones(3) if solid.kind == "ball" else np.array([1.0, 1.0, 0.0])
            a, b = (d * d) @ scale, d @ (p * scale)
            root = b * b - a * ((p * p) @ scale - half[0] ** 2)
            enter, leave = (-b - np.sqrt(root)) / a, (-b + np.sqrt(root)) / a
            if solid.kind == "cylinder":
                low, high = (-half[2] - p[2]) / d[..., 2], (half[2] - p[2]) / d[..., 2]
                enter, leave = (
                    np.maximum(enter, np.minimum(low, high)),
                    np.minimum(leave, np.maximum(low, high)),
                )
        return np.where((enter < leave) & (enter > 0.0), enter, np.inf)
