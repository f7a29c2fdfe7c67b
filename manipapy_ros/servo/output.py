"""What a servo sends: short trajectories that end at rest, and its status in MoveIt Servo's terms."""

from __future__ import annotations

import array
from collections.abc import Sequence

from moveit_msgs.msg import ServoStatus as StatusMessage
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manipapy_core.servoing import ServoStatus
from manipapy_core.typing import Array

from ..common import qos
from ..common.conversions import duration_message, time_message

CODES = {
    ServoStatus.SINGULAR: StatusMessage.DECELERATE_FOR_APPROACHING_SINGULARITY,
    ServoStatus.DIRECTION_LOST: StatusMessage.HALT_FOR_SINGULARITY,
    ServoStatus.OBSTACLE: StatusMessage.DECELERATE_FOR_COLLISION,
    ServoStatus.BLOCKED: StatusMessage.HALT_FOR_COLLISION,
    ServoStatus.JOINT_LIMIT: StatusMessage.JOINT_BOUND,
}
"""All others are NO_WARNING; a refused command is INVALID."""


class TrajectoryOutput:
    """Publishes the state of a servo as a trajectory.

    Args:
        node: Owner of the publisher.
        topic: Of a trajectory controller.
        joint_names: Of the arm.
    """

    def __init__(self, node: Node, topic: str, joint_names: Sequence[str]):
        self._node = node
        self._publisher = node.create_publisher(JointTrajectory, topic, qos.COMMAND)
        self._names = list(joint_names)

    def publish(self, start: float, times: Array, states: Array) -> None:
        """Publishes a trajectory.

        Args:
            start: ROS time of its beginning [s].
            times: Since then [s], shape (k,).
            states: Positions, velocities and accelerations, shape (k, 3, n).
        """
        message = JointTrajectory(joint_names=self._names)
        message.header.stamp = time_message(round(start * 1e9))
        message.points = [
            JointTrajectoryPoint(
                positions=array.array("d", state[0].tobytes()),
                velocities=array.array("d", state[1].tobytes()),
                accelerations=array.array("d", state[2].tobytes()),
                time_from_start=duration_message(float(time)),
            )
            for time, state in zip(times, states, strict=True)
        ]
        self._publisher.publish(message)

    def destroy(self) -> None:
        """Destroys the publisher."""
        self._node.destroy_publisher(self._publisher)
