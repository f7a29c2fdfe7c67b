"""Control laws without ROS: time per tick, and tracking on an integrated arm. Run it by `python control_laws.py`.

The arm is the rigid-body model itself, integrated at 1 kHz by semi-implicit Euler: no friction, no delay, no noise.
Each law runs with an exact model and with masses wrong by a quarter. Every law follows the same quintic with its
default gains and starts from the gravity torque of the arm.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from measure import machine, version_of
from numpy.typing import NDArray
from report import Report, times

from manipapy_core import Robot, dynamics
from manipapy_core.control import (
    LAWS,
    ArmController,
    ControllerSettings,
    FilterSettings,
    Reference,
    SimulatedArm,
    make_law,
)
from manipapy_core.control.loop import enter_realtime
from manipapy_core.model.chain import Chain
from manipapy_core.trajectory import JointTrajectory

Array = NDArray[np.float64]
DT, DURATION = 1e-3, 2.0
"""[s]"""
HEAVIER = 1.25
TICK_BUDGET, MIN_GAIN = 60.0, 20.0
"""Time per tick [µs], and how many times better than PD computed torque must be."""
BASELINE, BEST = "pd", "computed_torque"


@dataclass(frozen=True)
class Arm:
    """A robot and the reference motion of all laws."""

    name: str
    chain: Chain
    start: Array
    goal: Array

    def motion(self, t: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration of a quintic from rest to rest."""
        u, delta = min(t / DURATION, 1.0), self.goal - self.start
        s, ds, dds = u**3 * (10 - 15 * u + 6 * u * u), 30 * (u * (1 - u)) ** 2, 60 * u * (1 - 3 * u + 2 * u * u)
        return self.start + s * delta, ds / DURATION * delta, dds / DURATION**2 * delta


def arms() -> list[Arm]:
    ur5 = Robot.from_urdf("ur5").chain("base_link", "tool0")
    panda = Robot.from_urdf("panda").chain("panda_link0", "panda_hand")
    return [
        Arm("ur5", ur5, np.array([0.0, -1.2, 1.2, -1.2, -1.57, 0.0]), np.array([1.0, -0.7, 0.6, -0.5, -1.0, 0.8])),
        Arm(
            "panda",
            panda,
            np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8]),
            np.array([0.8, 0.2, -0.5, -1.2, 0.5, 2.2, 0.2]),
        ),
    ]


def heavier(chain: Chain) -> Chain:
    """The plant with heavier links than in the model of the law."""
    bodies = (
        replace(body, mass=HEAVIER * body.mass, moment=HEAVIER * body.moment, inertia=HEAVIER * body.inertia)
        for body in chain.bodies
    )
    return replace(chain, bodies=tuple(bodies))


def follow(arm: Arm, law_name: str, plant: Chain) -> tuple[Array, list[int]]:
    """Tracking errors [rad], one row per tick, and the time of every step [ns]."""
    law = make_law(law_name, arm.chain)
    body, reference = SimulatedArm(plant, arm.start), Reference.at_rest(arm.start)
    law.start(body.state, reference, dynamics.gravity_forces(plant, arm.start))
    errors, taken, clock = [], [], time.perf_counter_ns
    for tick in range(round(DURATION / DT)):
        reference.q[:], reference.qd[:], reference.qdd[:] = arm.motion(tick * DT)
        errors.append(reference.q - body.q)
        begin = clock()
        tau = law.step(body.state, reference, DT)
        taken.append(clock() - begin)
        body.step(tau, DT)
    return np.array(errors), taken


