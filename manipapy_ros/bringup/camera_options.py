"""Options of a bringup for the camera, as parameters of perception."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from manipapy_core.errors import InputError

if TYPE_CHECKING:
    from .description import Options

CAMERA_INPUTS = ("stereo", "depth", "points")
CAMERA_TRANSPORTS = ("raw", "compressed", "compressedDepth")
"""Values of manipapy_ros.perception.camera_topics, without its imports."""
UNKNOWN_POLICIES = ("blocked", "free", "auto")
"""Values of manipapy_core.perception.UnknownSpace, without its import."""


def camera_parameters(options: Options) -> dict[str, bool | str]:
    """Parameters of perception; those that are not set stay with the files."""
    given: dict[str, bool | str] = {
        "input": options.camera_input,
        "camera.name": options.camera_name,
        "camera.topics": options.camera_topics,
        "camera.info_topics": options.camera_info_topics,
        "camera.transport": options.camera_transport,
        "camera.pose": _absolute_pose(options.camera_pose),
        "rectify": options.camera_rectify,
    }
    return {name: value for name, value in given.items() if value}


def _absolute_pose(text: str) -> str:
    """The nodes may run in another folder."""
    return str(Path(text).absolute()) if text.endswith((".yaml", ".yml")) else text


def check_camera(options: Options) -> None:
    """Refuse options that the node would refuse, before anything is started.

    Raises:
        InputError: Options that contradict each other, or a pose that cannot be read.
    """
    given = camera_parameters(options)
    if given and not options.perception:
        raise InputError(f"{', '.join(given)}: these are for perception, which is not started; add perception")
    if options.unknown and not (options.perception and options.planner):
        raise InputError("unknown is for planner and perception, which are not both started; add perception")
    for name, known in (
        ("camera_input", CAMERA_INPUTS),
        ("camera_transport", CAMERA_TRANSPORTS),
        ("unknown", UNKNOWN_POLICIES),
    ):
        value = getattr(options, name)
        if value and value not in known:
            raise InputError(f"{name} is {value!r}; choose {', '.join(known)}")
    if options.camera_pose:
        from manipapy_core.perception import CameraPose

        CameraPose.parse(options.camera_pose)
