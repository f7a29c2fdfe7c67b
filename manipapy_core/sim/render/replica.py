"""A copy of a world for rendering: no physics, fine shapes, cameras; the same for every physics engine.

Rendering takes a hundred times longer than a physics step, so it never happens in the world itself. A replica gets the
content of a world once and its view for every image, in the same process or in another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import kinematics, lie
from ...errors import InputError, UnknownLink
from ...model.chain import Chain
from ...model.elements import BoxGeometry
from ...typing import Array
from ..camera import Pinhole, StereoCamera, StereoFrame
from ..scene import SceneObject, same
from ..world_view import WorldContent, WorldView
from .surfaces import Surface, link_surface, object_surface

if TYPE_CHECKING:
    from .raster import Rasteriser


@dataclass(frozen=True)
class Light:
    """Light of an image."""

    towards: tuple[float, float, float] = (0.5, -0.7, 1.2)
    """Direction to the light in the world."""
    ambient: float = 0.55
    diffuse: float = 0.45


FLAT = Light(ambient=1.0, diffuse=0.0)
"""Unlit: the plain colours of objects."""

OBJECT = ""
"""In place of a link name, for objects."""


class RenderReplica:
    """Renders a world. Close it, or use it in a `with` statement."""

    def __init__(self) -> None:
        self._objects: dict[str, SceneObject] = {}
        self._robots: dict[str, tuple[Chain, Array]] = {}
        """Chain of all links and T_world_base, by name."""
        self._surfaces: dict[tuple[str, str], Surface] = {}
        """By (object, "") or (robot, link)."""
        self._poses: dict[tuple[str, str], Array] = {}
        """T_world_body of objects and all links, by the same keys."""
        self._rasteriser: Rasteriser | None = None
        self._version = -1

    def close(self) -> None:
        """Free the copy; a second call does nothing."""
        self._surfaces.clear()
        self._rasteriser = None

    def __enter__(self) -> RenderReplica:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, content: WorldContent) -> None:
        """Update the robots and objects."""
        for name in [*self._objects]:
            if not same(content.objects.get(name), self._objects[name]):
                del self._objects[name], self._surfaces[name, OBJECT]
        for name, item in content.objects.items():
            if name not in self._objects:
                self._objects[name] = item
                self._surfaces[name, OBJECT] = object_surface(item)
        for name, (robot, T_world_base) in content.robots.items():
            if name not in self._robots:
                self._robots[name] = robot.tree(), T_world_base
                for link in robot.links.values():
                    if link.visuals:
                        self._surfaces[name, link.name] = link_surface(link)
        self._version, self._rasteriser = content.version, None

    def show(self, view: WorldView) -> None:
        """Move all robots and objects to a view."""
        if view.version != self._version:
            raise InputError(f"the view is of content {view.version}, not of {self._version}; load the content first")
        self._poses = {(name, OBJECT): T for name, T in view.T_world_object.items()}
        for name, q in view.q.items():
            chain, T_world_base = self._robots[name]
            poses = T_world_base @ kinematics.link_poses(chain, q)
            self._poses |= {(name, link): T for link, T in zip(chain.link_names, poses)}

    def render(
        self, pinhole: Pinhole, T_world_optical: Array, light: Light
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Renders one camera at the last view.

        Returns:
            Colours, shape (height, width, 3), and depth along z [m], shape (height, width), inf at the background.
        """
        return self._draw(pinhole, [T_world_optical], light)[0]

    def stereo(self, camera: StereoCamera, view: WorldView, light: Light | None = None) -> StereoFrame:
        """Renders a stereo pair at a view."""
        light = Light() if light is None else light
        self.show(view)
        T_world_left = self._mount(camera) @ camera.T_mount_left
        poses = [T_world_left, T_world_left @ camera.T_left_right]
        (left, depth), (right, _) = self._draw(camera.pinhole, poses, light)
        T_base_left = None
        name = camera.robot if camera.robot is not None else next(iter(self._robots), None)
        if name is not None and (camera.robot is not None or len(self._robots) == 1):
            T_base_left = lie.inverse(self._robots[name][1]) @ T_world_left
        return StereoFrame(view.time_ns, left, right, depth, T_world_left, T_base_left)

    def warm_up(self) -> None:
        """Compile the rasteriser, so that the first image is not slower."""
        from .raster import Rasteriser

        box = object_surface(SceneObject("box", BoxGeometry(np.ones(3))))
        tiny, ahead = Pinhole.from_field_of_view(8, 8, 1.0), lie.pose(None, [0.0, 0.0, 3.0])
        Rasteriser([box]).draw([ahead], tiny, [np.eye(4)], towards_lamp=(0.0, 0.0, 1.0), ambient=0.5, diffuse=0.5)

    def _draw(
        self, pinhole: Pinhole, T_world_optical: Sequence[Array], light: Light
    ) -> Sequence[tuple[NDArray[np.uint8], NDArray[np.float32]]]:
        """Colours and depth of several equal cameras, see `render`."""
        if self._rasteriser is None:
            from .raster import Rasteriser  # loads Numba, which only cameras need

            self._rasteriser = Rasteriser(list(self._surfaces.values()))
        return self._rasteriser.draw(
            [self._poses[key] for key in self._surfaces],
            pinhole,
            T_world_optical,
            towards_lamp=light.towards,
            ambient=light.ambient,
            diffuse=light.diffuse,
        )

    def _mount(self, camera: StereoCamera) -> Array:
        if camera.robot is None or camera.link is None:
            return np.eye(4)
        if camera.robot not in self._robots:
            raise InputError(f"no robot {camera.robot!r} to carry the camera; there are: {', '.join(self._robots)}")
        pose = self._poses.get((camera.robot, camera.link))
        if pose is None:
            raise UnknownLink(camera.link, self._robots[camera.robot][0].link_names)
        return pose
