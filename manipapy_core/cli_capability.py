"""Commands `manipapy reach build|query|place|show` and `manipapy polytope`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer
from rich.console import Console
from rich.table import Table

from .errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .capability import ReachMap
    from .model import Chain, Robot

reach = typer.Typer(no_args_is_help=True, help="Reachability maps: build, ask, and place a base by them.")

RobotName = Annotated[str, typer.Argument(help="A bundled name such as ur5, or a URDF or xacro file.")]
TipLink = Annotated[str, typer.Option(help="End of the arm.")]
# typer evaluates annotations itself, on Python 3.10 as well, hence Optional.
BaseLink = Annotated[Optional[str], typer.Option(help="Link that stays still; the root when not given.")]  # noqa: UP045
MapFile = Annotated[Path, typer.Option("--map", help="The map's file.")]
Poses = Annotated[
    list[str], typer.Argument(help='Poses of the tip: "x y z roll pitch yaw" in metres and degrees, fixed axes.')
]


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    app.add_typer(reach, name="reach")
    app.command()(polytope)


@reach.command()
def build(
    robot: RobotName,
    tip: TipLink,
    map_file: MapFile,
    base: BaseLink = None,
    samples: Annotated[int, typer.Option(help="Random configurations.")] = 10_000_000,
    resolution: Annotated[float, typer.Option(help="Edge of a cell [m].")] = 0.05,
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 0,
    self_collision: Annotated[bool, typer.Option(help="Leave out configurations that hit the arm itself.")] = True,
    verify: Annotated[int, typer.Option(help="Poses per edge cell to check by inverse kinematics.")] = 0,
    block: Annotated[int, typer.Option(help="Samples per task; large ones travel less.")] = 500_000,
    workers: Annotated[int, typer.Option(help="Processes on this machine.")] = 1,
    scheduler: Annotated[Optional[str], typer.Option(help="Dask scheduler, such as tcp://host:8786.")] = None,  # noqa: UP045
) -> None:
    """Build a map, or go on with one that was interrupted."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from .capability import Plan, build_map

    model, chain = _arm(robot, base, tip)
    plan = Plan(
        model, chain.base, tip, samples=samples, resolution=resolution, seed=seed,
        self_collision=self_collision, verify=verify, block=block,
    )  # fmt: skip
    rate = TextColumn("{task.fields[rate]}")
    with Progress(TextColumn("samples"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), rate) as bar:
        task = bar.add_task("samples", total=samples, rate="")

        def progress(done: int, _: int) -> None:
            bar.update(task, completed=done)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed / 1e6:.2f} million/s" if speed else "")

        found = build_map(plan, map_file, workers=workers, scheduler=scheduler, progress=progress)
    print(f"{map_file}: {len(found.cell):,} cells met, {found.memory / 1e6:.0f} MB in memory")


@reach.command()
def query(robot: RobotName, poses: Poses, tip: TipLink, map_file: MapFile, base: BaseLink = None) -> None:
    """Tell which poses are reachable, how well, and with which joints."""
    import numpy as np

    found, _ = _load(robot, base, tip, map_file)
    T = np.array([_pose(text) for text in poses])
    table = Table("pose", "reachable", "quality", "seed [rad or m]")
    for text, yes, quality, seed in zip(poses, found.reachable(T, exact=True), found.quality(T), found.seeds(T)):
        joints = " ".join(f"{value:.3f}" for value in seed) if yes and not np.isnan(seed).any() else ""
        table.add_row(text, "yes" if yes else "no", f"{quality:.3g}" if yes else "", joints)
    Console().print(table)


