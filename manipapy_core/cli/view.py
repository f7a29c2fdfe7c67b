"""Command `manipapy view`: a robot, a trajectory, a reachability map or a recording on a web page, without ROS."""

from __future__ import annotations

import contextlib
import os
import time
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from ..errors import InputError
from .options import BaseLink, PackagePath, TipLink, XacroArg, xacro_arguments
from .progress import Display, progress

if TYPE_CHECKING:
    from ..draw import ArmView
    from ..model import Robot

HDF5, ZIP = b"\x89HDF\r\n", b"PK\x03\x04"
"""First bytes of a map."""
POLL = 0.2
"""[s]"""


def view(
    source: Annotated[
        str, typer.Argument(help="A robot (name, URDF, xacro, SDF, MJCF or folder), trajectory, map or recording.")
    ],
    robot: Annotated[str, typer.Option(help="Robot of a trajectory or a map; a recording has its own.")] = "",
    base: BaseLink = None,
    tip: TipLink = None,
    package_path: PackagePath = None,
    xacro_arg: XacroArg = None,
    port: Annotated[int, typer.Option(help="Of the page; the next free one is taken if it is in use.")] = 8080,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
    seconds: Annotated[
        Optional[float],  # noqa: UP045  (typer evaluates annotations itself, on Python 3.10 as well)
        typer.Option(help="Stop after so long [s]; default: on Ctrl-C."),
    ] = None,
) -> None:
    """Show a robot, trajectory, map or recording in the browser.

    Example: `manipapy view panda`, `manipapy view motion.json --robot panda` or `manipapy view run.mcap`
    """
    kind = kind_of(source)
    options = {"package_paths": package_path or (), "xacro_args": xacro_arguments(xacro_arg)}
    with opened(kind, source, robot, base or "", tip or "", port, options) as page:
        print(f"{kind} {source} in the browser: {page.url} (Ctrl-C ends it)", flush=True)
        if open_browser and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            webbrowser.open(page.url)
        end = time.monotonic() + (float("inf") if seconds is None else seconds)
        with contextlib.suppress(KeyboardInterrupt):
            while time.monotonic() < end:
                time.sleep(POLL)


def kind_of(source: str) -> str:
    """What a source is: recording, map, trajectory or robot."""
    path = Path(source)
    if not path.is_file():
        return "robot"
    if path.suffix == ".mcap":
        return "recording"
    if path.suffix == ".json":
        return "trajectory"
    with path.open("rb") as file:
        head = file.read(8)
    return "map" if head.startswith((HDF5, ZIP)) else "robot"


@contextlib.contextmanager
def opened(
    kind: str,
    source: str,
    robot: str,
    base: str,
    tip: str,
    port: int,
    options: dict[str, Any],
) -> Iterator[ArmView]:
    """The page of a source, served until the context ends."""
    with contextlib.ExitStack() as stack:
        with progress(f"reading {source}") as reading:
            page = _page(stack, reading, kind, source, robot, base, tip, port, options)
        yield page


def _page(
    stack: contextlib.ExitStack,
    reading: Display,
    kind: str,
    source: str,
    robot: str,
    base: str,
    tip: str,
    port: int,
    options: dict[str, Any],
) -> ArmView:
    from ..draw import ArmView
    from ..model import Robot, arm_chain

    recording = trajectory = None
    if kind == "recording":
        from ..recording import Recording

        recording = Recording(source, progress=reading.update)
    elif kind == "trajectory":
        from ..draw.trajectory_view import TrajectoryFile

        trajectory = TrajectoryFile.read(Path(source))
        robot = robot or trajectory.robot
    text = recording.description() if recording is not None and not robot else None
    wanted = text or (source if kind == "robot" else robot)
    if not wanted:
        raise InputError(f"which robot is {source} of? Give --robot with a bundled name or a file")
    model: Robot = Robot.from_urdf(wanted, **options, check_meshes=text is None).completed()
    chain = arm_chain(model, base, tip)
    follows, plots = kind in ("robot", "map"), kind == "recording"
    page = stack.enter_context(ArmView(model, chain, port=port, plots=plots, arm_follows_goal=follows))
    if recording is not None:
        from ..draw.recording_view import RecordingView

        stack.callback(RecordingView(page, recording).close)
    elif trajectory is not None:
        from ..draw.trajectory_view import TrajectoryView

        stack.callback(TrajectoryView(page, trajectory).close)
    elif kind == "map":
        _show_map(page, source)
    else:
        page.status.show_text(f"**{model.name}**: {chain.n} joints, {chain.base} to {chain.tip}")
    return page


def _show_map(page: ArmView, source: str) -> None:
    from ..reachability import load_map, voxels

    found = voxels(load_map(source, page.arm.chain), step=0.05)
    page.add_map().show(found.points, found.best, found.step)
    page.status.show_text(
        f"**{len(found.points)} positions** are reachable, {1e2 * found.step:.0f} cm apart; blue: best"
    )
