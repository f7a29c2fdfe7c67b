"""The nodes of a bringup and their parameters, for a simulated, a mocked and a real arm.

Plain data: neither rclpy nor launch is imported here. `launch/*.launch.py` passes it to launch_ros, `supervisor.py`
starts the same processes where launch_ros is not installed.
"""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from manipapy_core.errors import InputError

from ..common.names import (
    MAX_REAL_TIME_FACTOR,
    MIN_REAL_TIME_FACTOR,
    TRAJECTORY_CONTROLLER,
    absolute_namespace,
    local_discovery,
)
from .camera_options import camera_parameters, check_camera

Value = bool | int | float | str | tuple[str, ...] | tuple[float, ...]
PACKAGE = "manipapy"
FORECAST_POLICIES = ("off", "use", "require")
SIMULATORS = ("mujoco", "pybullet")
"""Values of manipapy_core.sim.Simulator, without its import."""
LOG_LEVELS = ("debug", "info", "warn", "error", "fatal")


class BringupMode(enum.Enum):
    """Source of `joint_states`."""

    SIM = "sim"
    """A physics simulation, controlled by efforts at 1 kHz."""
    MOCK = "mock"
    """A mock with the interfaces of ros2_control, which follows every trajectory exactly."""
    HARDWARE = "hardware"
    """The driver of the robot, started by its own launch file."""


class HandOff(enum.Enum):
    """Interface to a real arm."""

    TRAJECTORY = "trajectory"
    """Trajectories to joint_trajectory_controller: a Python process that dies leaves no torque applied."""
    EFFORT = "effort"
    """Efforts at 1 kHz; only where the far side holds the arm when they stop."""


class BringupError(InputError):
    """A combination of options that cannot be started."""


@dataclass(frozen=True)
class Options:
    """Options of a bringup: the arguments of `manipapy up` and of the launch files."""

    robot: str = "ur5"
    """A robot with a file of that name in config/, the path of a URDF or xacro file, or a robot folder."""
    xacro_args: str = ""
    """Arguments of a xacro file: name:=value, separated by spaces."""
    base: str = ""
    """Link that stays still; empty: that of the parameters, or of the arm found."""
    tip: str = ""
    """Link at the end of the arm; empty: that of the parameters, or of the arm found."""
    group: str = ""
    """Several arms moved as one, such as arms for all of them; empty: one arm."""
    limits: str = ""
    """Limits file."""
    package_paths: tuple[str, ...] = ()
    """Folders searched for package:// references of meshes."""
    locked_joints: str = ""
    """Positions of joints outside the arm: name:=value, separated by spaces."""
    ignore_missing_meshes: bool = False
    """Check no collisions of shapes whose mesh is not found."""
    initial_positions: tuple[float, ...] = ()
    """Where a simulated or mocked arm starts, and its home [rad or m]; empty: as the parameters say."""
    mode: BringupMode = BringupMode.SIM
    namespace: str = ""
    use_sim_time: bool | None = None
    """None: as the mode needs it."""
    params_file: str = ""
    """Parameter file that overrides config/<robot>.yaml."""
    scene: str = "auto"
    """Scene of a simulated arm: a bundled scene, a file, or empty for none; auto: table for a robot of config/, none
    for others, which may not stand on one."""
    hand_off: HandOff = HandOff.TRAJECTORY
    far_side_timeout: float = 0.0
    """Time without an effort command after which the real arm holds by itself [s]; needed for `HandOff.EFFORT`."""
    law: str = ""
    """Control law; empty: that of the parameters."""
    collision_forecast: str = "use"
    """Collision forecasts where controller and planner run: off (no collision_monitor), use or require."""
    log_level: str = "info"
    simulator: str = ""
    """Physics engine of a simulated arm: mujoco or pybullet; empty: that of the parameters, or the default."""
    gui: bool = False
    """Show the window of the physics engine."""
    planner: bool = True
    """Also start the planner."""
    perception: bool = False
    """Also start perception: the simulation gets a stereo camera; a real arm needs one."""
    camera_input: str = ""
    """Input of perception: stereo, depth or points; empty: that of the parameters, or stereo."""
    camera_name: str = ""
    """Namespace of the camera's topics."""
    camera_topics: str = ""
    """Topics of images or clouds instead of the usual ones, separated by spaces."""
    camera_info_topics: str = ""
    """Topics of the calibrations; empty: camera_info beside each image."""
    camera_transport: str = ""
    """Of the images: raw, compressed or compressedDepth; empty: that of the parameters, or raw."""
    camera_rectify: bool = False
    """The images are raw ones, and perception rectifies them."""
    camera_pose: str = ""
    """File of `manipapy calibrate hand-eye`, or parent x y z roll pitch yaw [m, rad]; empty: from tf."""
    unknown: str = ""
    """Space that perception has not seen is blocked, free, or auto: free up to a distance from the arm; empty: free for
    a simulated scene, whose objects the planner knows, else auto."""
    capability: bool = False
    """Also start capability, which publishes polytopes."""
    servo: bool = False
    """Also start servo, which moves the arm by twists, joint velocities and pose targets."""
    viewer: bool = False
    """Also start the viewer, a web page of this machine."""
    real_time_factor: float = 1.0
    """Simulated seconds per second; below 1 for slow machines."""


