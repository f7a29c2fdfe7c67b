"""A handsome picture of a world: soft shadows, light from the sky, smooth edges. Takes seconds; not for cameras.

PyBullet's software renderer draws colours and depths but no good shadows. Here it draws the world once in plain colours
and once lit by the sun, and then once more, small, from each of many points of the sky: what such a point sees is lit
by it. A third of the points stand together as the sun, which makes the edges of its shadows soft.
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
"""Half the angle that it fills [rad]; the real one is smaller and its shadows harder."""
SUN_COLOUR = np.array([1.15, 1.08, 0.98], np.float32)
SKY_COLOUR = np.array([0.55, 0.59, 0.66], np.float32)
GROUND_COLOUR = np.array([0.16, 0.15, 0.14], np.float32)
HORIZON = np.array([0.87, 0.90, 0.93])
ZENITH = np.array([0.66, 0.76, 0.88])
GAMMA = 2.2
MAP_SIZE = 512
"""Edge of the picture that a point of the sky takes [pixels]."""
SCENE_RADIUS = 1.8
"""What is farther from the middle casts no shadow [m]."""
MAP_PIXEL = 2.0 * SCENE_RADIUS / MAP_SIZE
"""Edge of a pixel of that picture at the middle [m]."""
LAMP_DISTANCE = 12.0
"""From where the sky takes its pictures [m]."""
FADE = (2.2, 3.8)
"""Between these distances from the middle the floor fades into the horizon [m]."""

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
    """A picture of the world as it is now.

    Args:
        width: Of the picture [pixels].
        height: Of the picture [pixels].
        eye: Where it is taken from in the world [m], shape (3,); in front of the robots, to their right, if not given.
        target: What is in the middle [m], shape (3,); the middle of the robots if not given.
        field_of_view: Angle from the left to the right edge [rad].
        lights: Points of sky and sun; more are smoother and slower.
        supersample: Every pixel is the mean of this many by this many.

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
    with RenderReplica() as mirror:
        content, view = world.content_and_view()
        mirror.load(content)
        mirror.show(view)
        colours, depth = mirror.picture(large, T_world_eye, FLAT)
        sunlit, _ = mirror.picture(large, T_world_eye, Light(tuple(SUN.tolist()), 0.0, 1.0, 0.12))
        seen = np.isfinite(depth)
        points = _points(large, T_world_eye, depth)[seen]
        normals = _normals(large, T_world_eye, depth)[seen]
        i, j = np.indices(seen.shape) % supersample
        group = (i * supersample + j)[seen]
        sun, sky = _light(mirror, points, normals, group, middle, lights)
    albedo, direct = _linear(colours[seen]), _linear(sunlit[seen])
    below = 0.5 * (1.0 - normals[:, 2:])
    shaded = direct * sun * SUN_COLOUR + albedo * (sky * SKY_COLOUR + below * GROUND_COLOUR)
    shaded /= (1.0 + shaded**4) ** 0.25  # bright places keep some drawing
    picture = _background(large, T_world_eye)
    far = np.linalg.norm(points[:, :2] - middle[:2].astype(np.float32), axis=1, keepdims=True)
    fade = np.clip((far - FADE[0]) / (FADE[1] - FADE[0]), 0.0, 1.0)
    fade = fade * fade * (3.0 - 2.0 * fade)
    picture[seen] = (1.0 - fade) * shaded + fade * picture[seen]
    small = picture.reshape(height, supersample, width, supersample, 3).mean(axis=(1, 3))
    return (255.0 * np.clip(small, 0.0, 1.0) ** (1.0 / GAMMA) + 0.5).astype(np.uint8)


def _extent(world: SimWorld) -> tuple[Array, float]:
    """Middle and radius of a sphere around all links of all robots [m]."""
    places = [T[:3, 3] for robot in world.robots.values() for T in robot.link_poses().values()]
    if not places:
        return np.zeros(3), 1.0
    lowest, highest = np.min(places, axis=0), np.max(places, axis=0)
    # Links are thicker than their frames, and a picture wants some air; what the robot stands on is seen, too.
    radius = max(0.5 * float(np.linalg.norm(highest - lowest)) + 0.15, 0.4)
    return 0.5 * (lowest + highest) - [0.0, 0.0, 0.2 * radius], radius


