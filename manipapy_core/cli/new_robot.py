"""The command `manipapy new-robot`: from a description to a folder that everything else takes, and a first motion."""

from __future__ import annotations

import shutil
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from ..errors import InputError
from .options import LimitsFile, PackagePath, XacroArg, console, escape, xacro_arguments
from .progress import progress

if TYPE_CHECKING:
    from ..geometry import Checker, RobotBody, World
    from ..model import Chain, Robot
    from ..model.assumptions import Assumption
    from ..typing import Array
    from .first_motion import PlannedFirstMotion

SHOWN_WARNINGS = 5
Locked = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(help="Joint outside the arm, such as a torso: name:=value; repeatable."),
]


def new_robot(
    file: Annotated[str, typer.Argument(help="A URDF or xacro file.")],
    tip: Annotated[str, typer.Option(help="Link at the end of the arm; default: that of the arm found.")] = "",
    base: Annotated[str, typer.Option(help="Link that stays still; default: that of the arm found.")] = "",
    output: Annotated[str, typer.Option(help="Folder to write; default: the name of the robot, here.")] = "",
    limits: LimitsFile = None,
    package_path: PackagePath = None,
    xacro_arg: XacroArg = None,
    lock: Locked = None,
    ignore_missing_meshes: Annotated[bool, typer.Option(help="Shapes without a mesh file never collide.")] = False,
    motion: Annotated[bool, typer.Option(help="Plan and simulate a first motion.")] = True,
    view: Annotated[bool, typer.Option(help="Show the robot and its motion in a web page until Ctrl-C.")] = False,
    force: Annotated[bool, typer.Option(help="Replace the files of an existing folder.")] = False,
) -> None:
    """Set up your own robot: check it, write its folder, move it.

    Finds arms and grippers and builds the collision body; every command, node and launch file takes the folder.

    Example: `manipapy new-robot arm.urdf.xacro --output my_arm`
    """
    report = _Report()
    robot = _read(report, file, package_path or (), xacro_arguments(xacro_arg), limits, ignore_missing_meshes)
    chain = _find_arms(report, robot, base, tip, lock or ())
    path = _target(robot, output, force)
    with _removed_on_failure(path):
        planned = _set_up(report, path, robot, chain, limits is not None, ignore_missing_meshes, motion)
    report.assumptions(robot.assumptions)
    report.next_steps(path, planned)
    if view:
        _show(report, robot, chain, planned)


class _Report:
    """Prints the steps with the time that they took."""

    def __init__(self) -> None:
        self.console = console()

    @contextmanager
    def step(self, name: str) -> Iterator[list[str]]:
        """A step that adds its results to the list."""
        lines: list[str] = []
        began = time.monotonic()
        with progress(name):
            yield lines
        first, *rest = lines or [""]
        self.console.print(f"[bold]{name:10}[/] {escape(first)} [dim]({time.monotonic() - began:.1f} s)[/]")
        for line in rest:
            self.console.print(f"{'':10} {escape(line)}")

    def warning(self, text: str) -> None:
        """A line that the user should read."""
        self.console.print(f"{'':10} [yellow]warning[/] {escape(text)}")

    def assumptions(self, assumptions: Sequence[Assumption]) -> None:
        """Everything that no description gives."""
        if not assumptions:
            self.console.print(f"[bold]{'assumed':10}[/] nothing: the description gives every limit and mass")
            return
        self.console.print(f"[bold]{'assumed':10}[/] correct these in config/joint_limits.yaml or the description")
        for quantity in dict.fromkeys(assumption.quantity for assumption in assumptions):
            named = [a for a in assumptions if a.quantity == quantity]
            values = ", ".join(f"{a.subject} {a.value:.3g}" for a in named)
            units = " or ".join(dict.fromkeys(a.unit for a in named))
            self.console.print(f"{'':10} {escape(f'{quantity} [{units}]: {values}')}")

    def next_steps(self, folder: Path, planned: PlannedFirstMotion | None) -> None:
        """Commands to continue with."""
        from ..model import bundled_robots

        given = f"./{folder}" if str(folder) in bundled_robots() else str(folder)
        self.console.print(f"[bold]{'next':10}[/] manipapy up --robot {escape(given)} --viewer")
        if planned is not None:
            numbers = " ".join(f"{value:.2f}" for value in planned.goal)
            self.console.print(f"{'':10} manipapy move --joints {numbers}")


