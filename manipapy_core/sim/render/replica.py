"""A copy of a world for rendering: no physics, fine shapes, cameras.

Rendering takes a thousand times longer than a physics step, so it never happens in the world itself. A replica gets the
content of a world once and its view for every image, in the same process or in another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import lie
from ...errors import InputError
from ...model.elements import BoxGeometry
from ...typing import Array
from ..bullet import BulletClient
from ..bullet_robot import BulletRobot
from ..camera import Pinhole, StereoCamera, StereoFrame, view_matrix
from ..objects import BulletObjects
from ..scene import SceneObject, same
from ..world_view import WorldContent, WorldView
from .surfaces import RoundMeshes, Surface, link_surface, object_surface

if TYPE_CHECKING:
    from .raster import Rasteriser


@dataclass(frozen=True)
class Light:
    """Light of an image."""

    towards: tuple[float, float, float] = (0.5, -0.7, 1.2)
    """Direction to the light in the world."""
    ambient: float = 0.55
    diffuse: float = 0.45
    specular: float = 0.05


FLAT = Light(ambient=1.0, diffuse=0.0, specular=0.0)
"""Unlit: the plain colours of objects."""

OBJECT = ""
"""In place of a link name, for objects."""


class RenderReplica:
    """Renders a world. Close it, or use it in a `with` statement."""

    def __init__(self) -> None:
        self._client = BulletClient()
        self._round_meshes = RoundMeshes()
        self._objects = BulletObjects(self._client, collisions=False, visuals=True, round_meshes=self._round_meshes)
        self._robots: dict[str, BulletRobot] = {}
        self._surfaces: dict[tuple[str, str], Surface | None] = {}
        """By (object, "") or (robot, link); None for meshes, which only PyBullet draws."""
        self._rasteriser: Rasteriser | None = None
        self._version = -1

    def close(self) -> None:
        """Close the server; a second call does nothing."""
        self._client.close()
        self._objects.close()
        self._round_meshes.close()

    def __enter__(self) -> RenderReplica:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, content: WorldContent) -> None:
        """Update the robots and objects."""
        for name in [*self._objects.described]:
            if not same(content.objects.get(name), self._objects.described[name]):
                self._objects.remove(name)
                del self._surfaces[name, OBJECT]
        for name, item in content.objects.items():
            if name not in self._objects.described:
                self._objects.add(item)
                self._surfaces[name, OBJECT] = object_surface(item)
        for name, (robot, T_world_base) in content.robots.items():
            if name not in self._robots:
                self._robots[name] = BulletRobot(
                    self._client,
                    robot,
                    robot.tree(),
                    T_world_base,
                    visuals=True,
                    collisions=False,
                    draw_as=self._round_meshes.replace,
                )
                for link in robot.links.values():
                    if link.visuals:
                        self._surfaces[name, link.name] = link_surface(link)
        self._version, self._rasteriser = content.version, None

    def show(self, view: WorldView) -> None:
        """Move all robots and objects to a view."""
        if view.version != self._version:
            raise InputError(f"the view is of content {view.version}, not of {self._version}; load the content first")
        for name, q in view.q.items():
            self._robots[name].set_positions(q)
        for name, T_world_object in view.T_world_object.items():
            self._objects.place(name, T_world_object)

    def render(
        self, pinhole: Pinhole, T_world_optical: Array, light: Light
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Renders one camera with PyBullet.

        Returns:
            Colours, shape (height, width, 3), and depth along z [m], shape (height, width), inf at the background.
        """
        client = self._client
        # PyBullet takes matrices column by column.
        _, _, colours, buffer, _ = client.getCameraImage(
            pinhole.width,
            pinhole.height,
            view_matrix(T_world_optical).T.ravel().tolist(),
            pinhole.projection_matrix().T.ravel().tolist(),
            lightDirection=list(light.towards),
            lightColor=[1.0, 1.0, 1.0],
            lightAmbientCoeff=light.ambient,
            lightDiffuseCoeff=light.diffuse,
            lightSpecularCoeff=light.specular,
            shadow=0,
            renderer=client.ER_TINY_RENDERER,
            flags=client.ER_NO_SEGMENTATION_MASK,
        )
        shape = (pinhole.height, pinhole.width)
        rgb = np.asarray(colours, dtype=np.uint8).reshape(*shape, 4)[..., :3]
        return np.ascontiguousarray(rgb), pinhole.metric_depth(np.asarray(buffer, dtype=np.float32).reshape(shape))

    def stereo(self, camera: StereoCamera, view: WorldView, light: Light | None = None) -> StereoFrame:
        """Renders a stereo pair at a view."""
        light = Light() if light is None else light
        self.show(view)
        T_world_left = self._mount(camera) @ camera.T_mount_left
        (left, depth), (right, _) = self._pair(camera, view, T_world_left, light)
        T_base_left = None
        name = camera.robot if camera.robot is not None else next(iter(self._robots), None)
        if name is not None and (camera.robot is not None or len(self._robots) == 1):
            T_base_left = lie.inverse(self._robots[name].T_world_base) @ T_world_left
        return StereoFrame(view.time_ns, left, right, depth, T_world_left, T_base_left)

    def warm_up(self) -> None:
        """Compile the rasteriser, so that the first image is not slower."""
        from .raster import Rasteriser

        box = object_surface(SceneObject("box", BoxGeometry(np.ones(3))))
        assert box is not None
        tiny, ahead = Pinhole.from_field_of_view(8, 8, 1.0), lie.pose(None, [0.0, 0.0, 3.0])
        Rasteriser([box]).draw([ahead], tiny, [np.eye(4)], towards_lamp=(0.0, 0.0, 1.0), ambient=0.5, diffuse=0.5)

    def _pair(
        self, camera: StereoCamera, view: WorldView, T_world_left: Array, light: Light
    ) -> Sequence[tuple[NDArray[np.uint8], NDArray[np.float32]]]:
        """Colours and depth of both cameras, see `render`."""
        poses = [T_world_left, T_world_left @ camera.T_left_right]
        surfaces = [surface for surface in self._surfaces.values() if surface is not None]
        if len(surfaces) < len(self._surfaces):
            # Only PyBullet draws meshes, so it renders the whole image.
            return [self.render(camera.pinhole, T, light) for T in poses]
        if self._rasteriser is None:
            from .raster import Rasteriser  # loads Numba, which only cameras need

            self._rasteriser = Rasteriser(surfaces)
        body_poses = [
            view.T_world_object[name] if link == OBJECT else self._robots[name].link_pose(link)
            for name, link in self._surfaces
        ]
        return self._rasteriser.draw(
            body_poses,
            camera.pinhole,
            poses,
            towards_lamp=light.towards,
            ambient=light.ambient,
            diffuse=light.diffuse,
        )

    def _mount(self, camera: StereoCamera) -> Array:
        if camera.robot is None or camera.link is None:
            return np.eye(4)
        if camera.robot not in self._robots:
            raise InputError(f"no robot {camera.robot!r} to carry the camera; there are: {', '.join(self._robots)}")
        return self._robots[camera.robot].link_pose(camera.link)
