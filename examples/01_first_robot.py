"""A first robot: load it, compute kinematics and dynamics, plan a motion, draw it.

Run it: python examples/01_first_robot.py [image.png]
"""

from __future__ import annotations

import sys

import numpy as np

from manipapy_core import Robot, dynamics, kinematics
from manipapy_core.draw import draw_floor, draw_frame, draw_robot, new_axes, new_figure
from manipapy_core.trajectory import joint_trajectory

COLOURS = ["#1f5fa8", "#e07b39", "#3a923a", "#c03d3e", "#8a63b0", "#7d6250"]
START = np.array([-2.2, -1.75, 1.0, -0.8, -1.57, 0.0])
GOAL = np.array([0.45, -1.15, 1.55, -1.95, -1.57, 0.9])


def main() -> None:
    robot = Robot.from_urdf("ur5")
    arm = robot.chain("base_link", "tool0")
    print(arm.describe())

    np.set_printoptions(precision=4, suppress=True)
    print("\nTool pose at the start, in the base frame [m]:")
    print(kinematics.forward(arm, START))
    print("\nGravity torques there [N m]:", dynamics.gravity_forces(arm, START))

    # Two seconds from start to goal; every function below takes the whole trajectory at once.
    motion = joint_trajectory(START, GOAL, duration=2.0, samples=401)
    tool_path = kinematics.forward(arm, motion.positions)[:, :3, 3]
    torques = dynamics.inverse_dynamics(arm, motion.positions, motion.velocities, motion.accelerations)
    used = np.abs(torques).max(axis=0) / arm.limits.effort
    print("\nPeak torque of each joint [% of its limit]:", 100 * used)

    figure = new_figure(figsize=(12.6, 5.8))
    scene = new_axes(figure, (-0.155, -0.21, 0.86, 1.5))
    scene.set_axis_off()
    draw_floor(scene, 0.6)
    for sample, fade in ((0, 0.75), (190, 0.6), (400, 0.0)):
        draw_robot(robot, motion.positions[sample], scene, fade=fade, shadow=not fade)
    scene.plot(*tool_path.T, color="#d6336c", linewidth=2.4, zorder=6)
    draw_frame(scene, kinematics.forward(arm, GOAL), 0.12)

    angles = figure.add_axes((0.62, 0.56, 0.355, 0.36))
    efforts = figure.add_axes((0.62, 0.10, 0.355, 0.36))
    for index, (name, colour) in enumerate(zip(arm.joint_names, COLOURS)):
        label = name.removesuffix("_joint").replace("_", " ")
        angles.plot(motion.times, np.degrees(motion.positions[:, index]), color=colour, linewidth=1.8, label=label)
        efforts.plot(motion.times, torques[:, index], color=colour, linewidth=1.8)
    angles.set_title("Quintic trajectory: joint angles [°]", loc="left", fontsize=10)
    angles.legend(ncols=3, fontsize=7.5, frameon=False, loc="upper left", bbox_to_anchor=(-0.01, 1.0))
    angles.set_ylim(top=215)
    angles.tick_params(labelbottom=False)
    efforts.set_title("Joint torques [N m]", loc="left", fontsize=10)
    efforts.set_xlabel("time [s]", fontsize=9)
    for plot in (angles, efforts):
        plot.set_xlim(0.0, motion.times[-1])
        plot.grid(color="0.92")
        plot.tick_params(labelsize=8, colors="0.3")
        plot.spines[["top", "right"]].set_visible(False)
        plot.spines[["left", "bottom"]].set_color("0.6")
    path = sys.argv[1] if len(sys.argv) > 1 else "first_plot.png"
    figure.savefig(path, dpi=150)
    print("\nImage:", path)


if __name__ == "__main__":
    main()
