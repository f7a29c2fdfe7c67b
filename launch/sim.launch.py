"""Starts a simulated arm with model server and controller, configured and active.

Example: `ros2 launch manipapy sim.launch.py robot:=panda rviz:=true`; `mode:=mock` for an arm without physics.
"""

from launch import LaunchDescription

from manipapy_ros.bringup import Mode
from manipapy_ros.launching import bringup_description


def generate_launch_description() -> LaunchDescription:
    """The arguments, and the nodes that manipapy_ros/bringup.py names for them."""
    return bringup_description(Mode.SIM)
