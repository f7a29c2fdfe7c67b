"""A supervised process: started in a process group of its own, and ended with all that it started."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from manipapy_core.errors import ManipapyError

LAST_LINES = 15
"""Lines of output kept to explain the end of the process."""
_PR_SET_PDEATHSIG = 1
_C = ctypes.CDLL(None)


class CannotStart(ManipapyError):
    """The operating system refused to start a process."""

    def __init__(self, name: str, command: Sequence[str], reason: str):
        super().__init__(f"{name} cannot be started ({' '.join(command[:3])} …): {reason}")
        self.name, self.command = name, tuple(command)


class ManagedProcess:
    """A process that ends, with everything it started, when this process ends for any reason.

    To be started from the main thread: for Linux, the end of the thread that started a process is the end of its
    parent.

    Args:
        name: For messages.
        command: Program and arguments.
        environment: Additional environment variables.
        on_line: Called with name and line for every line of output, on a thread of its own.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        on_line: Callable[[str, str], None],
    ):
        self.name = name
        self._on_line = on_line
        self._lines: collections.deque[str] = collections.deque(maxlen=LAST_LINES)
        self._reaped = False
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
                # A session of its own: Ctrl-C at the terminal reaches this process, which ends the others in order.
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            raise CannotStart(name, command, error.strerror or str(error)) from error
        self._listener = threading.Thread(target=self._listen, name=f"listen-{name}", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """Of the process and its group."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """False once the process has ended; what it started is then ended, too."""
        if not self._reaped and self._has_ended():
            self._reap()
        return not self._reaped

    @property
    def exit_code(self) -> int | None:
        """Exit code, negative the signal that ended the process; None while it runs."""
        return None if self.is_running else self._process.returncode

    @property
    def cause(self) -> str:
        """How it ended, with its last output."""
        if self.is_running:
            return "still running"
        self._listener.join(0.5)  # its last output may not be read yet
        code = self._process.returncode
        how = f"ended with exit code {code}" if code >= 0 else f"was ended by {_signal_name(-code)}"
        said = "".join(f"\n    {line}" for line in self._lines)
        return how + (f"; last output:{said}" if said else "; without output")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and all that it started."""
        if self.is_running:
            _signal_group(self.pid, number)

    def _has_ended(self) -> bool:
        # Not reaped yet: as long as the leader is a zombie, no other group can have its number.
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def _reap(self) -> None:
        _signal_group(self.pid, signal.SIGKILL)
        self._process.wait()
        self._reaped = True

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                self._lines.append(line.rstrip())
                self._on_line(self.name, line.rstrip())


def stop_all(children: Iterable[ManagedProcess], *, timeout: float) -> list[ManagedProcess]:
    """End processes with SIGTERM, then with SIGKILL.

    Not with SIGINT: a node that still imports its packages would end with a traceback.

    Args:
        timeout: Between the two [s].

    Returns:
        Processes that had to be killed.
    """
    children = list(children)
    for child in children:
        child.signal(signal.SIGTERM)
    deadline = time.monotonic() + timeout
    while any(child.is_running for child in children) and time.monotonic() < deadline:
        time.sleep(0.01)
    late = [child for child in children if child.is_running]
    for child in late:
        child.signal(signal.SIGKILL)
    while any(child.is_running for child in late):
        time.sleep(0.005)
    return late


def die_with_parent() -> None:
    """For `preexec_fn`: the new process is killed when this one ends, however it ends."""
    # Runs between fork and exec. The setting survives exec, also that of the ROS wheels, which start Python a second
    # time with their library path.
    _C.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # A background job of a shell ignores SIGINT, which is inherited; nodes must receive it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _signal_group(group: int, number: signal.Signals) -> None:
    # All of the group may have ended.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
