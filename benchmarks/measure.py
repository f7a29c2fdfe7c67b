"""Timing on a shared machine: CPU time of this thread, interleaved jobs, medians."""

from __future__ import annotations

import hashlib
import os
import platform
import statistics
import threading
import time
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from queue import SimpleQueue

Job = Callable[[], object]


def take_turns(
    jobs: Mapping[str, Job], *, rounds: int = 9, turn: float = 0.005, clock: Callable[[], float] = time.thread_time
) -> dict[str, float]:
    """Median seconds of one run of each job.

    Every round runs all jobs, so that other load affects them equally. Each job runs for `turn` seconds per round, so
    that cold caches cost all jobs the same. `clock` is the CPU time of this thread; pass a wall clock for threads.
    """
    repeats = {name: runs_within(job, turn) for name, job in jobs.items()}
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            count = repeats[name]
            start = clock()
            for _ in range(count):
                job()
            taken[name].append((clock() - start) / count)
    return {name: statistics.median(values) for name, values in taken.items()}


@dataclass(frozen=True)
class Neighbours:
    """Interleaved timing of two jobs."""

    slow: float
    fast: float
    """Median wall time of a run [s]."""
    gain: float
    """Median ratio of consecutive runs."""
    quiet_gain: float
    """The same over rounds without other load; 0 if there were none."""
    quiet: int
    """Number of rounds without other load."""
    rounds: int
    """Number of all rounds."""


def neighbours(slow: Job, fast: Job, quiet: Callable[[], bool], *, rounds: int = 41, turn: float = 0.01) -> Neighbours:
    """Times two jobs alternately.

    Other load changes within hundredths of a second, but consecutive runs share it. `quiet` measures, independently of
    the jobs, whether all cores are free.
    """
    counts = [runs_within(job, turn) for job in (slow, fast)]
    taken: list[tuple[float, float]] = []
    flags = [quiet()]
    for _ in range(rounds):
        pair = []
        for job, count in zip((slow, fast), counts):
            start = time.perf_counter()
            for _ in range(count):
                job()
            pair.append((time.perf_counter() - start) / count)
        taken.append((pair[0], pair[1]))
        flags.append(quiet())
    ratios = [a / b for a, b in taken]
    good = [ratio for ratio, before, after in zip(ratios, flags, flags[1:]) if before and after]
    first, second = (statistics.median(times) for times in zip(*taken))
    best = statistics.median(good) if good else 0.0
    return Neighbours(first, second, statistics.median(ratios), best, len(good), rounds)


class SecondCore:
    """Measures whether a second core is free: two threads hash, which needs hardly any memory bandwidth."""

    ENOUGH = 1.8
    """Minimum speed-up of two threads over one if both have a core."""

    def __init__(self, size: int = 1 << 22) -> None:
        self._data = bytes(size)
        self._jobs: SimpleQueue[None] = SimpleQueue()
        self._done: SimpleQueue[None] = SimpleQueue()
        threading.Thread(target=self._help, daemon=True).start()

    def __call__(self) -> bool:
        return self.gain() >= self.ENOUGH

    def gain(self) -> float:
        """Speed-up of two threads over one."""
        start = time.perf_counter()
        self._hash()
        self._hash()
        middle = time.perf_counter()
        self._jobs.put(None)
        self._hash()
        self._done.get()
        return (middle - start) / (time.perf_counter() - middle)

    def _hash(self) -> None:
        hashlib.sha256(self._data)

    def _help(self) -> None:
        while True:
            self._jobs.get()
            self._hash()
            self._done.put(None)


def runs_within(job: Job, seconds: float) -> int:
    """Number of runs that fill this time, at least one; a warm-up run is not counted."""
    job()
    shortest = min(_duration(job) for _ in range(3))
    return max(1, round(seconds / max(shortest, 1e-7)))


def _duration(job: Job) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def statement_job(statement: str, names: Mapping[str, object], calls: int) -> Job:
    """Runs a statement many times in timeit's loop, which costs a few nanoseconds."""
    timer = timeit.Timer(statement, globals=dict(names))
    return lambda: timer.timeit(calls)


def time_statements(
    statements: Mapping[str, tuple[str, Mapping[str, object]]], *, calls: int = 2000, rounds: int = 15
) -> dict[str, float]:
    """Median seconds per execution of each statement, interleaved."""
    jobs = {name: statement_job(text, names, calls) for name, (text, names) in statements.items()}
    return {name: seconds / calls for name, seconds in take_turns(jobs, rounds=rounds).items()}


def version_of(distribution: str) -> str:
    """Installed version, or "not installed"."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def machine() -> str:
    """Processor, cores and load."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass  # not Linux, or no model name: use the architecture
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{name}, {os.cpu_count()} cores, load average {load}"
