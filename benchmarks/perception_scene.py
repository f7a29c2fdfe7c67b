"""The table scene with an arm, as a stereo pair of any size sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manipapy_core import Robot
from manipapy_core.geometry import RobotBody
from manipapy_core.perception import StereoModel
from manipapy_core.sim import Mirror, Pinhole, StereoCamera, World, look_at, read_scene

Q = np.array([0.9, -1.4, 1.7, -1.9, -1.57, 0.3])
BASELINE = 0.10


@dataclass(frozen=True, eq=False)
class Seen:
    """A frame and all that is needed to understand it."""

    stereo: StereoModel
    left: np.ndarray
    right: np.ndarray
    depth: np.ndarray
    T_base_left: np.ndarray
    body: RobotBody
    q: np.ndarray
    things: int
    """How many things stand on the table."""
    points: np.ndarray
    """True points of the frame in the base frame [m], NaN where nothing is, shape (pixels, 3)."""
    lower: tuple[float, float, float] = (-0.25, -0.52, -0.2)
    upper: tuple[float, float, float] = (1.1, 0.52, 1.2)


def look(width: int, height: int) -> Seen:
    pinhole = Pinhole.from_field_of_view(width, height, 1.0)
    robot = Robot.from_urdf("ur5")
    camera = StereoCamera(pinhole, BASELINE, look_at([1.45, -0.55, 0.85], [0.5, 0.05, 0.0]))
    scene = read_scene("table")
    with World() as world, Mirror() as mirror:
        for item in scene.objects:
            world.spawn(item)
        world.add_robot(robot, q=Q)
        content, view = world.content_and_view()
        mirror.load(content)
        frame = mirror.stereo(camera, view)
    stereo = StereoModel.ideal(width, height, pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy, BASELINE)
    T = frame.T_base_left
    depth = np.where(np.isfinite(frame.depth), frame.depth, np.nan)
    points = (pinhole.rays() * depth[..., None]).reshape(-1, 3) @ T[:3, :3].T + T[:3, 3]
    inside = np.abs(points).max(axis=1) < 2.0
    points[~inside] = np.nan
    body = RobotBody.build(robot, robot.tree())
    things = len(scene.objects) - 2
    return Seen(stereo, frame.left, frame.right, frame.depth, T, body, Q, things, points)
