"""A bringup as a launch description, for the launch files.

Imports launch and launch_ros, which exist on a ROS distribution only; no other module imports it.
"""

from __future__ import annotations

import atexit
import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from launch import Action, LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
)
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.events import matches_action
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode, Node
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from lifecycle_msgs.msg import Transition

from ..client.session import NoAnswer, Refused, RosSession
from ..client.stop_client import StopClient
from .camera_options import CAMERA_INPUTS, CAMERA_TRANSPORTS, UNKNOWN_POLICIES
from .description import (
    FORECAST_POLICIES,
    LOG_LEVELS,
    PACKAGE,
    SIMULATORS,
    Bringup,
    BringupError,
    BringupMode,
    HandOff,
    NodeSpec,
    Options,
    config_folders,
    describe,
)
from .local_commands import LocalCommands
from .start import with_free_start

TRUTHS = ["true", "false"]
HOLD_TIMEOUT = 1.0
"""For an arm to confirm a hold [s]."""


def arguments(
    mode: BringupMode, modes: Sequence[BringupMode] = tuple(BringupMode), robot: str = "ur5"
) -> list[DeclareLaunchArgument]:
    """The arguments of all launch files, with the defaults of `mode` and `robot`."""

    def argument(name: str, default: str, text: str, choices: Sequence[str] | None = None) -> DeclareLaunchArgument:
        return DeclareLaunchArgument(name, default_value=default, description=text, choices=choices)

    return [
        argument("robot", robot, "A robot of config/, a URDF or xacro file, or a robot folder"),
        argument("xacro_args", "", "For a xacro file: name:=value, separated by spaces"),
        argument("base", "", "Link that stays still; empty: that of the arm found"),
        argument("tip", "", "Link at the end of the arm; empty: that of the arm found"),
        argument("group", "", "Several arms moved as one, such as arms for all; empty: one arm"),
        argument("limits", "", "Limits file"),
        argument("package_paths", "", "Folders searched for package:// references, separated by colons"),
        argument("locked_joints", "", "Joints outside the arm: name:=value, separated by spaces"),
        argument("ignore_missing_meshes", "false", "Shapes without a mesh file never collide", TRUTHS),
        argument("mode", mode.value, "Source of joint_states", [m.value for m in modes]),
        argument("namespace", "", "Namespace of all nodes, for several robots"),
        argument("use_sim_time", "auto", "Take the time from /clock; auto: in mode sim", ["auto", *TRUTHS]),
        argument("params_file", "", "Parameters that override config/<robot>.yaml"),
        argument(
            "scene", "auto", "Scene of a simulated arm: a bundled scene, a file, or empty; auto: table, if bundled"
        ),
        argument("law", "", "Control law; empty: that of the parameters"),
        argument("collision_forecast", "use", "Slow and hold before contact", FORECAST_POLICIES),
        argument("hand_off", HandOff.TRAJECTORY.value, "Interface to real hardware", [h.value for h in HandOff]),
        argument("far_side_timeout", "0.0", "Effort timeout of the hardware [s]; needed for hand_off:=effort"),
        argument("rviz", "false", "Start RViz with our layout", TRUTHS),
        argument("planner", "true", "Also start the planner", TRUTHS),
        argument("capability", "false", "Also start capability: polytopes of the tip", TRUTHS),
        argument("perception", "false", "Also start perception: stereo images to obstacles", TRUTHS),
        argument("camera_input", "", "Input of perception; empty: stereo", ["", *CAMERA_INPUTS]),
        argument("camera_name", "", "Namespace of the camera's topics, such as /camera/depth"),
        argument("camera_topics", "", "Topics of images or clouds instead of the usual ones, separated by spaces"),
        argument("camera_info_topics", "", "Topics of the calibrations; empty: camera_info beside each image"),
        argument("camera_transport", "", "Of the images; empty: raw", ["", *CAMERA_TRANSPORTS]),
        argument("camera_rectify", "false", "The images are raw ones: rectify them", TRUTHS),
        argument("camera_pose", "", "File of manipapy calibrate hand-eye, or parent x y z roll pitch yaw [m, rad]"),
        argument("unknown", "", "Space not seen; auto: free near the arm; empty: auto", ["", *UNKNOWN_POLICIES]),
        argument("servo", "false", "Also start the servo: the arm follows twists, jogs and poses", TRUTHS),
        argument("viewer", "false", "Also start the viewer, a web page of this machine", TRUTHS),
        argument("real_time_factor", "1.0", "Simulated seconds per second; below 1 for slow machines"),
        argument("simulator", "", "Physics engine of a simulated arm; empty: mujoco", ["", *SIMULATORS]),
        argument("gui", "false", "Show the window of the physics engine", TRUTHS),
        argument("autostart", "true", "Configure and activate in order", TRUTHS),
        argument("log_level", "info", "Of all nodes", LOG_LEVELS),
    ]


