"""The command `manipapy`. Works without ROS; commands that need it join through an entry point."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, ManipapyError, ModelError
from .calibrate import calibrate
from .json_text import print_json
from .new_robot import new_robot
from .options import (
    BaseLink,
    Json,
    LimitsFile,
    PackagePath,
    RobotSource,
    TipLink,
    XacroArg,
    console,
    escape,
    xacro_arguments,
)
from .progress import progress
from .recordings import plot
from .view import view

if TYPE_CHECKING:
    from ..model import Robot

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 110},
    rich_markup_mode=None,  # plain help: loading rich takes longer than the rest of the start
    help="Robot arms: describe, plan, simulate, control, calibrate.",
)


@app.command()
def describe(
    robot: RobotSource,
    base: BaseLink = None,
    tip: TipLink = None,
    limits: LimitsFile = None,
    package_path: PackagePath = None,
    xacro_arg: XacroArg = None,
    strict: Annotated[bool, typer.Option("--strict", help="List every mistake, also harmless ones.")] = False,
    as_json: Json = False,
) -> None:
    """Print the links, joints, limits and masses of a robot.

    With `--tip`, of one arm of it.

    Example: `manipapy describe panda --tip panda_hand`
    """
    from ..model import Robot

    model = Robot.from_urdf(
        robot,
        package_paths=package_path or (),
        xacro_args=xacro_arguments(xacro_arg),
        limits=limits,
        strict=strict,
    )
    if as_json:
        print_json(_as_data(model, base, tip))
    elif base is None and tip is None:
        print(model.describe())
    elif tip is None:
        print(model.tree(base).describe())
    else:
        print(model.chain(base or model.root, tip).describe())


def _as_data(model: Robot, base: str | None, tip: str | None) -> dict[str, Any]:
    """What `describe` prints, for programs."""
    names = list(model.joints)
    if tip is not None:
        names = list(model.chain(base or model.root, tip).joint_names)
    elif base is not None:
        names = list(model.tree(base).joint_names)
    fields = ("parent", "child", "lower", "upper", "velocity", "effort", "damping", "friction")
    joints = [
        {
            "name": name,
            "type": model.joints[name].type.value,
            **{field: getattr(model.joints[name], field) for field in fields},
            "acceleration": model.motion_limits[name].acceleration if name in model.motion_limits else None,
            "assumed": list(model.assumed_of(name)),
        }
        for name in names
    ]
    links = {name: 0.0 if link.inertial is None else link.inertial.mass for name, link in model.links.items()}
    return {
        "name": model.name,
        "root": model.root,
        "mass": model.mass,
        "joints": joints,
        "link_masses": links,
        "warnings": [str(warning) for warning in model.warnings],
    }


app.command()(new_robot)
app.command()(plot)
app.add_typer(calibrate, name="calibrate")
app.command()(view)


@app.command()
def convert(
    robot: RobotSource,
    output: Annotated[str, typer.Argument(help="URDF file to write.")],
    package_path: PackagePath = None,
    xacro_arg: XacroArg = None,
) -> None:
    """Write a robot as URDF, from xacro, SDF, MJCF or another URDF.

    Example: `manipapy convert arm.xacro arm.urdf --xacro-arg prefix:=left_`
    """
    from ..model import Robot
    from ..model.urdf.write import urdf_text

    model = Robot.from_urdf(robot, package_paths=package_path or (), xacro_args=xacro_arguments(xacro_arg))
    for warning in model.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    try:
        with open(output, "w", encoding="utf-8") as file:
            file.write(urdf_text(model))
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}; choose another file") from error
    print(f"{output}: {len(model.links)} links, {len(model.free_joints)} free joints")


@app.command()
def srdf(
    robot: RobotSource,
    base: BaseLink = None,
    tip: TipLink = None,
    limits: LimitsFile = None,
    package_path: PackagePath = None,
    xacro_arg: XacroArg = None,
) -> None:
    """Print a semantic description (SRDF) of a robot for MoveIt.

    It has groups, grippers, the home pose, and the pairs of links that need no check.

    Example: `manipapy srdf arm.urdf > arm.srdf`
    """
    from ..geometry import Checker, RobotBody
    from ..model import Robot, arm_chain
    from ..model.arms import gravity_in_base
    from ..model.semantics import semantics_of
    from ..model.srdf import srdf_text
    from ..motion.home import find_home, floor_world

    paths = package_path or ()
    model = Robot.from_urdf(
        robot, package_paths=paths, xacro_args=xacro_arguments(xacro_arg), limits=limits
    ).completed()
    for warning in model.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    chain = arm_chain(model, base or "", tip or "")
    with progress(f"checking which links of {model.name} can collide"):
        body = RobotBody.build(model, chain)
        home = find_home(Checker(body, floor_world(body, model)), gravity_in_base(model, chain))
    print(srdf_text(semantics_of(model, chain, body.ignored, home)), end="")


@app.command()
def doctor(as_json: Json = False) -> None:
    """Check Python, compilers, packages, ROS and GPU.

    Says what to do about each that is missing.

    Exits with 1 if something is wrong that has to be right. Example: `manipapy doctor`
    """
    from .doctor import CheckState, examine

    colour = {CheckState.OK: "green", CheckState.ABSENT: "yellow", CheckState.PROBLEM: "bold red"}
    out = console()
    with progress("looking at this machine"):
        findings = list(examine())
    if as_json:
        names = ("subject", "detail", "cure")
        print_json([{"state": item.state.value, **{name: getattr(item, name) for name in names}} for item in findings])
    for finding in () if as_json else findings:
        state = f"[{colour[finding.state]}]{finding.state.value:8}[/]"
        out.print(f"{state} {escape(f'{finding.subject:15}')} {escape(finding.detail)}")
        if finding.cure:
            out.print(f"{'':24} cure: {escape(finding.cure)}", style="dim")
    if any(finding.state is CheckState.PROBLEM for finding in findings):
        raise typer.Exit(1)


@app.command()
def warmup(
    robot: Annotated[
        str, typer.Option(help="A bundled name, a URDF, xacro, SDF or MJCF file, or a robot folder.")
    ] = "ur5",
    base: BaseLink = None,
    tip: TipLink = None,
    package_path: PackagePath = None,
    xacro_arg: XacroArg = None,
) -> None:
    """Compile ahead all that the nodes of a robot need.

    It takes about a minute once, seconds after that.

    Example: `manipapy warmup --robot panda`
    """
    from ..model import Robot, arm_chain
    from .warmup import compile_all

    source = Robot.from_urdf(robot, package_paths=package_path or (), xacro_args=xacro_arguments(xacro_arg))
    model = source.completed()
    compile_all(model, arm_chain(model, base or "", tip or ""))


@app.command()
def bench(
    robot: RobotSource = "ur5",
    base: BaseLink = None,
    tip: TipLink = None,
    package_path: PackagePath = None,
    xacro_arg: XacroArg = None,
    as_json: Json = False,
) -> None:
    """Measure how fast the library is on this machine.

    Kinematics, dynamics, collision checks, planning and servo.

    Example: `manipapy bench panda`
    """
    from ..model import Robot, arm_chain
    from .bench import measure

    source = Robot.from_urdf(robot, package_paths=package_path or (), xacro_args=xacro_arguments(xacro_arg))
    model = source.completed()
    found = measure(model, arm_chain(model, base or "", tip or ""))
    if as_json:
        print_json([vars(row) for row in found])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title, side in (("", "left"), ("median [µs]", "right"), ("p99 [µs]", "right"), ("per second", "right")):
        table.add_column(title, justify=side, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("")
    for row in found:
        figures = (
            ("-",) * 3
            if row.median != row.median
            else (_micros(row.median), _micros(row.p99), f"{1 / row.median:,.0f}")
        )
        table.add_row(row.name, *figures, escape(row.remark))
    console().print(table)


def _micros(seconds: float) -> str:
    """Microseconds with three digits or more."""
    value = 1e6 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all files.")] = False, as_json: Json = False
) -> None:
    """Show or clear the cache of compiled kernels.

    Example: `manipapy cache --clear`
    """
    from ..compiler import cache as kernel_cache

    if clear:
        print(f"{kernel_cache.clear()} files removed from {kernel_cache.folder()}")
        return
    groups: dict[tuple[str, str], list[int]] = {}
    entries = kernel_cache.entries()
    for entry in entries:
        # names are name-digest.ending
        groups.setdefault((entry.path.suffix[1:], entry.path.stem.rpartition("-")[0]), []).append(entry.size)
    if as_json:
        rows = [
            {"content": content, "name": name, "files": len(sizes), "bytes": sum(sizes)}
            for (content, name), sizes in sorted(groups.items())
        ]
        print_json({"folder": str(kernel_cache.folder()), "limit": kernel_cache.limit(), "entries": rows})
        return
    from rich.table import Table

    table = Table("content", "name", "files", "size", box=None, pad_edge=False)
    for (content, name), sizes in sorted(groups.items()):
        table.add_row(content, escape(name), str(len(sizes)), _size(sum(sizes)))
    out = console()
    out.print(f"folder  {escape(str(kernel_cache.folder()))}")
    total = _size(sum(entry.size for entry in entries))
    out.print(f"total   {len(entries)} files, {total} of at most {_size(kernel_cache.limit())}")
    if groups:
        out.print(table)


def _size(size: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def add_commands() -> None:
    """Commands of other packages: this one does not know ROS, so the ROS side registers itself."""
    for entry in importlib.metadata.entry_points(group="manipapy.commands"):
        entry.load()(app)


def main() -> None:
    """Entry point: an error of manipapy is a sentence, not a traceback."""
    try:
        add_commands()
        app()
    except ManipapyError as error:
        print(f"manipapy: {error}", file=sys.stderr)
        for warning in error.warnings if isinstance(error, ModelError) else ():
            print(f"  warning: {warning}", file=sys.stderr)
        sys.exit(2)
