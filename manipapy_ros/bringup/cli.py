"""The commands of `manipapy` that need ROS: up, plan, move, state, teleop, hold, reset, record, replay, secure.

`manipapy_core.cli` finds `register` through the entry points of the package. rclpy and the messages are imported by
the commands themselves, so that the others work without ROS.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from manipapy_core.cli.json_text import print_json
from manipapy_core.cli.options import Json, console, escape
from manipapy_core.cli.progress import progress
from manipapy_core.errors import InputError

from ..calibration.cli import register_capture
from ..common.requirements import require_ros
from ..recording.cli import record, replay
from .description import BringupMode, HandOff, Options, describe
from .local_socket import ask

if TYPE_CHECKING:
    from manipapy_msgs.msg import MotionRequest

    from ..client.robot import RobotClient

Namespace = Annotated[str, typer.Option(help="Namespace of the robot.")]
# typer evaluates annotations itself, on Python 3.10 as well, hence Optional.
Seconds = Annotated[Optional[float], typer.Option(help="Stop after so long [s]; default: on Ctrl-C.")]  # noqa: UP045
Texts = Optional[list[str]]  # noqa: UP045

Values = Annotated[Optional[list[str]], typer.Argument(help="Numbers, also negative ones.")]  # noqa: UP045
Joints = Annotated[bool, typer.Option("--joints", help="The numbers are joint positions [rad or m], base first.")]
Pose = Annotated[bool, typer.Option("--pose", help="The numbers are x y z [m] qx qy qz qw of the tip in the base.")]
Named = Annotated[str, typer.Option(help="Named goal, such as home, instead of numbers.")]
Straight = Annotated[bool, typer.Option("--straight", help="With --pose: move the tip along a straight line.")]
Speed = Annotated[float, typer.Option(help="Share of the velocity and acceleration limits.")]
PlannerName = Annotated[str, typer.Option(help="rrt_connect, optimal, straight, potential_field or ompl.")]


def register(app: typer.Typer) -> None:
    """Add the commands to `manipapy`."""
    app.command()(up)
    # Negative numbers look like options.
    app.command(context_settings={"ignore_unknown_options": True})(move)
    app.command(context_settings={"ignore_unknown_options": True})(plan)
    app.command()(state)
    app.command()(teleop)
    app.command()(hold)
    app.command()(reset)
    app.command()(record)
    app.command()(replay)
    app.command()(secure)
    register_capture()


def up(
    robot: Annotated[str, typer.Option(help="A name from config/, a URDF or xacro file, or a robot folder.")] = "ur5",
    tip: Annotated[str, typer.Option(help="Link at the end of the arm; default: that of the arm found.")] = "",
    base: Annotated[str, typer.Option(help="Link that stays still; default: that of the arm found.")] = "",
    group: Annotated[str, typer.Option(help="Several arms moved as one: arms for all; default: one arm.")] = "",
    limits: Annotated[str, typer.Option(help="Limits file, in the layout of MoveIt's joint_limits.yaml.")] = "",
    package_path: Annotated[Texts, typer.Option(help="Folder searched for package:// references; repeatable.")] = None,
    xacro_arg: Annotated[Texts, typer.Option(help="For a xacro file: name:=value; repeatable.")] = None,
    lock: Annotated[
        Texts, typer.Option(help="Joint outside the arm, such as a torso: name:=value; repeatable.")
    ] = None,
    ignore_missing_meshes: Annotated[bool, typer.Option(help="Shapes without a mesh file never collide.")] = False,
    xacro_args: Annotated[str, typer.Option(help="All of --xacro-arg in one text, separated by spaces.")] = "",
    mode: Annotated[BringupMode, typer.Option(help="Source of joint_states.")] = BringupMode.SIM,
    namespace: Namespace = "",
    scene: Annotated[str, typer.Option(help="Scene of a simulated arm; empty for none.")] = "auto",
    params_file: Annotated[str, typer.Option(help="Parameters that override config/<robot>.yaml.")] = "",
    use_sim_time: Annotated[Optional[bool], typer.Option(help="Default: as the mode needs it.")] = None,  # noqa: UP045
    hand_off: Annotated[HandOff, typer.Option(help="Interface to real hardware.")] = HandOff.TRAJECTORY,
    far_side_timeout: Annotated[float, typer.Option(help="Effort timeout of the hardware [s].")] = 0.0,
    law: Annotated[str, typer.Option(help="Control law, such as computed_torque.")] = "",
    collision_forecast: Annotated[str, typer.Option(help="Slow and hold before contact: off, use or require.")] = "use",
    on_failure: Annotated[str, typer.Option(help="When a node dies: stop or restart.")] = "stop",
    autostart: Annotated[bool, typer.Option(help="Configure and activate.")] = True,
    log_level: Annotated[str, typer.Option(help="debug, info, warn, error or fatal.")] = "info",
    simulator: Annotated[
        str, typer.Option(help="Physics engine of a simulated arm: mujoco or pybullet; default: mujoco.")
    ] = "",
    gui: Annotated[bool, typer.Option(help="Show the window of the physics engine.")] = False,
    planner: Annotated[bool, typer.Option(help="Also start the planner.")] = True,
    perception: Annotated[bool, typer.Option(help="Also start perception: stereo images to obstacles.")] = False,
    camera_input: Annotated[str, typer.Option(help="Input of perception: stereo, depth or points.")] = "",
    camera_name: Annotated[str, typer.Option(help="Namespace of the camera's topics, such as /camera/depth.")] = "",
    camera_topics: Annotated[str, typer.Option(help="Topics of images or clouds, instead of the usual ones.")] = "",
    camera_info_topics: Annotated[str, typer.Option(help="Default: camera_info beside each image.")] = "",
    camera_transport: Annotated[str, typer.Option(help="raw, compressed or compressedDepth.")] = "",
    camera_rectify: Annotated[bool, typer.Option(help="The images are raw ones: rectify them.")] = False,
    camera_pose: Annotated[
        str, typer.Option(help="File of `calibrate hand-eye`, or: parent x y z roll pitch yaw [m, rad].")
    ] = "",
    unknown: Annotated[
        str, typer.Option(help="Space not seen: blocked, free, or auto (free near the arm); default: auto.")
    ] = "",
    capability: Annotated[bool, typer.Option(help="Also start capability: polytopes of the tip.")] = False,
    servo: Annotated[bool, typer.Option(help="Also start the servo: the arm follows twists, jogs and poses.")] = False,
    viewer: Annotated[bool, typer.Option(help="Also start the viewer, a web page of this machine.")] = False,
    real_time_factor: Annotated[float, typer.Option(help="Simulated seconds per second.")] = 1.0,
    seconds: Seconds = None,
    stop_timeout: Annotated[float, typer.Option(help="Time for nodes to end before they are killed [s].")] = 2.0,
) -> None:
    """Start a simulated, mocked or real arm and supervise its nodes.

    Example: `manipapy up --robot panda --viewer`
    """
    require_ros()
    from ..common.security import require_security
    from .start import with_free_start
    from .supervisor import run_bringup

    require_security()

    options = Options(
        robot=robot,
        xacro_args=" ".join([xacro_args, *map(shlex.quote, xacro_arg or ())]).strip(),
        base=base,
        tip=tip,
        group=group,
        limits=limits,
        package_paths=tuple(package_path or ()),
        locked_joints=" ".join(lock or ()),
        ignore_missing_meshes=ignore_missing_meshes,
        mode=mode,
        namespace=namespace,
        use_sim_time=use_sim_time,
        params_file=params_file,
        scene=scene,
        hand_off=hand_off,
        far_side_timeout=far_side_timeout,
        law=law,
        collision_forecast=collision_forecast,
        log_level=log_level,
        simulator=simulator,
        gui=gui,
        planner=planner,
        perception=perception,
        camera_input=camera_input,
        camera_name=camera_name,
        camera_topics=camera_topics,
        camera_info_topics=camera_info_topics,
        camera_transport=camera_transport,
        camera_rectify=camera_rectify,
        camera_pose=camera_pose,
        unknown=unknown,
        capability=capability,
        servo=servo,
        viewer=viewer,
        real_time_factor=real_time_factor,
    )
    describe(options)  # refuses options that contradict each other before anything is built
    bringup = describe(with_free_start(options, lambda line: console().print(f"[bold cyan]manipapy[/] {escape(line)}")))
    code = run_bringup(
        bringup,
        policy=on_failure,
        autostart=autostart,
        seconds=seconds,
        console=console(),
        stop_timeout=stop_timeout,
    )
    raise typer.Exit(code)


def _goal_command(act: Callable[[RobotClient, MotionRequest, bool], None]) -> Callable[..., None]:
    """A command with the options of a goal, that does something with the request made from them."""

    def command(
        values: Values = None,
        joints: Joints = False,
        pose: Pose = False,
        named: Named = "",
        straight: Straight = False,
        namespace: Namespace = "",
        speed: Speed = 0.3,
        planner: PlannerName = "",
        as_json: Json = False,
    ) -> None:
        numbers = _numbers(values or [])
        require_ros()
        from ..client.goal_text import motion_request

        with _robot(namespace) as robot:
            request = motion_request(lambda: robot.chain, numbers, joints, pose, named, straight, speed, planner)
            act(robot, request, as_json)

    command.__name__, command.__doc__ = act.__name__, act.__doc__
    return command


@_goal_command
def move(robot: RobotClient, request: MotionRequest, as_json: bool) -> None:
    """Move the arm to a goal, around obstacles.

    Example: `manipapy move --joints 0 -1.2 1.4 -0.7 0.5 2`, or `manipapy move --pose 0.4 0.1 0.5 0 1 0 0`
    """
    with progress("planning") as display:
        text, error = robot.move(request, lambda phase, share: display.update(round(100 * share), 100, phase))
    if as_json:
        print_json({"text": text, "largest_joint_error": error})
        return
    print(f"{text}; largest joint error {1e3 * error:.2f} mrad or mm")


@_goal_command
def plan(robot: RobotClient, request: MotionRequest, as_json: bool) -> None:
    """Plan a motion without moving.

    Prints its duration and the planning times.

    Example: `manipapy plan --named home --json`
    """
    from ..client.goal_text import plan_data, plan_text

    with progress("planning"):
        result = robot.plan(request)
    if as_json:
        print_json(plan_data(result))
    else:
        print(plan_text(result))


def state(
    namespace: Namespace = "",
    watch: Annotated[bool, typer.Option("--watch", help="Repeatedly, until Ctrl-C.")] = False,
    as_json: Json = False,
) -> None:
    """Print the state of the joints, the tip and the controller.

    Example: `manipapy state --json`
    """
    if watch and as_json:
        raise InputError("--watch draws a table; leave out --json, or call `manipapy state --json` repeatedly")
    from ..client.state_text import state_text

    if watch:
        with suppress(KeyboardInterrupt):
            _watch(namespace)
        return
    with progress("looking for the arm"):
        found = ask(namespace, "state") or _state_over_ros(namespace)
    if as_json:
        print_json(found)
    else:
        print(state_text(found, colour=sys.stdout.isatty()))


def _state_over_ros(namespace: str) -> dict[str, Any]:
    require_ros()
    from ..client.session import RosSession
    from ..client.state_report import StateReport

    with RosSession("manipapy", namespace) as session:
        return StateReport(session).data()


def _watch(namespace: str) -> None:
    """Show the state again and again, in place."""
    require_ros()
    from rich.live import Live
    from rich.text import Text

    from ..client.session import RosSession
    from ..client.state_report import StateReport
    from ..client.state_text import state_text

    with RosSession("manipapy", namespace) as session, Live(console=console(), refresh_per_second=5) as live:
        report = StateReport(session)
        while True:
            live.update(Text.from_ansi(state_text(report.data(), colour=True)))


def teleop(
    namespace: Namespace = "",
    speed: Annotated[float, typer.Option(help="Speed of the tip at the start [m/s]; + and - change it.")] = 0.1,
) -> None:
    """Drive the arm with the keyboard; needs `manipapy up --servo`.

    Example: `manipapy teleop --speed 0.05`
    """
    if not 0.0 < speed <= 0.5:
        raise InputError(f"speed is {speed}; give a speed above 0, at most 0.5 m/s")
    with _robot(namespace) as robot:
        from ..servo.teleop import Teleop, drive

        chain = robot.chain
        drive(Teleop(robot.client.node, chain.base, chain.tip, chain.joint_names), speed)


def hold(namespace: Namespace = "", as_json: Json = False) -> None:
    """Bring the arm to rest.

    Example: `manipapy hold --namespace left`
    """
    _say(_arm_command(namespace, "hold"), as_json)


def reset(namespace: Namespace = "", as_json: Json = False) -> None:
    """End a stop of the guard.

    Example: `manipapy reset`
    """
    _say(_arm_command(namespace, "reset"), as_json)


def secure(
    keystore: Annotated[str, typer.Argument(help="Folder of the keys; made if there is none.")],
) -> None:
    """Make keys of DDS security (SROS2) for the nodes.

    Prints the environment that uses them.

    Example: `manipapy secure keys > keys.sh`
    """
    require_ros()
    from pathlib import Path

    from ..common.security import make_keys

    for name, value in make_keys(Path(keystore)).items():
        print(f"export {name}={shlex.quote(value)}")


def _say(text: str, as_json: bool) -> None:
    if as_json:
        print_json({"text": text})
    else:
        print(text)


def _numbers(words: list[str]) -> list[float]:
    """Numbers separated by spaces or commas; unknown options end up here as well."""
    found = []
    for word in " ".join(words).replace(",", " ").split():
        try:
            found.append(float(word))
        except ValueError:
            raise InputError(
                f"{word!r} is neither a number nor an option of this command; separate numbers by spaces or "
                "commas, such as --joints 0 -1.2 1.4 -0.7 0.5 2 (--help lists the options)"
            ) from None
    return found


def _arm_command(namespace: str, name: str) -> str:
    """Send a command to whichever controller the arm has; returns its answer."""
    answer = ask(namespace, name)
    if answer is not None:
        return str(answer)
    require_ros()
    from ..client.session import RosSession
    from ..client.stop_client import StopClient

    with RosSession("manipapy", namespace) as session, progress("looking for the arm"):
        arm = StopClient(session)
        return arm.hold() if name == "hold" else arm.reset()


def _robot(namespace: str) -> RobotClient:
    require_ros()
    from ..client.robot import RobotClient

    return RobotClient(namespace)
