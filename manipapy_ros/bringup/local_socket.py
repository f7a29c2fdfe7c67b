"""Commands to a running `manipapy up` of the same user on the same machine, through a socket of the file system.

A process that joins ROS imports rclpy and waits until it has discovered every other one: 1.5 s of computing, and many
seconds on a busy machine. `manipapy hold` and `manipapy state` ask the supervisor instead, which has done that already.
Without a supervisor that answers, they join ROS. Nothing of ROS is imported here.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from manipapy_core.errors import ManipapyError

from ..common.names import absolute_namespace

Handler = Callable[[], Any]
"""Does what is asked and returns an answer that JSON can hold."""
CONNECT_TIMEOUT, ANSWER_TIMEOUT = 0.5, 3.0
"""For a supervisor to accept a connection, and to answer [s]."""
LARGEST = 1 << 20
"""Of a request or an answer [bytes]."""


class RefusedLocally(ManipapyError):
    """A command that the supervisor passed on, and that failed."""


def socket_path(namespace: str, *, create: bool = False) -> Path | None:
    """The socket of the supervisor of a namespace in the current ROS domain; None if there is no safe folder for it.

    Args:
        create: Whether to make the folder if there is none.
    """
    folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"manipapy-{os.getuid()}"
    if create:
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700)
    try:
        found = folder.lstat()
    except OSError:
        return None
    # For this user only: every process that reaches the socket may move the arm.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        return None
    name = absolute_namespace(namespace).strip("/").replace("/", ".")
    return folder / f"{os.environ.get('ROS_DOMAIN_ID') or '0'}.{name}.socket"


def ask(namespace: str, command: str) -> Any:
    """The answer of the supervisor of a namespace; None if none runs on this machine, or it does not answer.

    Raises:
        RefusedLocally: The command failed.
    """
    path = socket_path(namespace)
    if path is None or not path.exists():
        return None
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(CONNECT_TIMEOUT)
            connection.connect(str(path))
            connection.settimeout(ANSWER_TIMEOUT)
            connection.sendall(json.dumps({"command": command}).encode() + b"\n")
            answer = json.loads(_line(connection))
    except (OSError, ValueError):
        return None
    if "error" in answer:
        raise RefusedLocally(answer["error"])
    return answer.get("answer")


class LocalSocket:
    """Answers commands on a socket until it is closed. Use it in a `with` statement.

    If another supervisor of the same namespace answers already, this one stays silent.

    Args:
        namespace: Of the robot.
        handlers: By command; called on threads of their own.
    """

    def __init__(self, namespace: str, handlers: Mapping[str, Handler]):
        self._handlers = handlers
        self._path = socket_path(namespace, create=True)
        self._server: socket.socket | None = None
        if self._path is not None and not _is_served(self._path):
            self._open(self._path)

    def _open(self, path: Path) -> None:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            path.unlink(missing_ok=True)  # left by one that was killed
            server.bind(str(path))
            server.listen()
        except OSError:  # such as a path that is too long for a socket
            server.close()
            _remove(path)
            return
        self._server = server
        threading.Thread(target=self._accept, args=(server,), name="local-socket", daemon=True).start()

    def close(self) -> None:
        """Remove the socket."""
        if self._server is not None and self._path is not None:
            _remove(self._path)
            with contextlib.suppress(OSError):
                self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread
            self._server.close()
            self._server = None

    def __enter__(self) -> LocalSocket:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError, AttributeError):
            connection.settimeout(ANSWER_TIMEOUT)
            handler = self._handlers.get(str(json.loads(_line(connection)).get("command")))
            if handler is None:
                return
            try:
                answer = {"answer": handler()}
            except ManipapyError as error:
                answer = {"error": str(error)}
            connection.sendall(json.dumps(answer).encode() + b"\n")


def _remove(path: Path) -> None:
    """Remove a socket, and its folder unless another supervisor has one there."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def _is_served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(CONNECT_TIMEOUT)
        try:
            connection.connect(str(path))
        except OSError:
            return False
        return True


def _line(connection: socket.socket) -> bytes:
    """Everything up to the end of the line."""
    received = b""
    while not received.endswith(b"\n"):
        part = connection.recv(65536)
        if not part or len(received) > LARGEST:
            raise ValueError("no complete line")
        received += part
    return received
