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
from manipapy_msgs.msg import ControllerStatus

from ros_arm import SUCCEEDED

from .case import Case, Expect
from .cases import all_cases
from .judge import after, beyond_braking, peak_ratio, rest_time, rests_at_end
from .rig import BOTS, HeldBefore, Nodes, Rig, rig
from .world_faults import remove_obstacles

MAX_SPEED, MAX_BEYOND = 1.05, 5e-3
"""Bars: share of the velocity limit, and tip distance beyond that of a stop [m]."""
TABLE = Path(__file__).parents[2] / "docs" / "faults.md"
RESULTS = Path(__file__).parents[2] / "build" / "faults.json"
WAYS = {"start": 0.02, "cruise": 0.5, "near goal": 0.97, "replanning": 0.5}
"""Share of the way on which a phase begins."""


NOTES = (
    "A stop is counted from the fault: 50 ms of reaction, then the braking of a hold, or that of normal motion "
    "where the stop was requested: on the path, where all joints stop together. Where the documentation gives a "
    "time for the detection (0.5 s without a collision forecast, 5 s without heartbeats of a planner, both in "
    "simulation), it is counted from there; for a box that appears from 50 ms after the planner's answer, for a "
    "request from 20 ms after it was sent. `kept` is the smallest exact distance from a box that the world knows; "
    "*went on* is an arm that reached its goal, or that was not expected to stop at once.",
    "",
    "An arm that hits what nobody knows: the impact throws light joints before anything can react. *drives off* are "
    "the speeds in the same motion with drives that are switched off in the step of the impact, within 3 and within "
    "10 ms. Where those are above the bar, the arm must not be faster than within these 10 ms.",
)


@dataclass(frozen=True)
class Row:
    """What one fault did."""

    robot: str
    name: str
    phase: str
    peak: float
    """Largest speed over its limit."""
    beyond: float
    """Tip distance beyond that of a stop [m]; NaN if no stop was expected, or the arm went on to its goal."""
    rest: float
    """From the fault to rest, in simulated time [s]."""
    recovered: bool
    """Whether the next motion succeeded."""
    reason: str
    kept: float = math.nan
    """Smallest distance from an obstacle that must not be touched [m]."""
    at_rest: bool = True
    """Whether an arm that must come to rest did."""
    thrown: tuple[float, float] = (0.0, 0.0)
    """Largest speeds over their limits by the impact alone, within 3 and 10 ms; 0 without an impact."""

    @property
    def passed(self) -> bool:
        moved = self.peak <= max(MAX_SPEED, self.thrown[1]) and not self.beyond > MAX_BEYOND and not self.kept <= 0.0
        return moved and self.at_rest and self.recovered and bool(self.reason)

    @property
    def speed(self) -> str:
        """The largest speed, and those by the impact alone."""
        said = f"{100 * self.peak:.0f}"
        if self.thrown[1] > 0.0:
            said += f" (drives off: {100 * self.thrown[0]:.0f}, {100 * self.thrown[1]:.0f})"
        return said

    @property
    def measured(self) -> str:
        """What the arm did instead of a perfect stop."""
        if not math.isnan(self.kept):
            return f"kept {1e3 * self.kept:.1f}"
        if not math.isnan(self.beyond):
            return f"{1e3 * max(self.beyond, 0.0):.1f}"
        return "went on"


def play(made: Rig, case: Case) -> Row:
    """Brings the arm into the phase, injects the fault and looks at the physics."""
    bot = made.bot
    status = made.arm.status()
    if not made.at(bot.home) or status.verdict >= ControllerStatus.HOLD:
        assert made.recover(bot.home), "the arm does not come home"
    made.answers, made.target, answer = [], None, None
    try:
        case.prepare(made)
        said_before = set(made.said())
        if case.phase != "holding":
            handle = case.send(made)
            answer = None if handle is None else handle.get_result_async()
            if case.phase in WAYS:
                made.wait_until_on_the_way(WAYS[case.phase])
        began = case.inject(made)
        made.peer.spin_for(case.seconds)
        truth = made.truth_since(began)
        outcome = made.outcome(answer)
        lines = [line for line in made.said() if line not in said_before]
        arrived = outcome is not None and outcome[0] == SUCCEEDED
        if outcome is None and made.target is not None:  # the goal is that of another client, or its node has died
            arrived = bool(np.abs(truth.q[-1] - made.target).max() < 0.01)
        failed = [outcome[1]] if outcome is not None and not arrived and outcome[1] else []
        kept = made.objects.kept(truth) if case.expect is Expect.CLEAR else math.nan
        impact = case.impact(made)
        case.restore(made)
        if case.may_succeed:
            remove_obstacles(made)  # the arm may be on the other side of it, and the way home is a blind trajectory
        recovered = made.recover(bot.home)
    finally:
        remove_obstacles(made)
    beyond = math.nan
    if case.expect in (Expect.STOP, Expect.STOP_GENTLY) and not (arrived and case.may_succeed):
        gentle = case.expect is Expect.STOP_GENTLY
        beyond = beyond_braking(bot.chain, after(truth, case.detection), gentle=gentle)
    at_rest = rests_at_end(truth) if case.expect is Expect.REST else True
    peak, rest = peak_ratio(bot.chain, truth), rest_time(truth)
    words = reason([*failed, *lines, *made.answers], case, arrived)
    thrown = (0.0, 0.0) if impact is None else (impact.at_once, impact.soon)
    return Row(bot.name, case.name, case.phase, peak, beyond, rest, recovered, words, kept, at_rest, thrown)