def _read(
    report: _Report,
    file: str,
    package_paths: Sequence[str],
    xacro_args: dict[str, str] | None,
    limits: str | None,
    ignore_missing_meshes: bool,
) -> Robot:
    from ..model import MeshGeometry, Robot

    with report.step("read") as lines:
        robot = Robot.from_urdf(
            file, package_paths=package_paths, xacro_args=xacro_args, limits=limits, check_meshes=False
        )
        robot = robot.without_missing_meshes(collisions=ignore_missing_meshes)
        for link in robot.links.values():
            for shape in link.collisions:
                if isinstance(shape.geometry, MeshGeometry) and not shape.geometry.filename:
                    raise InputError(
                        f"the collision mesh {shape.geometry.uri!r} of link {link.name!r} is not found; name its "
                        "folder with --package-path, or check no collisions of such shapes with --ignore-missing-meshes"
                    )
        robot = robot.completed()
        lines.append(
            f"{robot.name}: {len(robot.links)} links, {len(robot.free_joints)} joints, {robot.mass:.1f} kg, "
            f"{len(robot.warnings)} warnings"
        )
    for warning in robot.warnings[:SHOWN_WARNINGS]:
        report.warning(warning)
    if len(robot.warnings) > SHOWN_WARNINGS:
        report.warning(f"and {len(robot.warnings) - SHOWN_WARNINGS} more: manipapy describe lists them")
    return robot


def _target(robot: Robot, output: str, force: bool) -> Path:
    from ..model import RobotFolder
    from .robot_setup import package_name

    folder = Path(output or package_name(robot.name))
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return folder
    if not force:
        raise InputError(f"{str(folder)!r} exists already; give --output another folder, or --force to replace it")
    RobotFolder.at(folder)  # raises for a folder that does not hold one robot
    return folder


@contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    """A folder that was not there before does not stay half written."""
    existed = path.exists()
    try:
        yield
    except BaseException:
        if not existed and path.exists():
            shutil.rmtree(path)
        raise


def _find_arms(report: _Report, robot: Robot, base: str, tip: str, lock: Sequence[str]) -> Chain:
    from ..model import arm_chain, find_arms

    with report.step("arms") as lines:
        chain = arm_chain(robot, base, tip, _locked(lock))
        lines.append(f"chosen: {chain.base} → {chain.tip}, {chain.n} joints: {', '.join(chain.joint_names)}")
        lines += [f"found {arm}" for arm in find_arms(robot)]
        away = [f"{name} at {value:g}" for name, value in chain.locked if robot.joints[name].mimic is None]
        if away:
            lines.append(f"held still: {', '.join(away)}")
    return chain


def _set_up(
    report: _Report,
    path: Path,
    read: Robot,
    wanted: Chain,
    keep_ranges: bool,
    ignore_missing_meshes: bool,
    motion: bool,
) -> PlannedFirstMotion | None:
    """Write the folder and make the first motion, with the robot as everyone else will read it: from the folder."""
    from ..geometry import Checker
    from ..model import arm_chain
    from ..model.arms import gravity_in_base
    from ..motion.home import find_home, floor_world
    from .robot_setup import read_description, write_description, write_parameters

    folder = write_description(path, read, keep_ranges)
    robot = read_description(folder, ignore_missing_meshes)
    locked = {name: value for name, value in wanted.locked if robot.joints[name].mimic is None}
    chain = arm_chain(robot, wanted.base, wanted.tip, locked)
    body = _collision_body(report, robot, chain)
    world = floor_world(body, robot)
    if not world.names:
        report.warning("the robot touches the floor at its root link everywhere: planned without a floor")
    checker = Checker(body, world)
    with report.step("home") as lines:
        home = find_home(checker, gravity_in_base(robot, chain))
        lines.append(" ".join(f"{value:.4g}" for value in home))
    with report.step("folder") as lines:
        write_parameters(folder, robot, chain, checker.body, home, ignore_missing_meshes)
        names = [folder.description, folder.semantic, folder.config, folder.limits]
        lines.append(f"{path}: {', '.join(str(name.relative_to(folder.path)) for name in names if name)}")
    return _first_motion(report, robot, checker, world, home) if motion else None


