"""Objects and static frames of the simulation as messages: requests of `~/spawn`, ground truth, robot and cameras."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, TransformStamped
from manipapy_msgs.srv import SpawnObject
from std_msgs.msg import ColorRGBA
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from manipapy_core import lie
from manipapy_core.model.elements import BoxGeometry, CylinderGeometry, MeshGeometry, SphereGeometry
from manipapy_core.model.meshes import MeshFinder
from manipapy_core.sim import SceneObject, SimRobot, SimWorld, StereoCamera, object_from_mapping
from manipapy_core.sim.scene import solid_parts
from manipapy_core.typing import Array

from ..common.conversions import pose_from_matrix, time_message
from .camera import optical_frames


def static_frames(world_frame: str, robot: SimRobot, camera: StereoCamera | None, camera_name: str) -> TFMessage:
    """Poses of robot and cameras for `tf_static`; stamps of static transforms are ignored."""
    frames = [transform(world_frame, robot.robot.root, robot.T_world_base)]
    if camera is not None:
        left, right = optical_frames(camera_name)
        frames.append(transform(camera.link or world_frame, left, camera.T_mount_left))
        frames.append(transform(left, right, camera.T_left_right))
    return TFMessage(transforms=frames)


def transform(parent: str, child: str, T_parent_child: Array) -> TransformStamped:
    """Pose of a child frame in its parent, shape (4, 4), as a transform."""
    pose = pose_from_matrix(T_parent_child)
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    p, translation = pose.position, message.transform.translation
    translation.x, translation.y, translation.z = p.x, p.y, p.z
    message.transform.rotation = pose.orientation
    return message


DIMENSIONS = {
    "box": (("size", 3),),
    "table": (("size", 3),),
    "cylinder": (("radius", 1), ("length", 1)),
    "sphere": (("radius", 1),),
    "mesh": (("scale", 3),),
    "plane": (),
}
"""Meaning of `dimensions`: keys of a scene file and the count of numbers of each."""
PLANE_SIDE = 10.0
"""Side of the drawn part of an infinite plane [m]."""


def object_from_request(request: SpawnObject.Request, meshes: MeshFinder) -> SceneObject:
    """The object of a request, checked by the rules of scene files.

    Raises:
        SceneError: Lists every problem except those of the pose, which the world checks.
        InputError: The quaternion is not a rotation.
    """
    entry: dict[str, object] = {"name": request.name, "type": request.type}
    numbers = list(request.dimensions)
    for key, count in DIMENSIONS.get(request.type, ()):
        taken, numbers = numbers[:count], numbers[count:]
        if taken or request.type != "mesh":
            entry[key] = taken if count > 1 else (taken[0] if taken else None)
    if numbers:
        entry["dimensions"] = numbers  # more than the shape has: reported as an unknown key
    if request.type == "mesh":
        entry["file"] = request.mesh
    if request.mass != 0.0:
        entry["mass"] = request.mass
    color = [request.color.r, request.color.g, request.color.b, request.color.a]
    if any(color):
        entry["colour"] = [round(value, 6) for value in color]
    if request.texture:
        entry["texture"] = request.texture
    if request.friction != 0.0:
        entry["friction"] = request.friction
    return replace(object_from_mapping(entry, meshes=meshes), T_world_object=_transform(request.pose))


class GroundTruth:
    """Markers of all objects with stable ids: the namespace is the object's name, the id counts its parts.

    Args:
        world: The simulation.
        frame: Name of the world's frame.
    """

    def __init__(self, world: SimWorld, frame: str):
        self._world, self._frame = world, frame
        self._parts: dict[str, int] = {}
        """Published objects and their counts of markers."""

    def message(self) -> MarkerArray:
        """Current poses of all objects; markers of removed ones are deleted once."""
        stamp = time_message(self._world.time_ns)
        objects = self._world.objects()
        markers = []
        for name, count in list(self._parts.items()):
            if name not in objects:
                markers += [self._marker(name, number, stamp, Marker.DELETE) for number in range(count)]
                del self._parts[name]
        for name, item in objects.items():
            made = self._markers_of(item, self._world.object_pose(name), stamp)
            self._parts[name] = len(made)
            markers += made
        return MarkerArray(markers=markers)

    def _marker(self, name: str, number: int, stamp: Time, action: int = Marker.ADD) -> Marker:
        marker = Marker(ns=name, id=number, action=action)
        marker.header.frame_id, marker.header.stamp = self._frame, stamp
        return marker

    def _markers_of(self, item: SceneObject, T_world_object: Array, stamp: Time) -> list[Marker]:
        made: list[Marker] = []
        color = ColorRGBA(**dict(zip("rgba", (float(value) for value in item.rgba))))
        for shape, T_object_part in solid_parts(item.shape):
            marker = self._marker(item.name, len(made), stamp)
            _fill(marker, shape)
            marker.pose, marker.color = pose_from_matrix(T_world_object @ T_object_part), color
            made.append(marker)
        if not made:
            marker = self._marker(item.name, 0, stamp)
            marker.type = Marker.CUBE
            marker.scale.x, marker.scale.y, marker.scale.z = PLANE_SIDE, PLANE_SIDE, 1e-3
            marker.pose, marker.color = pose_from_matrix(T_world_object), color
            made.append(marker)
        return made


def _fill(marker: Marker, shape: BoxGeometry | CylinderGeometry | SphereGeometry | MeshGeometry) -> None:
    scale = marker.scale
    if isinstance(shape, BoxGeometry):
        marker.type = Marker.CUBE
        scale.x, scale.y, scale.z = shape.size.tolist()
    elif isinstance(shape, CylinderGeometry):
        marker.type = Marker.CYLINDER
        scale.x = scale.y = 2.0 * shape.radius
        scale.z = float(shape.length)
    elif isinstance(shape, SphereGeometry):
        marker.type = Marker.SPHERE
        scale.x = scale.y = scale.z = 2.0 * shape.radius
    else:
        marker.type = Marker.MESH_RESOURCE
        marker.mesh_resource = shape.uri if "://" in shape.uri else f"file://{shape.filename}"
        scale.x, scale.y, scale.z = shape.scale.tolist()


def _transform(pose: Pose) -> Array:
    """Homogeneous matrix, shape (4, 4); the zero quaternion of an empty message is no rotation."""
    p, q = pose.position, pose.orientation
    quaternion = [q.x, q.y, q.z, q.w]
    R = lie.rotation_from_quaternion(quaternion) if any(quaternion) else np.eye(3)
    return lie.pose(R, [p.x, p.y, p.z])