@dataclass(frozen=True)
class NodeSpec:
    """One process: a node of this package."""

    executable: str
    """Package of manipapy_ros and file in lib/manipapy; also the name of the node."""
    parameters: Mapping[str, Value]
    """Override those of the files."""
    params_files: tuple[str, ...]
    """In the order in which they are read: later ones override."""
    remappings: tuple[tuple[str, str], ...] = ()
    """Old and new name of topics."""

    def ros_arguments(self, namespace: str, log_level: str) -> list[str]:
        """Arguments after `--ros-args`."""
        words = ["-r", f"__ns:={namespace}"] if namespace else []
        for old, new in self.remappings:
            words += ["-r", f"{old}:={new}"]
        for path in self.params_files:
            words += ["--params-file", path]
        for name, value in self.parameters.items():
            words += ["-p", f"{name}:={yaml_scalar(value)}"]
        return [*words, "--log-level", log_level]

    def command(self, namespace: str, log_level: str) -> list[str]:
        """Command line of the process, with the Python of this one."""
        module = f"manipapy_ros.{self.executable}.node"
        return [sys.executable, "-m", module, "--ros-args", *self.ros_arguments(namespace, log_level)]


@dataclass(frozen=True)
class Bringup:
    """Processes, names and environment of a bringup."""

    options: Options
    nodes: tuple[NodeSpec, ...]
    """In the order in which they are configured and activated; they are stopped in reverse."""
    trajectory_action: str
    """Action for trajectories, relative to the namespace."""
    holds: tuple[str, ...]
    """Trigger services that hold the arm, relative to the namespace."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Additional environment variables of every process."""

    @property
    def namespace(self) -> str:
        """Absolute, without a slash at the end; empty for none."""
        return absolute_namespace(self.options.namespace)

    def full_name(self, name: str) -> str:
        """A relative name in the namespace."""
        return f"{self.namespace}/{name}"

    def commands(self) -> list[list[str]]:
        """Command lines of all processes, in order."""
        return [node.command(self.namespace, self.options.log_level) for node in self.nodes]


