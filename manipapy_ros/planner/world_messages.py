"""Objects of the planner's world: conversion between messages and shapes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from geometry_msgs.msg import Point32, Pose
from manipapy_msgs.msg import AttachedCollisionObject, CollisionObject, ObstacleArray
from manipapy_msgs.msg import World as WorldMessage

from manipapy_core.errors import InputError
from manipapy_core.geometry import (
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Octomap,
    Plane,
    PointCloud,
    Sphere,
    World,
    WorldObject,
    WorldSnapshot,
)
from manipapy_core.geometry.distance import Shape
from manipapy_core.typing import Array

from ..common.conversions import matrix_from_pose, pose_from_matrix

DIMENSIONS = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "plane": 0, "convex": 0}
"""Dimensions per type; points take one or none."""
CELL = 0.02
"""Default cell size of a point cloud [m]."""
PERCEIVED = "perceived_"
"""Prefix of the names of perceived obstacles; reserved for them."""


def shape_of(message: CollisionObject) -> Shape:
    """The shape that a message describes.

    Raises:
        InputError: No such type, or numbers that do not fit it.
    """
    kind, numbers = message.type, list(message.dimensions)
    known = (*DIMENSIONS, "points")
    if kind not in known:
        raise InputError(f"object {message.id!r} is of type {kind!r}; choose one of {', '.join(known)}")
    if kind == "points":
        if len(numbers) > 1:
            raise InputError(f"points {message.id!r} have {len(numbers)} dimensions; give the cell size, or none")
        return PointCloud(_points(message), numbers[0] if numbers else CELL)
    if len(numbers) != DIMENSIONS[kind]:
        raise InputError(f"{kind} {message.id!r} has {len(numbers)} dimensions; it needs {DIMENSIONS[kind]}")
    if kind == "box":
        return Box(np.array(numbers))
    if kind == "sphere":
        return Sphere(numbers[0])
    if kind == "cylinder":
        return Cylinder(numbers[0], numbers[1])
    if kind == "capsule":
        return Capsule(numbers[0], numbers[1])
    return Plane() if kind == "plane" else ConvexMesh(_points(message))


def message_of(name: str, shape: Shape, T: Array, frame: str) -> CollisionObject:
    """An object as a message. A point cloud is returned as the centres of its occupied cells."""
    message = CollisionObject(id=name, pose=pose_from_matrix(T))
    message.header.frame_id = frame
    points: Array | None = None
    if isinstance(shape, Box):
        message.type, message.dimensions = "box", shape.size.tolist()
    elif isinstance(shape, Sphere):
        message.type, message.dimensions = "sphere", [shape.radius]
    elif isinstance(shape, (Cylinder, Capsule)):
        message.type = type(shape).__name__.lower()
        message.dimensions = [shape.radius, shape.length]
    elif isinstance(shape, Plane):
        message.type = "plane"
    elif isinstance(shape, ConvexMesh):
        message.type, points = "convex", shape.vertices
    elif isinstance(shape, PointCloud):
        message.type, message.dimensions, points = "points", [shape.cell], shape.points
    else:
        assert isinstance(shape, Octomap)
        message.type, message.dimensions, points = "points", [shape.grid.cell], occupied_centres(shape)
    if points is not None:
        message.points = [Point32(x=x, y=y, z=z) for x, y, z in points.tolist()]
    return message


def occupied_centres(shape: Octomap) -> Array:
    """Centres of the occupied cells of an octomap [m], shape (cells, 3)."""
    grid = shape.grid
    return grid.lower + (np.argwhere(grid.distances == 0.0) + 0.5) * grid.cell


def pose_of(pose: Pose) -> Array:
    """Homogeneous matrix, shape (4, 4); a quaternion of zeros, as in an empty message, stands for no rotation."""
    o = pose.orientation
    if o.x == o.y == o.z == o.w == 0.0:
        pose = Pose(position=pose.position)
        pose.orientation.w = 1.0
    return matrix_from_pose(pose)


def message_from_world(world: WorldSnapshot, frame: str) -> WorldMessage:
    """A whole world as a message without a stamp.

    Args:
        frame: Base link of the arm.
    """
    message = WorldMessage(version=world.version)
    message.header.frame_id = frame
    for item in world.objects.values():
        listed = message.perceived if item.name.startswith(PERCEIVED) else message.objects
        listed.append(message_of(item.name, item.shape, item.T_base_object, frame))
    for carried in world.attached.values():
        described = message_of(carried.name, carried.shape, carried.T_link_object, carried.link)
        message.attached.append(AttachedCollisionObject(object=described, touch_links=sorted(carried.touch_links)))
    pairs = [sorted(pair) for pair in world.allowed]
    message.allowed_first, message.allowed_second = [a for a, _ in pairs], [b for _, b in pairs]
    return message


def world_from_message(message: WorldMessage) -> WorldSnapshot:
    """The world that a planner has published.

    Raises:
        InputError: An object that cannot be used.
    """
    world = World()
    for item in (*message.objects, *message.perceived):
        world.add(item.id, shape_of(item), pose_of(item.pose))
    for carried in message.attached:
        item = carried.object
        world.add(item.id, shape_of(item))
        world.attach(item.id, item.header.frame_id, pose_of(item.pose), touch_links=tuple(carried.touch_links))
    for first, second in zip(message.allowed_first, message.allowed_second, strict=True):
        world.allow(first, second)
    return world.snapshot()


def perceived_objects(message: ObstacleArray) -> Iterator[WorldObject]:
    """Perceived obstacles as objects of the world: padded hulls, or padded boxes where there is no hull."""
    for obstacle in message.obstacles:
        name = f"{PERCEIVED}{obstacle.id}"
        if len(obstacle.hull) >= 4:
            yield WorldObject(name, ConvexMesh(np.array([[p.x, p.y, p.z] for p in obstacle.hull])), np.eye(4))
        else:
            size = np.array([obstacle.size.x, obstacle.size.y, obstacle.size.z]) + 2.0 * obstacle.padding
            yield WorldObject(name, Box(size), pose_of(obstacle.pose))


def _points(message: CollisionObject) -> Array:
    if not len(message.points):
        raise InputError(f"{message.type} {message.id!r} has no points")
    return np.array([[point.x, point.y, point.z] for point in message.points], dtype=np.float64)
