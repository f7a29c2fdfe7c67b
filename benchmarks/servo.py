"""Servo: cycle time, random twist streams among obstacles, lines through singularities: `make bench-servo`.

PyBullet judges contacts: every commanded configuration is set in it, and a pair of bodies whose shapes overlap (their
distance is negative) counts, unless a joint joins the two or they overlap at the home configuration already, as parts
of a housing do. PyBullet makes every cylinder of a description 1 mm thicker, which is stricter than its shapes. The
peer is pink, a plain differential inverse kinematics with position and velocity limits, on the same streams and lines:
it knows no obstacles, and no acceleration or jerk limits, which is what a servo is for; its cycle does less. Both
commands are open loop, without a simulated controller.

Times are CPU time of the thread, and wall time, which on a loaded machine tells how long others had the processor. The
same multiplications of small matrices after every tenth cycle show the spread of the machine itself.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import machine, version_of
from problems import Array
from report import Report
from servo_scenes import (
    ARMS,
    DT,
    HOME,
    SINGULAR,
    Judge,
    Scene,
    possible_lines,
    random_twists,
    singular_configuration,
    urdf,
)

from manipapy_core import Robot, kinematics
from manipapy_core.geometry import Checker, RobotBody
from manipapy_core.servoing import ArmServo, ServoSettings, TwistCommand

FIXED_WORK = np.random.default_rng(0).normal(size=(40, 40))
"""For the spread of the machine."""
LINE, SPEED = 0.08, 0.05
"""Length of a line on either side of the singularity [m], speed along it [m/s]."""


class Ours:
    """The servo of this library."""

    name = "manipapy"

    def __init__(self, arm: str, checker: Checker, q: Array):
        self._servo = ArmServo(checker, ServoSettings(), q=q)

    def step(self, twist: Array) -> Array:
        return self._servo.step(TwistCommand(twist), DT).q


class Pink:
    """pink: tasks and limits as quadratic programs; the target pose moves with the twist."""

    name = "pink"

    def __init__(self, arm: str, checker: Checker, q: Array):
        import pinocchio as pin
        from pink import Configuration, solve_ik
        from pink.tasks import DampingTask, FrameTask

        self._pin, self._solve, chain = pin, solve_ik, checker.body.chain
        whole = pin.buildModelFromUrdf(urdf(arm))
        others = [whole.getJointId(name) for name in whole.names[1:] if name not in chain.joint_names]
        model = pin.buildReducedModel(whole, others, pin.neutral(whole)) if others else whole
        self._configuration = Configuration(model, model.createData(), np.array(q))
        self._task = FrameTask(chain.tip, position_cost=1.0, orientation_cost=0.3, lm_damping=1e-3)
        self._damping = DampingTask(cost=1e-3)
        self._task.set_target_from_configuration(self._configuration)
        self._tip = chain.tip

    def step(self, twist: Array) -> Array:
        pin, here = self._pin, self._configuration.get_transform_frame_to_world(self._tip)
        target = self._task.transform_target_to_world
        # The target does not run away from an arm that cannot follow.
        if np.linalg.norm(target.translation - here.translation) > 0.02:
            target = here.copy()
        moved = pin.SE3(pin.exp3(DT * twist[:3]) @ target.rotation, target.translation + DT * twist[3:])
        self._task.set_target(moved)
        tasks = [self._task, self._damping]
        velocity = self._solve(self._configuration, tasks, DT, solver="daqp", safety_break=False)
        self._configuration.integrate_inplace(velocity, DT)
        return np.array(self._configuration.q)


Follower = type[Ours] | type[Pink]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=200, help="random streams of 20 s per robot")
    parser.add_argument("--first", type=int, default=0, help="seed of the first stream, to run them in pieces")
    parser.add_argument("--peer-streams", type=int, default=20, help="of these, streams that the peer follows too")
    parser.add_argument("--lines", type=int, default=6, help="lines per singularity")
    parser.add_argument("--robot", choices=sorted(ARMS), action="append", help="instead of both")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    options = parser.parse_args()
    report = Report()
    report.heading("manipapy servo")
    report.note(machine())
    packages = ("pin-pink", "pin", "daqp", "pybullet")
    report.note(f"versions: {', '.join(f'{name} {version_of(name)}' for name in packages)}")
    for arm in options.robot or sorted(ARMS):
        robot = Robot.from_urdf(arm)
        body = RobotBody.build(robot, robot.chain(*ARMS[arm]))
        seeds = range(options.first, options.first + options.streams)
        streams(report, arm, robot, body, seeds, options.peer_streams)
        lines(report, arm, body, options.lines)
    report.print_bars()
    if options.json:
        report.save(options.json)


def peers() -> list[Follower]:
    try:
        import pink  # noqa: F401
    except ImportError:
        return [Ours]
    return [Ours, Pink]


def streams(report: Report, arm: str, robot: Robot, body: RobotBody, seeds: range, peer_count: int) -> None:
    """Random streams among 20 boxes."""
    chain = body.chain
    judge = Judge(arm, chain.joint_names, HOME[arm])
    rows = []
    for follower in peers():
        chosen = seeds if follower is Ours else seeds[:peer_count]
        if not chosen:
            continue
        found = [_stream(follower, arm, Scene.random(arm, 20, np.random.default_rng(k), body, robot), k, judge)
                 for k in chosen]  # fmt: skip
        times, walls, fixed = (
            1e6 * np.concatenate([item[key] for item in found]) for key in ("times", "walls", "fixed")
        )
        sums = {key: sum(item[key] for item in found) for key in ("contacts", "streams hit", "position", "velocity")}
        worst = {key: max(item[key] for item in found) for key in ("acceleration", "jerk")}
        p99 = float(np.percentile(times, 99))
        rows.append([
            follower.name, f"{len(chosen)}", f"{sums['contacts']} ({sums['streams hit']})",
            f"{sums['position']}, {sums['velocity']}", f"{worst['acceleration']:.2f}, {worst['jerk']:.2f}",
            f"{np.median(times):.0f}, {p99:.0f}", f"{np.median(walls):.0f}, {np.percentile(walls, 99):.0f}",
            f"{np.median(fixed):.0f}, {np.percentile(fixed, 99):.0f}",
            f"{np.median([item['moved'] for item in found]):.1f}",
        ])  # fmt: skip
        if follower is Ours:
            report.promise(f"{arm}: contacts", {arm: float(sums["contacts"])}, 0.0, at_least=False, unit="")
            broken = float(sums["position"] + sums["velocity"])
            report.promise(f"{arm}: limit violations", {arm: broken}, 0.0, at_least=False, unit="")
            report.promise(f"{arm}: jerk over its limit", {arm: worst["jerk"]}, 1.001, at_least=False, unit="")
            report.promise(f"{arm}: cycle p99", {arm: 1e-3 * p99}, 0.3, at_least=False, unit=" ms")
    report.heading(f"{arm}: random twist streams of 20 s among 20 boxes")
    report.table(
        ["", "streams", "contacts (streams)", "position, velocity limits broken", "acceleration, jerk over limit",
         "cycle p50, p99 [µs CPU]", "[µs wall]", "fixed work p50, p99 [µs CPU]", "way of the tip [m], median"],
        rows,
    )  # fmt: skip


def _stream(follower: Follower, arm: str, scene: Scene, seed: int, judge: Judge) -> dict:
    checker, limits = Checker(scene.body, scene.world), scene.body.chain.limits
    servo, judged = follower(arm, checker, scene.q), ArmServo(checker, q=scene.q)
    judge.place(scene.boxes)
    times, walls, fixed, path = [], [], [], [scene.q]
    for cycle, twist in enumerate(random_twists(20.0, np.random.default_rng(1000 + seed))):
        wall, begun = time.perf_counter(), time.thread_time()
        path.append(servo.step(twist))
        times.append(time.thread_time() - begun)
        walls.append(time.perf_counter() - wall)
        if cycle % 10 == 0:
            begun = time.thread_time()
            for _ in range(12):
                FIXED_WORK @ FIXED_WORK
            fixed.append(time.thread_time() - begun)
    q = np.array(path)
    qd = np.diff(q, axis=0) / DT
    qdd, jerk = np.diff(qd, axis=0) / DT, np.diff(qd, 2, axis=0) / DT**2
    hits = sum(judge.contacts(row) for row in q)
    tips = kinematics.forward(scene.body.chain, q)[:, :3, 3]
    return {
        "times": times[10:],
        "walls": walls[10:],
        "fixed": fixed,
        "contacts": hits,
        "streams hit": int(hits > 0),
        "position": int(((q < limits.lower - 1e-9) | (q > limits.upper + 1e-9)).sum()),
        "velocity": int((np.abs(qd) > limits.velocity * (1.0 + 1e-6)).sum()),
        "acceleration": float((np.abs(qdd) / judged.acceleration).max()),
        "jerk": float((np.abs(jerk) / judged.jerk).max()),
        "moved": float(np.linalg.norm(np.diff(tips, axis=0), axis=1).sum()),
    }


def lines(report: Report, arm: str, body: RobotBody, count: int) -> None:
    """Straight lines with fixed orientation through singular configurations."""
    chain, checker, rows = body.chain, Checker(body), []
    for kind in SINGULAR[arm]:
        q = singular_configuration(arm, kind, chain)
        found = possible_lines(chain, q, checker, count, LINE, seed=3)
        for follower in peers():
            results = [_line(follower, arm, checker, q, line[:3], bool(line[3])) for line in found]
            done = [error for finished, error in results if finished]
            worst = max((error for _, error in results), default=np.nan)
            both = sum(bool(line[3]) for line in found)
            rows.append([kind, follower.name, f"{len(found)} ({both})", str(len(done)), f"{1e3 * worst:.2f}"])
            if follower is Ours and found:
                text = f"{arm}: path error through the {kind} singularity"
                report.promise(text, {arm: 1e3 * worst}, 2.0, at_least=False, unit=" mm")
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
