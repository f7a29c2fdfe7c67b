"""Perceive obstacles: a simulated stereo camera, self-filter, clusters and tracked obstacles.

Run it: python examples/05_perceive_obstacles.py [image.png]
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np

from manipapy_core import Robot, lie
from manipapy_core.draw import new_axes, new_figure
from manipapy_core.geometry import RobotBody
from manipapy_core.geometry import World as CollisionWorld
from manipapy_core.perception import (
    PerceptionPipeline,
    PerceptionResult,
    PerceptionSettings,
    StereoModel,
    StereoPair,
    surfaces_of,
)

COLOURS = ["#1f5fa8", "#e07b39", "#3a923a", "#c03d3e", "#8a63b0", "#d6336c", "#7d6250"]
Q = np.array([0.9, -1.4, 1.7, -1.9, -1.57, 0.3])
FRAME = 100_000_000
"""Time from one frame to the next [ns]."""


def main() -> None:
    if find_spec("mujoco") is None and find_spec("pybullet") is None:
        print("This example needs a simulation: pip install 'manipapy[sim]'")
        return
    from manipapy_core.sim import Pinhole, RenderReplica, SimWorld, StereoCamera, look_at, read_scene

    robot = Robot.from_urdf("ur5")
    pinhole = Pinhole.from_field_of_view(640, 480, 1.0)
    camera = StereoCamera(pinhole, 0.10, look_at([1.45, -0.55, 0.85], [0.5, 0.05, 0.0]))
    # With a real camera: StereoModel(Camera.from_info(...), Camera.from_info(...)) from its two camera_info messages.
    stereo = StereoModel.ideal(640, 480, pinhole.fx, pinhole.fy, pinhole.cx, pinhole.cy, camera.baseline)
    settings = PerceptionSettings(lower=(-0.25, -0.52, -0.2), upper=(1.1, 0.52, 1.2))
    pipeline = PerceptionPipeline(stereo, body=RobotBody.build(robot, robot.tree()), settings=settings)

    with SimWorld() as world, RenderReplica() as replica:
        for item in read_scene("table").objects:
            world.spawn(item)
        world.add_robot(robot, q=Q)
        content, view = world.content_and_view()
        replica.load(content)
        frame = replica.stereo(camera, view)
    for number in range(3):
        result = pipeline.feed(StereoPair(number * FRAME, frame.T_base_left, frame.left, frame.right, Q))
    print(result.describe())
    print("\nPoints after each stage:", dict(result.counts))
    print("Milliseconds per stage:", {name: round(1e3 * taken, 1) for name, taken in result.stage_times.items()})

    # Obstacles keep their names from frame to frame. Hulls are for planning: they hold all points of an object, and the
    # space hidden behind it. Boxes are for display. Tables and floors are no obstacles, but solids of their own.
    planner_world = CollisionWorld()
    for obstacle in result.covered:
        planner_world.add(obstacle.name, obstacle.hull)
    for surface in surfaces_of(result.planes, frame.T_base_left[:3, 3]):
        for number, part in enumerate(surface.parts):
            planner_world.add(f"{surface.label}_{number}", part)
    print("Collision objects:", ", ".join(planner_world.names))

    path = sys.argv[1] if len(sys.argv) > 1 else "obstacles.png"
    draw(result, frame.left, frame.T_base_left, pinhole.K).savefig(path, dpi=72)
    print("Image:", path)


def draw(result: PerceptionResult, left: np.ndarray, T_base_left: np.ndarray, K: np.ndarray):
    """Four panels: the left image, its disparity, the points, and the obstacles drawn over the image."""
    figure = new_figure(figsize=(11.0, 8.6))
    panels = {}
    for name, place in {
        "Left image": (0.01, 0.50, 0.48, 0.46),
        "Disparity: near is bright, white is unknown": (0.51, 0.50, 0.48, 0.46),
        "Obstacles, padded boxes": (0.01, 0.01, 0.48, 0.46),
    }.items():
        panels[name] = figure.add_axes(place)
        panels[name].set_title(name, fontsize=10, loc="left")
        panels[name].set_axis_off()
    image, disparity, overlay = panels.values()
    image.imshow(left)
    disparity.imshow(np.ma.masked_invalid(result.disparity.full_size()), cmap="inferno", interpolation="nearest")
    disparity.set_facecolor("black")
    overlay.imshow(left, alpha=0.75)
    overlay.set_xlim(0, left.shape[1])
    overlay.set_ylim(left.shape[0], 0)
    for number, obstacle in enumerate(result.obstacles):
        colour = COLOURS[number % len(COLOURS)]
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.5 * obstacle.box.size
        T = lie.inverse(T_base_left) @ obstacle.cluster.T_base_box
        optical = corners @ T[:3, :3].T + T[:3, 3]
        pixels = (optical / optical[:, 2:]) @ K.T
        for a in range(8):
            for bit in (1, 2, 4):
                if a & bit == 0:
                    overlay.plot(*pixels[[a, a | bit], :2].T, color=colour, linewidth=1.6)
        top = pixels[np.argmin(pixels[:, 1])]
        overlay.text(top[0], top[1] - 6, obstacle.name.replace("_", " "), color=colour, fontsize=8, ha="center")

    space = new_axes(figure, (0.50, 0.0, 0.50, 0.47))
    space.set_axis_off()
    space.set_title("Points without table and arm; clusters in colour", fontsize=10, loc="left")
    every = result.points.unorganised().xyz
    inside = np.all((every > [-0.25, -0.52, -0.2]) & (every < [1.1, 0.52, 1.2]), axis=1)
    every = every[inside][::15]
    space.scatter(*every.T, s=0.4, color="0.75", depthshade=False)
    for number in range(int(result.labels.max(initial=-1)) + 1):
        points = result.voxels.xyz[result.labels == number]
        distances = [np.linalg.norm(obstacle.centre - points.mean(axis=0)) for obstacle in result.obstacles]
        space.scatter(*points.T, s=4, color=COLOURS[int(np.argmin(distances)) % len(COLOURS)], depthshade=False)
    space.set_xlim(0.1, 0.9)
    space.set_ylim(-0.4, 0.4)
    space.set_zlim(-0.1, 0.7)
    space.view_init(elev=30, azim=-35)
    return figure


if __name__ == "__main__":
    main()
