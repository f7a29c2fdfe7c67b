"""Commands `manipapy reach build|query|place|show` and `manipapy polytope`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from ..errors import InputError
from .json_text import print_json
from .options import Json, escape
from .progress import progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

    from ..model import Chain, Robot
    from ..reachability import Polygon, ReachMap

reach = typer.Typer(no_args_is_help=True, help="Reachability maps: build, query, and place a base by them.")

RobotName = Annotated[str, typer.Argument(help="A bundled name such as ur5, or a URDF or xacro file.")]
TipLink = Annotated[str, typer.Option(help="End of the arm.")]
# typer evaluates annotations itself, on Python 3.10 as well, hence Optional.
BaseLink = Annotated[Optional[str], typer.Option(help="Link that stays still; the root when not given.")]  # noqa: UP045
MapFile = Annotated[Path, typer.Option("--map", help="The map's file.")]
Outlines = Annotated[
    Optional[list[str]], typer.Option(help='Polygon, "x y, x y, x y" [m] or a file of such numbers; may be repeated.')  # noqa: UP045
]
ImageFile = Annotated[Optional[Path], typer.Option(help="Image file to write.")]  # noqa: UP045
Poses = Annotated[
    list[str], typer.Argument(help='Poses of the tip: "x y z roll pitch yaw" in metres and degrees, fixed axes.')
]


def register(app: typer.Typer) -> None:
    """Adds the commands to the program."""
    app.add_typer(reach, name="reach")
    app.command(context_settings={"ignore_unknown_options": True})(polytope)  # negative numbers are no options


@reach.command()
def build(
    robot: RobotName,
    tip: TipLink,
    map_file: MapFile,
    base: BaseLink = None,
    samples: Annotated[int, typer.Option(help="Random configurations.")] = 10_000_000,
    resolution: Annotated[float, typer.Option(help="Edge of a cell [m]; 0: as fine as the index suits.")] = 0.0,
    tilts: Annotated[int, typer.Option(help="Cells of the tip's tilt; 0: as many as the index suits.")] = 0,
    index: Annotated[str, typer.Option(help="4d (both ends of the arm turn), 6d (any arm) or auto.")] = "auto",
    support: Annotated[Optional[str], typer.Option(help="Polygon that the centre of mass must stay above.")] = None,  # noqa: UP045
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 0,
    self_collision: Annotated[bool, typer.Option(help="Leave out configurations that hit the arm itself.")] = True,
    verify: Annotated[int, typer.Option(help="Poses per edge cell to check by inverse kinematics.")] = 0,
    block: Annotated[int, typer.Option(help="Samples per task; large ones travel less.")] = 500_000,
    workers: Annotated[int, typer.Option(help="Processes on this machine.")] = 1,
    scheduler: Annotated[Optional[str], typer.Option(help="Dask scheduler, such as tcp://host:8786.")] = None,  # noqa: UP045
) -> None:
    """Build a map, or continue with one that was interrupted.

    Example: `manipapy reach build ur5 --tip tool0 --map ur5.map --samples 1000000`
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from ..reachability import MapSpec, build_map

    model, chain = _arm(robot, base, tip)
    plan = MapSpec(
        model, chain.base, tip, samples=samples, resolution=resolution, tilts=tilts, index=index, seed=seed,
        self_collision=self_collision, verify=verify, block=block, support=_outline(support) if support else None,
    )  # fmt: skip
    rate = TextColumn("{task.fields[rate]}")
    with Progress(TextColumn("samples"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), rate) as bar:
        task = bar.add_task("samples", total=samples, rate="")

        def show_samples(done: int, _: int) -> None:
            bar.update(task, completed=done)
            speed = bar.tasks[0].speed
            bar.update(task, rate=f"{speed / 1e6:.2f} million/s" if speed else "")

        found = build_map(plan, map_file, workers=workers, scheduler=scheduler, progress=show_samples)
    kind = f"{found.grid.dimensions} dimensions, {len(found.cell):,} of {found.grid.cells:,} cells met"
    print(f"{map_file}: {kind}, {found.memory / 1e6:.0f} MB in memory")


@reach.command()
def query(
    robot: RobotName, poses: Poses, tip: TipLink, map_file: MapFile, base: BaseLink = None, as_json: Json = False
) -> None:
    """Tell which poses are reachable, how well, and with which joints.

    Example: `manipapy reach query ur5 "0.4 0 0.5 180 0 0" --tip tool0 --map ur5.map`
    """
    import numpy as np

    found, _ = _load(robot, base, tip, map_file)
    T = np.array([_pose(text) for text in poses])
    with progress(f"checking {len(poses)} poses"):
        rows = list(zip(poses, found.reachable(T, exact=True), found.quality(T), found.clearances(T), found.seeds(T)))
    if as_json:
        names = ("pose", "reachable", "quality", "self_distance", "seed")
        print_json([dict(zip(names, row)) for row in rows])
        return
    table = _table("pose", "reachable", "quality", "self-distance [m]", "seed [rad or m]")
    for text, yes, quality, clearance, seed in rows:
        joints = " ".join(f"{value:.3f}" for value in seed) if yes and not np.isnan(seed).any() else ""
        apart = f"{clearance:.3f}" if yes and np.isfinite(clearance) else ""
        table.add_row(text, "yes" if yes else "no", f"{quality:.3g}" if yes else "", apart, joints)
    _print(table)