def reason(texts: list[str], case: Case, arrived: bool) -> str:
    """What the suite said of a fault; empty if it said nothing although the arm did not do what it was told."""
    found = [text for text in texts if text]
    if found:
        return found[0]
    if arrived:
        return "the motion was not disturbed"
    return "the arm was not disturbed" if case.phase == "holding" and case.may_succeed else ""


def key(row: Row) -> tuple[str, str, str]:
    """What identifies a row."""
    return row.robot, row.name, row.phase


def _row(found: dict[str, Any]) -> Row:
    return Row(**{**found, "thrown": tuple(found.get("thrown", (0.0, 0.0)))})


def table(rows: list[Row], planned: int) -> str:
    """The table in Markdown."""
    passed = sum(row.passed for row in rows)
    fastest = max((row.peak for row in rows if row.peak == row.peak and row.thrown[1] <= MAX_SPEED), default=0.0)
    thrown = [row.peak for row in rows if row.thrown[1] > MAX_SPEED and row.peak == row.peak]
    farthest = max((row.beyond for row in rows if row.beyond == row.beyond), default=0.0)
    recovered = sum(row.recovered for row in rows)
    silent = ", all said why" if all(row.reason for row in rows) else ""
    distances = [row.kept for row in rows if row.kept == row.kept]
    kept = (
        f" Obstacles that had to be kept clear of were never nearer than {1e3 * min(distances):.1f} mm."
        if distances
        else ""
    )
    hit = f" In {len(thrown)} cases an impact threw a joint, to {100 * max(thrown):.0f} % at most." if thrown else ""
    lines = [
        "# Faults",
        "",
        "Written by `make test-faults`: real processes, and the physics of the simulation, recorded at every step "
        "inside the bridge.",
        "",
        f"{len(rows)} of {planned} cases were run, {passed} of them are within the bars: largest speed "
        f"{100 * fastest:.0f} % of its limit (bar "
        f"{100 * MAX_SPEED:.0f} %), at most {1e3 * max(farthest, 0.0):.1f} mm at the tip beyond a stop (bar "
        f"{1e3 * MAX_BEYOND:.0f} mm), {recovered} recovered without a restart of the suite{silent}.{kept}{hit}",
        "",
        *NOTES,
        "",
        "| robot | fault | phase | speed [% of limit] | beyond a stop [mm] | to rest [s] | recovered | said | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        said = row.reason.partition("]: ")[2] or row.reason
        lines.append(
            f"| {row.robot} | {row.name} | {row.phase} | {row.speed} | {row.measured} | {row.rest:.2f} | "
            f"{'yes' if row.recovered else 'no'} | {said[:110].replace('|', '/')} | {'' if row.passed else 'FAILED'} |"
        )
    return "\n".join(lines) + "\n"


def attempt(made: Rig, case: Case) -> Row:
    """Plays a case and prints what came of it; a case that could not be played has no speed."""
    began = time.monotonic()
    try:
        try:
            row = play(made, case)
        except HeldBefore:  # there has been no fault yet
            row = play(made, case)
    except AssertionError as failed:
        row = Row(
            made.bot.name, case.name, case.phase, math.nan, math.nan, math.nan, False, f"not played: {failed}"[:200]
        )
    print(
        f"{'ok    ' if row.passed else 'FAILED'} {row.robot}: {row.name}, {row.phase}: {row.speed} %, "
        f"{row.measured} mm, {row.rest:.2f} s{'' if row.recovered else ', not recovered'}"
        f"{'' if row.at_rest else ', not at rest'} [{time.monotonic() - began:.1f} s]; {row.reason[:150]}",
        flush=True,
    )
    return row


def keep(kept: dict[tuple[str, str, str], Row], rows: list[Row]) -> None:
    """Adds rows to those kept, and writes results and table."""
    kept |= {key(row): row for row in rows}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([asdict(row) for row in kept.values()]), encoding="utf-8")
    order = {(name, case.name, case.phase): k for k, (name, case) in enumerate(product(BOTS, all_cases()))}
    known = sorted((row for row in kept.values() if key(row) in order), key=lambda row: order[key(row)])
    TABLE.write_text(table(known, len(order)), encoding="utf-8")


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
    for name, nodes in product(options.robots.split(","), Nodes):
        cases = [case for case in all_cases() if options.only in case.name and case.nodes is nodes]
        if options.resume:
            done = {found for found, row in kept.items() if row.passed}
            cases = [case for case in cases if (name, case.name, case.phase) not in done]
        while cases and time.monotonic() < end:
            with rig(BOTS[name], nodes=nodes) as made:
                while cases and time.monotonic() < end and made.alive:
                    rows.append(attempt(made, cases.pop(0)))
                    keep(kept, rows[-1:])
                    if math.isnan(rows[-1].peak):
                        break  # with new processes
    print(f"{sum(row.passed for row in rows)} of {len(rows)} passed")
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
