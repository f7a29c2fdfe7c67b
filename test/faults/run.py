"""Runs the faults and writes docs/faults.md: python -m faults.run [--only text] [--robots ur5,panda] [--resume].

Results are kept in build/faults.json, so that a run may be made in parts.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ros_arm import SUCCEEDED

from .cases import Case, all_cases
from .rig import AT_REST, BOTS, Rig, beyond_braking, peak_ratio, rig

MAX_SPEED, MAX_BEYOND = 1.05, 5e-3
"""Bars: share of the velocity limit, and tip distance beyond that of a stop [m]."""
TABLE = Path(__file__).parents[2] / "docs" / "faults.md"
RESULTS = Path(__file__).parents[2] / "build" / "faults.json"
WAYS = {"start": 0.02, "cruise": 0.5, "near goal": 0.97}
"""Share of the way on which a phase begins."""


@dataclass(frozen=True)
class Row:
    """What one fault did."""

    robot: str
    name: str
    phase: str
    peak: float
    """Largest speed over its limit."""
    beyond: float
    """Tip distance beyond that of a stop [m]; NaN if the arm went on to its goal."""
    rest: float
    """From the fault to rest, in simulated time [s]."""
    recovered: bool
    """Whether the next motion succeeded."""
    reason: str

    @property
    def passed(self) -> bool:
        return self.peak <= MAX_SPEED and not self.beyond > MAX_BEYOND and self.recovered and bool(self.reason)


def play(made: Rig, case: Case) -> Row:
    """Brings the arm into the phase, injects the fault and looks at the physics."""
    arm, bot = made.arm, made.bot
    made.recover(bot.home)
    case.prepare(made)
    handle = None
    if case.phase != "holding":
        handle = arm.send(arm.goal(bot.away, seconds=3.0, names=bot.joints))
        made.wait_until_on_the_way(WAYS[case.phase])
    said_before = set(made.said())
    began = case.inject(made)
    made.peer.spin_for(case.seconds)
    truth = made.truth_since(began)
    reason = [line for line in made.said() if line not in said_before]
    outcome = made.outcome(handle)
    arrived = outcome is not None and outcome[0] == SUCCEEDED
    if outcome is not None and not arrived and outcome[1]:
        reason = [outcome[1], *reason]
    moving = np.abs(truth.qd).max(axis=1) > AT_REST
    rest = float(truth.time[moving][-1] - truth.time[0]) if moving.any() else 0.0
    recovered = made.recover(bot.home)
    beyond = math.nan if arrived and case.may_succeed else beyond_braking(bot.chain, truth)
    words = reason[0] if reason else ("the motion was not disturbed" if arrived else "")
    if not words and case.phase == "holding" and case.may_succeed:
        words = "the arm was not disturbed"
    return Row(bot.name, case.name, case.phase, peak_ratio(bot.chain, truth), beyond, rest, recovered, words)


def key(row: Row) -> tuple[str, str, str]:
    """What identifies a row."""
    return row.robot, row.name, row.phase


def _row(found: dict[str, Any]) -> Row:
    return Row(**found)


def table(rows: list[Row], planned: int) -> str:
    """The table in Markdown."""
    passed = sum(row.passed for row in rows)
    fastest = max((row.peak for row in rows if row.peak == row.peak), default=0.0)
    farthest = max((row.beyond for row in rows if row.beyond == row.beyond), default=0.0)
    recovered = sum(row.recovered for row in rows)
    lines = [
        "# Faults",
        "",
        "Written by `make test-faults`: real processes, and the physics of the simulation, recorded at every step "
        "inside the bridge.",
        "",
        f"{len(rows)} of {planned} cases were run, {passed} of them are within the bars: largest speed "
        f"{100 * fastest:.0f} % of its limit (bar "
        f"{100 * MAX_SPEED:.0f} %), at most {1e3 * max(farthest, 0.0):.1f} mm at the tip beyond a stop (bar "
        f"{1e3 * MAX_BEYOND:.0f} mm), {recovered} recovered without a restart of the suite.",
        "",
        "| robot | fault | phase | speed [% of limit] | beyond a stop [mm] | to rest [s] | recovered | said | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        beyond = "went on" if row.beyond != row.beyond else f"{1e3 * max(row.beyond, 0.0):.1f}"
        said = row.reason.partition("]: ")[2] or row.reason
        lines.append(
            f"| {row.robot} | {row.name} | {row.phase} | {100 * row.peak:.0f} | {beyond} | {row.rest:.2f} | "
            f"{'yes' if row.recovered else 'no'} | {said[:110].replace('|', '/')} | {'' if row.passed else 'FAILED'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Runs all cases, or those whose name contains a text."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--robots", default=",".join(BOTS))
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no further case after this time")
    parser.add_argument("--resume", action="store_true", help="leave out the cases that passed in the last run")
    options = parser.parse_args()
    rows: list[Row] = []
    kept = {} if not RESULTS.exists() else {key(row): row for row in map(_row, json.loads(RESULTS.read_text()))}
    if not options.resume and not options.only:
        kept = {}
    end = time.monotonic() + options.seconds
    for name in options.robots.split(","):
        cases = [case for case in all_cases() if options.only in case.name]
        if options.resume:
            done = {found for found, row in kept.items() if row.passed}
            cases = [case for case in cases if (name, case.name, case.phase) not in done]
        while cases and time.monotonic() < end:
            with rig(BOTS[name]) as made:
                while cases and time.monotonic() < end and made.alive:
                    case = cases.pop(0)
                    try:
                        rows.append(play(made, case))
                    except AssertionError as failed:
                        rows.append(
                            Row(name, case.name, case.phase, math.nan, math.nan, math.nan, False, str(failed)[:100])
                        )
                        print(f"{name}: {case.name}, {case.phase}: {failed}", flush=True)
                        break  # with new processes
                    row = rows[-1]
                    print(
                        f"{'ok    ' if row.passed else 'FAILED'} {name}: {case.name}, {case.phase}: "
                        f"{100 * row.peak:.0f} %, {1e3 * row.beyond:.1f} mm, {row.rest:.2f} s; {row.reason[:150]}",
                        flush=True,
                    )
    if rows:
        kept |= {key(row): row for row in rows}
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps([asdict(row) for row in kept.values()]), encoding="utf-8")
        order = {(name, case.name, case.phase): k for k, (name, case) in enumerate(product(BOTS, all_cases()))}
        known = sorted((row for row in kept.values() if key(row) in order), key=lambda row: order[key(row)])
        TABLE.write_text(table(known, len(order)), encoding="utf-8")
    print(f"{sum(row.passed for row in rows)} of {len(rows)} passed")
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
