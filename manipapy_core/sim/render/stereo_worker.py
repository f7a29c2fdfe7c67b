"""The far side of `stereo_process`: a process that mirrors a world and renders what its stereo camera sees.

Normally the pictures are sent back. A program that wants to use them on the spot, such as to publish them, calls
`serve` with a `deliver` of its own and is given as the command of `StereoProcess`:

    serve(connection_from_arguments(), publish)
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from ..camera import StereoCamera, StereoFrame
from ..world_view import WorldContent, WorldView
from .replica import RenderReplica

Deliver = Callable[[StereoFrame, StereoCamera], None]

DEFAULT_PROGRAM = "from manipapy_core.sim.render.stereo_worker import *; serve(connection_from_arguments())"
READY = "ready"
"""The first word of the worker."""


def connection_from_arguments() -> Connection:
    """The connection to `StereoProcess`, which gives its number as the last argument of the command."""
    return Connection(int(sys.argv[-1]))


def serve(connection: Connection, deliver: Deliver | None = None) -> None:
    """Render views as they come until the other side stops or is gone.

    Args:
        connection: To a `StereoProcess`.
        deliver: Gets every frame here; without it frames are sent back.
    """
    # Ctrl-C reaches all processes of a terminal; this one ends when the other side closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    camera: StereoCamera | None = None
    with RenderReplica() as mirror:
        _send(connection, READY)
        mirror.warm_up()
        while (message := _receive(connection)) is not None:
            if isinstance(message, StereoCamera):
                camera = message
            elif isinstance(message, WorldContent):
                mirror.load(message)
            elif isinstance(message, WorldView) and camera is not None:
                frame = mirror.stereo(camera, message)
                if deliver is None:
                    _send(connection, frame)
                else:
                    deliver(frame, camera)
                    _send(connection, frame.time_ns)


def _receive(connection: Connection) -> Any:
    try:
        return connection.recv()
    except (EOFError, ConnectionResetError):
        return None


def _send(connection: Connection, answer: StereoFrame | int | str) -> None:
    with contextlib.suppress(BrokenPipeError):  # the other side is gone; the next receive says so
        connection.send(answer)
