"""Other peers if installed: MuJoCo, Robotics Toolbox, ManipulaPy, PyKDL."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np
from measure import take_turns
from ours import public_call
from peers.pinocchio import Pinocchio
from problems import BATCH, Problem
from report import Report, nanoseconds, times

PEERS = ("mujoco", "roboticstoolbox", "manipulapy", "pykdl")


def other_peers(report: Report, robots: list[Problem]) -> None:
    """One configuration per call, compared with manipapy's public function and its batch."""
    report.heading(
        "Other peers, one call from Python: ns; times slower than manipapy's public function and than its batch"
    )
    rows, notes = [], []
    for name in PEERS:
        try:
            peer = importlib.import_module(f"peers.{name}")
        except ImportError as error:
            report.note(f"{name}: not installed ({error})")
            continue
        notes.append(f"{name} {peer.VERSION}: {peer.NOTE}")
        for problem in robots:
            rows += peer_rows(report, name, peer.calls, problem)
    report.table(("peer, robot", "function", "peer", "public call", "slower", "batch", "slower", "error"), rows)
    report.note("error: of the joint forces, relative to the largest, against Pinocchio; blank where not comparable")
    for line in notes:
        report.note(line)


def peer_rows(report: Report, name: str, calls: Callable, problem: Problem) -> list[tuple[str, ...]]:
    states = [values[0] for values in problem.states(1)]
    jobs = calls(problem, *states)
    expected = Pinocchio(problem, *(values[None] for values in states)).route.inverse_dynamics(*states)
    off = np.max(np.abs(np.asarray(jobs["inverse_dynamics"]()) - expected)) / np.max(np.abs(expected))
    rows = []
    for function, job in jobs.items():
        ours = function.split(",")[0]
        own = {
            "public": public_call(problem, ours, states),
            "batch": public_call(problem, ours, problem.states(BATCH)),
        }
        seconds = take_turns({"peer": job, **own}, rounds=5)
        theirs, single, batch = seconds["peer"], seconds["public"], seconds["batch"] / BATCH
        report.measurements[f"peer {name} {problem.name} {function}"] = seconds
        rows.append(
            (
                f"{name}, {problem.name}", function, nanoseconds(theirs), nanoseconds(single), times(theirs / single),
                nanoseconds(batch), times(theirs / batch), f"{off:.0e}" if function == "inverse_dynamics" else "",
            )
        )  # fmt: skip
    return rows
