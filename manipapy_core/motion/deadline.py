"""Timeout and cancellation of planning, checked between short pieces of work, and the time spent per phase."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable

from ..errors import InputError, ManipapyError
from .result import PlanPhase, PlanStatus, Timings

Cancel = Callable[[], bool] | threading.Event
Progress = Callable[[PlanPhase, float], None]
"""Called with the phase and the best cost so far (infinite before there is one)."""


class Stopped(ManipapyError):
    """Ends planning early; `plan` turns it into its result."""

    def __init__(self, status: PlanStatus, message: str):
        super().__init__(message)
        self.status, self.message = status, message


class Deadline:
    """Time limit of one planning request, with the time spent per phase."""

    def __init__(self, timeout: float, cancel: Cancel | None = None, progress: Progress | None = None):
        if not timeout > 0.0:
            raise InputError(f"timeout is {timeout!r}; give a positive number of seconds")
        if cancel is not None and not callable(cancel) and not isinstance(cancel, threading.Event):
            raise InputError(f"cancel is {type(cancel).__name__}; give a threading.Event or a function of no arguments")
        self.timeout, self._progress = timeout, progress
        self._cancelled = cancel.is_set if isinstance(cancel, threading.Event) else cancel
        self._begin = self._mark = time.perf_counter()
        self._phase: PlanPhase | None = None
        self._spent: dict[PlanPhase, float] = {}

    def enter(self, phase: PlanPhase, cost: float = float("inf")) -> None:
        """Begins a phase; raises `Stopped`, with the phase that was interrupted, if planning has to end."""
        if self._phase is not None:
            self.check()
        self._add_time()
        self._phase = phase
        if self._progress is not None:
            self._progress(phase, cost)
        self.check()

    def check(self) -> None:
        """Raises `Stopped` after the timeout or a cancellation."""
        phase = "planning" if self._phase is None else self._phase.value
        if self._cancelled is not None and self._cancelled():
            raise Stopped(PlanStatus.CANCELLED, f"cancelled during the phase {phase!r}")
        if self.over:
            raise Stopped(
                PlanStatus.TIMEOUT, f"timeout of {self.timeout:g} s during the phase {phase!r}; allow more time"
            )

    @property
    def over(self) -> bool:
        return time.perf_counter() - self._begin > self.timeout

    @property
    def left(self) -> float:
        """Remaining time [s]."""
        return max(0.0, self.timeout - (time.perf_counter() - self._begin))

    def timings(self) -> Timings:
        self._add_time()
        spent, total = defaultdict(float, self._spent), time.perf_counter() - self._begin
        return Timings(
            spent[PlanPhase.GOALS],
            spent[PlanPhase.SEARCH],
            spent[PlanPhase.SMOOTHING],
            spent[PlanPhase.TIME_LAW],
            spent[PlanPhase.VERIFICATION],
            total,
        )

    def _add_time(self) -> None:
        now = time.perf_counter()
        if self._phase is not None:
            self._spent[self._phase] = self._spent.get(self._phase, 0.0) + now - self._mark
        self._mark = now
