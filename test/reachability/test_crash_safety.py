"""Files survive the death of their writer at any byte: what is read is the old content or the new one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import numpy as np
import pytest

from manipapy_core.compiler import cache
from manipapy_core.reachability.storage import FORMAT, read_archive, write_archive

KILLS = 25
ROWS = 50_000


def killed_after(write: Callable[[int], None], seconds: float) -> None:
    """A process that writes again and again, killed some time after its first file."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for number in range(1_000_000):
                write(number)
                if number == 0:
                    os.write(writing, b"1")
        finally:
            os._exit(1)
    os.close(writing)
    assert os.read(reading, 1) == b"1"
    os.close(reading)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "it was killed, and did not fail before"


@pytest.mark.parametrize("ending", ["npz", "h5"])
def test_a_map_is_old_or_new(tmp_path, ending):
    path = tmp_path / f"map.{ending}"

    def write(number: int) -> None:
        write_archive(path, {"format": FORMAT, "number": number}, {"cell": np.full(ROWS, number)})

    write(-1)
    seen = set()
    for delay in np.random.default_rng(0).uniform(0.0, 0.05, KILLS):
        killed_after(write, delay)
        attributes, tables = read_archive(path)
        assert (tables["cell"] == attributes["number"]).all() and len(tables["cell"]) == ROWS
        seen.add(attributes["number"])
    assert -1 not in seen and len(seen) > 1, "writers were killed after different numbers of files"


def test_a_cached_kernel_is_whole_or_absent(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path / "cache"))

    def write(number: int) -> None:
        cache.write("kernel-0", bytes([number % 256]) * 1_000_000)

    write(0)
    for delay in np.random.default_rng(1).uniform(0.0, 0.03, KILLS):
        killed_after(write, delay)
        content = cache.read("kernel-0")
        assert content is not None and len(content) == 1_000_000 and len(set(content)) == 1
