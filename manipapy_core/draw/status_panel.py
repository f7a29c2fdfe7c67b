"""Status panel of the web viewer: the guard in words, and plots of tracking and of the timing of the loop."""

from __future__ import annotations

import collections
import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import viser

PLOTTED = 300
"""Number of points in a plot."""
HEIGHT = 120
"""Of a plot [pixels]."""
SHOWN_SECONDS = 20.0
"""Time that the plots cover [s]."""
UNITS = ((1.0, "rad or m", 1.0), (1e-3, "mrad or mm", 1e3), (0.0, "µrad or µm", 1e6))
"""Largest value from which on a unit is used, the unit, and its number per rad or m."""
GAP = 3.0
"""A plot begins again after so long without data [s]."""
SMALL = 0.01
"""Values below are not written as numbers."""
PHASES = {
    "holding": "the arm holds its position",
    "waiting": "a motion waits for its start",
    "running": "the arm follows a trajectory",
    "settling": "the arm settles at its goal",
    "cancelling": "the motion is cancelled, the arm comes to rest",
    "stopping": "the arm comes to rest",
}


@dataclass(frozen=True)
class ArmStatus:
    """What the status panel shows of a controller."""

    verdict: str
    """Of the guard: ok, slow, hold or stop."""
    reason: str = ""
    check: str = ""
    law: str = ""
    phase: str = ""
    rate: float = 0.0
    """Of the loop [Hz]."""
    jitter: float = float("nan")
    """99 of 100 ticks start no later than this after their deadline [us]."""
    work: float = float("nan")
    """Duration of 99 of 100 ticks is at most this [us]."""
    speed: float = 1.0
    """Trajectory seconds per second."""
    warning: str = ""


def guard_text(status: ArmStatus) -> str:
    """What the guard does and why, in one or two sentences of Markdown."""
    because = f": {status.reason}" if status.reason else ""
    if status.verdict == "ok":
        phase = PHASES.get(status.phase, status.phase)
        text = f"**Guard: ok**, {phase}" if phase else "**Guard: ok**"
    elif status.verdict == "slow":
        text = f"**Guard: slows the motion** to {100 * status.speed:.0f} % of its speed{because}"
    elif status.verdict == "hold":
        text = f"**Guard: holds the arm** until the next goal{because}"
    elif status.verdict == "stop":
        text = f"**Guard: has stopped the arm**{because}. Remove the cause, then press Reset"
    else:
        text = f"**Guard: {status.verdict}**{because}"
    return f"{text}\n\n{status.warning}" if status.warning else text


class StatusPanel:
    """Text and plots, in the container that is open when it is made.

    Args:
        server: The viser server.
        plots: Whether there are plots; a page without a controller has none.
    """

    def __init__(self, server: viser.ViserServer, *, plots: bool = True):
        self._text: Any = server.gui.add_markdown("no joint state yet")
        self.message: Any = server.gui.add_markdown("")
        """Answers to commands of the page."""
        self._links: Any = server.gui.add_html("", visible=False)
        self._tracking = self._timing = None
        if plots:
            self._tracking = _Plot(server, ("largest error",), ("#1f77b4",))
            self._timing = _Plot(server, ("jitter", "work"), ("#d62728", "#2ca02c"))
            self._tracking.title = "Tracking error: no data yet"
            self._timing.title = "Loop: no data yet"

    @property
    def text(self) -> str:
        """The text shown, in Markdown."""
        return str(self._text.content)

    def show_text(self, text: str) -> None:
        """Show a text, in Markdown."""
        if self._text.content != text:
            self._text.content = text

    def show_links(self, addresses: Mapping[str, str]) -> None:
        """Show links to the pages of other robots, by name; each opens a tab of the browser."""
        links = ", ".join(
            f'<a href="{html.escape(address)}" target="_blank" rel="noreferrer">{html.escape(name)}</a>'
            for name, address in addresses.items()
        )
        content = f'<div style="font-size: 14px; padding: 0 0.5em">Other robots: {links}</div>' if links else ""
        if self._links.content != content:
            self._links.content, self._links.visible = content, bool(content)

    def show(self, status: ArmStatus) -> None:
        """Show the status of a controller in words."""
        self.show_text(f"{guard_text(status)}\n\n{status.law} · {status.rate:.0f} Hz")

    def plot_tracking(self, seconds: float, error: float) -> None:
        """Add a point: time [s], largest tracking error of all joints [rad or m]."""
        if self._tracking is not None:
            largest = max(self._tracking.add(seconds, error), abs(error))
            unit, factor = next((name, factor) for limit, name, factor in UNITS if largest >= limit)
            now = factor * error
            self._tracking.title = (
                f"Tracking error [{unit}], now {now:.3g}" if now >= SMALL else f"Tracking error [{unit}]"
            )
            self._tracking.draw(factor)

    def plot_timing(self, seconds: float, jitter: float, work: float) -> None:
        """Add a point: time [s], jitter and duration of ticks, 99 of 100 [us]."""
        if self._timing is not None:
            self._timing.add(seconds, jitter, work)
            self._timing.title = f"Loop, p99 [µs]: jitter {jitter:.0f} (red), tick {work:.0f} (green)"
            self._timing.draw(1.0)


class _Plot:
    """One uplot with its history."""

    def __init__(self, server: viser.ViserServer, labels: tuple[str, ...], colours: tuple[str, ...]):
        from viser import uplot

        self._history: collections.deque[tuple[float, ...]] = collections.deque()
        self._title: Any = server.gui.add_markdown("")
        curves = (uplot.Series(label=label, stroke=colour, width=1.5) for label, colour in zip(labels, colours))
        # An invisible curve keeps the axis at 0 to 1 or more: noise of 1e-9 is no curve.
        floor = uplot.Series(label="", stroke="rgba(0,0,0,0)")
        self._plot: Any = server.gui.add_uplot(
            (np.array([-SHOWN_SECONDS, 0.0]), *(np.zeros(2) for _ in labels), np.array([0.0, 1.0])),
            series=(uplot.Series(label="s"), *curves, floor),
            scales={"x": uplot.Scale(time=False, range=(-SHOWN_SECONDS, 0.0))},
            axes=(uplot.Axis(size=32, font="11px sans-serif"), uplot.Axis(size=56, font="11px sans-serif")),
            legend=uplot.Legend(show=False),
            padding=(6, 10, 0, 0),
            height=HEIGHT,
        )

    @property
    def title(self) -> str:
        return str(self._title.content)

    @title.setter
    def title(self, text: str) -> None:
        if self._title.content != text:
            self._title.content = text

    def add(self, seconds: float, *values: float) -> float:
        """Add a point; returns the largest value in the plot."""
        if self._history and not 0.0 <= seconds - self._history[-1][0] < GAP:
            self._history.clear()  # the simulation was reset, or no browser was open
        if self._history and seconds - self._history[-1][0] < SHOWN_SECONDS / PLOTTED:
            # More points than are drawn: the largest of each short time stays visible.
            start, *before = self._history[-1]
            self._history[-1] = (start, *np.fmax(before, values).tolist())
        else:
            self._history.append((seconds, *values))
        while seconds - self._history[0][0] > SHOWN_SECONDS:
            self._history.popleft()
        return max(max(row[1:]) for row in self._history)

    def draw(self, factor: float) -> None:
        if len(self._history) > 1:
            times, *columns = np.array(self._history).T
            floor = np.linspace(0.0, 1.0, len(times))
            self._plot.data = (times - times[-1], *(factor * column for column in columns), floor)
