"""Inverse kinematics compared with its peers on the same poses, errors measured by Pinocchio: `make bench-ik`.

Prints times, success rates and the project's bars.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

import numpy as np
from ik_peers import Peer, peers_of
from measure import machine, take_turns, version_of
from problems import Array
from report import Report, times

from ik.arms import BUNDLED, RANDOM, arm, configurations, errors_by_pinocchio, inside_limits, judge_text
from manipapy_core import Chain, ik, kinematics

DISTRIBUTIONS = ("numpy", "numba", "llvmlite", "pin", "eaik", "ssik", "roboticstoolbox-python", "pytracik")
PEER_POSES = 300
NOT_LIKE_FOR_LIKE = (
    "manipapy compiles code and a seed table for one robot (about a second, once); the others start anywhere.",
    "RTB and TRAC-IK are called one pose at a time, because they have no batch; manipapy's batch is one call.",
    "EAIK and ssik give every solution, manipapy's first two columns give one.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=10_000, help="per robot")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    options = parser.parse_args()
    report = Report()
    versions = {"Python": platform.python_version()} | {name: version_of(name) for name in DISTRIBUTIONS}
    report.heading("manipapy inverse kinematics benchmark")
    report.note(machine())
    report.note(", ".join(f"{name} {version}" for name, version in versions.items()))
    solved = reachable(report, options.poses)
    report.require("share of reachable poses solved", solved, 100.0, at_least=True, unit="%")
    beside_peers(report)
    unreachable(report)
    every_solution(report, options.poses)
    report.finish(NOT_LIKE_FOR_LIKE, options.json)


def poses_of(chain: Chain, count: int, seed: int) -> Array:
    return kinematics.forward(chain, configurations(chain, count, seed))


def reachable(report: Report, count: int) -> dict[str, float]:
    """Every robot, one batch; errors measured by Pinocchio."""
    report.heading(f"{count:,} random reachable poses: 1e-6 m, 1e-6 rad, inside the limits, by Pinocchio")
    rows, share = [], {}
    for name in (*BUNDLED, *RANDOM):
        chain = arm(name)
        T = poses_of(chain, count, seed=21)
        ik.solve_batch(chain, T[:10])
        start = time.thread_time()
        answer = ik.solve_batch(chain, T)
        each = (time.thread_time() - start) / count
        position, orientation = errors_by_pinocchio(name, answer.q, T)
        good = answer.solved & (position < 1e-6) & (orientation < 1e-6)
        share[name] = 100.0 * float(good.mean()) if inside_limits(chain, answer.q) else 0.0
        rows.append(
            (name, str(chain.n), f"{share[name]:.2f}%", f"{each * 1e9:.0f}", f"{answer.iterations.mean():.2f}",
             f"{answer.starts.mean():.3f}", f"{position.max():.1e}", f"{orientation.max():.1e}")
        )  # fmt: skip
    report.table(("robot", "joints", "solved", "ns a pose", "iterations", "starts", "worst m", "worst rad"), rows)
    report.measurements["reachable"] = rows
    return share


def beside_peers(report: Report) -> None:
    report.heading(f"Time of one pose [µs], mean over {PEER_POSES} poses, medians of several rounds; success rate")
    rows, batch_ratio, one_ratio = [], {}, {}
    for name in BUNDLED:
        chain = arm(name)
        T, many = poses_of(chain, PEER_POSES, seed=22), poses_of(chain, 10 * PEER_POSES, seed=25)
        peers = peers_of(name, judge_text(name), chain)
        jobs = {"batch": lambda c=chain, T=many: ik.solve_batch(c, T), "one": lambda c=chain, T=T: one_by_one(c, T)}
        rtb = next((peer for peer in peers if peer.name == "RTB ik_LM"), None)
        if rtb is not None:
            jobs[rtb.name] = lambda peer=rtb, T=T: [peer.solve(pose) for pose in T]
        taken = take_turns(jobs, rounds=7)
        taken = {key: value / (len(many) if key == "batch" else len(T)) for key, value in taken.items()}
        line = [f"{name:<8}", *(f"{key} {value * 1e6:.2f}" for key, value in taken.items())]
        if rtb is not None:
            batch_ratio[name], one_ratio[name] = taken[rtb.name] / taken["batch"], taken[rtb.name] / taken["one"]
            line.append(f"= {times(batch_ratio[name])} batch, {times(one_ratio[name])} one")
        for peer in peers:
            mean, share = timed(peer, name, T)
            line.append(f"{peer.name} {mean * 1e6:.0f} ({share:.1f}%)")
        rows.append(line)
        report.note("  ".join(line))
    report.measurements["beside peers"] = rows
    if batch_ratio:
        report.require("batch, faster than RTB ik_LM per pose", batch_ratio, 100.0, at_least=True)
        report.require("public function, faster than RTB ik_LM", one_ratio, 10.0, at_least=True)


def one_by_one(chain: Chain, T: Array) -> None:
    for pose in T:
        ik.solve(chain, pose)


def timed(peer: Peer, name: str, T: Array) -> tuple[float, float]:
    """Mean seconds and success rate [%]; only the first solution is checked, without limits."""
    peer.solve(T[0])
    start = peer.clock()
    answers = [peer.solve(pose) for pose in T]
    mean = (peer.clock() - start) / len(T)
    found = [k for k, q in enumerate(answers) if q is not None]
    position, orientation = errors_by_pinocchio(name, np.array([answers[k] for k in found]), T[found])
    return mean, 100.0 * float(((position < 1e-6) & (orientation < 1e-6)).sum()) / len(T)


def unreachable(report: Report) -> None:
    report.heading("1,000 poses beyond reach and 1,000 around its boundary: time to the result [ms]")
    rows, slowest, claims = [], {}, {}
    for name in BUNDLED:
        chain = arm(name)
        far = poses_of(chain, 2000, seed=23)
        far[:1000, :3, 3] *= (2.5 / np.linalg.norm(far[:1000, :3, 3], axis=1))[:, None]
        far[1000:, :3, 3] *= 1.3
        for pose in far[::50]:
            ik.solve(chain, pose)
        taken, false_claims, counts = [], 0, {}
        for pose in far:
            start = time.thread_time()
            result = ik.solve(chain, pose)
            taken.append(time.thread_time() - start)
            counts[result.status.value] = counts.get(result.status.value, 0) + 1
            if result.solved:
                off = np.abs(kinematics.forward(chain, result.q) - pose).max()
                false_claims += bool(off > 3e-6)
        claims[name] = float(false_claims)
        slowest[name] = 1e3 * float(np.percentile(taken, 99))
        median, worst = 1e3 * np.median(taken), 1e3 * max(taken)
        rows.append((name, str(counts), f"{median:.3f}", f"{slowest[name]:.3f}", f"{worst:.3f}"))
    report.table(("robot", "answers", "median", "99 %", "worst"), rows)
    report.require("false claims on 2,000 such poses", claims, 0.0, at_least=False, unit="")
    report.require("answered within (99 of 100)", slowest, 2.0, at_least=False, unit="ms")


def every_solution(report: Report, count: int) -> None:
    report.heading("All solutions of a UR5 pose: does the set contain the generating configuration?")
    chain = arm("ur5")
    q = configurations(chain, count, seed=24)
    T = kinematics.forward(chain, q)
    ik.solve(chain, T[0], all_solutions=True)
    missing, numbers, start = 0, 0, time.thread_time()
    for row, pose in zip(q, T):
        found = ik.solve(chain, pose, all_solutions=True)
        numbers += len(found)
        missing += not (np.abs(found.q - row).max(axis=1, initial=0.0) < 1e-4).any()
    each = (time.thread_time() - start) / count
    report.note(f"{count - missing:,} of {count:,}; {numbers / count:.0f} solutions with windings on average")
    report.note(f"{each * 1e3:.2f} ms a pose")
    report.require("generating configuration missing (ur5)", {"ur5": float(missing)}, 0.0, at_least=False, unit="")


if __name__ == "__main__":
    main()
