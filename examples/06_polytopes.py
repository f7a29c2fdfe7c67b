"""Velocity polytopes of an arm, free and near a wall, and a twist follower that stays inside.

Run it: python examples/06_polytopes.py [image.png]
"""

from __future__ import annotations

import sys

import numpy as np

from manipapy_core import Robot, ik, kinematics, polytopes, servoing, singularity
from manipapy_core.draw import draw_floor, draw_robot, new_axes, new_figure
from manipapy_core.draw.capability import draw_ellipsoid, draw_path_quality, draw_polytope
from manipapy_core.geometry import Box, Checker, RobotBody, World

Q = np.array([0.3, -0.6, 0.2, -1.9, 0.4, 1.8, 0.5])
METRES_PER_SPEED = 0.12


def main() -> None:
    robot = Robot.from_urdf("panda")
    arm = robot.chain("panda_link0", "panda_hand_tcp")
    body = RobotBody.build(robot, arm)
    tip = kinematics.forward(arm, Q)[:3, 3]

    world = World()
    pose = np.eye(4)
    pose[:3, 3] = 0.52, 0.1, 0.55
    world.add("wall", Box([0.02, 0.9, 0.9]), pose)
    near = polytopes.near_points(body, world, Q)
    print(f"{len(near)} points of the arm are near an obstacle; the nearest is {1e3 * near.distance[0]:.0f} mm away")

    free = polytopes.velocity_polytope(arm, Q)
    avoidance = polytopes.Avoidance(speed=0.5)
    bounded = polytopes.velocity_polytope(arm, Q, near=near, avoidance=avoidance, damping=True)
    print(f"Velocity polytope: {len(free.vertices)} vertices, {free.volume:.1f} (m/s)³ without obstacles,")
    print(f"                   {len(bounded.vertices)} vertices, {bounded.volume:.1f} (m/s)³ near the wall")
    T_same_tip = kinematics.forward(arm, Q)
    roomy = ik.solve(arm, T_same_tip, q_seed=Q, objective=polytopes.volume_objective(arm, body=body, world=world))
    volume = polytopes.path_quality(arm, roomy.q[None], body=body, world=world).volume[0]
    print(f"The same pose of the tip with the elbow elsewhere: {volume:.1f} (m/s)³")
    fastest = [found.vertices[:, 0].max() for found in (free, bounded)]
    print(f"Fastest towards the wall: {fastest[0]:.2f} m/s free, {fastest[1]:.2f} m/s near it")
    ball = bounded.largest_ball
    print(f"Every velocity within {ball.radius:.2f} m/s of {np.round(ball.centre, 2)} is feasible")
    polytope, slope = polytopes.velocity_volume_gradient(arm, Q, near=near, avoidance=avoidance)
    print(f"Volume {polytope.volume:.1f} grows fastest along {np.round(slope / np.linalg.norm(slope), 2)}")

    follower = servoing.TwistFollower(Checker(body, world), avoidance=avoidance)
    q, path = Q.copy(), [Q]
    for _ in range(100):
        step = follower.step(q, [0, 0, 0, 0.3, 0.0, 0.1], 0.02)
        q = step.q
        path.append(q)
    moved = kinematics.forward(arm, q)[:3, 3] - tip
    print(f"Manipulability on the way: {singularity.manipulability(arm, np.array(path)).min():.3f} or more")
    print(
        f"Two seconds of commanded (0.3, 0, 0.1) m/s: {step.status.value}, moved {np.round(moved, 2)} m without contact"
    )

    figure = new_figure(figsize=(12, 5.2))
    scene = new_axes(figure, (0.0, 0.0, 0.55, 1.0))
    draw_floor(scene, 0.6)
    draw_robot(robot, dict(zip(arm.joint_names, Q)), scene)
    draw_polytope(scene, free, at=tip, scale=METRES_PER_SPEED, colour="0.55")
    draw_polytope(scene, bounded, at=tip, scale=METRES_PER_SPEED, colour="tab:red")
    ball = polytopes.velocity_ellipsoid(arm, Q, joint_scale=0.5 * arm.limits.velocity)
    draw_ellipsoid(scene, ball, at=tip, scale=METRES_PER_SPEED)
    y, z = np.meshgrid([-0.35, 0.55], [0.1, 1.0])
    scene.plot_surface(np.full_like(y, 0.51), y, z, color="tab:green", alpha=0.12, linewidth=0)
    scene.view_init(elev=15, azim=-75)
    scene.set_title("tip velocity: free (grey), near the wall (red), ellipsoid (orange)", fontsize=9, y=0.96)
    plane = figure.add_axes((0.62, 0.58, 0.34, 0.34))
    for found, colour in ((free, "0.55"), (bounded, "tab:red")):
        cut = polytopes.slice_by_plane(found, [0, 0, 1.0])
        plane.fill(cut.vertices[:, 0], cut.vertices[:, 1], color=colour, alpha=0.4)
    plane.set(xlabel="vx [m/s]", ylabel="vy [m/s]", aspect="equal", title="slice vz = 0")
    along = figure.add_axes((0.62, 0.1, 0.34, 0.3))
    seconds = 0.02 * np.arange(len(path))
    some = slice(None, None, 4)
    quality = polytopes.path_quality(arm, np.array(path)[some], body=body, world=world, avoidance=avoidance)
    draw_path_quality(along, quality, at=seconds[some])
    along.set(xlabel="time [s]", title="along the followed path")
    path = sys.argv[1] if len(sys.argv) > 1 else "polytopes.png"
    figure.savefig(path, dpi=100)
    print("Image:", path)


if __name__ == "__main__":
    main()
