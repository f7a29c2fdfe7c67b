"""Periodic loop on its own thread: absolute deadlines, missed cycles skipped and counted, timing histograms."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...checks import positive
from ...errors import InputError, ManipapyError
from .realtime import DeadlineWait, RealtimeInterpreter, RealtimeReport, enter_realtime

BINS = 2000
BIN_NS = 1000
"""One bin per microsecond up to two milliseconds; the last bin takes all longer times."""


@dataclass(frozen=True)
class Spread:
    """Summary of a distribution of times [µs]."""

    count: int
    mean: float
    p50: float
    p99: float
    p999: float
    largest: float


class Histogram:
    """Histogram of times. One thread records; others may read at any time."""

    def __init__(self) -> None:
        self._counts = [0] * (BINS + 1)
        self._total = 0
        self._largest = 0

    def record(self, nanoseconds: int) -> None:
        """Adds one time [ns]; a negative one counts as zero."""
        bin_ = nanoseconds // BIN_NS
        self._counts[bin_ if 0 <= bin_ < BINS else (BINS if bin_ > 0 else 0)] += 1
        self._total += nanoseconds
        if nanoseconds > self._largest:
            self._largest = nanoseconds

    def longer_than(self, microseconds: float) -> int:
        """Number of times longer than a limit [µs], to the resolution of a bin."""
        return sum(self._counts[min(int(microseconds * 1000) // BIN_NS, BINS) :])

    def spread(self) -> Spread:
        """The distribution so far; quantiles are upper edges of their bins."""
        counts = self._counts.copy()
        count = sum(counts)
        if not count:
            return Spread(0, 0.0, 0.0, 0.0, 0.0, 0.0)
        p50, p99, p999 = (self._quantile(counts, count, share) for share in (0.5, 0.99, 0.999))
        return Spread(count, self._total / count / 1000.0, p50, p99, p999, self._largest / 1000.0)

    def _quantile(self, counts: list[int], count: int, share: float) -> float:
        counted = 0
        for bin_, entries in enumerate(counts[:BINS]):
            counted += entries
            if counted >= share * count:
                return (bin_ + 1) * BIN_NS / 1000.0
        return self._largest / 1000.0


COLLECT_PERIOD = 1.0
"""Time between collections of young garbage, right after a tick [s]."""


@dataclass(frozen=True)
class LoopSettings:
    """Timing and scheduling of a loop."""

    period: float = 1e-3
    """Time between ticks [s]."""
    spin: float = 1e-4
    """Busy wait before each deadline [s]: the operating system wakes threads late by about this time."""
    priority: int | None = 80
    """Of SCHED_FIFO, 1 to 99; None leaves the scheduler alone."""
    lock_memory: bool = True
    """Keep the memory of the process in RAM."""
    failures_allowed: int = 100
    """Failed ticks in a row before the loop ends."""
    phase: float | None = None
    """Phase of the ticks within the period, on the monotonic clock [s]; None: from the start of the loop. Different
    phases keep the loops of several processes on one machine from ticking at the same time."""

    def __post_init__(self) -> None:
        positive(self.period, "period", "s")
        if not 0.0 <= self.spin < self.period:
            raise InputError(f"spin is {self.spin!r} s; give zero or more, less than the period of {self.period} s")
        if self.priority is not None and not 1 <= self.priority <= 99:
            raise InputError(f"priority is {self.priority!r}; give 1 to 99, or none")


@dataclass(frozen=True)
class LoopReport:
    """Timing of a loop since the last report."""

    ticks: int
    missed: int
    """Cycles that were skipped because the one before took too long or the thread got no processor."""
    rate: float
    """Ticks per second [1/s]."""
    lateness: Spread
    """Start of ticks after their deadlines [µs]."""
    work: Spread
    """Duration of ticks [µs]."""
    late_ticks: int
    """Ticks that began more than half a period late."""
    realtime: RealtimeReport | None
    """None before the first tick."""
    failure: BaseException | None
    """Last exception of a tick; None if there was none."""


class PeriodicLoop:
    """Calls a function at a fixed rate until it is stopped.

    A cycle that cannot begin in its own period is skipped and counted; missed ticks are not made up for. A tick
    that raises does not end the loop: `on_failure` is called, which should leave the arm in a state that later ticks
    can hold. After `failures_allowed` failures in a row the loop ends.

    Args:
        tick: Called with the time of the monotonic clock [s].
        settings: Timing and scheduling.
        on_failure: Called in the loop with the exception of a tick; without it, a failure ends the loop.
        name: Name of the thread.
    """

    def __init__(
        self,
        tick: Callable[[float], None],
        settings: LoopSettings | None = None,
        *,
        on_failure: Callable[[Exception], None] | None = None,
        name: str = "manipapy-loop",
    ):
        self.settings = settings or LoopSettings()
        self.failure: BaseException | None = None
        """Last exception of a tick; None if there was none."""
        self._tick, self._on_failure = tick, on_failure
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._realtime: RealtimeReport | None = None
        self._window = _Window()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        """Starts the thread; a loop runs once."""
        self._thread.start()

    def stop(self, timeout: float = 2.0) -> None:
        """Ends the loop after the present tick and waits for its thread.

        Raises:
            LoopStuck: The tick did not return within the timeout [s].
        """
        self._stop.set()
        if self._thread.ident is None or self._thread is threading.current_thread():
            return
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise LoopStuck(self._thread.name, timeout)

    def report(self) -> LoopReport:
        """Timing since the last report; for any thread."""
        window, self._window = self._window, _Window()
        seconds = (time.monotonic_ns() - window.since) * 1e-9
        return LoopReport(
            ticks=window.ticks,
            missed=window.missed,
            rate=window.ticks / seconds if seconds > 0.0 else 0.0,
            lateness=window.lateness.spread(),
            work=window.work.spread(),
            late_ticks=window.lateness.longer_than(0.5e6 * self.settings.period),
            realtime=self._realtime,
            failure=self.failure,
        )

    def _run(self) -> None:
        try:
            waiting = DeadlineWait.best(spin=self.settings.spin > 0.0)
            granted = enter_realtime(self.settings.priority, self.settings.lock_memory)
            if waiting.refused is not None:
                granted = replace(granted, refused=(*granted.refused, waiting.refused))
            self._realtime = granted
            with RealtimeInterpreter() as interpreter:
                self._cycle(interpreter, waiting)
        except BaseException as error:
            self.failure = error
            raise

    def _cycle(self, interpreter: RealtimeInterpreter, waiting: DeadlineWait) -> None:
        clock = time.monotonic_ns
        period, spin = round(self.settings.period * 1e9), round(self.settings.spin * 1e9)
        failures, collected = 0, clock()
        deadline = clock() + period
        if self.settings.phase is not None:
            deadline += (round(self.settings.phase * 1e9) - deadline) % period
        self._window = _Window()
        while not self._stop.is_set():
            waiting.until(deadline - spin, deadline)
            interpreter.begin_tick()
            now = clock()
            window = self._window
            window.ticks += 1
            window.lateness.record(now - deadline)
            try:
                self._tick(now * 1e-9)
                failures = 0
            except Exception as error:  # whatever a tick raises, later ticks must hold the arm
                failures += 1
                if not self._fail(error, failures):
                    return
            done = clock()
            window.work.record(done - now)
            interpreter.end_tick()
            if done - collected > COLLECT_PERIOD * 1e9:
                interpreter.collect_young()
                collected = done
                done = clock()
            deadline += period
            if done >= deadline:
                skipped = (done - deadline) // period + 1
                window.missed += skipped
                deadline += skipped * period

    def _fail(self, error: Exception, failures: int) -> bool:
        """Handles a failed tick; False: end the loop."""
        self.failure = error
        if self._on_failure is None or failures > self.settings.failures_allowed:
            return False
        try:
            self._on_failure(error)
        except Exception as second:  # the failure handler failed as well
            second.__cause__ = error
            self.failure = second
            return False
        return True


class LoopStuck(ManipapyError):
    """The tick of a loop does not return."""

    def __init__(self, name: str, timeout: float):
        super().__init__(f"loop {name!r} did not end within {timeout:g} s: its tick blocks; find what it waits for")
        self.name, self.timeout = name, timeout


class _Window:
    """Counters between two reports."""

    def __init__(self) -> None:
        self.since = time.monotonic_ns()
        self.ticks = self.missed = 0
        self.lateness, self.work = Histogram(), Histogram()
