"""Random twist streams of the servo benchmark: one result per stream, kept in a file, so that they run in pieces."""

from __future__ import annotations

import json
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from report import Report
from servo_followers import Follower, Ours, followers
from servo_scenes import DT, HOME, ContactCheck, Scene, random_twists

from manipapy_core import Robot, kinematics
from manipapy_core.geometry import Checker, RobotBody
from manipapy_core.servoing import ArmServo

SECONDS = 20.0
FIXED_WORK = np.random.default_rng(0).normal(size=(40, 40))
"""For the spread of the machine."""
BINS_PER_E = 100
"""Times are kept as counts of logarithmic bins, 1 % wide."""
FIRST_CYCLES = 10
"""Not counted: memory is touched for the first time."""


class Results:
    """Results of streams, one line each; with a file, those of earlier runs too."""

    def __init__(self, path: Path | None):
        self._path, self._rows = path, {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                self._keep(json.loads(line))

    def __contains__(self, key: tuple[str, str, int]) -> bool:
        return key in self._rows

    def add(self, row: dict[str, Any]) -> None:
        self._keep(row)
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(row) + "\n")

    def of(self, arm: str, name: str) -> list[dict[str, Any]]:
        return [row for key, row in sorted(self._rows.items()) if key[:2] == (arm, name)]

    def _keep(self, row: dict[str, Any]) -> None:
        self._rows[row["arm"], row["follower"], row["seed"]] = row


def run_streams(
    report: Report, arm: str, robot: Robot, body: RobotBody, seeds: range, peer_count: int, results: Results
) -> None:
    """Runs those streams that have no result yet, and reports on all."""
    contacts: ContactCheck | None = None
    for follower in followers():
        for seed in seeds if follower is Ours else seeds[:peer_count]:
            if (arm, follower.name, seed) in results:
                continue
            contacts = contacts or ContactCheck(arm, body.chain.joint_names, HOME[arm])
            scene = Scene.random(arm, 20, np.random.default_rng(seed), body, robot)
            found = _stream(follower, arm, scene, seed, contacts)
            results.add({"arm": arm, "follower": follower.name, "seed": seed, **found})
    _report(report, arm, results)


def _stream(follower: Follower, arm: str, scene: Scene, seed: int, contacts: ContactCheck) -> dict[str, Any]:
    checker, limits = Checker(scene.body, scene.world), scene.body.chain.limits
    servo, reference = follower(arm, checker, scene.q), ArmServo(checker, q=scene.q)
    contacts.place(scene.boxes)
    times, walls, fixed, path, alone = [], [], [], [scene.q], []
    switches = _switches()
    for cycle, twist in enumerate(random_twists(SECONDS, np.random.default_rng(1000 + seed))):
        wall, begun = time.perf_counter(), time.thread_time()
        path.append(servo.step(twist))
        times.append(time.thread_time() - begun)
        walls.append(time.perf_counter() - wall)
        before, switches = switches, _switches()
        alone.append(before == switches)
        if cycle % 10 == 0:
            begun = time.thread_time()
            for _ in range(12):
                FIXED_WORK @ FIXED_WORK
            fixed.append(time.thread_time() - begun)
    q = np.array(path)
    qd = np.diff(q, axis=0) / DT
    qdd, jerk = np.diff(qd, axis=0) / DT, np.diff(qd, 2, axis=0) / DT**2
    tips = kinematics.forward(scene.body.chain, q)[:, :3, 3]
    return {
        "times": _counts(times[FIRST_CYCLES:]),
        "alone": _counts([taken for taken, kept in zip(times, alone) if kept][FIRST_CYCLES:]),
        "walls": _counts(walls[FIRST_CYCLES:]),
        "fixed": _counts(fixed),
        "contacts": sum(contacts.contacts(row) for row in q),
        "position": int(((q < limits.lower - 1e-9) | (q > limits.upper + 1e-9)).sum()),
        "velocity": int((np.abs(qd) > limits.velocity * (1.0 + 1e-6)).sum()),
        "acceleration": float((np.abs(qdd) / reference.acceleration).max()),
        "jerk": float((np.abs(jerk) / reference.jerk).max()),
        "moved": float(np.linalg.norm(np.diff(tips, axis=0), axis=1).sum()),
    }


