"""Robots and meshes as files that PyBullet reads correctly.

Four defaults of PyBullet's URDF reader would change the robot: a link without `<inertial>` gets 1 kg and 1 kg m²,
inertias are estimated from the collision shapes without a flag, `package://` is not resolved, and `<mimic>` is ignored.
So the robot is written again from our model: massless links are explicit, meshes have absolute paths, and mimic joints
are coupled by a constraint (see `robot`).

PyBullet reads OBJ and COLLADA, binary STL in some places and ASCII STL nowhere: it prints a warning and continues
without the shape. So STL files are converted to OBJ, and an unreadable file is an error.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...errors import MeshNotFound
from ...model.elements import Inertial, Link, MeshGeometry, Shape
from ...model.meshes import load_mesh, write_obj
from ...model.robot import Robot
from ...model.urdf.write import urdf_text
from ..temporary_folder import TemporaryFolder

MESH_FORMATS = (".obj", ".stl", ".dae")
_FACE = re.compile(rb"^\s*f\s+\d", re.MULTILINE)


def readable_mesh(path: str, folder: str) -> str:
    """The path itself, or of a converted copy that PyBullet reads.

    Args:
        path: An OBJ, COLLADA or STL file.
        folder: For copies.

    Raises:
        MeshNotFound: Missing, of an unknown format, or invalid.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in MESH_FORMATS:
        raise MeshNotFound(path, f"has an unknown format; give one of {', '.join(MESH_FORMATS)}")
    if not os.path.isfile(path):
        raise MeshNotFound(path, "does not exist; correct the path")
    if suffix == ".obj" and not _FACE.search(Path(path).read_bytes()):
        raise MeshNotFound(path, "has no faces; export it again")
    if suffix != ".stl":
        return path
    # Meshes in different folders may have the same name.
    name = hashlib.sha256(os.fsencode(os.path.abspath(path))).hexdigest()[:16]
    copy = Path(folder) / f"{name}.obj"
    if not copy.exists():
        write_obj(str(copy), load_mesh(path))
    return str(copy)


_MASSLESS = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


def load_robot(
    load: Callable[[str], int],
    robot: Robot,
    *,
    visuals: bool,
    collisions: bool,
) -> int:
    """Write a robot for PyBullet and load it.

    Args:
        load: Reads a URDF file and returns PyBullet's number of the body.
        robot: Any robot, also one without a file.
        visuals: Include visual shapes; physics is faster without.
        collisions: Include collision shapes.

    Raises:
        MeshNotFound: A mesh was not found when the robot was read, or cannot be read.
    """
    with TemporaryFolder() as folder:

        def readable(shape: Shape) -> Shape:
            return _with_readable_mesh(shape, folder)

        links = {
            name: Link(
                name,
                # The root is fixed, so its mass has no effect. PyBullet reports the pose of a body's centre of mass:
                # for a massless link that is the link frame.
                _MASSLESS if link.inertial is None or name == robot.root else link.inertial,
                tuple(map(readable, link.visuals)) if visuals else (),
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
