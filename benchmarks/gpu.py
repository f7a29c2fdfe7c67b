"""Inverse dynamics of the UR5 on a GPU against NumPy on the CPU, and against our own CPU kernels.

    python benchmarks/gpu.py [--batches 1000,10000,100000,1000000] [--json FILE]

Needs an NVIDIA GPU and CuPy; without them it reports why and measures the CPU columns only. "NumPy" is the same
algorithm on NumPy arrays, operation by operation, without a compiler. All figures are wall time per configuration with
arrays in place, unless the column says otherwise.
"""

from __future__ import annotations

import argparse
import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import machine, take_turns, version_of
from ours import COMPARED
from report import Report, nanoseconds, times

from manipapy_core import Robot
from manipapy_core.compiler import RECIPES
from manipapy_core.compiler.cuda import device
from manipapy_core.compiler.cuda.diagnosis import Diagnosis, diagnose, look
from manipapy_core.compiler.mechanism import mechanism_of
from manipapy_core.dynamics import GRAVITY
from manipapy_core.model.chain import Chain

CLAIM = 40.0
"""Speed-up of its GPU code over NumPy that ManipulaPy claims for this problem."""
BATCHES = (1_000, 10_000, 100_000, 1_000_000)
OTHERS_BATCH = 100_000

Job = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", default=",".join(map(str, BATCHES)), help="configurations, comma separated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    options = parser.parse_args()
    batches = [int(text) for text in options.batches.split(",")]

    report, found = Report(), diagnose(look())
    chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
    measured = {
        (dtype, batch): inverse_dynamics(chain, batch, np.dtype(dtype), found.used)
        for dtype in ("float64", "float32")
        for batch in batches
    }
    print(headline(measured, max(batches), found))
    report.note(f"{machine()}; " + ", ".join(f"{name} {version_of(name)}" for name in ("numpy", "cupy-cuda13x")))
    for line in str(found).splitlines():
        report.note(line)
    for dtype in ("float64", "float32"):
        show(report, f"UR5 inverse dynamics, {dtype}", {b: measured[dtype, b] for b in batches}, "NumPy")
    others = {name: other(chain, name, found.used) for name in COMPARED}
    show(report, f"Other kernels, float64, batch {OTHERS_BATCH}", others, "CPU, 1 thread")
    for text in NOT_LIKE_FOR_LIKE:
        report.note(text)
    if options.json:
        report.measurements.update({f"{dtype} {batch}": row for (dtype, batch), row in measured.items()})
        report.measurements.update(others)
        report.save(options.json)


NOT_LIKE_FOR_LIKE = (
    "",
    "Not like for like: NumPy runs on one core; GPUs meant for graphics compute float64 at 1/32 or 1/64 of their "
    "float32 rate.",
    "GPU columns but the unchecked one wait for the GPU and read one number back, as the public functions do.",
)


def headline(measured: dict[tuple[str, int], dict[str, float]], batch: int, found: Diagnosis) -> str:
    """The comparison that ManipulaPy advertises."""
    what = f"UR5 inverse dynamics, batch {batch}, GPU against NumPy on the CPU"
    if not found.used:
        return f"{what}: NOT MEASURED HERE, {found.reason} (ManipulaPy's claim: {CLAIM:g}x)"
    ratios = [f"{times(row['NumPy'] / row['GPU'])} in {dtype}" for (dtype, b), row in measured.items() if b == batch]
    return f"{what}: {', '.join(ratios)} (ManipulaPy's claim: {CLAIM:g}x)"


def inverse_dynamics(chain: Chain, batch: int, dtype: np.dtype, with_gpu: bool) -> dict[str, float]:
    """Seconds per configuration of every implementation."""
    states = list(np.random.default_rng(0).uniform(-3, 3, (3, batch, chain.n)).astype(dtype))
    jobs = cpu_jobs(chain, "inverse_dynamics", states)
    columns = [list(np.ascontiguousarray(state.T)) for state in states]
    gravity = [dtype.type(number) for number in GRAVITY]
    mechanism, algorithm = mechanism_of(chain), RECIPES["inverse_dynamics"].algorithm
    jobs["NumPy"] = lambda: algorithm(mechanism, *columns, gravity=gravity)
    if with_gpu:
        jobs |= gpu_jobs(chain, "inverse_dynamics", states)
        jobs |= gpu_extremes(chain, states)
    return per_configuration(jobs, batch)


def other(chain: Chain, name: str, with_gpu: bool) -> dict[str, float]:
    states = list(np.random.default_rng(0).uniform(-3, 3, (3, OTHERS_BATCH, chain.n)))[: COMPARED[name][1]]
    jobs = cpu_jobs(chain, name, states)
    if with_gpu:
        jobs |= gpu_jobs(chain, name, states)
    return per_configuration(jobs, OTHERS_BATCH)


def cpu_jobs(chain: Chain, name: str, states: list[Any]) -> dict[str, Job]:
    function, cores = COMPARED[name][0], os.cpu_count() or 1
    return {
        "CPU, 1 thread": functools.partial(function, chain, *states),
        f"CPU, {cores} threads": functools.partial(function, chain, *states, threads=cores),
    }


def gpu_jobs(chain: Chain, name: str, states: list[Any]) -> dict[str, Job]:
    import cupy

    function, arrays = COMPARED[name][0], [cupy.asarray(state) for state in states]
    truth, result = function(chain, *states), function(chain, *arrays)
    error = float(np.max(np.abs(cupy.asnumpy(result) - truth)) / np.max(np.abs(truth)))
    assert error < (1e-4 if states[0].dtype == np.float32 else 1e-9), f"{name} is wrong on this GPU: {error:.1e}"
    return {"GPU": functools.partial(function, chain, *arrays)}


def gpu_extremes(chain: Chain, states: list[Any]) -> dict[str, Job]:
    """The best case, (n, N) arrays and no check, and the worst, everything copied there and back."""
    import cupy

    function, stream = COMPARED["inverse_dynamics"][0], cupy.cuda.get_current_stream()
    columns = [cupy.ascontiguousarray(cupy.asarray(state).T) for state in states]
    gravity = cupy.asarray(GRAVITY, dtype=states[0].dtype)
    kernel = device.bind(chain, "inverse_dynamics", device.Layout.COLUMNS)

    def unchecked() -> None:
        kernel.run(*columns, gravity, checked=False)
        stream.synchronize()

    def copied() -> None:
        cupy.asnumpy(function(chain, *(cupy.asarray(state) for state in states)))

    return {"GPU, (n, N) unchecked": unchecked, "GPU with copies": copied}


def per_configuration(jobs: dict[str, Job], batch: int) -> dict[str, float]:
    taken = take_turns(jobs, rounds=5, clock=time.perf_counter)
    return {name: seconds / batch for name, seconds in taken.items()}


def show(report: Report, title: str, rows: dict[Any, dict[str, float]], baseline: str) -> None:
    """Nanoseconds per configuration, and how many times slower the baseline is than our kernels."""
    names = list(next(iter(rows.values())))
    order = [baseline, *(name for name in names if name != baseline)]
    compared = [name for name in ("CPU, 1 thread", "GPU") if name in names and name != baseline]
    report.heading(f"{title}: ns per configuration")
    report.table(
        ["", *order, *(f"{baseline} / {against}" for against in compared)],
        [
            [str(key), *(nanoseconds(row[name]) for name in order), *(times(row[baseline] / row[r]) for r in compared)]
            for key, row in rows.items()
        ],
    )


if __name__ == "__main__":
    main()
