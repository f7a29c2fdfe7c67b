"""Starts model server (and, for efforts, controller) beside the driver of a real arm, which its own launch file starts.

Example: `ros2 launch ur_robot_driver ur_control.launch.py …`, then
`ros2 launch manipapy hardware.launch.py robot:=ur5`. Trajectories go to joint_trajectory_controller of ros2_control;
`mode:=mock` puts a stand-in in the place of driver and controller.
"""

from launch import LaunchDescription

from manipapy_ros.bringup.description import BringupMode
from manipapy_ros.bringup.launch import bringup_description


def generate_launch_description() -> LaunchDescription:
    """The arguments, and the nodes that manipapy_ros/bringup/description.py names for them."""
    return bringup_description(BringupMode.HARDWARE)
