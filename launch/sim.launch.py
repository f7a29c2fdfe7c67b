"""Starts a simulated arm with model server and controller, configured and active.

Example: `ros2 launch manipapy sim.launch.py robot:=panda rviz:=true`; `mode:=mock` for an arm without physics.
"""

from launch import LaunchDescription

from manipapy_ros.bringup.description import BringupMode
from manipapy_ros.bringup.launch import bringup_description


def generate_launch_description() -> LaunchDescription:
    """Arguments and nodes, as manipapy_ros/bringup/description.py describes them."""
    return bringup_description(BringupMode.SIM)
