"""Exact distances with nearest points and normals, by the package coal where it is installed.

Slower than `Checker` by a factor of hundreds; the reference that it is tested against.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import kinematics
from ..errors import InputError, MissingPackage
from ..model.chain import Chain
from ..model.elements import MeshGeometry
from ..model.meshes import TriangleMesh, load_mesh
from ..model.robot import Robot
from ..typing import Array
from .body import RobotBody, link_frames
from .distance import Shape
from .parts import Part, convex_of
from .shapes import Box, Capsule, ConvexMesh, Cylinder, Plane, Sphere, pose_matrix
from .table_builder import groups_and_pairs
from .world import World, WorldObject, WorldSnapshot


@dataclass(frozen=True, eq=False)
class Contact:
    """Closest points of two solids, or their deepest penetration."""

    first: str
    second: str
    distance: float
    """Negative for penetration [m]."""
    point_first: Array
    """[m], shape (3,)."""
    point_second: Array
    """[m], shape (3,)."""
    normal: Array
    """Unit vector from the first to the second, shape (3,)."""


def exact_distance(
    first: Shape, T_first: ArrayLike, second: Shape, T_second: ArrayLike, names: tuple[str, str] = ("first", "second")
) -> Contact:
    """Distance of two shapes at poses in one frame, shape (4, 4) each."""
    coal = _coal()
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    placed = [
        (_geometry(shape), coal.Transform3s(T[:3, :3], T[:3, 3]))
        for shape, T in ((first, pose_matrix(T_first, "T_first")), (second, pose_matrix(T_second, "T_second")))
    ]
    distance = coal.distance(*placed[0], *placed[1], request, result)
    return Contact(
        *names,
        float(distance),
        np.array(result.getNearestPoint1()).ravel(),
        np.array(result.getNearestPoint2()).ravel(),
        np.array(result.normal).ravel(),
    )


class ExactChecker:
    """Exact contacts of one configuration at a time, for the pairs that `Checker` checks."""

    def __init__(self, body: RobotBody, world: World | None = None):
        _coal()
        self.body = body
        self.world = World() if world is None else world

    def contacts(self, q: ArrayLike, *, snapshot: WorldSnapshot | None = None) -> list[Contact]:
        """The nearest contact of every pair of links, and of every moving link and object, nearest first.

        Args:
            q: Joint positions [rad or m], shape (n,).
        """
        nearest: dict[tuple[str, str], Contact] = {}
        for names, (first, T_first), (second, T_second) in self._pairs(q, snapshot):
            found = exact_distance(first, T_first, second, T_second, names)
            if names not in nearest or found.distance < nearest[names].distance:
                nearest[names] = found
        return sorted(nearest.values(), key=lambda contact: contact.distance)

    def collides(self, q: ArrayLike, *, snapshot: WorldSnapshot | None = None) -> bool:
        """Whether one configuration collides, shape (n,)."""
        coal = _coal()
        request = coal.CollisionRequest()
        for _, *shapes in self._pairs(q, snapshot):
            placed = [(_geometry(shape), coal.Transform3s(T[:3, :3], T[:3, 3])) for shape, T in shapes]
            result = coal.CollisionResult()
            if coal.collide(*placed[0], *placed[1], request, result):
                return True
        return False

    def _pairs(
        self, q: ArrayLike, snapshot: WorldSnapshot | None
    ) -> Iterator[tuple[tuple[str, str], tuple[Shape, Array], tuple[Shape, Array]]]:
        world = self.world.snapshot() if snapshot is None else snapshot
        groups, pairs = groups_and_pairs(self.body, world)
        poses = self._frame_poses(q)

        def placed(part: Part, frame: int) -> tuple[Shape, Array]:
            return part.shape, poses[frame] @ part.T_frame_shape

        for pair in pairs:
            a, b = groups[pair.first], groups[pair.second]
            for i, j in pair.part_pairs:
                yield (a.name, b.name), placed(a.parts[i], a.frame), placed(b.parts[j], b.frame)
        for group in groups:
            for item in world.objects.values():
                if group.frame > 0 and not world.may_touch(group.name, item.name):
                    for part in group.parts:
                        yield (group.name, item.name), placed(part, group.frame), (item.shape, item.T_base_object)

    def _frame_poses(self, q: ArrayLike) -> dict[int, Array]:
        chain = self.body.chain
        frames, links = link_frames(chain), kinematics.link_poses(chain, q)
        poses = {0: np.eye(4)}
        for name, T_base_link in zip(chain.link_names, links):
            R, p = frames[name]
            back = np.eye(4)
            back[:3, :3], back[:3, 3] = R.T, -R.T @ p
            poses[self.body.frame_of(name)] = T_base_link @ back
        return poses


class ExactLinks:
    """Contact of the true collision shapes of links, meshes triangle by triangle: the reference of convex parts."""

    def __init__(self, robot: Robot, chain: Chain):
        self._coal = _coal()
        self._robot, self._chain = robot, chain
        self._shapes: dict[str, list[tuple[Any, Array]]] = {}

    def touch(self, first: str, second: str, q: ArrayLike) -> bool:
        """Whether two links are in contact at a configuration of shape (n,)."""
        return self.collides(q, [(first, second)])

    def collides(
        self, q: ArrayLike, pairs: Iterable[tuple[str, str]], objects: Iterable[tuple[str, WorldObject]] = ()
    ) -> bool:
        """Whether one of these pairs of links, or of a link and an object, is in contact at q, shape (n,)."""
        poses = dict(zip(self._chain.link_names, kinematics.link_poses(self._chain, q)))

        def placed(link: str) -> list[tuple[Any, Array]]:
            return [(shape, poses[link] @ T_link_shape) for shape, T_link_shape in self.shapes(link)]

        if any(self._any_contact(placed(first), placed(second)) for first, second in pairs):
            return True
        return any(
            self._any_contact(placed(link), [(_geometry(item.shape), item.T_base_object)]) for link, item in objects
        )

    def _any_contact(self, one: list[tuple[Any, Array]], other: list[tuple[Any, Array]]) -> bool:
        request, place = self._coal.CollisionRequest(), self._coal.Transform3s
        for a, T_a in one:
            for b, T_b in other:
                result = self._coal.CollisionResult()
                poses = place(T_a[:3, :3], T_a[:3, 3]), place(T_b[:3, :3], T_b[:3, 3])
                if self._coal.collide(a, poses[0], b, poses[1], request, result):
                    return True
        return False

    def shapes(self, link: str) -> list[tuple[Any, Array]]:
        """Geometries of coal and their poses in the frame of the link."""
        if link not in self._shapes:
            shapes = []
            for shape in self._robot.links[link].collisions:
                if isinstance(shape.geometry, MeshGeometry):
                    geometry = _triangles(
                        load_mesh(shape.geometry.filename or shape.geometry.uri, shape.geometry.scale)
                    )
                else:
                    solid = convex_of(shape.geometry)
                    if solid is None:
                        continue
                    geometry = _geometry(solid)
                shapes.append((geometry, shape.T_link_shape))
            self._shapes[link] = shapes
        return self._shapes[link]


def _triangles(mesh: TriangleMesh) -> Any:
    model = _coal().BVHModelOBBRSS()
    model.beginModel(len(mesh.triangles), len(mesh.points))
    model.addVertices(np.ascontiguousarray(mesh.points))
    model.addTriangles(np.ascontiguousarray(mesh.triangles))
    model.endModel()
    return model


@functools.lru_cache(maxsize=1024)
def _geometry(shape: Shape) -> Any:
    coal = _coal()
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length)
    if isinstance(shape, Cylinder):
        return coal.Cylinder(shape.radius, shape.length)
    if isinstance(shape, Box):
        return coal.Box(*shape.size)
    if isinstance(shape, Plane):
        return coal.Halfspace(np.array(shape.normal), shape.offset)
    if isinstance(shape, ConvexMesh):
        vertices, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        vertices.extend(list(np.array(shape.vertices)))
        for triangle in shape.triangles:
            triangles.append(coal.Triangle(*(int(corner) for corner in triangle)))
        return coal.Convex(vertices, triangles)
    raise InputError(f"exact distances to {type(shape).__name__} are not computed; Checker takes it")


def _coal() -> Any:
    try:
        import coal
    except ImportError:
        raise MissingPackage("coal", "an exact distance", "collision") from None
    return coal
