"""Derivatives of the dynamics compared with Pinocchio in one run: `make bench-derivatives`.

Pinocchio has no loop over a batch for derivatives. Its time is that of calls from Python, less the cost of a call:
what `rnea` from Python takes more than `rneaInParallel`, which loops in C++.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
from measure import machine, take_turns
from peers.pinocchio import Pinocchio
from problems import BATCH, Problem, problems
from report import Report, nanoseconds, times

from manipapy_core import dynamics


def main() -> None:
    report, robots = Report(), problems()
    report.heading(f"Derivatives, batch of {BATCH:,}, one thread, float64: ns per configuration")
    report.note(machine())
    rows, ratios, errors = [], {}, {}
    for problem in robots:
        states = problem.states(BATCH)
        peer = Pinocchio(problem, *states)
        seconds = {name: value / BATCH for name, value in take_turns(jobs(problem, states, peer)).items()}
        call = max(0.0, seconds["rnea Python"] - seconds["rnea C++"])
        for name in ("inverse_dynamics", "forward_dynamics"):
            ours, theirs = seconds[f"{name} manipapy"], seconds[f"{name} pin"]
            ratios[f"{name}, {problem.name}"] = (theirs - call) / ours
            rows.append(
                (problem.name, name, nanoseconds(ours), nanoseconds(theirs), times(theirs / ours),
                 nanoseconds(theirs - call), times((theirs - call) / ours))
            )  # fmt: skip
            errors[f"{name}, {problem.name}"] = disagreement(problem, name, states, peer)
        report.measurements[problem.name] = seconds
    report.table(("robot", "derivatives of", "manipapy", "pin Python", "ratio", "pin less call", "ratio"), rows)
    report.require("derivatives over Pinocchio's, without the cost of its calls", ratios, 15, at_least=True)
    report.require("largest relative disagreement with Pinocchio", errors, 1e-9, at_least=False)
    report.print_bars()


def jobs(problem: Problem, states: tuple[np.ndarray, ...], peer: Pinocchio) -> dict[str, Callable[[], object]]:
    model, data = peer.model, peer.data
    tuples = list(zip(peer.q, peer.v, peer.a, strict=True))

    def loop(function: Callable[..., object]) -> Callable[[], None]:
        def run() -> None:
            for q, v, a in tuples:
                function(model, data, q, v, a)

        return run

    return {
        "inverse_dynamics manipapy": lambda: dynamics.inverse_dynamics_derivatives(problem.chain, *states),
        "forward_dynamics manipapy": lambda: dynamics.forward_dynamics_derivatives(problem.chain, *states),
        "inverse_dynamics pin": loop(pin.computeRNEADerivatives),
        "forward_dynamics pin": loop(pin.computeABADerivatives),
        "rnea Python": loop(pin.rnea),
        "rnea C++": peer.cpp_loops()["inverse_dynamics"],
    }


def disagreement(problem: Problem, name: str, states: tuple[np.ndarray, ...], peer: Pinocchio) -> float:
    few = [values[:50] for values in states]
    found = np.stack(list(getattr(dynamics, f"{name}_derivatives")(problem.chain, *few).values()), axis=1)
    theirs = getattr(peer.route, f"{name}_derivatives")
    expected = np.stack([theirs(*row) for row in zip(*few, strict=True)])
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


if __name__ == "__main__":
    main()
