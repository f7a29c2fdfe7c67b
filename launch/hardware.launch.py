"""Starts model server (and, for efforts, controller) beside the driver of a real arm, which has its own launch file.

Example: `ros2 launch ur_robot_driver ur_control.launch.py …`, then
`ros2 launch manipapy hardware.launch.py robot:=ur5`. Trajectories go to joint_trajectory_controller of ros2_control;
`mode:=mock` starts a mock of driver and controller.
"""

from launch import LaunchDescription

from manipapy_ros.bringup.description import BringupMode
from manipapy_ros.bringup.launch import bringup_description


def generate_launch_description() -> LaunchDescription:
    """Arguments and nodes, as manipapy_ros/bringup/description.py describes them."""
    return bringup_description(BringupMode.HARDWARE)
