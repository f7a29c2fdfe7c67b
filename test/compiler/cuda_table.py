"""The table of registers in docs/gpu.md: recompiled, and written between its two markers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiler.cuda_cases import FLOAT32, FLOAT64, KernelCase, robot_cases, time_laws
from compiler.cuda_nvrtc import ARCHITECTURES, Usage, compile_for, version
from manipapy_core.compiler.cuda.emit import Layout, source

BEGIN, END = "<!-- registers: begin -->", "<!-- registers: end -->"
DERIVATIVES = ("dynamics_derivatives", "_partials", "payload_regressor")
"""Left out of the table: programs of thousands of operations, which the quick tests compile."""


def _listed(robot: str) -> list[KernelCase]:
    return [case for case in robot_cases(robot) if not any(part in case.name for part in DERIVATIVES)]


GROUPS = {
    "UR5 (6 joints)": lambda: _listed("ur5"),
    "Panda (7 joints)": lambda: _listed("panda"),
    "Time laws (6 joints, and a screw motion)": time_laws,
}
TYPES = (FLOAT32, FLOAT64)


@dataclass(frozen=True)
class Entry:
    """One compilation of the sweep."""

    group: str
    kernel: str
    dtype: np.dtype
    layout: Layout
    architecture: int
    usage: Usage


def sweep() -> Iterator[Entry]:
    """Every kernel of two robots, both types, both layouts, all architectures: some minutes."""
    for group, cases in GROUPS.items():
        for case in cases():
            yield from _one(group, case)


def _one(group: str, case: KernelCase) -> Iterator[Entry]:
    for dtype in TYPES:
        for layout in Layout:
            text = source(case.kernel, dtype, layout)
            for architecture in ARCHITECTURES:
                yield Entry(group, case.name, dtype, layout, architecture, compile_for(architecture, text))


def table(entries: list[Entry]) -> str:
    """Markdown: a section per group and type, a line per kernel, registers of both layouts per architecture."""
    lines = [f"NVRTC {version()}; registers per thread as rows / columns. A spill would be named in its cell."]
    for group in GROUPS:
        for dtype in TYPES:
            chosen = [entry for entry in entries if entry.group == group and entry.dtype == dtype]
            lines += ["", f"**{group}, {dtype.name}**", ""]
            lines.append("| kernel | " + " | ".join(f"sm_{number}" for number in ARCHITECTURES) + " |")
            lines.append("|---|" + "---|" * len(ARCHITECTURES))
            for kernel in dict.fromkeys(entry.kernel for entry in chosen):
                cells = [_cell([e for e in chosen if (e.kernel, e.architecture) == (kernel, n)]) for n in ARCHITECTURES]
                lines.append(f"| `{kernel}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(entries: list[Entry]) -> str:
    parts = []
    for layout in Layout:
        (usage,) = [entry.usage for entry in entries if entry.layout is layout]
        parts.append(f"{usage.registers}{f' (spills {usage.spilled} bytes)' if usage.spilled else ''}")
    return " / ".join(parts)


def written_table(page: Path) -> str:
    """What stands between the markers."""
    return page.read_text().partition(BEGIN)[2].partition(END)[0].strip()


def write_table(page: Path, text: str) -> None:
    before, rest = page.read_text().split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")
