"""Benchmark tables and bars on the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Bar:
    """A required value and the measured one, for the worst case."""

    requirement: str
    measured: float
    limit: float
    unit: str
    at_least: bool
    where: str = ""

    @property
    def holds(self) -> bool:
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def __str__(self) -> str:
        side = "at least" if self.at_least else "at most"
        verdict = "holds " if self.holds else "MISSED"
        where = f"   worst: {self.where}" if self.where else ""
        measured = f"{self.measured:8.2f}{self.unit:<3}"
        return f"  {verdict}  {self.requirement:<45} {measured} bar: {side} {self.limit:g}{self.unit}{where}"


@dataclass
class Report:
    """Prints and collects results."""

    measurements: dict[str, object] = field(default_factory=dict)
    bars: list[Bar] = field(default_factory=list)

    def heading(self, text: str) -> None:
        print(f"\n{text}", flush=True)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as their widest entry; the first two to the left, numbers to the right."""
        widths = [max(len(line[column]) for line in (header, *rows)) for column in range(len(header))]
        for line in (header, *rows):
            cells = [
                text.ljust(width) if column < 2 else text.rjust(width)
                for column, (text, width) in enumerate(zip(line, widths, strict=True))
            ]
            print("  " + "  ".join(cells).rstrip(), flush=True)

    def note(self, text: str) -> None:
        print(f"  {text}", flush=True)

    def require(self, text: str, values: dict[str, float], limit: float, *, at_least: bool, unit: str = "x") -> None:
        """Adds a bar for the worst of several values."""
        where = (min if at_least else max)(values, key=values.__getitem__)
        self.bars.append(Bar(text, values[where], limit, unit, at_least, where if len(values) > 1 else ""))

    def print_bars(self) -> None:
        self.heading("Bars")
        for bar in self.bars:
            print(bar)
        missed = sum(not bar.holds for bar in self.bars)
        print(f"  {len(self.bars) - missed} of {len(self.bars)} hold")

    def finish(self, differences: Sequence[str], path: Path | None) -> None:
        """Prints what is not like for like and the bars, and writes all numbers to a file if one is given."""
        self.heading("Not like for like")
        for line in differences:
            self.note(line)
        self.print_bars()
        if path:
            self.save(path)

    def save(self, path: Path) -> None:
        bars = [asdict(bar) | {"holds": bar.holds} for bar in self.bars]
        path.write_text(
            json.dumps({"measurements": self.measurements, "bars": bars}, indent=1) + "\n", encoding="utf-8"
        )


def nanoseconds(seconds: float) -> str:
    """Nanoseconds with about three digits."""
    value = seconds * 1e9
    if value < 1e5:
        return f"{value:.0f}" if value >= 100 else f"{value:.1f}"
    return f"{value / 1e3:.0f}k" if value < 1e8 else f"{value / 1e6:.0f}M"


def times(ratio: float) -> str:
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x" if ratio >= 100 else f"{ratio:.1f}x"
