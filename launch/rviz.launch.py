"""Starts RViz with the layout of manipapy, beside running nodes.

Example: `ros2 launch manipapy rviz.launch.py use_sim_time:=true namespace:=left`
"""

import os

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from manipapy_ros.bringup.launch import TRUTHS, rviz_node
from manipapy_ros.common.names import absolute_namespace, local_discovery

# Discovery is restricted to this machine, unless the environment sets it.
os.environ.update(local_discovery())


def _rviz(context: LaunchContext) -> list[Node]:
    namespace = absolute_namespace(LaunchConfiguration("namespace").perform(context))
    use_sim_time = LaunchConfiguration("use_sim_time").perform(context) == "true"
    return [rviz_node(namespace, use_sim_time, LaunchConfiguration("group").perform(context))]


def generate_launch_description() -> LaunchDescription:
    """Arguments and RViz."""
    return LaunchDescription(
        [
            DeclareLaunchArgument("namespace", default_value="", description="Namespace of the robot"),
            DeclareLaunchArgument(
                "use_sim_time", default_value="false", description="Take the time from /clock", choices=TRUTHS
            ),
            DeclareLaunchArgument("group", default_value="arm", description="Planning group of MoveIt's panel"),
            OpaqueFunction(function=_rviz),
        ]
    )
