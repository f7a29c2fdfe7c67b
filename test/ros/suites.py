"""`manipapy up` as a real process, with everything it starts marked so that orphans can be found."""

from __future__ import annotations

import fcntl
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from manipapy_ros.bringup.managed_process import die_with_parent

MARK = "MANIPAPY_TEST_SUITE"
TIMEOUT = 300.0
"""Seconds until something that takes a few counts as not happening, on a busy machine."""
DOMAINS = range(1, 101)
"""Those above 101 use ports that Linux also hands out to others."""
MANIPAPY = (sys.executable, "-c", "from manipapy_ros.quick import main; main()")


class Suite:
    """One running `manipapy up`."""

    def __init__(self, *arguments: str, domain: int):
        self.mark = uuid.uuid4().hex
        environment = {**os.environ, MARK: self.mark, "ROS_DOMAIN_ID": str(domain), "COLUMNS": "300"}
        self.process = subprocess.Popen(
            [*MANIPAPY, "up", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            preexec_fn=die_with_parent,
        )
        self.lines: list[str] = []
        self._news: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._news.put(line.rstrip())
        self._news.put(None)

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, text: str) -> None:
        """Until a line with this text is printed."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            line = self._news.get(timeout=max(deadline - time.monotonic(), 0.01))
            assert line is not None, f"ended before it said {text!r}:\n{self.output}"
            self.lines.append(line)
            if text in line:
                return

    def wait_until_up(self) -> None:
        self.wait_for("trajectories go to")

    def end(self) -> int:
        """Exit code, when it ends by itself; its last words are in `lines`."""
        code = self.process.wait(TIMEOUT)
        while (line := self._news.get(timeout=TIMEOUT)) is not None:
            self.lines.append(line)
        return code

    def drain(self) -> None:
        """Add to `lines` what was printed since the last wait."""
        while not self._news.empty():
            line = self._news.get()
            if line is not None:
                self.lines.append(line)

    def members(self) -> dict[int, str]:
        """Processes that it started and that still run: command lines by number."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            number = int(folder.name)
            try:
                environment, command = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
            except OSError:
                continue  # it ended while we looked, or is not ours
            if f"{MARK}={self.mark}".encode() in environment and number != self.process.pid and command:
                found[number] = command.replace(b"\0", b" ").decode()
        return found

    def member(self, node: str) -> int:
        """Number of the process of a node."""
        return next(number for number, command in self.members().items() if f"manipapy_ros.{node}.node " in command)

    def kill(self, node: str) -> None:
        os.kill(self.member(node), signal.SIGKILL)

    def close(self) -> None:
        """Leave nothing behind, whatever went wrong."""
        for number in [self.process.pid, *self.members()] if self.process.poll() is None else self.members():
            os.kill(number, signal.SIGKILL)
        self.process.wait()


@contextmanager
def suite(*arguments: str, domain: int) -> Iterator[Suite]:
    running = Suite(*arguments, domain=domain)
    try:
        yield running
    finally:
        running.close()
        running.drain()
        print(f"--- output of manipapy up {' '.join(arguments)}\n{running.output}")


@contextmanager
def free_domain() -> Iterator[int]:
    """A ROS_DOMAIN_ID that no other test process on this machine holds: a lock file per number, held meanwhile."""
    folder = Path(tempfile.gettempdir()) / f"manipapy-test-domains-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for number in DOMAINS:
        with open(folder / str(number), "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield number
            return
    raise AssertionError("all ROS domains are held by other test processes")


@contextmanager
def ros_environment(domain: int) -> Iterator[None]:
    """A context in which this process and those it starts use the domain and stay on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_DOMAIN_ID", str(domain))
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        yield
