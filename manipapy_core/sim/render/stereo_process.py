"""A stereo camera that renders in a process of its own, so that physics keeps its thousand steps a second.

A pair of pictures takes a hundred milliseconds, a step a fraction of one. The process gets a copy of the world once,
and the positions of joints and objects whenever a frame is wanted; it shows that instant, whatever happens meanwhile.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from ..bullet import pybullet
from ..camera import StereoCamera, StereoFrame
from ..errors import RenderError
from ..world import SimWorld
from .stereo_worker import DEFAULT_PROGRAM, READY

STOP_PATIENCE = 2.0
"""How long the process may take to end by itself [s]."""


class StereoProcess:
    """One stereo pair in its own process. Close it, or use it in a `with` statement.

    `submit` hands over an instant and returns at once; `poll` or `wait` fetch the frame, from one thread at a time. One
    instant is worked on at a time: while the process is busy, `submit` refuses.
    """

    def __init__(self, camera: StereoCamera, *, command: Sequence[str] | None = None, start_timeout: float = 30.0):
        """Start the process and wait until it is ready, which takes a second or two.

        Args:
            camera: The pair, and where it is.
            command: Program and arguments of a worker that keeps the frames (see `stereo_worker`); `poll` then only
                tells that one was made, by the time it shows. If not given, frames come back here.
            start_timeout: [s]

        Raises:
            RenderError: The process did not get ready.
        """
        pybullet()  # a missing package is better reported here than there
        self.camera = camera
        self._lock = threading.Lock()
        self._busy = False
        self._version = -1
        worker = [sys.executable, "-c", DEFAULT_PROGRAM] if command is None else list(command)
        here, there = socket.socketpair()
        # The worker finds this package wherever this process found it.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with there:
            self._process = subprocess.Popen(
                [*worker, str(there.fileno())], pass_fds=[there.fileno()], stdin=subprocess.DEVNULL, env=environment
            )
        self._connection = Connection(here.detach())
        if self._take(start_timeout) != READY:
            self.close()
            raise RenderError(f"the rendering process was not ready within {start_timeout:g} s; allow more time")
        self._connection.send(camera)

    def submit(self, world: SimWorld) -> bool:
        """Ask for a frame of the world as it is now; False if the last one is still being made.

        Raises:
            RenderError: The process died or was closed.
        """
        with self._lock:
            if self._busy:
                return False
            view = world.view()
            try:
                if view.version != self._version:
                    content, view = world.content_and_view()
                    self._connection.send(content)
                    self._version = content.version
                self._connection.send(view)
            except OSError:
                raise self._ended() from None
            self._busy = True
            return True

    def poll(self) -> StereoFrame | int | None:
        """The frame asked for, if it is there.

        Returns:
            The frame; with a worker that keeps frames, the simulated time that it shows [ns]; None if none is ready.

        Raises:
            RenderError: The process died.
        """
        return self._take(0.0) if self._busy else None

    def wait(self, timeout: float = 30.0) -> StereoFrame | int:
        """The frame asked for, as soon as it is there; see `poll`.

        Raises:
            RenderError: None came in time [s], none was asked for, or the process died.
        """
        if not self._busy:
            raise RenderError("no frame was asked for; call submit first")
        answer = self._take(timeout)
        if answer is None:
            raise RenderError(f"no frame within {timeout:g} s; allow more time or make the pictures smaller")
        return answer

    def close(self) -> None:
        """End the process; a second call does nothing."""
        with self._lock:
            self._connection.close()
            _end(self._process)

    def __enter__(self) -> StereoProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def _take(self, timeout: float) -> Any:
        try:
            if not self._connection.poll(timeout):
                return None
            answer = self._connection.recv()
        except (EOFError, OSError):
            raise self._ended() from None
        self._busy = False
        return answer

    def _ended(self) -> RenderError:
        self._connection.close()
        self._busy = False
        code = _end(self._process)
        return RenderError(f"the rendering process has ended (code {code}); what it said last is on standard error")


def _end(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end of a worker whose connection is closed, and hurry it if it takes too long."""
    deadline = time.monotonic() + STOP_PATIENCE
    for hurry in (None, process.terminate, process.kill):
        if hurry is not None:
            hurry()
        try:
            return process.wait(max(deadline - time.monotonic(), 0.5))
        except subprocess.TimeoutExpired:
            continue
    raise RenderError(f"the rendering process {process.pid} cannot be ended")