def bringup_description(
    mode: BringupMode, modes: Sequence[BringupMode] = tuple(BringupMode), robot: str = "ur5"
) -> LaunchDescription:
    """A launch description: the arguments, and the nodes for them."""
    return LaunchDescription([*arguments(mode, modes, robot), OpaqueFunction(function=_entities)])


def options_from(context: LaunchContext) -> Options:
    """The arguments of a launch as options of a bringup."""

    def text(name: str) -> str:
        return LaunchConfiguration(name).perform(context)

    use_sim_time = text("use_sim_time")
    return Options(
        robot=text("robot"),
        xacro_args=text("xacro_args"),
        base=text("base"),
        tip=text("tip"),
        group=text("group"),
        limits=text("limits"),
        package_paths=tuple(filter(None, text("package_paths").split(os.pathsep))),
        locked_joints=text("locked_joints"),
        ignore_missing_meshes=text("ignore_missing_meshes") == "true",
        mode=BringupMode(text("mode")),
        namespace=text("namespace"),
        use_sim_time=None if use_sim_time == "auto" else use_sim_time == "true",
        params_file=text("params_file"),
        scene=text("scene"),
        hand_off=HandOff(text("hand_off")),
        far_side_timeout=_number("far_side_timeout", text("far_side_timeout")),
        real_time_factor=_number("real_time_factor", text("real_time_factor")),
        law=text("law"),
        collision_forecast=text("collision_forecast"),
        log_level=text("log_level"),
        simulator=text("simulator"),
        gui=text("gui") == "true",
        planner=text("planner") == "true",
        perception=text("perception") == "true",
        camera_input=text("camera_input"),
        camera_name=text("camera_name"),
        camera_topics=text("camera_topics"),
        camera_info_topics=text("camera_info_topics"),
        camera_transport=text("camera_transport"),
        camera_rectify=text("camera_rectify") == "true",
        camera_pose=text("camera_pose"),
        unknown=text("unknown"),
        capability=text("capability") == "true",
        servo=text("servo") == "true",
        viewer=text("viewer") == "true",
    )


def rviz_node(namespace: str, use_sim_time: bool, group: str = "arm") -> Node:
    """RViz with the layout of this package.

    Args:
        group: Planning group whose marker MoveIt's panel moves; RViz solves its kinematics itself.
    """
    kinematics = {
        "kinematics_solver": "kdl_kinematics_plugin/KDLKinematicsPlugin",
        "kinematics_solver_search_resolution": 0.005,
        "kinematics_solver_timeout": 0.05,
    }
    layout = next(path for folder in config_folders() if (path := folder / "manipapy.rviz").is_file())
    return Node(
        package="rviz2",
        executable="rviz2",
        namespace=namespace,
        arguments=["-d", str(layout)],
        # The SRDF comes on the latched topic robot_description_semantic.
        parameters=[
            {"use_sim_time": use_sim_time},
            {f"robot_description_kinematics.{group}.{name}": value for name, value in kinematics.items()},
        ],
        remappings=[(f"/{name}", name) for name in ("tf", "tf_static", "robot_description", "clock")],
        output="log",
    )


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BringupError(f"{name} is {text!r}; give a number") from None


