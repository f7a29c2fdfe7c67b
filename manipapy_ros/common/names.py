"""Names and bounds that nodes, clients and launch files share. Plain data: rclpy is not imported here."""

from __future__ import annotations

import os

TRAJECTORY_CONTROLLER = "joint_trajectory_controller"
"""Name of ros2_control's trajectory controller, as drivers configure it."""
DISCOVERY_RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
MIN_REAL_TIME_FACTOR, MAX_REAL_TIME_FACTOR = 0.01, 100.0
"""Range of simulated seconds per second."""


def gripper_action(group: str) -> str:
    """Action (control_msgs/GripperCommand) of the gripper that is a group of the SRDF, relative to the namespace."""
    return f"{group}_action_controller/gripper_cmd"


def local_discovery() -> dict[str, str]:
    """Restricts discovery to this machine, unless the environment sets it."""
    return {DISCOVERY_RANGE: os.environ.get(DISCOVERY_RANGE, "LOCALHOST")}


def absolute_namespace(namespace: str) -> str:
    """`left`, `/left` and `/left/` all become `/left`; an empty namespace stays empty."""
    inner = namespace.strip("/")
    return f"/{inner}" if inner else ""