@reach.command()
def place(
    robot: RobotName,
    poses: Poses,
    tip: TipLink,
    map_file: MapFile,
    base: BaseLink = None,
    floor: Annotated[float, typer.Option(help="Height of the floor [m].")] = 0.0,
    slope: Annotated[str, typer.Option(help='"roll pitch" of the floor [°]; it still meets the z axis there.')] = "0 0",
    mount: Annotated[str, typer.Option(help="Pose of the base on the floor: its height and tilt.")] = "0 0 0 0 0 0",
    keep_in: Outlines = None,
    keep_out: Outlines = None,
    footprint: Annotated[str, typer.Option(help="Radius, length and width, or a polygon around the base [m].")] = "",
    score: Annotated[str, typer.Option(help="minimum, mean or product of the qualities of the poses.")] = "minimum",
    count: Annotated[int, typer.Option(help="How many places.")] = 5,
    step: Annotated[Optional[float], typer.Option(help="Distance of neighbouring places [m].")] = None,  # noqa: UP045
    headings: Annotated[int, typer.Option(help="Directions of the base that are tried.")] = 16,
    image: ImageFile = None,
    as_json: Json = False,
) -> None:
    """Find places on a floor for the base, from which all the poses (in the world) are reachable.

    Example: `manipapy reach place ur5 "0.4 0 0.5 180 0 0" --tip tool0 --map ur5.map`
    """
    import numpy as np

    from ..reachability import Combine, Floor, place_base, score_floor

    kinds = {kind.value: kind for kind in Combine}
    if score not in kinds:
        raise InputError(f"no score {score!r}; there are: {', '.join(kinds)}")
    found, _ = _load(robot, base, tip, map_file)
    ground = Floor(
        T_world_floor=_pose(f"0 0 {floor} {slope} 0"),
        T_floor_base=_pose(mount),
        keep_in=tuple(_outline(text) for text in keep_in or ()),
        keep_out=tuple(_outline(text) for text in keep_out or ()),
        footprint=_footprint(footprint) if footprint else None,
    )
    grasps = np.array([_pose(text) for text in poses])
    how: dict[str, Any] = {"combine": kinds[score], "step": step, "headings": headings}
    with progress("looking for places of the base"):
        places = place_base(found, grasps, ground, count=count, **how)
    table = _table("x [m]", "y [m]", "heading [°]", "score", "joints for each pose [rad or m]")
    if as_json:
        names = ("x", "y", "heading", "score", "q")
        print_json([{name: getattr(spot, name) for name in names} for spot in places])
    for spot in () if as_json else places:
        joints = "\n".join(" ".join(f"{value:.3f}" for value in q) for q in spot.q)
        table.add_row(f"{spot.x:.3f}", f"{spot.y:.3f}", f"{np.degrees(spot.heading):.0f}", f"{spot.score:.3g}", joints)
    if not as_json:
        _print(table)
    if image is not None:
        from ..draw import new_figure
        from ..draw.capability import draw_placements

        with progress("drawing"):
            figure = new_figure(figsize=(7, 6))
            axes = figure.add_subplot(1, 1, 1)
            colours = draw_placements(axes, score_floor(found, grasps, ground, **how), places)
            figure.colorbar(colours, ax=axes, shrink=0.8, label="score, best heading")
            figure.savefig(image, dpi=110)
    if not places:
        raise typer.Exit(1)


@reach.command()
def show(
    robot: RobotName,
    tip: TipLink,
    map_file: MapFile,
    image: Annotated[Path, typer.Argument(help="Image file to write.")],
    base: BaseLink = None,
    height: Annotated[Optional[list[float]], typer.Option(help="Of the tip [m]; may be repeated.")] = None,  # noqa: UP045
    tilt: Annotated[
        Optional[list[float]],  # noqa: UP045
        typer.Option(help="Of the tip's z axis from the base's [°]: 180 from above, 90 from the side; repeatable."),
    ] = None,
    value: Annotated[str, typer.Option(help="quality, penalised (joint limits count) or clearance.")] = "quality",
) -> None:
    """Draw slices of a map, coloured by quality or by the distance between the arm's own links.

    Example: `manipapy reach show ur5 --tip tool0 --map ur5.map --image ur5.png`
    """
    from math import radians

    from ..draw import new_figure
    from ..draw.capability import draw_map_slice

    if value not in ("quality", "penalised", "clearance"):
        raise InputError(f"no value {value!r}; there are: quality, penalised, clearance")
    found, _ = _load(robot, base, tip, map_file)
    heights, tilts = height or [0.3], tilt or [180.0, 90.0]
    figure = new_figure(figsize=(5.5 * len(tilts), 5 * len(heights)))
    kinds = {"penalised": value == "penalised", "clearance": value == "clearance"}
    slices = [(z, angle) for z in heights for angle in tilts]
    with progress("drawing slices") as display:
        for number, (z, angle) in enumerate(slices):
            display.update(number, len(slices))
            axes = figure.add_subplot(len(heights), len(tilts), number + 1)
            colours = draw_map_slice(axes, found, height=z, tilt=radians(angle), **kinds)
            figure.colorbar(colours, ax=axes, shrink=0.8, label=value)
            axes.set_title(f"tilt {angle:g}°, z = {z:g} m")
        figure.savefig(image, dpi=110)
    print(f"{image}: quality {found.best.min():.3g} to {found.best.max():.3g}")


