"""Starts model_server for one robot, configured and active.

Example: `ros2 launch manipapy model.launch.py robot:=panda namespace:=left`
"""

import os
from pathlib import Path

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, OpaqueFunction, RegisterEventHandler
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessStart
from launch.events import matches_action
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import LifecycleNode
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from launch_ros.substitutions import FindPackageShare
from lifecycle_msgs.msg import Transition

from manipapy_ros.bringup.description import LOG_LEVELS, BringupError, configured_robots
from manipapy_ros.bringup.launch import TRUTHS
from manipapy_ros.common.names import local_discovery

# Discovery is restricted to this machine, unless the environment sets it.
os.environ.update(local_discovery())

ARGUMENTS = [
    DeclareLaunchArgument("robot", default_value="ur5", description="Robot with a parameter file of that name"),
    DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node, for several robots"),
    DeclareLaunchArgument(
        "use_sim_time", default_value="false", description="Take the time from /clock", choices=TRUTHS
    ),
    DeclareLaunchArgument(
        "params_file",
        default_value=[
            PathJoinSubstitution([FindPackageShare("manipapy"), "config", LaunchConfiguration("robot")]),
            ".yaml",
        ],
        description="Parameters of the node; config/<robot>.yaml of this package when not given",
    ),
    DeclareLaunchArgument(
        "autostart", default_value="true", description="Configure and activate at once", choices=TRUTHS
    ),
    DeclareLaunchArgument("log_level", default_value="info", description="Of the node", choices=LOG_LEVELS),
]


def _check(context: LaunchContext) -> None:
    """Refuse a missing file: launch_ros only warns, and the node would start with its default robot."""
    path = LaunchConfiguration("params_file").perform(context)
    if not Path(path).is_file():
        raise BringupError(
            f"no parameter file {path!r}; give params_file, or a robot of {', '.join(configured_robots())}"
        )


def generate_launch_description() -> LaunchDescription:
    """The node and, with autostart, its transitions to active."""
    node = LifecycleNode(
        package="manipapy",
        executable="model_server",
        name="model_server",
        namespace=LaunchConfiguration("namespace"),
        parameters=[
            LaunchConfiguration("params_file"),
            {"use_sim_time": LaunchConfiguration("use_sim_time")},
        ],
        ros_arguments=["--log-level", LaunchConfiguration("log_level")],
        output="screen",
    )

    def request(transition_id: int) -> EmitEvent:
        return EmitEvent(
            event=ChangeState(lifecycle_node_matcher=matches_action(node), transition_id=transition_id),
            condition=IfCondition(LaunchConfiguration("autostart")),
        )

    configure_when_started = RegisterEventHandler(
        OnProcessStart(target_action=node, on_start=[request(Transition.TRANSITION_CONFIGURE)])
    )
    activate_when_configured = RegisterEventHandler(
        OnStateTransition(
            target_lifecycle_node=node,
            start_state="configuring",
            goal_state="inactive",
            entities=[request(Transition.TRANSITION_ACTIVATE)],
            handle_once=True,
        )
    )
    return LaunchDescription(
        [*ARGUMENTS, OpaqueFunction(function=_check), activate_when_configured, configure_when_started, node]
    )
