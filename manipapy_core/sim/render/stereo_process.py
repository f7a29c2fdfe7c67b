"""A stereo camera that renders in a separate process, so that the physics keep their 1 kHz.

The process gets a copy of the world once and joint positions and object poses for every frame; a frame shows the
instant of its request.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from ..camera import StereoCamera, StereoFrame
from ..errors import RenderError
from ..world import SimWorld
from .stereo_worker import DEFAULT_PROGRAM, READY

END_TIMEOUT, TERMINATE_TIMEOUT, KILL_TIMEOUT = 0.3, 5.0, 5.0
"""How long a worker may take to end: by itself, after SIGTERM, after SIGKILL [s]."""


class StereoProcess:
    """One stereo pair in its own process. Close it, or use it in a `with` statement.

    `submit` requests a frame and returns at once; `poll` or `wait` fetch it, from one thread at a time. There is one
    request at a time: while the process is busy, `submit` returns False.
    """

    def __init__(self, camera: StereoCamera, *, command: Sequence[str] | None = None, start_timeout: float = 30.0):
        """Start the process and wait until it is ready, about two seconds.

        Args:
            camera: The stereo pair and its mount.
            command: Program and arguments of a worker that keeps the frames (see `stereo_worker`); `poll` then
                returns only the simulated time of the frame. If not given, frames are sent back.
            start_timeout: [s]

        Raises:
            RenderError: The process was not ready in time.
        """
        self.camera = camera
        self._lock = threading.Lock()
        self._busy = False
        self._version = -1
        worker = [sys.executable, "-c", DEFAULT_PROGRAM] if command is None else list(command)
        here, there = socket.socketpair()
        # The worker imports this package from the same paths.
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
        """Request a frame of the current state; False while the last request is in progress.

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
        """The requested frame, if it is ready.

        Returns:
            The frame, or its simulated time [ns] if the worker keeps frames; None if it is not ready.

        Raises:
            RenderError: The process died.
        """
        return self._take(0.0) if self._busy else None

    def wait(self, timeout: float = 30.0) -> StereoFrame | int:
        """Wait for the requested frame; see `poll`.

        Raises:
            RenderError: None came in time [s], none was requested, or the process died.
        """
        if not self._busy:
            raise RenderError("no frame was requested; call submit first")
        answer = self._take(timeout)
        if answer is None:
            raise RenderError(f"no frame within {timeout:g} s; allow more time or make the images smaller")
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
        """Process id."""
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
        return RenderError(f"the rendering process has ended (code {code}); see its output on standard error")


def _end(process: subprocess.Popen[bytes]) -> int:
    """Wait for a worker whose connection is closed; terminate and then kill it after a timeout."""
    for number, timeout in ((0, END_TIMEOUT), (signal.SIGTERM, TERMINATE_TIMEOUT), (signal.SIGKILL, KILL_TIMEOUT)):
        process.send_signal(number)  # 0 sends nothing
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(timeout)
    raise RenderError(f"the rendering process {process.pid} cannot be ended")
