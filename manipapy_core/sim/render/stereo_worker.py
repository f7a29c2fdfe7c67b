"""The worker of `StereoProcess`: a process with a replica of the world that renders its stereo camera.

By default frames are sent back. A program that uses them itself, for example to publish them, calls `serve` with its
own `deliver` and is passed as the command of `StereoProcess`:

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
"""First message of the worker."""


def connection_from_arguments() -> Connection:
    """The connection to `StereoProcess`, whose file descriptor is the last command-line argument."""
    return Connection(int(sys.argv[-1]))


def serve(connection: Connection, deliver: Deliver | None = None) -> None:
    """Render views until the connection is closed.

    Args:
        connection: To a `StereoProcess`.
        deliver: Called with every frame; without it frames are sent back.
    """
    # Ctrl-C reaches all processes of a terminal; this one ends when the peer closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The peer sends it to a worker that is in the middle of a frame; files are deleted on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    camera: StereoCamera | None = None
    with RenderReplica() as replica:
        _send(connection, READY)
        replica.warm_up()
        while (message := _receive(connection)) is not None:
            if isinstance(message, StereoCamera):
                camera = message
            elif isinstance(message, WorldContent):
                replica.load(message)
            elif isinstance(message, WorldView) and camera is not None:
                frame = replica.stereo(camera, message)
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
    with contextlib.suppress(BrokenPipeError):  # the peer has closed; the next receive returns None
        connection.send(answer)
