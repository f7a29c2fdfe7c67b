"""Terminal output of the `make sim` demo: a table of finished motions and a line about the current one."""

from __future__ import annotations

import time
from types import TracebackType

from record import Recorder, Summary
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

REDRAW_PERIOD, PRINT_PERIOD = 0.2, 1.0
"""Between redraws on a terminal and between printed lines elsewhere [s]."""


class ProgressTable:
    """A table that stays in place on a terminal; elsewhere lines are printed. Use it in a `with` statement.

    Args:
        console: Output.
        title: Above the table.
        recorder: Source of the numbers.
    """

    def __init__(self, console: Console, title: str, recorder: Recorder):
        self._console, self._title, self._recorder = console, title, recorder
        self._legs: list[tuple[str, Summary]] = []
        self._shown = 0.0

    def __enter__(self) -> ProgressTable:
        self._shown = 0.0
        self._live = Live(console=self._console, auto_refresh=False, transient=not self._console.is_terminal)
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def add(self, motion: str, begin: float) -> None:
        """Adds a finished motion; `begin` is its start on the recorder's clock [s]."""
        self._legs.append((motion, self._recorder.summary(begin, self._recorder.now)))

    def show(self, doing: str) -> None:
        """Shows the current motion; call it at any rate."""
        terminal, recorder = self._console.is_terminal, self._recorder
        if time.monotonic() - self._shown < (REDRAW_PERIOD if terminal else PRINT_PERIOD):
            return
        self._shown = time.monotonic()
        line = _line(doing, recorder, recorder.summary(max(recorder.now - 1.0, 0.0), recorder.now))
        if terminal:
            self._live.update(Group(self._table(), line), refresh=True)
        else:
            self._console.print(line)

    def sum_up(self) -> None:
        """Prints the table if the output is not a terminal."""
        if self._legs and not self._console.is_terminal:
            self._console.print(self._table())

    def _table(self) -> Table:
        error, loop = ("error rms [mrad]", "largest [mrad]"), ("loop [Hz]", "jitter p50, p99 [µs]", "skipped")
        # escaped: rich would read units in brackets as colours
        table = Table(*map(escape, ("motion", "time [s]", *error, *loop)), title=self._title)
        for column in table.columns[1:]:
            column.justify = "right"
        for name, leg in self._legs:
            table.add_row(
                name,
                f"{leg.duration:.2f}",
                f"{1e3 * leg.rms_error:.3f}",
                f"{1e3 * leg.largest_error:.3f}",
                f"{leg.rate:.1f}",
                f"{leg.jitter_p50:.0f}, {leg.jitter_p99:.0f}",
                str(leg.overruns),
            )
        return table


def _line(doing: str, recorder: Recorder, last: Summary) -> Text:
    status = recorder.status
    guard = "" if status is None or not status.reason else f" · guard: {status.reason}"
    return Text(
        f"{doing}: error {1e3 * last.rms_error:.3f} mrad rms, {1e3 * last.largest_error:.3f} largest · "
        f"{last.rate:.0f} Hz · jitter p50 {last.jitter_p50:.0f}, p99 {last.jitter_p99:.0f} µs · "
        f"{last.overruns} skipped{guard}"
    )