@reach.command()
def place(
    robot: RobotName,
    poses: Poses,
    tip: TipLink,
    map_file: MapFile,
    base: BaseLink = None,
    floor: Annotated[float, typer.Option(help="Height of the floor [m].")] = 0.0,
    count: Annotated[int, typer.Option(help="How many places.")] = 5,
) -> None:
    """Find places on a level floor for the base, from which all the poses (in the world) are reachable."""
    import numpy as np

    from .capability import Floor, place_base

    found, _ = _load(robot, base, tip, map_file)
    level = np.eye(4)
    level[2, 3] = floor
    places = place_base(found, np.array([_pose(text) for text in poses]), Floor(T_world_floor=level), count=count)
    table = Table("x [m]", "y [m]", "heading [°]", "score")
    for spot in places:
        table.add_row(f"{spot.x:.3f}", f"{spot.y:.3f}", f"{np.degrees(spot.heading):.0f}", f"{spot.score:.3g}")
    Console().print(table)
    if not places:
        raise typer.Exit(1)


@reach.command()
def show(
    robot: RobotName,
    tip: TipLink,
    map_file: MapFile,
    picture: Annotated[Path, typer.Argument(help="Image file to write.")],
    base: BaseLink = None,
    height: Annotated[float, typer.Option(help="Of the tip [m].")] = 0.3,
) -> None:
    """Draw one height of a map, for grasps from above and from the side."""
    from .capability.drawing import draw_map_slice
    from .plots import new_figure

    found, _ = _load(robot, base, tip, map_file)
    figure = new_figure(figsize=(11, 5))
    for index, (name, tilt) in enumerate((("from above", 3.14159), ("from the side", 1.5708))):
        axes = figure.add_subplot(1, 2, index + 1)
        figure.colorbar(draw_map_slice(axes, found, height=height, tilt=tilt), ax=axes, shrink=0.8)
        axes.set_title(f"{name}, z = {height:g} m")
    figure.savefig(picture, dpi=110)
    print(f"{picture}: quality {found.best.min():.3g} to {found.best.max():.3g}")


def polytope(
    robot: RobotName,
    joints: Annotated[list[float], typer.Argument(help="Joint positions [rad or m].")],
    tip: TipLink,
    base: BaseLink = None,
    kind: Annotated[str, typer.Option(help="velocity, motion, force or acceleration.")] = "velocity",
) -> None:
    """Print the polytope of the tip: corners, half-spaces, volume, largest ball."""
    from . import capability

    makers: dict[str, Callable[..., Any]] = {
        "velocity": capability.velocity_polytope,
        "motion": capability.motion_polytope,
        "force": capability.force_polytope,
        "acceleration": capability.acceleration_polytope,
    }
    if kind not in makers:
        raise InputError(f"no polytope {kind!r}; there are: {', '.join(makers)}")
    _, chain = _arm(robot, base, tip)
    if len(joints) != chain.n:
        raise InputError(f"{len(joints)} joint positions; this arm has {chain.n}: {', '.join(chain.joint_names)}")
    found = makers[kind](chain, joints)
    if found.is_empty:
        print("empty: nothing is allowed here")
        return
    print(f"{len(found.vertices)} corners, {len(found.normals)} half-spaces, dimension {found.dimension}")
    print(f"volume {found.volume:.6g}, largest ball {found.largest_ball.radius:.6g}")
    table = Table("x", "y", "z")
    for corner in found.vertices:
        table.add_row(*(f"{value:.4f}" for value in corner))
    Console().print(table)


def _arm(name: str, base: str | None, tip: str) -> tuple[Robot, Chain]:
    from .model import Robot

    robot = Robot.from_urdf(name)
    return robot, robot.chain(base or robot.root, tip)


def _load(name: str, base: str | None, tip: str, path: Path) -> tuple[ReachMap, Chain]:
    from .capability import load_map

    _, chain = _arm(name, base, tip)
    return load_map(path, chain), chain


def _pose(text: str) -> NDArray[np.float64]:
    import numpy as np

    from . import lie

    try:
        numbers = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        numbers = []
    if len(numbers) != 6:
        raise InputError(f'pose {text!r} is not six numbers; write "x y z roll pitch yaw" in metres and degrees')
    roll, pitch, yaw = np.radians(numbers[3:])
    R = lie.exp_so3([0, 0, yaw]) @ lie.exp_so3([0, pitch, 0]) @ lie.exp_so3([roll, 0, 0])
    return lie.pose(R, numbers[:3])
