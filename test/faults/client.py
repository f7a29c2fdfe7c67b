"""A client that sends one goal and waits for its end: what is killed or stopped in the table.

python -m faults.client move --joints a,b --positions 0.1,0.2
"""

from __future__ import annotations

import argparse
import sys
import time

import rclpy
from control_msgs.action import FollowJointTrajectory
from manipapy_msgs.action import Move
from manipapy_msgs.msg import MotionRequest
from rclpy.action import ActionClient
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

ACTIONS = {
    "move": (Move, "planner/move"),
    "follow": (FollowJointTrajectory, "controller/follow_joint_trajectory"),
}
SECONDS = 3
"""Duration of a trajectory [s]."""


def goal_of(what: str, names: list[str], positions: list[float]) -> FollowJointTrajectory.Goal | Move.Goal:
    """The goal of an action."""
    if what == "move":
        joints = JointState(name=names, position=positions)
        return Move.Goal(request=MotionRequest(kind=MotionRequest.JOINTS, joints=joints))
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = names
    zeros = [0.0] * len(names)
    point = JointTrajectoryPoint(positions=positions, velocities=zeros, accelerations=zeros)
    point.time_from_start.sec = SECONDS
    goal.trajectory.points.append(point)
    return goal


def main() -> None:
    """Prints a line when the action is there, sends the goal when told, prints the time, and waits."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=tuple(ACTIONS))
    parser.add_argument("--joints", required=True)
    parser.add_argument("--positions", required=True)
    parser.add_argument("--namespace", default="")
    options = parser.parse_args()
    rclpy.init(args=[])
    node = Node("client", namespace=options.namespace)
    action = ActionClient(node, *ACTIONS[options.what])
    while not action.server_is_ready():
        rclpy.spin_once(node, timeout_sec=0.05)
    print("ready", flush=True)
    sys.stdin.readline()
    sent = action.send_goal_async(
        goal_of(options.what, options.joints.split(","), [float(text) for text in options.positions.split(",")])
    )
    rclpy.spin_until_future_complete(node, sent)
    print(time.monotonic(), flush=True)
    rclpy.spin_until_future_complete(node, sent.result().get_result_async())


if __name__ == "__main__":
    main()
