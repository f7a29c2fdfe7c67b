"""Scene objects in a PyBullet server: create, move, query and remove."""

from __future__ import annotations

import os

import numpy as np

from ...model.elements import BoxGeometry, CylinderGeometry, Geometry, MeshGeometry, SphereGeometry
from ...model.tessellation import rectangle_patch, triangles
from ...typing import Array
from ..errors import SceneError
from ..render.png import texture_image, write_png
from ..render.surfaces import FLOOR
from ..scene import GroundPlane, SceneObject, Texture, solid_parts
from ..temporary_folder import TemporaryFolder
from .client import BulletClient, from_position_quaternion, to_position_quaternion
from .robot_file import readable_mesh

FLOOR_TILE = 0.5
"""Edge of the floor tiles [m]: the renderer culls whole tiles behind the camera."""


class BulletObjects:
    """Named bodies in one server.

    Args:
        visuals: Also for drawing, in a window or an image.
    """

    def __init__(self, client: BulletClient, *, visuals: bool):
        self._client, self._visuals = client, visuals
        self._bodies: dict[str, int] = {}
        self._textures: dict[Texture, int] = {}
        self._folder = TemporaryFolder()

    def close(self) -> None:
        """Delete temporary files; a second call does nothing."""
        self._folder.close()

    def clear(self) -> None:
        """Forget the bodies of a server that was reset."""
        self._bodies.clear()
        self._textures.clear()

    def add(self, item: SceneObject) -> None:
        """Create the object at its pose."""
        position, quaternion = to_position_quaternion(item.T_world_object)
        client = self._client
        try:
            collision = self._collision_shape(item)
            visual = self._visual_shape(item) if self._visuals else -1
        except client.bullet.error as error:
            problem = f"PyBullet cannot create its shape ({error}); if it is a mesh, save it as OBJ or STL"
            raise SceneError(f"object {item.name!r}", [problem]) from error
        body = client.createMultiBody(item.mass, collision, visual, position, quaternion)
        client.changeDynamics(body, -1, linearDamping=0.0, angularDamping=0.0, lateralFriction=item.friction)
        if self._visuals and item.texture is not Texture.PLAIN:
            for shape in client.getVisualShapeData(body):
                client.changeVisualShape(body, shape[1], textureUniqueId=self._texture(item.texture))
        self._bodies[item.name] = body

    def remove(self, name: str) -> None:
        """Delete an object."""
        self._client.removeBody(self._bodies.pop(name))

    def name_of(self, body: int) -> str | None:
        """Name of the object with this number; None if it is no object."""
        return next((name for name, number in self._bodies.items() if number == body), None)

    def pose(self, name: str) -> Array:
        """T_world_object, shape (4, 4)."""
        return from_position_quaternion(*self._client.getBasePositionAndOrientation(self._bodies[name]))

    def twist(self, name: str) -> Array:
        """Velocity of the object's origin in world axes, angular first [rad/s, m/s], shape (6,)."""
        linear, angular = self._client.getBaseVelocity(self._bodies[name])
        return np.array([*angular, *linear])

    def place(self, name: str, T_world_object: Array) -> None:
        """Put an object somewhere, at rest."""
        body, zero = self._bodies[name], [0.0, 0.0, 0.0]
        self._client.resetBasePositionAndOrientation(body, *to_position_quaternion(T_world_object))
        self._client.resetBaseVelocity(body, zero, zero)

    def _collision_shape(self, item: SceneObject) -> int:
        client = self._client
        if isinstance(item.shape, GroundPlane):
            return client.createCollisionShape(client.GEOM_PLANE, planeNormal=[0.0, 0.0, 1.0])
        parts = list(solid_parts(item.shape))
        shapes = [self._collision_options(geometry, fixed=item.fixed) for geometry, _ in parts]
        if len(parts) == 1:
            return client.createCollisionShape(**shapes[0])
        # Tables: several boxes.
        positions, quaternions = zip(*(to_position_quaternion(T) for _, T in parts))
        return client.createCollisionShapeArray(
            shapeTypes=[shape["shapeType"] for shape in shapes],
            halfExtents=[shape["halfExtents"] for shape in shapes],
            collisionFramePositions=list(positions),
            collisionFrameOrientations=list(quaternions),
        )

    def _collision_options(self, geometry: Geometry, *, fixed: bool) -> dict[str, object]:
        client = self._client
        if isinstance(geometry, CylinderGeometry):
            return {"shapeType": client.GEOM_CYLINDER, "radius": geometry.radius, "height": geometry.length}
        options = self._plain_options(geometry)
        if isinstance(geometry, MeshGeometry) and fixed:
            # PyBullet uses the convex hull of moving meshes; fixed ones may be concave.
            options["flags"] = client.GEOM_FORCE_CONCAVE_TRIMESH
        return options

    def _visual_shape(self, item: SceneObject) -> int:
        client, colour = self._client, list(item.rgba)
        if isinstance(item.shape, GroundPlane):
            tiles = round(FLOOR / FLOOR_TILE)
            floor = triangles([rectangle_patch(FLOOR, FLOOR, tiles, tiles)])
            return client.createVisualShape(
                client.GEOM_MESH,
                vertices=floor.points.tolist(),
                indices=floor.faces.ravel().tolist(),
                uvs=floor.texture.tolist(),
                normals=floor.normals.tolist(),
                rgbaColor=colour,
            )
        parts = list(solid_parts(item.shape))
        if len(parts) == 1:
            return client.createVisualShape(**self._visual_options(parts[0][0]), rgbaColor=colour)
        positions, quaternions = zip(*(to_position_quaternion(T) for _, T in parts))
        options = [self._visual_options(geometry) for geometry, _ in parts]
        return client.createVisualShapeArray(
            shapeTypes=[option["shapeType"] for option in options],
            halfExtents=[option["halfExtents"] for option in options],
            visualFramePositions=list(positions),
            visualFrameOrientations=list(quaternions),
            rgbaColors=[colour] * len(parts),
        )

    def _visual_options(self, geometry: Geometry) -> dict[str, object]:
        if isinstance(geometry, CylinderGeometry):
            return {"shapeType": self._client.GEOM_CYLINDER, "radius": geometry.radius, "length": geometry.length}
        return self._plain_options(geometry)

    def _plain_options(self, geometry: Geometry) -> dict[str, object]:
        """Options common to collision and visual shapes; those of cylinders differ in PyBullet."""
        client = self._client
        if isinstance(geometry, BoxGeometry):
            return {"shapeType": client.GEOM_BOX, "halfExtents": (geometry.size / 2).tolist()}
        if isinstance(geometry, SphereGeometry):
            return {"shapeType": client.GEOM_SPHERE, "radius": geometry.radius}
        assert isinstance(geometry, MeshGeometry)
        path = readable_mesh(geometry.filename, self._folder.path)
        return {"shapeType": client.GEOM_MESH, "fileName": path, "meshScale": geometry.scale.tolist()}

    def _texture(self, texture: Texture) -> int:
        if texture not in self._textures:
            path = os.path.join(self._folder.path, f"{texture.value}.png")
            write_png(path, texture_image(texture))
            self._textures[texture] = self._client.loadTexture(path)
        return self._textures[texture]
