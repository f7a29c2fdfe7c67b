"""The command `manipapy calibrate capture`: images from topics, with the poses of the hand, into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from manipapy_core.cli.calibrate import (
    BoardName,
    Corners,
    Dictionary,
    Marker,
    Square,
    board_of,
    calibrate,
)
from manipapy_core.errors import InputError

from ..common.requirements import require_ros


def register_capture() -> None:
    """Add the command to `manipapy calibrate`."""
    if all(command.name != "capture" for command in calibrate.registered_commands):
        calibrate.command("capture")(capture)


def capture(
    folder: Annotated[Path, typer.Argument(help="Folder to write; made if there is none.")],
    topic: Annotated[list[str], typer.Option(help="Topic of images; for a stereo pair twice, left first.")],
    visits: Annotated[
        Optional[Path],  # noqa: UP045  (typer evaluates annotations itself, on Python 3.10 as well)
        typer.Option(help="File of `calibrate poses`: the arm drives there. Without it, Enter takes an image."),
    ] = None,
    hand: Annotated[bool, typer.Option("--hand/--no-hand", help="Also write the pose of the hand.")] = True,
    transport: Annotated[str, typer.Option(help="raw or compressed.")] = "raw",
    kind: BoardName = "charuco",
    corners: Corners = "8x5",
    square: Square = 0.03,
    marker: Marker = 0.0,
    dictionary: Dictionary = "4X4_250",
    namespace: Annotated[str, typer.Option(help="Namespace of the robot.")] = "",
    speed: Annotated[float, typer.Option(help="Share of the velocity and acceleration limits.")] = 0.2,
    settle: Annotated[float, typer.Option(help="Rest before an image is taken [s].")] = 0.5,
) -> None:
    """Take images of the board from topics, with poses of the hand.

    For `calibrate camera`, `stereo` or `hand-eye`.

    With --visits the arm drives to each pose around obstacles, by the planner of `manipapy up`. The calibration of the
    camera is written beside the images where a camera_info arrives.

    Example: `manipapy calibrate capture views --topic /camera/color/image_raw --visits visits.yaml`
    """
    if len(topic) not in (1, 2):
        raise InputError(f"{len(topic)} topics; give one, or left and right of a stereo pair")
    if transport not in ("raw", "compressed"):
        raise InputError(f"--transport is {transport!r}; choose raw or compressed")
    if visits is not None and not hand:
        raise InputError("--visits drives the hand; leave out --no-hand")
    require_ros()
    from ..client.robot import RobotClient
    from .capture import Capture, by_key, by_visits

    board = board_of(kind, corners, square, marker, dictionary)
    folder.mkdir(parents=True, exist_ok=True)
    with RobotClient(namespace) as robot:
        taker = Capture(robot, folder, topic, transport, board, with_hand=hand)
        if visits is None:
            by_key(taker)
        else:
            by_visits(taker, visits, speed, settle)
        print(taker.finish())
