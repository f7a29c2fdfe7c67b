"""A copy of a world that is only looked at: no physics, fine shapes, cameras.

Rendering takes longer than a physics step by a factor of a thousand, so it never happens in the world itself. A mirror
gets the content of a world once and its view whenever a picture is wanted, in the same process or in another.
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
from ..objects import Objects
from ..scene import SceneObject, same
from ..world_view import WorldContent, WorldView
from .surfaces import RoundMeshes, Surface, link_surface, object_surface

if TYPE_CHECKING:
    from .raster import Stage


@dataclass(frozen=True)
class Light:
    """How a picture is lit."""

    towards: tuple[float, float, float] = (0.5, -0.7, 1.2)
    """Direction to the lamp in the world."""
    ambient: float = 0.55
    diffuse: float = 0.45
    specular: float = 0.05


FLAT = Light(ambient=1.0, diffuse=0.0, specular=0.0)
"""The colours of things as they are."""

OBJECT = ""
"""In place of the name of a link: an object has none."""


class RenderReplica:
    """Shows worlds to cameras. Close it, or use it in a `with` statement."""

    def __init__(self) -> None:
        self._client = BulletClient()
        self._round_meshes = RoundMeshes()
        self._objects = Objects(self._client, collisions=False, visuals=True, round_meshes=self._round_meshes)
        self._robots: dict[str, BulletRobot] = {}
        self._surfaces: dict[tuple[str, str], Surface | None] = {}
        """By object and an empty name, or by robot and link; None for what only PyBullet can draw."""
        self._stage: Stage | None = None
        self._version = -1

    def close(self) -> None:
        """End it; a second call does nothing."""
        self._client.close()
        self._objects.close()
        self._round_meshes.close()

    def __enter__(self) -> RenderReplica:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, content: WorldContent) -> None:
        """Take over what came and went since the last time."""
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
        self._version, self._stage = content.version, None

    def show(self, view: WorldView) -> None:
        """Put everything where it is at one instant."""
        if view.version != self._version:
            raise InputError(f"the view is of content {view.version}, not of {self._version}; load the content first")
        for name, q in view.q.items():
            self._robots[name].set_positions(q)
        for name, T_world_object in view.T_world_object.items():
            self._objects.place(name, T_world_object)

    def picture(
        self, pinhole: Pinhole, T_world_optical: Array, light: Light
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """What a camera sees.

        Returns:
            Colours, shape (height, width, 3), and depth along z [m], shape (height, width), inf where nothing is.
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
        """What a stereo pair sees of a view."""
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
        """Load all that is compiled, so that the first picture takes no longer than the others."""
        from .raster import Stage

        box = object_surface(SceneObject("box", BoxGeometry(np.ones(3))))
        assert box is not None
        tiny, ahead = Pinhole.from_field_of_view(8, 8, 1.0), lie.pose(None, [0.0, 0.0, 3.0])
        Stage([box]).draw([ahead], tiny, [np.eye(4)], towards_lamp=(0.0, 0.0, 1.0), ambient=0.5, diffuse=0.5)

    def _pair(
        self, camera: StereoCamera, view: WorldView, T_world_left: Array, light: Light
    ) -> Sequence[tuple[NDArray[np.uint8], NDArray[np.float32]]]:
        """Colours and depth of both cameras, see `picture`."""
        poses = [T_world_left, T_world_left @ camera.T_left_right]
        surfaces = [surface for surface in self._surfaces.values() if surface is not None]
        if len(surfaces) < len(self._surfaces):
            # Meshes are PyBullet's business, and so is then the whole picture.
            return [self.picture(camera.pinhole, T, light) for T in poses]
        if self._stage is None:
            from .raster import Stage  # compiled, and only cameras need it

            self._stage = Stage(surfaces)
        placed = [
            view.T_world_object[name] if link == OBJECT else self._robots[name].link_pose(link)
            for name, link in self._surfaces
        ]
        return self._stage.draw(
            placed,
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
