"""Random scenes that were not used for tuning: objects, poses, cameras, light and paint follow from a seed.

Images are rendered at twice the size and averaged, so that edges are mixed as in a real camera, and get sensor noise.
Half of them are painted with a solid noise texture, which the simulation itself does not have. Every object can be
measured: each lies in both images, is not occluded by another, and stands at least `GAP` away from the next, since
objects that touch are one obstacle.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from manipapy_core import lie
from manipapy_core.model import BoxGeometry, CylinderGeometry, SphereGeometry
from manipapy_core.perception import DepthImage, StereoPair
from manipapy_core.sim import Pinhole, SceneObject
from manipapy_core.sim.render.raster import Rasteriser
from manipapy_core.sim.render.surfaces import object_surface
from manipapy_core.sim.scene import Texture
from perception.scenes import BASELINE, PINHOLE, STEREO, looking_at, table, true_size

DISTANCES = ((0.5, 0.8), (0.8, 1.2), (1.2, 1.6), (1.6, 2.0))
"""Range of the objects' distances from the camera in a scene [m]."""
GAP = 0.06
"""[m]"""
FINE = Pinhole.from_field_of_view(1280, 960, 1.0)
PAIR_LEFT, PAIR_RIGHT = np.eye(4), lie.pose(None, [BASELINE, 0.0, 0.0])


class Paint(enum.Enum):
    """Texture of the surfaces."""

    SPOTS = "spots"
    CLOUDS = "clouds"


@dataclass(frozen=True, eq=False)
class RandomScene:
    """Objects and their images."""

    seed: int
    objects: tuple[SceneObject, ...]
    distances: tuple[float, ...]
    """Of the objects' centres from the left camera [m]."""
    pair: StereoPair
    depth: DepthImage


def random_scene(seed: int, between: tuple[float, float]) -> RandomScene:
    """A table with three to five objects, none nearer or farther than `between` [m]."""
    random = np.random.default_rng([seed, round(1000 * between[0])])
    while True:
        T = looking_at(
            [0.0, 0.0, 0.03], sum(between) / 2, elevation=random.uniform(0.45, 1.0), azimuth=random.uniform(-3.1, 3.1)
        )
        objects = _objects(random, T, between)
        if len(objects) >= 3:
            break
    paint = list(Paint)[seed % 2]
    left, right, depth = _images(random, objects, T, paint)
    far = tuple(float(np.linalg.norm(item.T_world_object[:3, 3] - T[:3, 3])) for item in objects)
    pair = StereoPair(0, T, left, right)
    return RandomScene(seed, objects, far, pair, DepthImage(0, T, depth, STEREO.left))


def _objects(random: np.random.Generator, T: np.ndarray, between: tuple[float, float]) -> tuple[SceneObject, ...]:
    wanted, found = int(random.integers(3, 6)), []
    for number in range(200):
        item = _object(random, f"object {number}", 0.45 * sum(between) / 2)
        if _is_measurable(item, found, T, between):
            found.append(item)
        if len(found) == wanted:
            break
    return tuple(found)


def _object(random: np.random.Generator, name: str, spread: float) -> SceneObject:
    kind, turn = random.integers(0, 4), lie.exp_so3([0.0, 0.0, random.uniform(-3.1, 3.1)])
    if kind == 0:
        shape = SphereGeometry(random.uniform(0.02, 0.06))
        height = 2.0 * shape.radius
    elif kind == 1:
        shape = CylinderGeometry(random.uniform(0.02, 0.05), random.uniform(0.04, 0.16))
        height = shape.length
        if random.random() < 0.3:
            turn, height = turn @ lie.exp_so3([math.pi / 2, 0.0, 0.0]), 2.0 * shape.radius
    else:
        shape = BoxGeometry(random.uniform(0.04, 0.14, 3))
        height = float(shape.size[2])
    x, y = random.uniform(-spread, spread, 2)
    colour = (*random.uniform(0.4, 0.95, 3), 1.0)
    return SceneObject(name, shape, lie.pose(turn, [x, y, height / 2]), rgba=colour, texture=Texture.SPECKLE)


