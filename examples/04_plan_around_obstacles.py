"""Motion planning with obstacles: a verified trajectory of a Panda into a shelf.

Run it: python examples/04_plan_around_obstacles.py [image.png]
"""

from __future__ import annotations

import sys

import numpy as np

from manipapy_core import Robot, kinematics
from manipapy_core.draw import draw_floor, draw_robot, new_axes, new_figure
from manipapy_core.geometry import Box, Checker, RobotBody, World
from manipapy_core.motion import PoseGoal, TimeLaw, plan

START = np.array([0.6, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8])


def shelf() -> World:
    """Two boards, three sides and a back, in front of the robot."""
    world = World()
    for name, size, place in (
        ("lower board", [0.3, 0.9, 0.02], [0.6, 0.0, 0.15]),
        ("upper board", [0.3, 0.9, 0.02], [0.6, 0.0, 0.60]),
        ("left side", [0.3, 0.02, 0.47], [0.6, 0.45, 0.375]),
        ("middle", [0.3, 0.02, 0.47], [0.6, 0.0, 0.375]),
        ("right side", [0.3, 0.02, 0.47], [0.6, -0.45, 0.375]),
        ("back", [0.02, 0.9, 0.47], [0.76, 0.0, 0.375]),
    ):
        T = np.eye(4)
        T[:3, 3] = place
        world.add(name, Box(size), T)
    return world


def main() -> None:
    robot = Robot.from_urdf("panda")
    arm = robot.chain("panda_link0", "panda_hand_tcp")
    checker = Checker(RobotBody.build(robot, arm), shelf())

    goal = np.array([[0.0, 0.0, 1.0, 0.56], [0.0, -1.0, 0.0, -0.22], [1.0, 0.0, 0.0, 0.4], [0.0, 0.0, 0.0, 1.0]])
    result = plan(checker, START, PoseGoal(goal))
    print(f"{result.status.text}: {result.message}, {result.goals} IK goals")
    if result.trajectory is None or result.verification is None:
        return
    check, spent = result.verification, result.timings
    print(f"Verified at {check.samples} configurations; accelerations reach {check.acceleration:.1%} of their limits")
    print(f"Time: {1e3 * spent.search:.1f} ms search, {1e3 * spent.total:.1f} ms total")

    slow = plan(checker, START, PoseGoal(goal), law=TimeLaw.OPTIMAL, velocity_scaling=0.3, effort_limits=True)
    if slow.trajectory is not None:
        print(f"At 30 % speed, within the effort limits: {slow.trajectory.times[-1]:.2f} s")

    if len(sys.argv) > 1:
        figure = new_figure(figsize=(8, 7))
        axes = new_axes(figure)
        draw_floor(axes, 0.8)
        for item in checker.world.snapshot().objects.values():
            size, place = item.shape.size, item.T_base_object[:3, 3]
            axes.bar3d(*(place - 0.5 * size), *size, color="tan", alpha=0.25)
        rows = result.trajectory.positions
        for q, fade in ((rows[0], 0.7), (rows[len(rows) // 2], 0.4), (rows[-1], 0.0)):
            draw_robot(robot, dict(zip(arm.joint_names, q)), axes, fade=fade, shadow=False)
        tips = kinematics.forward(arm, rows)[:, :3, 3]
        axes.plot(*tips.T, linewidth=2, color="tab:red")
        figure.savefig(sys.argv[1])


if __name__ == "__main__":
    main()