def _switches() -> int:
    """How often this thread has lost or left the processor."""
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nivcsw + usage.ru_nvcsw


def _counts(seconds: list[float]) -> dict[str, int]:
    bins = np.round(BINS_PER_E * np.log(1e6 * np.maximum(seconds, 1e-7))).astype(int)
    return {str(key): count for key, count in sorted(Counter(bins.tolist()).items())}


def _count(bins: dict[str, int]) -> int:
    return sum(bins.values())


def _percentiles(rows: list[dict[str, Any]], key: str) -> Iterator[float]:
    """p50 and p99 over the cycles of all streams [µs]."""
    total: Counter[int] = Counter()
    for row in rows:
        total.update({int(name): count for name, count in row[key].items()})
    bins = np.array(sorted(total))
    sums = np.cumsum([total[key] for key in bins.tolist()])
    for share in (0.5, 0.99):
        yield float(np.exp(bins[np.searchsorted(sums, share * sums[-1])] / BINS_PER_E))


def _report(report: Report, arm: str, results: Results) -> None:
    rows = []
    for follower in (item.name for item in followers()):
        found = results.of(arm, follower)
        if not found:
            continue
        sums = {key: sum(item[key] for item in found) for key in ("contacts", "position", "velocity")}
        hit = sum(item["contacts"] > 0 for item in found)
        worst = {key: max(item[key] for item in found) for key in ("acceleration", "jerk")}
        (p50, p99), (wall50, wall99) = _percentiles(found, "times"), _percentiles(found, "walls")
        (fixed50, fixed99), (alone50, alone99) = _percentiles(found, "fixed"), _percentiles(found, "alone")
        share = sum(_count(item["alone"]) for item in found) / sum(_count(item["times"]) for item in found)
        rows.append([
            follower, f"{len(found)}", f"{sums['contacts']} ({hit})", f"{sums['position']}, {sums['velocity']}",
            f"{worst['acceleration']:.2f}, {worst['jerk']:.2f}", f"{p50:.0f}, {p99:.0f}",
            f"{alone50:.0f}, {alone99:.0f} ({100.0 * share:.0f} %)", f"{wall50:.0f}, {wall99:.0f}",
            f"{fixed50:.0f}, {fixed99:.0f}", f"{np.median([item['moved'] for item in found]):.1f}",
        ])  # fmt: skip
        if follower == Ours.name:
            report.require(f"{arm}: contacts", {arm: float(sums["contacts"])}, 0.0, at_least=False, unit="")
            broken = float(sums["position"] + sums["velocity"])
            report.require(f"{arm}: limit violations", {arm: broken}, 0.0, at_least=False, unit="")
            report.require(f"{arm}: jerk over its limit", {arm: worst["jerk"]}, 1.001, at_least=False, unit="")
            report.require(f"{arm}: cycle p99", {arm: 1e-3 * p99}, 0.3, at_least=False, unit=" ms")
            text = f"{arm}: undisturbed cycle p99"
            report.require(text, {arm: 1e-3 * alone99}, 0.3, at_least=False, unit=" ms")
    report.heading(f"{arm}: random twist streams of {SECONDS:.0f} s among 20 boxes")
    report.table(
        ["", "streams", "contacts (streams)", "position, velocity limits broken", "acceleration, jerk over limit",
         "cycle p50, p99 [µs CPU]", "undisturbed (share)", "[µs wall]",
         "fixed work p50, p99 [µs CPU]", "way of the tip [m], median"],
        rows,
    )  # fmt: skip
