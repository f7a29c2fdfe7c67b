"""The table scene with an arm, rendered as a stereo pair of any size."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from manipapy_core import Robot
from manipapy_core.geometry import RobotBody
from manipapy_core.perception import MatcherSettings, PerceptionPipeline, PerceptionSettings, StereoModel, StereoPair
from manipapy_core.sim import (
    Pinhole,
    RenderReplica,
    SimWorld,
    StereoCamera,
    StereoFrame,
    StereoProcess,
    look_at,
    read_scene,
)

Q = np.array([0.9, -1.4, 1.7, -1.9, -1.57, 0.3])
BASELINE = 0.10


@dataclass(frozen=True, eq=False)
class RenderedScene:
    """A stereo frame with calibration, robot and ground truth."""

    stereo: StereoModel
    left: np.ndarray
    right: np.ndarray
    depth: np.ndarray
    T_base_left: np.ndarray
    body: RobotBody
    q: np.ndarray
    objects: int
    """Number of objects on the table."""
    points: np.ndarray
    """Ground-truth points in the base frame [m], NaN: none, shape (pixels, 3)."""
    lower: tuple[float, float, float] = (-0.25, -0.52, -0.2)
    upper: tuple[float, float, float] = (1.1, 0.52, 1.2)


def render(width: int, height: int) -> RenderedScene:
    pinhole = Pinhole.from_field_of_view(width, height, 1.0)
    robot = Robot.from_urdf("ur5")
    camera = StereoCamera(pinhole, BASELINE, look_at([1.45, -0.55, 0.85], [0.5, 0.05, 0.0]))
    scene = read_scene("table")
    with SimWorld() as world, RenderReplica() as renderer:
        for item in scene.objects:
            world.spawn(item)
        world.add_robot(robot, q=Q)
        content, view = world.content_and_view()
        renderer.load(content)
        frame = renderer.stereo(camera, view)
    stereo = StereoModel.ideal(width, height, pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy, BASELINE)
    T = frame.T_base_left
    depth = np.where(np.isfinite(frame.depth), frame.depth, np.nan)
    points = (pinhole.rays() * depth[..., None]).reshape(-1, 3) @ T[:3, :3].T + T[:3, 3]
    inside = np.abs(points).max(axis=1) < 2.0
    points[~inside] = np.nan
    body = RobotBody.build(robot, robot.tree())
    objects = len(scene.objects) - 2
    return RenderedScene(stereo, frame.left, frame.right, frame.depth, T, body, Q, objects, points)


def camera_to_obstacle(rounds: int) -> dict[str, list[float]]:
    """Latency from the simulated instant to its obstacles [s], by part."""
    pinhole = Pinhole.from_field_of_view(320, 240, 1.2)
    camera = StereoCamera(pinhole, BASELINE, look_at([1.4, 0.0, 0.9], [0.4, 0.0, 0.1]))
    stereo = StereoModel.ideal(320, 240, pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy, BASELINE)
    robot, scene = Robot.from_urdf("ur5"), read_scene("table")
    settings = PerceptionSettings(matcher=MatcherSettings(cross_check=True), reach=1.2)
    pipeline = PerceptionPipeline(stereo, body=RobotBody.build(robot, robot.tree()), settings=settings)
    taken: dict[str, list[float]] = {"rendered": [], "processed": [], "whole": []}
    with SimWorld() as world, StereoProcess(camera) as process:
        for item in scene.objects:
            world.spawn(item)
        world.add_robot(robot, q=Q)
        for number in range(rounds + 3):
            world.step()
            began = time.perf_counter()
            process.submit(world)
            frame = process.wait()
            rendered = time.perf_counter()
            assert isinstance(frame, StereoFrame) and frame.T_base_left is not None
            pipeline.feed(StereoPair(frame.time_ns, frame.T_base_left, frame.left, frame.right, Q))
            done = time.perf_counter()
            if number >= 3:  # the first ones load compiled code
                for name, spent in zip(taken, (rendered - began, done - rendered, done - began), strict=True):
                    taken[name].append(spent)
    return taken
