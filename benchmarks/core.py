"""Kinematics and dynamics compared with their peers in one run: `make bench-core`.

Prints times, ratios and the project's bars. One-thread figures are medians of interleaved CPU times of the thread.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import SecondCore, machine, neighbours, take_turns, time_statements, version_of
from other_peers import other_peers
from ours import COMPARED, own_statements, public_call
from peers.pinocchio import Pinocchio
from problems import BATCH, Problem, problems
from report import Report, nanoseconds, times
from startup import SIX_KERNELS, import_seconds, kernel_seconds

DISTRIBUTIONS = ("numpy", "llvmlite", "pin", "mujoco", "roboticstoolbox-python", "ManipulaPy")
THREADED_BATCH = 100_000

NOT_LIKE_FOR_LIKE = (
    "manipapy compiles code for one robot; Pinocchio, MuJoCo and the others run general code that reads the "
    "robot from memory.",
    "Pinocchio's own code generation (CasADi, CppADCodeGen), the closest alternative, is not measured.",
    "The C++ loop writes into existing memory; manipapy's public functions check their input and return new arrays.",
    "Pinocchio's Python loops do not keep their results.",
    "Pinocchio's forward_dynamics is ABA, its regressor and Coriolis matrix those of its Python interface.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    parser.add_argument("--no-peers", action="store_true", help="Pinocchio only")
    options = parser.parse_args()

    report, robots = Report(), problems()
    describe_machine(report)
    batches(report, robots)
    precision(report, robots)
    single_calls(report, robots)
    threads(report, robots)
    startup(report, robots)
    if not options.no_peers:
        other_peers(report, robots)
    report.finish(NOT_LIKE_FOR_LIKE, options.json)


def describe_machine(report: Report) -> None:
    versions = {"Python": platform.python_version()} | {name: version_of(name) for name in DISTRIBUTIONS}
    report.measurements["machine"] = {"cpu": machine(), **versions}
    report.heading("manipapy core benchmark")
    report.note(machine())
    report.note(", ".join(f"{name} {version}" for name, version in versions.items()))


def batches(report: Report, robots: list[Problem]) -> None:
    """Public functions against Pinocchio's C++ loop and its Python loop."""
    report.heading(
        f"Batch of {BATCH:,}, one thread, float64: ns per configuration, and how many times manipapy is faster"
    )
    rows, against_cpp, against_python = [], {}, {}
    for problem in robots:
        states = problem.states(BATCH)
        peer = Pinocchio(problem, *states)
        jobs: dict[str, Callable[[], object]] = {}
        for name in COMPARED:
            jobs[f"{name} manipapy"] = public_call(problem, name, states)
        jobs |= {f"{name} C++": job for name, job in peer.cpp_loops().items()}
        jobs |= {f"{name} Python": job for name, job in peer.python_loops().items()}
        seconds = {name: value / BATCH for name, value in take_turns(jobs).items()}
        for name in COMPARED:
            ours, cpp, python = (seconds.get(f"{name} {kind}") for kind in ("manipapy", "C++", "Python"))
            against_python[f"{name}, {problem.name}"] = python / ours
            if cpp:
                against_cpp[f"{name}, {problem.name}"] = cpp / ours
            beside_cpp = (nanoseconds(cpp), times(cpp / ours)) if cpp else ("", "")
            rows.append((problem.name, name, nanoseconds(ours), *beside_cpp, nanoseconds(python), times(python / ours)))
        report.measurements[f"batch {problem.name}"] = seconds
    report.table(("robot", "function", "manipapy", "pin C++", "ratio", "pin Python", "ratio"), rows)
    for name, label in (("inverse_dynamics", "RNEA"), ("forward_dynamics", "ABA")):
        report.require(f"{label} over Pinocchio's C++ loop", only(against_cpp, name), 20, at_least=True)
    for name, label in (("mass_matrix", "CRBA"), ("forward", "FK"), ("body_jacobian", "body Jacobian")):
        report.require(f"{label} over Pinocchio's Python loop", only(against_python, name), 12, at_least=True)


def precision(report: Report, robots: list[Problem]) -> None:
    """float32 against float64 through the public functions."""
    report.heading(f"float32 and float64, batch of {BATCH:,}, one thread: ns per configuration")
    rows, ratios = [], {}
    for problem in robots:
        double = problem.states(BATCH)
        single = tuple(values.astype(np.float32) for values in double)
        jobs = {f"{name} 64": public_call(problem, name, double) for name in COMPARED}
        jobs |= {f"{name} 32": public_call(problem, name, single) for name in COMPARED}
        seconds = {name: value / BATCH for name, value in take_turns(jobs, rounds=15).items()}
        for name in COMPARED:
            wide, narrow = seconds[f"{name} 64"], seconds[f"{name} 32"]
            ratios[f"{name}, {problem.name}"] = wide / narrow
            rows.append((problem.name, name, nanoseconds(wide), nanoseconds(narrow), times(wide / narrow)))
        report.measurements[f"precision {problem.name}"] = seconds
    report.table(("robot", "function", "float64", "float32", "ratio"), rows)
    report.require("float32 over float64", ratios, 1.6, at_least=True)


