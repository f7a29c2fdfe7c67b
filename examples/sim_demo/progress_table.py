"""What `make sim` shows while it runs: a table of the motions so far, and a line about the one under way."""

from __future__ import annotations

import time
from types import TracebackType

from record import Recorder, Summary
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

REDRAWN, PRINTED = 0.2, 1.0
"""How often the table is redrawn on a terminal, and lines are printed where there is none [s]."""


class ProgressTable:
    """A table that stays in place on a terminal; elsewhere lines are printed now and then. To be used with `with`.

    Args:
        console: Where it is shown.
        title: Above the table.
        recorder: What the figures come from.
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
        """A motion that has ended; `begin` is when it began on the recorder's clock [s]."""
        self._legs.append((motion, self._recorder.summary(begin, self._recorder.now)))

    def show(self, doing: str) -> None:
        """What the arm does now; called as often as one likes."""
        terminal, recorder = self._console.is_terminal, self._recorder
        if time.monotonic() - self._shown < (REDRAWN if terminal else PRINTED):
            return
        self._shown = time.monotonic()
        line = _line(doing, recorder, recorder.summary(max(recorder.now - 1.0, 0.0), recorder.now))
        if terminal:
            self._live.update(Group(self._table(), line), refresh=True)
        else:
            self._console.print(line)

    def sum_up(self) -> None:
        """Prints the table where it did not stand all the time."""
        if self._legs and not self._console.is_terminal:
            self._console.print(self._table())

    def _table(self) -> Table:
        error, loop = ("error rms [mrad]", "largest [mrad]"), ("loop [Hz]", "jitter p50, p99 [µs]", "skipped")
        # escaped, or units in brackets are taken for colours and vanish
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
