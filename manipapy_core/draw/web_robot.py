"""A robot as nodes of a viser scene: one frame per link with its visual shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kinematics, lie
from ..model.chain import Chain
from ..model.elements import RGBA, BoxGeometry, CylinderGeometry, Shape, SphereGeometry
from ..model.meshes import load_mesh
from ..model.robot import Robot
from ..typing import Array

if TYPE_CHECKING:
    import viser

PLAIN: RGBA = (0.7, 0.7, 0.72, 1.0)
"""Default colour of shapes."""


class DrawnArm:
    """A robot in a viser scene.

    Args:
        scene: The viser scene.
        robot: The robot to draw.
        chain: Its moving joints; the others stay at their locked positions.
        name: Name of the root node, such as `/arm`.
        tint: Colour and opacity instead of those of the description.
    """

    def __init__(
        self, scene: viser.SceneApi, robot: Robot, chain: Chain, name: str = "/arm", *, tint: RGBA | None = None
    ):
        self.chain = chain
        self.root: Any = scene.add_frame(name, show_axes=False)
        self.frames: dict[str, Any] = {}
        """Frame handles by link name."""
        self.visuals: list[Any] = []
        """Handles of the visual shapes."""
        for link in chain.link_names:
            self.frames[link] = scene.add_frame(f"{name}/{link}", show_axes=False)
            for number, shape in enumerate(robot.links[link].visuals):
                drawn = _draw(scene, f"{name}/{link}/visual_{number}", shape, tint or shape.rgba or PLAIN)
                if drawn is not None:
                    self.visuals.append(drawn)
        self.show(np.clip(np.zeros(chain.n), chain.limits.lower, chain.limits.upper))

    def show(self, q: Array) -> None:
        """Show the robot at q [rad or m], shape (n,)."""
        poses = kinematics.link_poses(self.chain, q)
        turns = np.roll(lie.rotation_to_quaternion(poses[:, :3, :3]), 1, axis=-1)
        for frame, T, wxyz in zip(self.frames.values(), poses, turns, strict=True):
            frame.position, frame.wxyz = T[:3, 3], wxyz

    def set_colour(self, rgb: tuple[float, float, float]) -> None:
        """Give all shapes another colour, each number from 0 to 1."""
        for visual in self.visuals:
            visual.color = tuple(round(255 * value) for value in rgb)


def _draw(scene: viser.SceneApi, name: str, shape: Shape, rgba: RGBA) -> Any:
    """The new node; None for a mesh without a file."""
    T = shape.T_link_shape
    place: dict[str, Any] = {
        "position": T[:3, 3],
        "wxyz": np.roll(lie.rotation_to_quaternion(T[:3, :3]), 1),
        "color": rgba[:3],
        "opacity": rgba[3] if rgba[3] < 1.0 else None,
    }
    geometry = shape.geometry
    if isinstance(geometry, BoxGeometry):
        return scene.add_box(name, dimensions=geometry.size, **place)
    if isinstance(geometry, CylinderGeometry):
        return scene.add_cylinder(name, radius=geometry.radius, height=geometry.length, **place)
    if isinstance(geometry, SphereGeometry):
        return scene.add_icosphere(name, radius=geometry.radius, **place)
    if geometry.filename:
        mesh = load_mesh(geometry.filename, geometry.scale)
        return scene.add_mesh_simple(name, mesh.points, mesh.triangles, side="double", **place)
    return None
