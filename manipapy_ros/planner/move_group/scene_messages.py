"""The planner's world as a moveit_msgs/PlanningScene."""

from __future__ import annotations

import array
from collections.abc import Mapping

import numpy as np
from geometry_msgs.msg import Point, Pose
from moveit_msgs.msg import (
    AllowedCollisionEntry,
    AllowedCollisionMatrix,
    AttachedCollisionObject,
    CollisionObject,
    LinkPadding,
    LinkScale,
    PlanningScene,
    PlanningSceneComponents,
)
from octomap_msgs.msg import OctomapWithPose
from sensor_msgs.msg import JointState
from shape_msgs.msg import Mesh, MeshTriangle, SolidPrimitive
from shape_msgs.msg import Plane as PlaneMessage

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, Capsule, ConvexMesh, Cylinder, Octomap, Plane, PointCloud, Sphere, WorldSnapshot
from manipapy_core.geometry.distance import Shape
from manipapy_core.geometry.octree import binary_stream
from manipapy_core.typing import Array

from ...common.conversions import pose_from_matrix
from ..composite_objects import CompositeObjects
from .group import PlanningGroup

Components = PlanningSceneComponents
EVERYTHING = 1023
"""All components."""


def scene_message(
    components: int,
    group: PlanningGroup,
    objects: CompositeObjects,
    world: WorldSnapshot,
    ignored: Mapping[frozenset[str], str],
    state: JointState,
) -> PlanningScene:
    """The parts of the scene that are requested; 0 requests all.

    Args:
        ignored: Pairs of links that are not checked.
        state: Of the joints.
    """
    wanted, base = components or EVERYTHING, group.chain.base
    scene = PlanningScene(robot_model_name=group.model.robot.name)
    if wanted & Components.SCENE_SETTINGS:
        scene.name = f"world of {group.model.robot.name}"
    if wanted & (Components.ROBOT_STATE | Components.ROBOT_STATE_ATTACHED_OBJECTS):
        scene.robot_state.joint_state = state
    if wanted & Components.ROBOT_STATE_ATTACHED_OBJECTS:
        scene.robot_state.attached_collision_objects = attached_messages(objects, world)
    if wanted & Components.WORLD_OBJECT_GEOMETRY:
        scene.world.collision_objects = object_messages(objects, world, base)
    elif wanted & Components.WORLD_OBJECT_NAMES:
        scene.world.collision_objects = [CollisionObject(id=name) for name in object_ids(objects, world)]
    if wanted & Components.OCTOMAP:
        scene.world.octomap = octomap_message(world, base)
    if wanted & Components.ALLOWED_COLLISION_MATRIX:
        scene.allowed_collision_matrix = matrix_message(group, objects, world, ignored)
    if wanted & Components.LINK_PADDING_AND_SCALING:
        solid = [name for name, link in group.model.robot.links.items() if link.collisions]
        scene.link_padding = [LinkPadding(link_name=name) for name in solid]
        scene.link_scale = [LinkScale(link_name=name, scale=1.0) for name in solid]
    return scene


def object_ids(objects: CompositeObjects, world: WorldSnapshot) -> list[str]:
    """Ids of the objects of the world, without maps and attached objects."""
    parts = {name: id_ for id_ in objects.ids if (found := objects.find(id_)) for name in found.parts}
    ids = dict.fromkeys(parts.get(name, name) for name in world.objects)
    return [id_ for id_ in ids if not _is_map(world, id_)]


def attached_ids(objects: CompositeObjects, world: WorldSnapshot) -> list[str]:
    """Ids of the attached objects."""
    parts = {name: id_ for id_ in objects.ids if (found := objects.find(id_)) for name in found.parts}
    return list(dict.fromkeys(parts.get(name, name) for name in world.attached))


def object_messages(objects: CompositeObjects, world: WorldSnapshot, base: str) -> list[CollisionObject]:
    """The objects of the world with their shapes."""
    messages = []
    for id_ in object_ids(objects, world):
        composite = objects.find(id_)
        if composite is None:
            continue
        message = CollisionObject(id=id_, pose=pose_from_matrix(composite.T_base_object))
        message.header.frame_id = base
        for name, T_object_part in composite.parts.items():
            if name in world.objects:
                add_shape(message, world.objects[name].shape, T_object_part)
        messages.append(message)
    return messages


