"""Meshes in a form that PyBullet reads.

PyBullet reads OBJ and COLLADA, binary STL in some places, and STL text nowhere: it prints a warning and goes on without
the shape. So STL files of both kinds are turned into OBJ here, and what cannot be read is an error.

A robot as PyBullet must read it, so that its physics is that of our model.

Four habits of PyBullet's reader would change the robot: a link without `<inertial>` gets 1 kg and 1 kg m², inertias
are guessed from the collision shapes unless a flag says otherwise, `package://` is not understood, and `<mimic>` is
ignored. So the robot is written anew from our records: massless links say so, meshes carry absolute paths, and the
joints that follow others are coupled by a constraint (see `robot_body`).
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import MeshNotFound
from ..model.elements import Geometry, Inertial, Link, MeshGeometry, Shape
from ..model.meshes import load_mesh, write_obj
from ..model.robot import Robot
from ..model.urdf.write import urdf_text

MESH_FORMATS = (".obj", ".stl", ".dae")
_FACE = re.compile(rb"^\s*f\s+\d", re.MULTILINE)


def readable_mesh(path: str, folder: str) -> str:
    """The path itself, or that of a copy in a form that PyBullet reads.

    Args:
        path: An OBJ, COLLADA or STL file.
        folder: Where copies go.

    Raises:
        MeshNotFound: Not there, of another format, or broken.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in MESH_FORMATS:
        raise MeshNotFound(path, f"is in no known format; give one of {', '.join(MESH_FORMATS)}")
    if not os.path.isfile(path):
        raise MeshNotFound(path, "is not there; correct the path")
    if suffix == ".obj" and not _FACE.search(Path(path).read_bytes()):
        raise MeshNotFound(path, "holds no faces; export it again")
    if suffix != ".stl":
        return path
    # Two meshes of one name may come from different folders.
    name = hashlib.sha256(os.fsencode(os.path.abspath(path))).hexdigest()[:16]
    copy = Path(folder) / f"{name}.obj"
    if not copy.exists():
        write_obj(str(copy), load_mesh(path))
    return str(copy)


_MASSLESS = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))

DrawAs = Callable[[Geometry], Geometry]


def load_robot(
    load: Callable[[str], int],
    robot: Robot,
    *,
    visuals: bool,
    collisions: bool,
    draw_as: DrawAs = lambda shape: shape,
) -> int:
    """Write a robot for PyBullet and have it loaded.

    Args:
        load: Reads a URDF file and returns PyBullet's number of the body.
        robot: Any robot, also one that no file describes.
        visuals: With what is drawn. The physics runs faster without.
        collisions: With what collides.
        draw_as: Turns the geometry of a visual into another one.

    Raises:
        MeshNotFound: A mesh that is needed was not found when the robot was read, or cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="manipapy-robot-") as folder:

        def readable(shape: Shape) -> Shape:
            return _with_readable_mesh(shape, folder)

        def drawn(shape: Shape) -> Shape:
            return readable(replace(shape, geometry=draw_as(shape.geometry)))

        links = {
            name: Link(
                name,
                # The root is bolted to the world. Its own mass never moves, and PyBullet reports the pose of a body's
                # centre of mass: without one, that is the link frame.
                _MASSLESS if link.inertial is None or name == robot.root else link.inertial,
                tuple(map(drawn, link.visuals)) if visuals else (),
                tuple(map(readable, link.collisions)) if collisions else (),
            )
            for name, link in robot.links.items()
        }
        joints = {name: replace(joint, mimic=None) for name, joint in robot.joints.items()}
        path = os.path.join(folder, "robot.urdf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(urdf_text(replace(robot, links=links, joints=joints)))
        return load(path)


def _with_readable_mesh(shape: Shape, folder: str) -> Shape:
    mesh = shape.geometry
    if not isinstance(mesh, MeshGeometry):
        return shape
    if not mesh.filename:
        raise MeshNotFound(
            mesh.uri,
            "was not found when the robot was read with check_meshes=False, but is needed now; pass package_paths",
        )
    path = readable_mesh(mesh.filename, folder)
    return replace(shape, geometry=MeshGeometry(path, path, mesh.scale))
