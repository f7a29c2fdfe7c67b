"""Truth log: the simulated motion of the arm at every step, in a file, for tests of faults.

Each step is written by one system call, so that the record survives a killed process. It has simulated and monotonic
time: a fault that another process caused at a monotonic time is found in the simulation.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from manipapy_core.errors import InputError
from manipapy_core.sim import JointStates
from manipapy_core.typing import Array

MAGIC = b"manipapy truth 2\n"


class TruthLog:
    """Appends the joint states of every step to a file.

    Args:
        path: The file; a former one is overwritten.
        joint_names: In the order of the states.

    Raises:
        InputError: The file cannot be written.
    """

    def __init__(self, path: str, joint_names: Sequence[str]):
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InputError(f"truth_log is {path!r}, which cannot be written: {error.strerror}") from None
        os.write(self._file, MAGIC + ",".join(joint_names).encode() + b"\n")

    def write(self, state: JointStates) -> None:
        """Appends one step."""
        times = np.array([state.time, time.monotonic()])
        os.write(self._file, times.tobytes() + state.q.tobytes() + state.qd.tobytes())

    def destroy(self) -> None:
        """Closes the file."""
        os.close(self._file)


@dataclass(frozen=True, eq=False)
class Truth:
    """The recorded motion of an arm."""

    joint_names: tuple[str, ...]
    time: Array
    """Simulated time [s], shape (steps,)."""
    wall: Array
    """Monotonic time at which the step ended [s], shape (steps,)."""
    q: Array
    """Joint positions [rad or m], shape (steps, n)."""
    qd: Array
    """Joint velocities [rad/s or m/s], shape (steps, n)."""

    def since(self, wall: float) -> Truth:
        """The part from a monotonic time [s] on; at least the last step."""
        first = min(int(np.searchsorted(self.wall, wall)), len(self.wall) - 1)
        return Truth(self.joint_names, self.time[first:], self.wall[first:], self.q[first:], self.qd[first:])


def read_truth(path: str | Path) -> Truth:
    """Reads a truth log, also while it is being written.

    Raises:
        InputError: The file is no truth log.
    """
    content = Path(path).read_bytes()
    if not content.startswith(MAGIC):
        raise InputError(f"{path} is not a truth log of sim_bridge")
    end = content.index(b"\n", len(MAGIC))
    names = tuple(content[len(MAGIC) : end].decode().split(","))
    n = len(names)
    columns = 2 + 2 * n
    rows = (len(content) - end - 1) // (8 * columns)
    numbers = np.frombuffer(content, offset=end + 1, count=rows * columns).reshape(rows, columns)
    parts = numbers[:, 0], numbers[:, 1], numbers[:, 2 : 2 + n], numbers[:, 2 + n :]
    return Truth(names, *(part.copy() for part in parts))