def single_calls(report: Report, robots: list[Problem]) -> None:
    """One configuration per call from Python: bound kernel and public function against Pinocchio's call."""
    report.heading("One call from Python: ns, and ratio to Pinocchio's time")
    rows, bound_share, public_share = [], {}, {}
    for problem in robots:
        states = problem.states(1)
        statements = {f"{name} pin": value for name, value in Pinocchio(problem, *states).single_calls().items()}
        names = [key.removesuffix(" pin") for key in statements]
        for name in names:
            statements |= own_statements(problem, name, [values[0] for values in states])
        seconds = time_statements(statements)
        for name in names:
            pin, bound, public = (seconds[f"{name} {kind}"] for kind in ("pin", "bound", "public"))
            key = f"{name}, {problem.name}"
            bound_share[key], public_share[key] = bound / pin, public / pin
            rows.append(
                (
                    problem.name,
                    name,
                    nanoseconds(pin),
                    nanoseconds(bound),
                    times(bound / pin),
                    nanoseconds(public),
                    times(public / pin),
                )
            )
        report.measurements[f"single {problem.name}"] = seconds
    report.table(("robot", "function", "pin", "bound kernel", "ratio", "public function", "ratio"), rows)
    report.require("bound kernel, of Pinocchio's Python call", bound_share, 1, at_least=False)
    report.require("public function, of Pinocchio's Python call", public_share, 2, at_least=False)


def threads(report: Report, robots: list[Problem]) -> None:
    """Wall time of one and two threads, beside Pinocchio's; the bar is for rounds in which both cores are free."""
    load = os.getloadavg()[0]
    report.heading(f"Two threads and one: inverse dynamics of {THREADED_BATCH:,}, wall ms (load average {load:.1f})")
    rows, gains, quiet = [], {}, SecondCore()
    for problem in robots:
        states = problem.states(THREADED_BATCH)
        peer = Pinocchio(problem, *states)
        sides = {
            "manipapy": [public_call(problem, "inverse_dynamics", states, threads=count) for count in (1, 2)],
            "pin": [peer.cpp_loops(count)["inverse_dynamics"] for count in (1, 2)],
        }
        for name, jobs in sides.items():
            result = neighbours(*jobs, quiet)
            one, two = (f"{seconds * 1e3:.2f}" for seconds in (result.slow, result.fast))
            report.measurements[f"threads {problem.name} {name}"] = vars(result)
            when_quiet = ("", "")  # Pinocchio's threads keep a core busy while they wait for the next call
            if name == "manipapy":
                gains[problem.name] = result.quiet_gain
                when_quiet = (times(result.quiet_gain), f"{result.quiet} of {result.rounds}")
            rows.append((problem.name, name, one, two, times(result.gain), *when_quiet))
    report.table(("robot", "", "one", "two", "gain", "gain, no load", "rounds without load"), rows)
    report.note(f"no load: before and after, two hashing threads were at least {SecondCore.ENOUGH}x as fast as one")
    report.require("two threads over one (on a quiet machine)", gains, 1.6, at_least=True)


def startup(report: Report, robots: list[Problem]) -> None:
    """Fresh processes: import, first compilation, load from the cache."""
    report.heading(f"A fresh process: CPU of {len(SIX_KERNELS)} kernels ({', '.join(SIX_KERNELS)})")
    rows, compiled, loaded = [], {}, {}
    for problem in robots:
        seconds = kernel_seconds(problem)
        compiled[problem.name], loaded[problem.name] = seconds["compile"], seconds["load"] * 1e3
        rows.append(
            (
                problem.name,
                "",
                f"{seconds['compile']:.2f} s",
                *(f"{seconds[key] * 1e3:.1f} ms" for key in ("load", "load_wall", "llvmlite")),
            )
        )
        report.measurements[f"startup {problem.name}"] = seconds
    report.table(("robot", "", "compile", "load", "load, wall", "imports of llvmlite and compiler (extra)"), rows)
    imported = import_seconds()
    report.measurements["import"] = imported
    report.note(f"import manipapy_core: {imported:.3f} s CPU, NumPy included")
    report.require("six kernels compiled cold", compiled, 2, at_least=False, unit="s")
    report.require("six kernels loaded from the cache", loaded, 50, at_least=False, unit="ms")
    report.require("import manipapy_core", {"": imported}, 0.3, at_least=False, unit="s")


def only(values: dict[str, float], function: str) -> dict[str, float]:
    return {key: value for key, value in values.items() if key.startswith(f"{function},")}


if __name__ == "__main__":
    main()