def _entities(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    options = options_from(context)
    describe(options)  # refuses options that contradict each other before anything is built
    bringup = describe(with_free_start(options, print))
    nodes = [_lifecycle_node(bringup, spec) for spec in bringup.nodes]
    entities: list[LaunchDescriptionEntity] = [
        SetEnvironmentVariable(name, value) for name, value in bringup.environment.items() if name not in os.environ
    ]
    if LaunchConfiguration("rviz").perform(context) == "true":
        # Before the nodes: if it is not installed, launch ends at once and would leave them running.
        entities.append(rviz_node(bringup.namespace, bool(bringup.nodes[-1].parameters["use_sim_time"])))
    if LaunchConfiguration("autostart").perform(context) == "true":
        entities += _configure_and_activate(
            nodes, f"up: {', '.join(bringup.full_name(spec.executable) for spec in bringup.nodes)}"
        )
    # Made now, because discovery takes seconds, and answers `manipapy hold` of this machine at once.
    session = RosSession("launch", bringup.namespace)
    atexit.register(session.close)
    atexit.register(LocalCommands(session).served().close)
    # One that dies ends the others. Our controller holds the arm by itself then; ros2_control would finish the motion.
    arm = None if bringup.holds else StopClient(session)
    for node, spec in zip(nodes, bringup.nodes, strict=True):
        handler = OnProcessExit(target_action=node, on_exit=_end_the_others(f"{spec.executable} ended", arm))
        entities.append(RegisterEventHandler(handler))
    return [*entities, *nodes]


def _end_the_others(
    reason: str, arm: StopClient | None
) -> Callable[[ProcessExited, LaunchContext], list[LaunchDescriptionEntity]]:
    """Handler of a node's end; does nothing during a shutdown, because a second one is an error of launch_ros.

    Args:
        arm: Is held first; None for one that holds by itself.
    """

    def on_exit(_: ProcessExited, context: LaunchContext) -> list[LaunchDescriptionEntity]:
        if context.is_shutdown:
            return []
        held: list[LaunchDescriptionEntity] = [] if arm is None else [LogInfo(msg=_hold(arm))]
        return [*held, _end(reason)]

    return on_exit


def _hold(arm: StopClient) -> str:
    try:
        return arm.hold(HOLD_TIMEOUT)
    except (NoAnswer, Refused) as error:
        return f"no hold was confirmed; the driver has to hold the arm: {error}"


def _lifecycle_node(bringup: Bringup, spec: NodeSpec) -> LifecycleNode:
    return LifecycleNode(
        package=PACKAGE,
        executable=spec.executable,
        name=spec.executable,
        namespace=bringup.namespace,
        parameters=[*map(Path, spec.params_files), dict(spec.parameters)],
        remappings=list(spec.remappings),
        ros_arguments=["--log-level", bringup.options.log_level],
        output="screen",
    )


def _end(reason: str) -> OpaqueFunction:
    """Ends everything with exit code 1; the action Shutdown would end with 0."""

    def fail(_: LaunchContext) -> None:
        raise BringupError(reason)

    return OpaqueFunction(function=fail)


def _configure_and_activate(nodes: Sequence[LifecycleNode], up: str) -> list[LaunchDescriptionEntity]:
    """Configure one after the other, then activate one after the other, as `manipapy up` does.

    A transition that fails before all are active ends everything; later ones are left to the user.
    """
    is_up = False

    def note(_: LaunchContext) -> list[LaunchDescriptionEntity]:
        nonlocal is_up
        is_up = True
        return [LogInfo(msg=up)]

    def failed(context: LaunchContext, node: LifecycleNode) -> list[LaunchDescriptionEntity]:
        over = is_up or context.is_shutdown
        return [] if over else [_end(f"{node.node_name}: the transition failed; the log above has the reason")]

    def request(node: LifecycleNode, transition: int) -> EmitEvent:
        return EmitEvent(event=ChangeState(lifecycle_node_matcher=matches_action(node), transition_id=transition))

    def after(node: LifecycleNode, start: str | None, goal: str, then: Action) -> RegisterEventHandler:
        # Once: a node that is deactivated and activated by hand later must not trigger the others.
        return RegisterEventHandler(
            OnStateTransition(
                target_lifecycle_node=node, start_state=start, goal_state=goal, entities=[then], handle_once=True
            )
        )

    configure, activate = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE
    entities: list[LaunchDescriptionEntity] = [
        RegisterEventHandler(OnProcessStart(target_action=nodes[0], on_start=[request(nodes[0], configure)]))
    ]
    for node, following in itertools.pairwise(nodes):
        entities.append(after(node, "configuring", "inactive", request(following, configure)))
        entities.append(after(node, "activating", "active", request(following, activate)))
    entities.append(after(nodes[-1], "configuring", "inactive", request(nodes[0], activate)))
    entities.append(after(nodes[-1], "activating", "active", OpaqueFunction(function=note)))
    for node in nodes:
        for start, goal in (("configuring", "unconfigured"), ("activating", "inactive"), (None, "errorprocessing")):
            entities.append(after(node, start, goal, OpaqueFunction(function=failed, args=[node])))
    return entities