def _is_measurable(item: SceneObject, others: list[SceneObject], T: np.ndarray, between: tuple[float, float]) -> bool:
    """Whether an object is in both images and not occluded by the previous ones."""
    middle, radius = item.T_world_object[:3, 3], _radius(item)
    if not between[0] <= np.linalg.norm(middle - T[:3, 3]) <= between[1]:
        return False
    # In both images, with a margin.
    for camera in (PAIR_LEFT, PAIR_RIGHT):
        optical = lie.inverse(T @ camera) @ [*middle, 1.0]
        u, v = PINHOLE.project(optical[:3])
        reach = PINHOLE.fx * radius / optical[2] + 10.0
        if not (reach <= u <= PINHOLE.width - reach and reach <= v <= PINHOLE.height - reach):
            return False
    for other in others:
        apart = other.T_world_object[:3, 3] - middle
        if np.linalg.norm(apart[:2]) < GAP + radius + _radius(other):
            return False
        # Side by side in both images.
        for camera in (PAIR_LEFT, PAIR_RIGHT):
            viewpoint = (T @ camera)[:3, 3]
            a, b = middle - viewpoint, other.T_world_object[:3, 3] - viewpoint
            angle = math.acos(np.clip(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)), -1.0, 1.0))
            if angle < math.asin(radius / np.linalg.norm(a)) + math.asin(_radius(other) / np.linalg.norm(b)):
                return False
    return True


def _radius(item: SceneObject) -> float:
    size = true_size(item.shape)
    return float(size[0] / 2 if isinstance(item.shape, SphereGeometry) else np.linalg.norm(size) / 2)


def _images(random: np.random.Generator, objects: tuple[SceneObject, ...], T: np.ndarray, paint: Paint):
    """Left and right grey values and the depth of the left camera."""
    plain, cover = Texture.PLAIN, (Texture.WOOD, Texture.SPECKLE)[random.integers(0, 2)]
    colour = (*random.uniform(0.4, 0.95, 3), 1.0)
    items = [replace(table(size=(2.4, 2.0, 0.75)), texture=cover, rgba=colour), *objects]
    if paint is Paint.CLOUDS:
        items = [replace(item, texture=plain) for item in items]
    surfaces = []
    for item in items:
        surface = object_surface(item)
        moved = surface.texture * random.uniform(0.6, 1.6) + random.uniform(0.0, 1.0, 2)
        surfaces.append(replace(surface, texture=moved))
    rasteriser, poses = Rasteriser(surfaces), [item.T_world_object for item in items]
    ambient = random.uniform(0.35, 0.8)
    lamp = (*random.uniform(-1.0, 1.0, 2), random.uniform(0.5, 1.5))
    light = {"towards_lamp": lamp, "ambient": ambient, "diffuse": 1.0 - ambient}
    cameras = [T @ PAIR_LEFT, T @ PAIR_RIGHT]
    lattice = random.uniform(-1.0, 1.0, (32, 32, 32))
    greys, brightness = [], random.uniform(90.0, 140.0)
    for (rgb, depth), camera in zip(rasteriser.draw(poses, FINE, cameras, **light), cameras, strict=True):
        grey = rgb @ np.array([0.299, 0.587, 0.114])
        if paint is Paint.CLOUDS:
            grey = grey * _clouds(depth, FINE.rays(), camera, lattice)
        mixed = grey.reshape(480, 2, 640, 2).mean(axis=(1, 3))
        if not greys:
            exposure = brightness / mixed.mean()  # same exposure for both cameras
        mixed = mixed * exposure
        greys.append(np.clip(np.rint(mixed + random.normal(0.0, 0.5, mixed.shape)), 0, 255).astype(np.uint8))
    ((_, depth),) = rasteriser.draw(poses, PINHOLE, cameras[:1], **light)
    return (*greys, depth)


@njit
def _clouds(depth, rays, T, lattice):
    """Brightness of each point: solid noise of three wavelengths, the same for both cameras."""
    out = np.ones(depth.shape)
    n, p, near, cell = lattice.shape[0], np.empty(3), np.empty(3), np.empty(3, np.int64)
    for v in range(depth.shape[0]):
        for u in range(depth.shape[1]):
            if not np.isfinite(depth[v, u]):
                continue
            for axis in range(3):
                p[axis] = T[axis, 3]
                for k in range(3):
                    p[axis] += T[axis, k] * rays[v, u, k] * depth[v, u]
            total = 0.0
            for wavelength, share in ((0.009, 0.16), (0.023, 0.12), (0.07, 0.12)):
                for axis in range(3):
                    place = p[axis] / wavelength + 1024.0
                    cell[axis] = int(place)
                    f = place - cell[axis]
                    near[axis] = f * f * (3.0 - 2.0 * f)
                for corner in range(8):
                    a, b, c = corner & 1, (corner >> 1) & 1, corner >> 2
                    weight = share * (near[0] if a else 1.0 - near[0]) * (near[1] if b else 1.0 - near[1])
                    weight *= near[2] if c else 1.0 - near[2]
                    total += weight * lattice[(cell[0] + a) % n, (cell[1] + b) % n, (cell[2] + c) % n]
            out[v, u] = 0.75 + total
    return out
