"""Servo: cycle time, random twist streams among obstacles, lines through singularities: `make bench-servo`.

PyBullet judges contacts: every commanded configuration is set in it, and a pair of bodies whose shapes overlap (their
distance is negative) counts, unless a joint joins the two or they overlap at the home configuration already, as parts
of a housing do. PyBullet makes every cylinder of a description 1 mm thicker, which is stricter than its shapes. The
peer is pink, a plain differential inverse kinematics with position and velocity limits, on the same streams and lines:
it knows no obstacles, and no acceleration or jerk limits, which is what a servo is for; its cycle does less. Both
commands are open loop, without a simulated controller.

Times are CPU time of the thread, and wall time, which tells how long others had the processor. After they
had it, a cycle takes more CPU time as well, because the caches are theirs. Undisturbed cycles are those in which, and
before which, the thread kept the processor: getrusage counts no context switch since the end of the last one. The same
multiplications of small matrices after every tenth cycle show the spread of the machine itself.

The streams take long. With `--results FILE` they run in pieces (`--streams 0:50`), continue where a run was ended, and
the report is on all streams in the file.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import machine, version_of
from problems import Array
from report import Report
from servo_followers import Follower, Ours, followers
from servo_scenes import ARMS, DT, SINGULAR, possible_lines, singular_configuration
from servo_streams import Results, run_streams

from manipapy_core import Robot, kinematics
from manipapy_core.geometry import Checker, RobotBody

LINE, SPEED = 0.08, 0.05
"""Length of a line on either side of the singularity [m], speed along it [m/s]."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=_seeds, default="0:200", metavar="A:B", help="seeds of the random streams")
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="keep the result of every stream here, and run none twice"
    )
    parser.add_argument("--peer-streams", type=int, default=20, help="of these, streams that the peer follows too")
    parser.add_argument("--lines", type=int, default=6, help="lines per singularity")
    parser.add_argument("--robot", choices=sorted(ARMS), action="append", help="instead of both")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    options = parser.parse_args()
    report, results = Report(), Results(options.results)
    report.heading("manipapy servo")
    report.note(machine())
    packages = ("pin-pink", "pin", "daqp", "pybullet")
    report.note(f"versions: {', '.join(f'{name} {version_of(name)}' for name in packages)}")
    for arm in options.robot or sorted(ARMS):
        robot = Robot.from_urdf(arm)
        body = RobotBody.build(robot, robot.chain(*ARMS[arm]))
        run_streams(report, arm, robot, body, options.streams, options.peer_streams, results)
        if options.lines:
            lines(report, arm, body, options.lines)
    report.print_bars()
    if options.json:
        report.save(options.json)


def _seeds(text: str) -> range:
    first, _, end = text.rpartition(":")
    return range(int(first or 0), int(end))


def lines(report: Report, arm: str, body: RobotBody, count: int) -> None:
    """Straight lines with fixed orientation through singular configurations."""
    chain, checker, rows = body.chain, Checker(body), []
    for kind in SINGULAR[arm]:
        q = singular_configuration(arm, kind, chain)
        found = possible_lines(chain, q, checker, count, LINE, seed=3)
        for follower in followers():
            results = [_line(follower, arm, checker, q, line[:3], bool(line[3])) for line in found]
            done = [error for finished, error in results if finished]
            worst = max((error for _, error in results), default=np.nan)
            both = sum(bool(line[3]) for line in found)
            rows.append([kind, follower.name, f"{len(found)} ({both})", str(len(done)), f"{1e3 * worst:.2f}"])
            if follower is Ours and found:
                text = f"{arm}: path error through the {kind} singularity"
                report.require(text, {arm: 1e3 * worst}, 2.0, at_least=False, unit=" mm")
    report.heading(f"{arm}: lines through singularities that inverse kinematics can follow")
    report.table(["singularity", "", "lines (on both sides)", "finished", "largest path error [mm]"], rows)


def _line(
    follower: Follower, arm: str, checker: Checker, q: Array, direction: Array, through: bool
) -> tuple[bool, float]:
    """Away from the singularity along a line; then, if possible, back through it to the other side."""
    servo = follower(arm, checker, q)
    tip: Callable[[Array], Array] = lambda q: kinematics.forward(checker.body.chain, q)[:3, 3]  # noqa: E731
    centre, worst = tip(q), 0.0
    legs = [(direction, LINE), (-direction, 2.0 * LINE if through else LINE)]
    for axis, length in legs:
        start, along = None, 0.0
        for _ in range(round(3.0 * length / SPEED / DT) + 500):
            now = servo.step(np.r_[0.0, 0.0, 0.0, SPEED * axis])
            point = tip(now)
            start = point if start is None else start
            off = point - centre
            worst, along = max(worst, float(np.linalg.norm(off - axis * (axis @ off)))), float((point - start) @ axis)
            if along >= length - 0.004:
                break
        else:
            return False, worst
        for _ in range(500):
            servo.step(np.zeros(6))
    return True, worst


if __name__ == "__main__":
    main()
