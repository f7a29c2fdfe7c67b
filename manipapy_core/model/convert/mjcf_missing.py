"""MJCF models whose mesh or texture files are missing.

MuJoCo refuses them. Kinematics and dynamics can do without a mesh whose body has its inertia written down, as those of
a URDF can; a mesh that a mass would be computed from is still refused.
"""

from __future__ import annotations

import math
import os
from typing import Any

PLACEHOLDER = "missing mesh "
"""Starts the names of shapes that stand for meshes without files."""
_PLACEHOLDER_RADIUS = 1e-3


def without_missing_files(mujoco: Any, path: str) -> tuple[Any, dict[str, str]] | None:
    """The compiled model without its missing files.

    Returns:
        The model, and the file of the missing mesh of each shape that is a placeholder, by name; None if nothing is
        missing, or if a mass depends on what is.

    Raises:
        ValueError: MuJoCo refuses the rest of the model.
    """
    spec = mujoco.MjSpec.from_file(path)
    folder = os.path.dirname(os.path.abspath(path))
    missing = {}
    for mesh in spec.meshes:
        file = os.path.normpath(os.path.join(folder, spec.compiler.meshdir, mesh.file))
        if mesh.file and not os.path.isfile(file):
            missing[mesh.name or os.path.splitext(os.path.basename(mesh.file))[0]] = file
    textures = [texture for texture in spec.textures if _texture_missing(texture, folder, spec.compiler.texturedir)]
    if not missing and not textures:
        return None
    placeholders = {}
    for number, geom in enumerate(spec.geoms):
        if geom.meshname in missing:
            if _has_mass(mujoco, spec, geom):
                return None
            placeholders[f"{PLACEHOLDER}{number}"] = missing[geom.meshname]
            geom.name, geom.type, geom.meshname = f"{PLACEHOLDER}{number}", mujoco.mjtGeom.mjGEOM_SPHERE, ""
            geom.size, geom.mass = [_PLACEHOLDER_RADIUS, 0.0, 0.0], 0.0
    for mesh in [mesh for mesh in spec.meshes if mesh.name in missing]:
        spec.delete(mesh)
    for texture in textures:
        # Any image of one pixel: colours are not read.
        texture.file, texture.cubefiles = "", [""] * 6
        texture.builtin, texture.width, texture.height = mujoco.mjtBuiltin.mjBUILTIN_FLAT, 1, 1
    return spec.compile(), placeholders


def _texture_missing(texture: Any, folder: str, below: str) -> bool:
    files = [texture.file, *texture.cubefiles]
    return any(file and not os.path.isfile(os.path.join(folder, below, file)) for file in files)


def _has_mass(mujoco: Any, spec: Any, geom: Any) -> bool:
    """Whether the mass of a body is computed from this shape."""
    body = geom.parent
    if body.name == "world" or geom.mass == 0.0 or (math.isnan(geom.mass) and geom.density == 0.0):
        return False
    from_shapes = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    return from_shapes or not body.explicitinertial