def describe(options: Options) -> Bringup:
    """The processes for these options.

    Raises:
        BringupError: Options that contradict each other, or files that do not exist.
    """
    _check(options)
    scene = options.scene
    if scene == "auto":
        scene = "table" if options.robot in configured_robots() else ""
    files = tuple(str(path) for path in (_robot_file(options.robot), _user_file(options)) if path is not None)
    simulated = options.mode is BringupMode.SIM
    use_sim_time = simulated if options.use_sim_time is None else options.use_sim_time
    # rclpy subscribes to /clock; each of several simulations has a clock of its own.
    remappings = (("/clock", "clock"),) if simulated and absolute_namespace(options.namespace) else ()
    common: dict[str, Value] = {"use_sim_time": use_sim_time, **_robot_parameters(options)}

    def node(executable: str, **parameters: Value) -> NodeSpec:
        return NodeSpec(executable, {**common, **parameters}, files, remappings)

    model_server = node("model_server")
    law: dict[str, Value] = {"law": options.law} if options.law else {}
    monitored = options.planner and options.collision_forecast != "off"
    if monitored:
        law["collision_forecast"] = options.collision_forecast
    own_action, own_hold = "controller/follow_joint_trajectory", "controller/hold"
    holds: tuple[str, ...]
    if simulated:
        # The source of /clock cannot follow it.
        camera: dict[str, Value] = {}
        if options.perception:
            camera = {"camera.enabled": True, "camera.rate": 4.0, "camera.encoding": "mono8"}
        pace: dict[str, Value] = {"real_time_factor": float(options.real_time_factor)}
        own: dict[str, Value] = {"scene": scene, "gui": options.gui, "command_source": "controller"}
        if options.simulator:
            own["simulator"] = options.simulator
        bridge = node("sim_bridge", use_sim_time=False, **own, **pace, **camera)
        nodes: Sequence[NodeSpec] = (bridge, model_server, node("controller", **law))
        action, holds = own_action, (own_hold,)
    elif options.hand_off is HandOff.EFFORT:
        nodes = (model_server, node("controller", **law))
        action, holds = own_action, (own_hold,)
    else:
        nodes = (model_server,) if options.mode is BringupMode.HARDWARE else (node("mock_hardware"), model_server)
        action, holds = f"{TRAJECTORY_CONTROLLER}/follow_joint_trajectory", ()
    unknown = options.unknown or ("free" if simulated and scene else "auto")
    if options.planner:
        # The planner knows the simulated scene; with perception, movable objects are perceived instead.
        known: dict[str, Value] = {"scene": scene, "scene_movable": not options.perception}
        if not simulated:
            known = {}
        if options.perception:
            known["obstacles.expected"] = True
            # Tables of a scene file are in the world already.
            known["surfaces.use"] = not (simulated and scene)
            known["unknown_space.policy"] = unknown
        nodes = (*nodes, node("planner", **known))
        # A trajectory controller of ros2_control does not take forecasts: there is nothing to monitor for.
        if monitored and any(spec.executable == "controller" for spec in nodes):
            nodes = (*nodes, node("collision_monitor"))
    if options.perception:
        # Small images leave time for it: rejects the half-occluded band beside an object.
        checks: dict[str, Value] = {"stereo.cross_check": True} if simulated else {}
        if options.planner and unknown != "free":
            checks["space.enabled"] = True
        nodes = (*nodes, node("perception", **checks, **camera_parameters(options)))
    if options.capability:
        nodes = (*nodes, node("capability"))
    if options.servo:
        controlled = any(spec.executable == "controller" for spec in nodes)
        topic = "controller/joint_stream" if controlled else f"{TRAJECTORY_CONTROLLER}/joint_trajectory"
        nodes = (*nodes, node("servo", command_topic=topic))
    if options.viewer:
        nodes = (*nodes, node("viewer"))
    return Bringup(options, tuple(nodes), action, holds, local_discovery())


def config_folders() -> list[Path]:
    """Folders of parameter files: the source tree, then the data folders of pip and colcon."""
    prefixes = [sys.prefix, *filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))]
    installed = [Path(prefix) / "share" / PACKAGE / "config" for prefix in prefixes]
    return [Path(__file__).resolve().parents[2] / "config", *installed]


def configured_robots() -> dict[str, Path]:
    """Parameter files by robot."""
    found: dict[str, Path] = {}
    for folder in config_folders():
        for path in sorted(folder.glob("*.yaml")):
            found.setdefault(path.stem, path)
    return found


