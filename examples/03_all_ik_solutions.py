"""All IK solutions of one pose: the eight of a UR5, drawn in one figure.

Run it: python examples/03_all_ik_solutions.py [image.png]
"""

from __future__ import annotations

import sys

import numpy as np

from manipapy_core import Robot, ik, kinematics
from manipapy_core.draw import draw_floor, draw_frame, draw_robot, new_axes, new_figure

ELBOW_UP = np.array([-1.1, -1.45, 1.75, -1.0, 1.0, 0.3])


def main() -> None:
    robot = Robot.from_urdf("ur5")
    arm = robot.chain("base_link", "tool0")
    goal = kinematics.forward(arm, ELBOW_UP)

    one = ik.solve(arm, goal)
    print(f"One solution, {one.status.value} in {one.iterations} iterations: {np.degrees(one.q).round(1)}")

    branches = ik.solve(arm, goal, all_solutions=True, limits=False)
    windings = ik.solve(arm, goal, all_solutions=True)
    print(f"All solutions by {branches.method}: {len(branches)}; {len(windings)} with full turns within the limits")
    for q in branches:
        print("   ", np.degrees(q).round(1))

    def too_low(q):
        return (kinematics.link_poses(arm, q)[:, 2:, 2, 3] < 0.08).any(axis=1)

    above_table = ik.solve(arm, goal, collision=too_low)
    print(f"A solution with all links above the table: {np.degrees(above_table.q).round(1)}")

    columns = 4
    rows = -(-len(branches) // columns)
    figure = new_figure(figsize=(3.3 * columns, 3.6 * rows))
    for index, q in enumerate(branches):
        left, bottom = index % columns / columns, 1.0 - (index // columns + 1) / rows
        scene = new_axes(figure, (left - 0.03, bottom - 0.05, 1.0 / columns + 0.06, 1.0 / rows + 0.06))
        scene.set_axis_off()
        draw_floor(scene, 0.5)
        draw_robot(robot, q, scene)
        draw_frame(scene, goal, 0.2)
        scene.set_title(f"{index + 1}", y=0.88, fontsize=11)

    path = sys.argv[1] if len(sys.argv) > 1 else "all_ik_solutions.png"
    figure.savefig(path, dpi=110)
    print("Image:", path)


if __name__ == "__main__":
    main()