def whole_ticks(arm: Arm, settings: ControllerSettings) -> list[int]:
    """Times of the controller's whole tick on the same motion [ns]: filter, execution, law and guard."""
    controller, body = ArmController(arm.chain, settings), SimulatedArm(arm.chain, arm.start)
    taken, clock, zero = [], time.perf_counter_ns, np.zeros((1, arm.chain.n))
    for tick in range(round((DURATION + 0.5) / DT)):
        if tick == 100 and settings.law != "gravity_compensation":
            controller.submit(JointTrajectory([DURATION], [arm.goal], zero, zero, joint_names=arm.chain.joint_names))
        now = tick * DT
        begin = clock()
        tau = controller.tick(now, body.q, body.qd, now)
        taken.append(clock() - begin)
        assert tau is not None
        body.step(tau, DT)
    return taken[200:]


def microseconds(taken: list[int]) -> tuple[float, float]:
    p50, p99 = np.percentile(taken, [50, 99]) / 1e3
    return float(p50), float(p99)


def timing(report: Report, robots: list[Arm]) -> None:
    report.heading("Time per tick [µs]: the law alone, and the whole tick with filter, execution and guard")
    rows, laws, ticks = [], {}, {}
    for arm in robots:
        for name in LAWS:
            # The best of three: load only adds time.
            law = _least(lambda arm=arm, name=name: microseconds(follow(arm, name, arm.chain)[1]))
            settings = ControllerSettings(law=name, filter=FilterSettings())
            tick = _least(lambda arm=arm, settings=settings: microseconds(whole_ticks(arm, settings)))
            rows.append([arm.name, name, *(f"{value:.1f}" for value in (*law, *tick))])
            laws[f"{name} on {arm.name}"], ticks[f"{name} on {arm.name}"] = law[1], tick[1]
    report.table(["robot", "law", "law p50", "law p99", "tick p50", "tick p99"], rows)
    report.measurements["law p99 [µs]"], report.measurements["tick p99 [µs]"] = laws, ticks
    report.require("a law, p99 per tick", laws, TICK_BUDGET, at_least=False, unit="µs")
    report.require("a whole tick, p99", ticks, TICK_BUDGET, at_least=False, unit="µs")


def _least(measure: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    return min((measure() for _ in range(3)), key=lambda pair: pair[1])


def tracking(report: Report, robots: list[Arm]) -> None:
    report.heading(f"Tracking on the same quintic of {DURATION:g} s: RMS error [mrad], and how many times less than pd")
    rows, ratios = [], {}
    for arm in robots:
        errors = {
            name: (_rms(follow(arm, name, arm.chain)[0]), _rms(follow(arm, name, heavier(arm.chain))[0]))
            for name in LAWS
            if LAWS[name].follows
        }
        for name, (exact, wrong) in errors.items():
            gains = [errors[BASELINE][0] / exact, errors[BASELINE][1] / wrong]
            rows.append([arm.name, name, f"{exact:.4g}", times(gains[0]), f"{wrong:.4g}", times(gains[1])])
        ratios[arm.name] = errors[BASELINE][0] / errors[BEST][0]
        report.measurements[f"RMS error on {arm.name} [mrad]"] = errors
    header = ["robot", "law", "exact model", "vs pd", f"{HEAVIER:g} x masses", "vs pd"]
    report.table(header, rows)
    report.require("computed torque over PD, exact model", ratios, MIN_GAIN, at_least=True)


def _rms(errors: Array) -> float:
    return 1e3 * float(np.sqrt(np.mean(np.square(errors))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    options = parser.parse_args()
    report = Report()
    report.heading("manipapy control laws")
    report.note(machine())
    report.note(f"Python {platform.python_version()}, numpy {version_of('numpy')}")
    realtime = enter_realtime(80, lock_memory=False)
    report.note("; ".join([f"scheduled as {realtime.scheduler}", *realtime.refused]))
    robots = arms()
    timing(report, robots)
    tracking(report, robots)
    report.heading("Not like for like")
    report.note("The arm is the model: real joints also have friction, elasticity, delay and noise.")
    report.note("PD and PID have gains for 20 rad/s like all others; higher gains sag less but oscillate sooner.")
    report.print_bars()
    if options.json:
        report.save(options.json)


if __name__ == "__main__":
    main()