def yaml_scalar(value: Value) -> str:
    """A value for `-p name:=value`: strings are quoted, or `007` and `on` would become numbers and booleans."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(yaml_scalar, value))}]"
    if isinstance(value, str):
        escaped = value.replace("'", "''")
        return f"'{escaped}'"
    return repr(value)


def _robot_file(robot: str) -> Path | None:
    """Parameter file of a configured robot or of a robot folder; None for a description file."""
    from manipapy_core.model import RobotFolder  # brings NumPy, which most commands start without

    known = configured_robots().get(robot)
    folder = RobotFolder.at(robot) if known is None else None
    return known if folder is None else folder.config


def _robot_parameters(options: Options) -> dict[str, Value]:
    """Parameters of every node that select robot and arm; those that are not set stay with the files."""
    given: dict[str, Value] = {
        "robot": "" if options.robot in configured_robots() else str(Path(options.robot).absolute()),
        "xacro_args": options.xacro_args,
        "base_link": options.base,
        "tip_link": options.tip,
        "group": options.group,
        "limits": options.limits and str(Path(options.limits).absolute()),
        "package_paths": tuple(str(Path(path).absolute()) for path in options.package_paths),
        "locked_joints": options.locked_joints,
        "ignore_missing_meshes": options.ignore_missing_meshes,
        "initial_positions": options.initial_positions,
    }
    return {name: value for name, value in given.items() if value}


def _user_file(options: Options) -> Path | None:
    if not options.params_file:
        return None
    path = Path(options.params_file)
    if not path.is_file():
        raise BringupError(f"params_file {options.params_file!r} does not exist; give the path of a YAML file")
    return path.absolute()


def _check(options: Options) -> None:
    check_camera(options)
    if options.log_level not in LOG_LEVELS:
        raise BringupError(f"log_level is {options.log_level!r}; choose {', '.join(LOG_LEVELS)}")
    if not MIN_REAL_TIME_FACTOR <= options.real_time_factor <= MAX_REAL_TIME_FACTOR:
        raise BringupError(
            f"real_time_factor is {options.real_time_factor!r}; give simulated seconds per second from "
            f"{MIN_REAL_TIME_FACTOR:g} to {MAX_REAL_TIME_FACTOR:g}"
        )
    if options.collision_forecast not in FORECAST_POLICIES:
        raise BringupError(
            f"collision_forecast is {options.collision_forecast!r}; choose {', '.join(FORECAST_POLICIES)}"
        )
    if options.simulator not in ("", *SIMULATORS):
        raise BringupError(f"simulator is {options.simulator!r}; choose {', '.join(SIMULATORS)}")
    from manipapy_core.model import RobotFolder

    known = configured_robots()
    if options.xacro_args and options.robot in known:
        raise BringupError(f"xacro_args are for a xacro file; {options.robot!r} is a bundled robot, which takes none")
    if options.robot not in known and RobotFolder.at(options.robot) is None and not Path(options.robot).is_file():
        raise BringupError(
            f"no robot {options.robot!r}: neither a file, nor a robot folder, nor one of "
            f"{', '.join(sorted(known)) or 'none'} in config/"
        )
    if options.limits and not Path(options.limits).is_file():
        raise BringupError(f"limits {options.limits!r} does not exist; give the path of a YAML file")
    for folder in options.package_paths:
        if not Path(folder).is_dir():
            raise BringupError(f"package path {folder!r} is not a folder; correct or remove it")
    if options.hand_off is HandOff.EFFORT and options.mode is BringupMode.MOCK:
        raise BringupError("the mock accepts trajectories only; leave hand_off out, or use mode sim")
    if options.hand_off is HandOff.EFFORT and options.mode is BringupMode.HARDWARE and options.far_side_timeout <= 0.0:
        raise BringupError(
            "efforts to a real arm need a far side that holds the arm when they stop: ros2_control's forward command "
            "controller applies the last torque for ever. Leave hand_off at trajectory, or give the timeout of the far "
            "side with far_side_timeout [s]"
        )