def _collision_body(report: _Report, robot: Robot, chain: Chain) -> RobotBody:
    from ..geometry import RobotBody

    with warnings.catch_warnings(record=True) as raised, report.step("collision") as lines:
        warnings.simplefilter("always", RuntimeWarning)
        body = RobotBody.build(robot, chain)
        spheres, parts = (sum(len(getattr(group, name)) for group in body.groups) for name in ("spheres", "parts"))
        left_out = Counter(body.ignored.values())
        lines.append(f"{len(body.groups)} links with shapes: {parts} convex parts, {spheres} spheres")
        lines.append(
            f"{len(body.pairs)} pairs of links are checked; left out: "
            + (", ".join(f"{count} {reason}" for reason, count in left_out.items()) or "none")
        )
    for warning in raised:
        report.warning(str(warning.message))
    return body


def _first_motion(report: _Report, robot: Robot, checker: Checker, world: World, home: Array) -> PlannedFirstMotion:
    from ..model.arms import gravity_in_base
    from .first_motion import NoMotion, plan_first_motion, simulate

    with report.step("plan") as lines:
        planned = plan_first_motion(checker, world, home, gravity=gravity_in_base(robot, checker.body.chain))
        around = "" if planned.obstacle is None else " around a ball in the way"
        lines.append(
            f"{planned.trajectory.duration:.2f} s from home{around}, planned in "
            f"{1e3 * planned.result.timings.total:.0f} ms, verified to keep every limit and touch nothing"
        )
    with report.step("simulate") as lines:
        done = simulate(robot, checker, planned)
        lines.append(
            f"{done.outcome.status.name.lower()}: {done.outcome.text or 'goal reached'}; largest error "
            f"{1e3 * done.error:.2g} mrad or mm, {done.colliding} of {done.states} states collide, "
            f"{len(done.contacts)} links in contact"
        )
    if not done.outcome.succeeded or done.colliding or done.contacts:
        touched = ", ".join(done.contacts) or "none"
        raise NoMotion(robot.name, f"the simulated motion failed; links in contact: {touched}")
    return planned


def _show(report: _Report, robot: Robot, chain: Chain, planned: PlannedFirstMotion | None) -> None:
    """Show the robot in a web page until Ctrl-C, moving to and fro if there is a motion."""
    from ..draw.web_view import ArmView

    motion = None if planned is None else planned.trajectory
    with ArmView(robot, chain) as page:
        report.console.print(f"[bold]{'view':10}[/] {page.url} shows the robot; Ctrl-C ends it")
        began = time.monotonic()
        try:
            while True:
                time.sleep(0.04)
                if motion is not None:
                    phase = (time.monotonic() - began) % (2.0 * motion.duration)
                    page.show(motion.positions[motion.times.searchsorted(min(phase, 2.0 * motion.duration - phase))])
        except KeyboardInterrupt:
            return


def _locked(words: Sequence[str]) -> dict[str, float]:
    positions = {}
    for word in words:
        name, assigned, value = word.partition(":=")
        try:
            positions[name] = float(value)
        except ValueError:
            assigned = ""
        if not assigned:
            raise InputError(f"--lock is {word!r}; write name:=position with a number [rad or m]")
    return positions
