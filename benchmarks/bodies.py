"""Collision bodies of robots, beside coal on their true meshes: `python benchmarks/bodies.py [robot.urdf ...]`.

For every robot, in a process of its own: CPU time and memory of the build without the disk cache, self-collisions that
are missed and false alarms. Truth is coal on the collision shapes as described, meshes triangle by triangle, for all
pairs of links except adjacent ones and those that are in contact in every configuration. Without arguments the bundled
robots are measured. The compiled code comes from the disk: run it twice after installation.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import machine
from problems import ROOT  # noqa: F401  (puts the library and the tests' references on the path)
from report import Report

from geometry.true_shapes import longest_chain, true_collisions
from manipapy_core import ManipapyError, Robot
from manipapy_core.model.library import bundled_robots

CONFIGURATIONS = 3000
HEADER = ["robot", "joints", "CPU s", "MB", "parts", "pairs", "part pairs", "free", "missed", "false alarms", "ns"]
"""CPU time and peak memory of the build; time of a check per configuration."""
MOST_SECONDS, MOST_MEGABYTES, MOST_FALSE = 5.0, 500.0, 3.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", default=list(bundled_robots()), help="bundled names or description files")
    parser.add_argument("--package-paths", nargs="*", default=[], metavar="FOLDER", help="where package:// leads")
    parser.add_argument("--xacro-args", nargs="*", default=[], metavar="NAME:=VALUE", help="of the xacro files")
    parser.add_argument("--configurations", type=int, default=CONFIGURATIONS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        xacro_args = dict(text.split(":=", 1) for text in options.xacro_args)
        print(json.dumps(measure(options.one, options.package_paths, options.configurations, xacro_args)))
        return
    report = Report()
    report.heading("Collision bodies")
    report.note(machine())
    rows, found = [], {}
    for name in options.robots:
        command = [sys.executable, __file__, "--one", name, "--configurations", str(options.configurations)]
        run = subprocess.run(
            [*command, "--package-paths", *options.package_paths, "--xacro-args", *options.xacro_args],
            capture_output=True,
            text=True,
            check=False,
        )
        label = Path(name).stem
        if run.returncode:
            reason = (run.stderr.strip().splitlines() or ["no output"])[-1]
            print(f"{label}: {reason}", file=sys.stderr, flush=True)
            continue
        found[name] = result = json.loads(run.stdout.splitlines()[-1])
        rows.append(row_of(label, result))
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    report.table(HEADER, rows)
    report.measurements["bodies"] = found

    def each(key: str) -> dict[str, float]:
        return {Path(name).stem: float(result[key]) for name, result in found.items()}

    report.require("build, CPU time", each("seconds"), MOST_SECONDS, at_least=False, unit=" s")
    report.require("peak memory", each("megabytes"), MOST_MEGABYTES, at_least=False, unit=" MB")
    report.require("self-collisions missed", each("missed"), 0.0, at_least=False, unit="")
    report.require("false alarms among free configurations", each("false"), MOST_FALSE, at_least=False, unit=" %")
    report.print_bars()
    if options.json:
        report.save(options.json)


def row_of(name: str, result: dict[str, Any]) -> list[str]:
    text = [name, str(result["joints"]), f"{result['seconds']:.1f}", f"{result['megabytes']:.0f}"]
    text += [str(result[key]) for key in ("parts", "pairs", "part_pairs", "free", "missed")]
    return [*text, f"{result['false']:.1f} %", f"{result['ns']:.0f}"]


def measure(name: str, package_paths: list[str], count: int, xacro_args: dict[str, str]) -> dict[str, Any]:
    """Builds the body of one robot and compares it with the true shapes."""
    try:
        robot = Robot.from_urdf(name, package_paths=package_paths, xacro_args=xacro_args or None)
        chain = longest_chain(robot)
    except ManipapyError as error:
        raise SystemExit(f"not read: {str(error)[:300]}") from None
    from manipapy_core.geometry import Checker, RobotBody
    from manipapy_core.geometry.pairs import ADJACENT

    start = time.process_time()
    body = RobotBody.build(robot, chain, keep=False)
    seconds = time.process_time() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    q = np.random.default_rng(77).uniform(*chain.limits.sampling_range, (count, chain.n))
    checker = Checker(body)
    reported = checker.check(q)
    start = time.process_time()
    checker.check(q)
    nanoseconds = 1e9 * (time.process_time() - start) / count
    adjacent = {names for names, reason in body.ignored.items() if reason == ADJACENT}
    true, by_pair = true_collisions(robot, chain, q, adjacent)
    missed, false = true & ~reported, reported & ~true
    return {
        "seconds": seconds,
        "megabytes": megabytes,
        "joints": chain.n,
        "parts": sum(len(group.parts) for group in body.groups),
        "spheres": sum(len(group.spheres) for group in body.groups),
        "pairs": len(body.pairs),
        "part_pairs": sum(len(pair.part_pairs) for pair in body.pairs),
        "free": int((~true).sum()),
        "missed": int(missed.sum()),
        "missed_pairs": sorted({" – ".join(sorted(by_pair[row])) for row in np.flatnonzero(missed)}),
        "false": 100.0 * float(false.sum()) / max(1, int((~true).sum())),
        "false_at": q[false][:5].tolist(),
        "ns": nanoseconds,
    }


if __name__ == "__main__":
    main()
