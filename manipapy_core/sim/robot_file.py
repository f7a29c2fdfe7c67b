"""A robot as PyBullet must read it, so that its physics is that of our model.

Four habits of PyBullet's reader would change the robot: a link without `<inertial>` gets 1 kg and 1 kg m², inertias
are guessed from the collision shapes unless a flag says otherwise, `package://` is not understood, and `<mimic>` is
ignored. So the robot is written anew from our records: massless links say so, meshes carry absolute paths, and the
joints that follow others are coupled by a constraint (see `robot_body`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import MeshNotFound
from ..model.elements import Geometry, Inertial, Joint, Link, Mesh, Shape
from ..model.robot import Robot
from ..model.write import urdf_text

_MASSLESS = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))

DrawAs = Callable[[Geometry], Geometry]


def bullet_urdf(robot: Robot, *, visuals: bool, collisions: bool, draw_as: DrawAs = lambda shape: shape) -> str:
    """URDF text for PyBullet.

    Args:
        robot: Any robot, also one that no file describes.
        visuals: Keep what is drawn. The physics runs faster without.
        collisions: Keep what collides.
        draw_as: Turns the geometry of a visual into another one.

    Raises:
        MeshNotFound: A mesh that is needed was not found when the robot was read.
    """

    def visual(shape: Shape) -> Shape:
        return _with_absolute_mesh(replace(shape, geometry=draw_as(shape.geometry)))

    def link(source: Link) -> Link:
        inertial = source.inertial
        if inertial is None or source.name == robot.root:
            # The root is bolted to the world. Its own mass never moves, and PyBullet reports the pose of a body's
            # centre of mass: with none, that is the link frame.
            inertial = _MASSLESS
        return Link(
            source.name,
            inertial,
            tuple(map(visual, source.visuals)) if visuals else (),
            tuple(map(_with_absolute_mesh, source.collisions)) if collisions else (),
        )

    return urdf_text(
        replace(
            robot,
            links={name: link(source) for name, source in robot.links.items()},
            joints={name: _alone(joint) for name, joint in robot.joints.items()},
        )
    )


def load_robot_file(load: Callable[[str], int], text: str) -> int:
    """Hand a URDF text to a loader that wants a file; returns what the loader returns."""
    with tempfile.TemporaryDirectory(prefix="manipapy-robot-") as folder:
        path = os.path.join(folder, "robot.urdf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return load(path)


def _alone(joint: Joint) -> Joint:
    return replace(joint, mimic=None)


def _with_absolute_mesh(shape: Shape) -> Shape:
    mesh = shape.geometry
    if not isinstance(mesh, Mesh):
        return shape
    if not mesh.filename:
        raise MeshNotFound(
            mesh.uri,
            "was not found when the robot was read with check_meshes=False, but is needed now; pass package_paths",
        )
    return replace(shape, geometry=Mesh(mesh.filename, mesh.filename, mesh.scale))