def attached_messages(objects: CompositeObjects, world: WorldSnapshot) -> list[AttachedCollisionObject]:
    """The objects that links carry; poses are in the frames of the links."""
    messages = []
    for id_ in attached_ids(objects, world):
        composite = objects.find(id_)
        parts = {id_: np.eye(4)} if composite is None else composite.parts
        first = world.attached[next(iter(parts))]
        T_link_object = first.T_link_object @ lie.inverse(next(iter(parts.values())))
        message = AttachedCollisionObject(link_name=first.link, touch_links=sorted({first.link, *first.touch_links}))
        message.object = CollisionObject(id=id_, pose=pose_from_matrix(T_link_object))
        message.object.header.frame_id = first.link
        for name, T_object_part in parts.items():
            add_shape(message.object, world.attached[name].shape, T_object_part)
        messages.append(message)
    return messages


def add_shape(message: CollisionObject, shape: Shape, T_object_shape: Array) -> None:
    """Add a shape to a message; maps are left out."""
    if isinstance(shape, ConvexMesh):
        mesh = Mesh(vertices=[Point(x=x, y=y, z=z) for x, y, z in shape.vertices.tolist()])
        mesh.triangles = [MeshTriangle(vertex_indices=corners) for corners in shape.triangles.tolist()]
        message.meshes.append(mesh)
        message.mesh_poses.append(pose_from_matrix(T_object_shape))
    elif isinstance(shape, Plane):
        message.planes.append(PlaneMessage(coef=[*shape.normal.tolist(), -shape.offset]))
        message.plane_poses.append(pose_from_matrix(T_object_shape))
    else:
        for kind, sizes, T in _primitives(shape):
            message.primitives.append(SolidPrimitive(type=kind, dimensions=sizes))
            message.primitive_poses.append(pose_from_matrix(T_object_shape @ T))


def _primitives(shape: Shape) -> list[tuple[int, list[float], Array]]:
    """Type, dimensions and pose of the primitives that a shape consists of."""
    if isinstance(shape, Box):
        return [(SolidPrimitive.BOX, shape.size.tolist(), np.eye(4))]
    if isinstance(shape, Sphere):
        return [(SolidPrimitive.SPHERE, [shape.radius], np.eye(4))]
    if isinstance(shape, (Cylinder, Capsule)):
        parts = [(SolidPrimitive.CYLINDER, [shape.length, shape.radius], np.eye(4))]
        if isinstance(shape, Capsule):
            ends = (lie.pose(translation=[0.0, 0.0, side * 0.5 * shape.length]) for side in (-1.0, 1.0))
            parts += [(SolidPrimitive.SPHERE, [shape.radius], T) for T in ends]
        return parts
    return []


def octomap_message(world: WorldSnapshot, base: str) -> OctomapWithPose:
    """The map of the world, or else its point cloud; empty without either."""
    message = OctomapWithPose(origin=Pose())
    message.header.frame_id = base
    for item in world.objects.values():
        shape = item.shape
        if isinstance(shape, Octomap):
            centres, sizes = shape.centres, shape.sizes
        elif isinstance(shape, PointCloud):
            cells = np.unique(np.floor(shape.points / shape.cell), axis=0)
            centres, sizes = (cells + 0.5) * shape.cell, np.full(len(cells), shape.cell)
        else:
            continue
        try:
            stream, resolution = binary_stream(centres, sizes)
        except InputError:
            continue
        message.origin = pose_from_matrix(item.T_base_object)
        tree = message.octomap
        tree.header.frame_id, tree.binary, tree.id, tree.resolution = base, True, "OcTree", resolution
        tree.data = array.array("b", stream)
        break
    return message


def matrix_message(
    group: PlanningGroup, objects: CompositeObjects, world: WorldSnapshot, ignored: Mapping[frozenset[str], str]
) -> AllowedCollisionMatrix:
    """Pairs of links and objects whose contact is allowed, or that are not checked because they cannot touch."""
    solid = [name for name, link in group.model.robot.links.items() if link.collisions]
    mentioned = sorted({name for pair in world.allowed for name in pair})
    names = list(dict.fromkeys([*solid, *object_ids(objects, world), *attached_ids(objects, world), *mentioned]))
    place = {name: number for number, name in enumerate(names)}
    table = np.zeros((len(names), len(names)), dtype=bool)
    for pair in (*ignored, *world.allowed):
        rows = [place[name] for name in pair if name in place]
        if len(rows) == 2:
            table[rows[0], rows[1]] = table[rows[1], rows[0]] = True
    for carried in world.attached.values():
        for link in (carried.link, *carried.touch_links):
            if link in place and carried.name in place:
                table[place[link], place[carried.name]] = table[place[carried.name], place[link]] = True
    rows_out = [AllowedCollisionEntry(enabled=row) for row in table.tolist()]
    return AllowedCollisionMatrix(entry_names=names, entry_values=rows_out)


def _is_map(world: WorldSnapshot, id_: str) -> bool:
    return id_ in world.objects and isinstance(world.objects[id_].shape, (Octomap, PointCloud))
