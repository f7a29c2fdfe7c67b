"""Still images of a world with soft shadows, sky light and anti-aliasing. Takes seconds; not for cameras.

The rasteriser draws colours and depths but no shadows. Here it renders the world once in plain colours and once lit by
the sun, and then a depth map from each of many directions of the sky: points visible from there are lit from there. A
third of the directions lie on the disc of the sun, which makes its shadows soft.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...typing import Array
from ..camera import Pinhole, look_at
from ..world import SimWorld
from .png import Image
from .replica import FLAT, Light, RenderReplica

SUN = np.array([0.45, -0.75, 1.25]) / np.linalg.norm([0.45, -0.75, 1.25])
"""Direction to the sun in the world."""
SUN_RADIUS = 0.07
"""Angular radius of the sun [rad]; larger than the real one for softer shadows."""
SUN_COLOUR = np.array([1.15, 1.08, 0.98], np.float32)
SKY_COLOUR = np.array([0.55, 0.59, 0.66], np.float32)
GROUND_COLOUR = np.array([0.16, 0.15, 0.14], np.float32)
HORIZON = np.array([0.87, 0.90, 0.93])
ZENITH = np.array([0.66, 0.76, 0.88])
GAMMA = 2.2
SPECULAR, SHININESS = 0.05, 30.0
"""Strength and exponent of the highlights."""
MAP_SIZE = 512
"""Edge of a shadow map [pixels]."""
SCENE_RADIUS = 1.8
"""Objects farther from the centre cast no shadow [m]."""
MAP_PIXEL = 2.0 * SCENE_RADIUS / MAP_SIZE
"""Edge of a shadow-map pixel at the centre [m]."""
LAMP_DISTANCE = 12.0
"""Distance of the lights from the centre [m]."""
FADE = (2.2, 3.8)
"""The floor fades into the horizon between these distances from the centre [m]."""

FloatImage = NDArray[np.float32]


def render(
    world: SimWorld,
    *,
    width: int = 1280,
    height: int = 800,
    eye: ArrayLike | None = None,
    target: ArrayLike | None = None,
    field_of_view: float = 0.62,
    lights: int = 36,
    supersample: int = 2,
) -> Image:
    """A still image of the world in its current state.

    Args:
        width: [pixels]
        height: [pixels]
        eye: Camera position in the world [m], shape (3,); in front of the robots, to their right, if not given.
        target: Point at the image centre [m], shape (3,); the centre of the robots if not given.
        field_of_view: Horizontal [rad].
        lights: Number of light directions of sky and sun; more are smoother and slower.
        supersample: Every pixel is the mean of this many by this many samples.

    Returns:
        Red, green, blue, shape (height, width, 3); see `png.write_png`.
    """
    if lights < 4 or supersample < 1:
        raise InputError(f"lights is {lights}, supersample {supersample}; give at least 4 and 1")
    middle, radius = _extent(world)
    middle = middle if target is None else np.asarray(target, dtype=np.float64)
    if eye is None:
        distance = 1.25 * radius / math.sin(0.5 * field_of_view * min(1.0, height / width))
        eye = middle + distance * np.array([0.76, -0.56, 0.33])
    large = Pinhole.from_field_of_view(width * supersample, height * supersample, field_of_view, near=0.05, far=30.0)
    T_world_eye = look_at(eye, middle)
    with RenderReplica() as replica:
        content, view = world.content_and_view()
        replica.load(content)
        replica.show(view)
        colours, depth = replica.render(large, T_world_eye, FLAT)
        sunlit, _ = replica.render(large, T_world_eye, Light(tuple(SUN.tolist()), 0.0, 1.0))
        hit = np.isfinite(depth)
        points = _points(large, T_world_eye, depth)[hit]
        normals = _normals(large, T_world_eye, depth)[hit]
        i, j = np.indices(hit.shape) % supersample
        group = (i * supersample + j)[hit]
        sun, sky = _light(replica, points, normals, group, middle, lights)
    albedo, direct = _linear(colours[hit]), _linear(sunlit[hit]) + _highlight(points, normals, T_world_eye)
    below = 0.5 * (1.0 - normals[:, 2:])
    shaded = direct * sun * SUN_COLOUR + albedo * (sky * SKY_COLOUR + below * GROUND_COLOUR)
    shaded /= (1.0 + shaded**4) ** 0.25  # tone mapping: highlights keep contrast
    image = _background(large, T_world_eye)
    far = np.linalg.norm(points[:, :2] - middle[:2].astype(np.float32), axis=1, keepdims=True)
    fade = np.clip((far - FADE[0]) / (FADE[1] - FADE[0]), 0.0, 1.0)
    fade = fade * fade * (3.0 - 2.0 * fade)
    image[hit] = (1.0 - fade) * shaded + fade * image[hit]
    small = image.reshape(height, supersample, width, supersample, 3).mean(axis=(1, 3))
    return (255.0 * np.clip(small, 0.0, 1.0) ** (1.0 / GAMMA) + 0.5).astype(np.uint8)


def _extent(world: SimWorld) -> tuple[Array, float]:
    """Centre and radius of a sphere around all links of all robots [m]."""
    places = [T[:3, 3] for robot in world.robots.values() for T in robot.link_poses().values()]
    if not places:
        return np.zeros(3), 1.0
    lowest, highest = np.min(places, axis=0), np.max(places, axis=0)
    # A margin for the thickness of the links and around the image; lowered to show the support of the robot.
    radius = max(0.5 * float(np.linalg.norm(highest - lowest)) + 0.15, 0.4)
    return 0.5 * (lowest + highest) - [0.0, 0.0, 0.2 * radius], radius


def _points(pinhole: Pinhole, T_world_eye: Array, depth: FloatImage) -> FloatImage:
    rays = pinhole.rays().astype(np.float32) @ T_world_eye[:3, :3].T.astype(np.float32)
    return rays * np.where(np.isfinite(depth), depth, 0.0)[..., None] + T_world_eye[:3, 3].astype(np.float32)


def _normals(pinhole: Pinhole, T_world_eye: Array, depth: FloatImage) -> FloatImage:
    """Surface normal of every pixel, from its neighbours in the depth image."""
    points = _points(pinhole, T_world_eye, depth)

    def slope(axis: int) -> FloatImage:
        ahead = np.diff(points, axis=axis, append=np.take(points, [-1], axis=axis))
        behind = np.roll(ahead, 1, axis=axis)
        # At an edge one of the two neighbours is on another surface: take the nearer one.
        nearer = np.linalg.norm(ahead, axis=-1) <= np.linalg.norm(behind, axis=-1)
        return np.where(nearer[..., None], ahead, behind)

    normal = np.cross(slope(1), slope(0))
    normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12)
    away = np.einsum("...i,...i->...", normal, points - T_world_eye[:3, 3].astype(np.float32)) > 0.0
    normal[away] *= -1.0
    return normal


def _light(
    replica: RenderReplica, points: FloatImage, normals: FloatImage, group: NDArray[np.intp], middle: Array, lights: int
) -> tuple[FloatImage, FloatImage]:
    """Fraction of sun light and sky light at every point, each of shape (points, 1).

    Each light is evaluated for one group of points only. Every pixel of the final image averages samples of all
    groups, and with them the lights.
    """
    sun = np.ones(len(points), np.float32)
    sky = 0.5 * (1.0 + normals[:, 2])  # unshadowed; kept for points far from the centre
    near = np.linalg.norm(points - middle.astype(np.float32), axis=1) < SCENE_RADIUS
    groups = int(group.max(initial=0)) + 1
    suns, skies = _disc(lights // 3), _dome(lights - lights // 3)
    for number in range(groups):
        which = np.flatnonzero(near & (group == number))
        # Offset by a pixel of the shadow map, against self-shadowing.
        start = points[which] + np.float32(1.5 * MAP_PIXEL) * normals[which]
        facing = normals[which]
        mine = suns[number % len(suns) :: groups]
        sun[which] = sum(_visible(replica, start, middle, direction) for direction in mine) / len(mine)
        mine = skies[number % len(skies) :: groups]
        sky[which] = 0.0
        for direction in mine:
            cosine = np.maximum(facing @ direction.astype(np.float32), 0.0)
            sky[which] += _visible(replica, start, middle, direction) * cosine * np.float32(2.0 / len(mine))
    return sun[:, None], sky[:, None]


def _visible(replica: RenderReplica, points: FloatImage, middle: Array, direction: Array) -> FloatImage:
    """1 where a distant lamp in this direction reaches a point, 0 in its shadow."""
    angle = 2.0 * math.asin(SCENE_RADIUS / LAMP_DISTANCE)
    near, far = LAMP_DISTANCE - 2.0 * SCENE_RADIUS, LAMP_DISTANCE + 2.0 * SCENE_RADIUS
    lamp = Pinhole.from_field_of_view(MAP_SIZE, MAP_SIZE, angle, near=near, far=far)
    up = (0.0, 0.0, 1.0) if abs(direction[2]) < 0.9 else (1.0, 0.0, 0.0)
    T_world_lamp = look_at(middle + LAMP_DISTANCE * direction, middle, up=up)
    _, depth = replica.render(lamp, T_world_lamp, FLAT)
    R, p = T_world_lamp[:3, :3].astype(np.float32), T_world_lamp[:3, 3].astype(np.float32)
    x, y, z = R.T @ (points - p).T
    u = (x / z * np.float32(lamp.fx) + np.float32(lamp.cx + 0.5)).astype(np.int32)
    v = (y / z * np.float32(lamp.fy) + np.float32(lamp.cy + 0.5)).astype(np.int32)
    last = MAP_SIZE - 1
    first = depth[np.clip(v, 0, last), np.clip(u, 0, last)]
    return (z < first + np.float32(0.5 * MAP_PIXEL)).astype(np.float32)


def _disc(count: int) -> Array:
    """Directions spread evenly over the sun, shape (count, 3)."""
    turn, radius = _spiral(count)
    x = np.cross(SUN, [0.0, 0.0, 1.0])
    x /= np.linalg.norm(x)
    across = SUN_RADIUS * radius[:, None] * (np.cos(turn)[:, None] * x + np.sin(turn)[:, None] * np.cross(SUN, x))
    directions = SUN + across
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def _dome(count: int) -> Array:
    """Directions spread evenly over the upper half of the sky, shape (count, 3)."""
    turn, radius = _spiral(count)
    height = np.clip(1.0 - radius**2, 0.05, 1.0)
    flat = np.sqrt(1.0 - height**2)
    return np.stack([flat * np.cos(turn), flat * np.sin(turn), height], axis=1)


def _spiral(count: int) -> tuple[Array, Array]:
    """Angle [rad] and radius of a Vogel spiral: points spread evenly over the unit disc."""
    index = np.arange(count) + 0.5
    golden = math.pi * (3.0 - math.sqrt(5.0))
    return np.asarray(golden * index, np.float64), np.asarray(np.sqrt(index / count), np.float64)


def _background(pinhole: Pinhole, T_world_eye: Array) -> FloatImage:
    """Sky gradient: bright at the horizon, blue above."""
    rays = pinhole.rays() @ T_world_eye[:3, :3].T
    height = np.clip(rays[..., 2:] / np.linalg.norm(rays, axis=-1, keepdims=True) * 2.2, 0.0, 1.0)
    return ((1.0 - height) * HORIZON**GAMMA + height * ZENITH**GAMMA).astype(np.float32)


def _highlight(points: FloatImage, normals: FloatImage, T_world_eye: Array) -> FloatImage:
    """Mirror light of the sun (Blinn), shape (points, 1)."""
    to_eye = T_world_eye[:3, 3].astype(np.float32) - points
    half = to_eye / np.linalg.norm(to_eye, axis=1, keepdims=True) + SUN.astype(np.float32)
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    cosine = np.maximum(np.einsum("ij,ij->i", half, normals), 0.0)
    return (SPECULAR * cosine**SHININESS)[:, None].astype(np.float32)


def _linear(colours: Image) -> FloatImage:
    return (colours.astype(np.float32) / 255.0) ** GAMMA