def polytope(
    robot: RobotName,
    joints: Annotated[list[float], typer.Argument(help="Joint positions [rad or m].")],
    tip: TipLink,
    base: BaseLink = None,
    kind: Annotated[str, typer.Option(help="velocity, motion, force or acceleration.")] = "velocity",
    as_json: Json = False,
) -> None:
    """Print the polytope of the tip: corners, half-spaces, volume, largest ball.

    Example: `manipapy polytope ur5 0 -1.2 1.4 -0.7 0.5 2 --tip tool0 --kind force`
    """
    with progress("loading"):
        from .. import polytopes  # loads Numba, which most commands do without

    makers: dict[str, tuple[Callable[..., Any], str]] = {
        "velocity": (polytopes.velocity_polytope, "m/s"),
        "motion": (polytopes.motion_polytope, "m"),
        "force": (polytopes.force_polytope, "N"),
        "acceleration": (polytopes.acceleration_polytope, "m/s²"),
    }
    if kind not in makers:
        raise InputError(f"no polytope {kind!r}; there are: {', '.join(makers)}")
    _, chain = _arm(robot, base, tip)
    if len(joints) != chain.n:
        raise InputError(f"{len(joints)} joint positions; this arm has {chain.n}: {', '.join(chain.joint_names)}")
    make, unit = makers[kind]
    with progress("computing the polytope"):
        found = make(chain, joints)
    if as_json:
        shape: dict[str, Any] = {"kind": kind, "unit": unit, "empty": bool(found.is_empty)}
        if not found.is_empty:
            names = ("dimension", "volume", "vertices", "normals", "offsets")
            shape |= {name: getattr(found, name) for name in names}
            shape["largest_ball_radius"] = found.largest_ball.radius
        print_json(shape)
        return
    if found.is_empty:
        print("empty: nothing is allowed here")
        return
    print(f"{len(found.vertices)} corners, {len(found.normals)} half-spaces, dimension {found.dimension}")
    print(f"volume {found.volume:.6g} ({unit})³, radius of the largest ball {found.largest_ball.radius:.6g} {unit}")
    table = _table(*(f"{axis} [{unit}]" for axis in "xyz"))
    for corner in found.vertices:
        table.add_row(*(f"{value:.4f}" for value in corner))
    _print(table)


def _print(table: Table) -> None:
    from rich.console import Console

    Console().print(table)


def _table(*headers: str) -> Table:
    from rich.table import Table

    return Table(*map(escape, headers))  # else units in brackets are taken for colours and vanish


def _arm(name: str, base: str | None, tip: str) -> tuple[Robot, Chain]:
    from ..model import Robot

    robot = Robot.from_urdf(name)
    return robot, robot.chain(base or robot.root, tip)


def _load(name: str, base: str | None, tip: str, path: Path) -> tuple[ReachMap, Chain]:
    from ..reachability import load_map

    _, chain = _arm(name, base, tip)
    with progress(f"reading {path}"):
        return load_map(path, chain), chain


def _outline(text: str) -> Polygon:
    from ..reachability import Polygon

    file = Path(text)
    try:
        return Polygon.from_text(file.read_text(encoding="utf-8"))
    except OSError:  # a long line of numbers is no file name either
        return Polygon.from_text(text)


def _footprint(text: str) -> Polygon:
    from ..reachability import Polygon

    try:
        numbers = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        numbers = []
    if len(numbers) == 1:
        return Polygon.disc(numbers[0])
    if len(numbers) == 2:
        length, width = numbers
        return Polygon.rectangle((-0.5 * length, -0.5 * width), (0.5 * length, 0.5 * width))
    return _outline(text)


def _pose(text: str) -> NDArray[np.float64]:
    import numpy as np

    from .. import lie

    try:
        numbers = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        numbers = []
    if len(numbers) != 6:
        raise InputError(f'pose {text!r} is not six numbers; write "x y z roll pitch yaw" in metres and degrees')
    roll, pitch, yaw = np.radians(numbers[3:])
    R = lie.exp_so3([0, 0, yaw]) @ lie.exp_so3([0, pitch, 0]) @ lie.exp_so3([roll, 0, 0])
    return lie.pose(R, numbers[:3])
