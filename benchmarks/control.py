"""Control over DDS with the simulation bridge and the controller as two processes.

First the loop: rate, lateness and computing time. Then every law follows the same trajectory, with plain PD (no
gravity, no model) as baseline. Loop figures come from the controller's status. On a loaded machine they include the
load, so an empty loop alternates with the controller as reference. Both results are plotted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTrajectoryControllerState
from lifecycle_msgs.msg import Transition
from manipapy_msgs.msg import ControllerStatus
from manipapy_msgs.srv import SetMode
from rclpy.action import ActionClient
from report import Report
from ros_nodes import JOINTS, Peer, parameters, processes, ros
from trajectory_msgs.msg import JointTrajectoryPoint

from manipapy_core.control import LAWS, LoopReport, LoopSettings, PeriodicLoop
from manipapy_ros.controller.settings import PHASE

HOME = np.array([0.0, -1.2, 1.4, -1.7, -1.57, 0.0])
AMPLITUDE = np.array([0.7, 0.35, 0.5, 0.5, 0.5, 0.8])
PERIODS = np.array([4.0, 3.0, 2.5, 2.0, 2.2, 1.8])
"""Of the sines that the joints follow [s]."""
GOAL, EMPTY = 10.0, 3.0
"""Duration of a motion, and of the empty loop after it [s]."""
BASELINE, BEST = "pd", "computed_torque"
TIMEOUT = 30.0
"""[s]"""
BRIDGE = {"initial_positions": HOME.tolist()}
CONTROLLER = {
    "use_sim_time": True,
    "state_rate": 100.0,
    "status_rate": 1.0,
    # No tolerances, so that only the laws are measured: plain PD would exceed its path tolerance.
    "constraints.path": 0.0,
    "constraints.goal": 0.0,
    "constraints.stopped_velocity": 0.0,
    "guard.tracking_error": 3.0,
    "constraints.start": 3.0,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of the loop measurement (60)")
    parser.add_argument("--each", type=float, default=8.0, help="length of the trajectory that laws follow (8 s)")
    parser.add_argument("--plot", type=Path, default=Path("build/bench_control.png"), metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    options = parser.parse_args()
    report = Report()
    with ros(), nodes() as bench:
        statuses = measure_loop(bench, options.seconds, report)
        errors = follow_with_every_law(bench, options.each, report)
    draw(options.plot, statuses, errors)
    report.note(f"plot: {options.plot}")
    report.print_bars()
    if options.json:
        report.save(options.json)
    return 0


class Bench(Peer):
    """Client of the two nodes."""

    def __init__(self) -> None:
        super().__init__("bench_control", TIMEOUT)
        self.statuses: list[ControllerStatus] = []
        self.states: list[JointTrajectoryControllerState] = []
        self.node.create_subscription(ControllerStatus, "controller/status", self.statuses.append, 10)
        self.node.create_subscription(JointTrajectoryControllerState, "controller/controller_state", self._on_state, 10)
        self._action = ActionClient(self.node, FollowJointTrajectory, "controller/follow_joint_trajectory")
        self.recording = False

    def _on_state(self, state: JointTrajectoryControllerState) -> None:
        if self.recording:
            self.states.append(state)

    def follow(self, points: np.ndarray, seconds: float) -> str:
        """Executes points equally spaced in time; returns the error text, empty on success.

        Args:
            points: Positions, velocities and accelerations, shape (m, 3, 6).
        """
        goal = FollowJointTrajectory.Goal()
        goal.trajectory.joint_names = list(JOINTS)
        for number, (q, qd, qdd) in enumerate(points, start=1):
            point = JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist(), accelerations=qdd.tolist())
            when = round(number * seconds / len(points) * 1e9)
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(when, 1_000_000_000)
            goal.trajectory.points.append(point)
        self.wait_for(self._action.server_is_ready)
        sent = self._action.send_goal_async(goal)
        self.wait_for(sent.done)
        answer = sent.result().get_result_async()
        self.wait_for(answer.done, 20.0 * seconds + TIMEOUT)
        result = answer.result().result
        return "" if result.error_code == FollowJointTrajectory.Result.SUCCESSFUL else result.error_string


@contextmanager
def nodes() -> Iterator[Bench]:
    """Both processes, active; stopped on exit."""
    with processes({"sim_bridge": parameters(BRIDGE), "controller": parameters(CONTROLLER)}), Bench() as bench:
        bench.bring_up("sim_bridge", "controller")
        bench.wait_for(lambda: bool(bench.statuses) and bench.statuses[-1].seeded)
        yield bench


def excitation(seconds: float) -> np.ndarray:
    """Sines that start and end at rest at HOME: positions, velocities and accelerations every 10 ms, (m, 3, 6)."""

    def at(t: np.ndarray) -> np.ndarray:
        fade = np.clip(np.minimum(t, seconds - t) / min(1.0, seconds / 2.0), 0.0, 1.0)
        fade = fade**3 * (10.0 - 15.0 * fade + 6.0 * fade**2)
        return HOME + fade * AMPLITUDE * np.sin(2.0 * np.pi * t / PERIODS)

    t = np.linspace(0.0, seconds, max(int(100 * seconds), 10) + 1)[1:, None]
    h = 1e-4
    before, now, after = at(t - h), at(t), at(t + h)
    motion = np.stack([now, (after - before) / (2.0 * h), (after - 2.0 * now + before) / h**2], axis=1)
    motion[-1, 1:] = 0.0
    return motion


def measure_empty_loop(bench: Bench) -> LoopReport:
    """An empty loop instead of the controller, with the simulation running.

    Its lateness is caused by the machine and is a lower bound for every loop.
    """
    bench.change("controller", Transition.TRANSITION_DEACTIVATE)
    loop = PeriodicLoop(lambda _: None, LoopSettings(phase=PHASE * LoopSettings.period))
    loop.start()
    time.sleep(0.5)
    loop.report()
    time.sleep(EMPTY)
    result = loop.report()
    loop.stop()
    bench.change("controller", Transition.TRANSITION_ACTIVATE)
    bench.statuses.clear()
    bench.wait_for(lambda: bool(bench.statuses) and bench.statuses[-1].seeded)
    return result


def measure_loop(bench: Bench, seconds: float, report: Report) -> list[ControllerStatus]:
    """Rate, lateness and work of the loop while the arm moves under computed torque; an empty loop in between."""
    statuses: list[ControllerStatus] = []
    empty: list[LoopReport] = []
    while len(statuses) < seconds:
        bench.statuses.clear()
        problem = bench.follow(excitation(GOAL), GOAL)
        if problem and not empty:
            report.note(f"not like for like: {problem}")
        statuses += bench.statuses[1:]  # the first one includes the time before
        empty.append(measure_empty_loop(bench))
    rate = float(np.mean([status.rate for status in statuses]))
    late = 100.0 * sum(status.late_ticks for status in statuses) / max(sum(round(s.rate) for s in statuses), 1)
    best = float(np.mean([each.rate for each in empty]))
    machine = 100.0 * sum(each.late_ticks for each in empty) / max(sum(each.ticks for each in empty), 1)
    report.heading(f"Control loop, {len(statuses)} s at 1 kHz, {statuses[-1].scheduler} (windows of 1 s)")
    rows = [
        [name, unit, *(f"{value:.1f}" for value in np.percentile([getattr(s, field) for s in statuses], [50, 100]))]
        for name, unit, field in (
            ("ticks per second", "Hz", "rate"),
            ("skipped", "per s", "overruns"),
            ("later than 0.5 ms", "per s", "late_ticks"),
            ("lateness p99", "µs", "jitter_p99"),
            ("law and guard p50", "µs", "compute_p50"),
            ("law and guard p99", "µs", "compute_p99"),
            ("whole tick p99", "µs", "work_p99"),
        )
    ]
    report.table(["figure", "unit", "median", "worst"], rows)
    report.heading(f"Empty loop, {EMPTY:g} s after every {GOAL:g} s of control")
    report.table(
        ["figure", "unit", "controller", "empty loop"],
        [
            ["ticks per second", "Hz", f"{rate:.1f}", f"{best:.1f}"],
            ["later than 0.5 ms", "%", f"{late:.3f}", f"{machine:.3f}"],
            [
                "latest",
                "µs",
                f"{max(s.jitter_max for s in statuses):.0f}",
                f"{max(e.lateness.largest for e in empty):.0f}",
            ],
        ],
    )
    report.note("lateness of the empty loop is caused by the machine: no loop can do better")
    report.require("achieved rate", {"mean": rate}, 999.0, at_least=True, unit="Hz")
    report.require("ticks later than 0.5 ms", {"share": late}, 0.1, at_least=False, unit="%")
    compute = float(np.median([status.compute_p99 for status in statuses]))
    report.require("compute per tick p99", {"median second": compute}, 60.0, at_least=False, unit="µs")
    report.measurements["loop"] = {row[0]: row[2:] for row in rows}
    report.measurements["empty loop"] = {"rate": best, "late [%]": machine}
    return statuses


def follow_with_every_law(bench: Bench, seconds: float, report: Report) -> dict[str, np.ndarray]:
    """Tracking errors of all tracking laws on the same trajectory: arrays of shape (m, 6) by name."""
    errors = {}
    for name in [law.name for law in LAWS.values() if law.follows]:
        bench.call(SetMode, "controller/set_mode", SetMode.Request(law=BEST))
        bench.follow(np.stack([HOME, 0.0 * HOME, 0.0 * HOME])[None], 2.0)
        bench.call(SetMode, "controller/set_mode", SetMode.Request(law=name))
        bench.states.clear()
        bench.recording = True
        problem = bench.follow(excitation(seconds), seconds)
        bench.recording = False
        errors[name] = np.array([state.error.positions for state in bench.states])
        if problem:
            report.note(f"{name}: {problem}")
    rms = {name: 1e3 * float(np.sqrt((error**2).mean())) for name, error in errors.items()}
    report.heading(f"Tracking of {seconds:g} s of sines, UR5, all joints")
    rows = [
        [name, "mrad", f"{value:.4f}", f"{1e3 * np.abs(errors[name]).max():.4f}", f"{rms[BASELINE] / value:.1f}x"]
        for name, value in sorted(rms.items(), key=lambda item: item[1])
    ]
    report.table(["law", "unit", "RMS", "largest", f"better than {BASELINE}"], rows)
    report.require(f"{BEST} against {BASELINE}", {"ratio": rms[BASELINE] / rms[BEST]}, 20.0, at_least=True)
    report.measurements["tracking RMS [mrad]"] = rms
    return errors


def draw(path: Path, statuses: list[ControllerStatus], errors: dict[str, np.ndarray]) -> None:
    """Lateness and work over time; tracking of the laws on a logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (loop, laws) = pyplot.subplots(2, 1, figsize=(9, 8), constrained_layout=True)
    for field, label in (("jitter_p99", "lateness"), ("work_p99", "whole tick"), ("compute_p99", "law and guard")):
        loop.plot([max(getattr(status, field), 1.0) for status in statuses], label=label)
    loop.set(xlabel="time [s]", ylabel="p99 [µs]", yscale="log", title="Control loop at 1 kHz")
    loop.legend()
    for name, error in errors.items():
        laws.plot(1e3 * np.abs(error).max(axis=1), label=name, linewidth=1.0)
    laws.set(xlabel="sample", ylabel="largest error [mrad]", yscale="log", title="Tracking by law")
    laws.legend(ncol=3, fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    sys.exit(main())