def _points(pinhole: Pinhole, T_world_eye: Array, depth: FloatImage) -> FloatImage:
    rays = pinhole.rays().astype(np.float32) @ T_world_eye[:3, :3].T.astype(np.float32)
    return rays * np.where(np.isfinite(depth), depth, 0.0)[..., None] + T_world_eye[:3, 3].astype(np.float32)


def _normals(pinhole: Pinhole, T_world_eye: Array, depth: FloatImage) -> FloatImage:
    """Which way the surface faces in every pixel, from its neighbours in the depth picture."""
    points = _points(pinhole, T_world_eye, depth)

    def slope(axis: int) -> FloatImage:
        ahead = np.diff(points, axis=axis, append=np.take(points, [-1], axis=axis))
        behind = np.roll(ahead, 1, axis=axis)
        # At an edge one of the two neighbours lies on something else: the nearer one is right.
        nearer = np.linalg.norm(ahead, axis=-1) <= np.linalg.norm(behind, axis=-1)
        return np.where(nearer[..., None], ahead, behind)

    normal = np.cross(slope(1), slope(0))
    normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-12)
    away = np.einsum("...i,...i->...", normal, points - T_world_eye[:3, 3].astype(np.float32)) > 0.0
    normal[away] *= -1.0
    return normal


def _light(
    mirror: RenderReplica, points: FloatImage, normals: FloatImage, group: NDArray[np.intp], middle: Array, lights: int
) -> tuple[FloatImage, FloatImage]:
    """How much of the sun and of the sky reaches every point, each of shape (points, 1).

    The lights take turns: each shines on one group of points only. Every pixel of the final picture blends points of
    all groups, and with them the lights.
    """
    sun = np.ones(len(points), np.float32)
    sky = 0.5 * (1.0 + normals[:, 2])  # in the open; what is far from the middle keeps it
    near = np.linalg.norm(points - middle.astype(np.float32), axis=1) < SCENE_RADIUS
    groups = int(group.max(initial=0)) + 1
    suns, skies = _disc(lights // 3), _dome(lights - lights // 3)
    for number in range(groups):
        which = np.flatnonzero(near & (group == number))
        # Off the surface by a pixel of the lamp's picture, or it would shade itself.
        start = points[which] + np.float32(1.5 * MAP_PIXEL) * normals[which]
        facing = normals[which]
        mine = suns[number % len(suns) :: groups]
        sun[which] = sum(_visible(mirror, start, middle, direction) for direction in mine) / len(mine)
        mine = skies[number % len(skies) :: groups]
        sky[which] = 0.0
        for direction in mine:
            cosine = np.maximum(facing @ direction.astype(np.float32), 0.0)
            sky[which] += _visible(mirror, start, middle, direction) * cosine * np.float32(2.0 / len(mine))
    return sun[:, None], sky[:, None]


def _visible(mirror: RenderReplica, points: FloatImage, middle: Array, direction: Array) -> FloatImage:
    """1 where a lamp far away in this direction reaches a point, 0 where something is in between."""
    angle = 2.0 * math.asin(SCENE_RADIUS / LAMP_DISTANCE)
    near, far = LAMP_DISTANCE - 2.0 * SCENE_RADIUS, LAMP_DISTANCE + 2.0 * SCENE_RADIUS
    lamp = Pinhole.from_field_of_view(MAP_SIZE, MAP_SIZE, angle, near=near, far=far)
    up = (0.0, 0.0, 1.0) if abs(direction[2]) < 0.9 else (1.0, 0.0, 0.0)
    T_world_lamp = look_at(middle + LAMP_DISTANCE * direction, middle, up=up)
    _, depth = mirror.picture(lamp, T_world_lamp, FLAT)
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
    """Angle [rad] and radius of points spread evenly over the unit disc: a sunflower."""
    index = np.arange(count) + 0.5
    golden = math.pi * (3.0 - math.sqrt(5.0))
    return np.asarray(golden * index, np.float64), np.asarray(np.sqrt(index / count), np.float64)


def _background(pinhole: Pinhole, T_world_eye: Array) -> FloatImage:
    """Light at the horizon, blue above."""
    rays = pinhole.rays() @ T_world_eye[:3, :3].T
    height = np.clip(rays[..., 2:] / np.linalg.norm(rays, axis=-1, keepdims=True) * 2.2, 0.0, 1.0)
    return ((1.0 - height) * HORIZON**GAMMA + height * ZENITH**GAMMA).astype(np.float32)


def _linear(colours: Image) -> FloatImage:
    return (colours.astype(np.float32) / 255.0) ** GAMMA
