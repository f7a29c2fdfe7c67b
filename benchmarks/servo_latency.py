"""Time from a command to the motion of a simulated arm, over DDS: part of `make bench-nodes`.

sim_bridge, controller, planner and servo run as four processes, as with `manipapy up --servo`. This one sends twists
to the arm at rest and looks at joint states until one moves. Motion is a joint speed above a tenth of a milliradian per
second and above three times what the arm at rest shows. Simulated time is from the stamp of the newest joint state
before the command to that of the first one seen that moves. Wall time is from the call that publishes to the arrival of
that state here, and includes how late a loaded machine runs any of the five processes. Needs ROS.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from geometry_msgs.msg import TwistStamped
from measure import machine, version_of
from report import Report
from ros_nodes import Peer, parameters, processes, ros
from sensor_msgs.msg import JointState

from manipapy_ros.common import qos
from manipapy_ros.realtime.polled_topics import PolledSubscription

HOME = [0.0, -1.57, 1.57, -1.57, -1.57, 0.0]
"""Of the UR5, clear of itself [rad]."""
SLOWEST = 1e-4
"""Joint speed that counts as motion [rad/s]."""
STILL_FOR, COMMANDED_FOR = 0.6, 0.06
"""Rest between two commands, and how long each one lasts [s]."""
LONGEST = 2.0
"""Without motion for this long a trial has failed [s]."""
BAR = 10.0
"""Median that is aimed at, in simulated time [ms]."""


class Trials:
    """Commands to the arm at rest."""

    def __init__(self, peer: Peer):
        self._peer, self._rng = peer, np.random.default_rng(0)
        self._states = PolledSubscription(peer.node, JointState, "joint_states", qos.NEWEST)
        self._twists = peer.node.create_publisher(TwistStamped, "servo/twist", 1)
        peer.wait_for(lambda: self._twists.get_subscription_count() > 0)

    def once(self, number: int) -> tuple[float, float]:
        """Times of one trial, simulated and wall [ms]."""
        noise, last = self._at_rest()
        time.sleep(float(self._rng.uniform(0.0, 0.02)))  # at any moment of the servo's cycle
        threshold, message = max(SLOWEST, 3.0 * noise), TwistStamped()
        message.twist.linear.z = 0.1 if number % 2 else -0.1
        last = self._newest() or last
        began, sent = time.perf_counter(), 0.0
        while time.perf_counter() - began < LONGEST:
            if time.perf_counter() - sent > 0.02:
                self._twists.publish(message)
                sent = time.perf_counter()
            state = self._newest()
            if state is not None and state[1] > threshold:
                wall = time.perf_counter() - began
                return 1e3 * (state[0] - last[0]), 1e3 * wall
            time.sleep(2e-4)
        raise TimeoutError("the arm does not move; see the output of the nodes above")

    def go_on(self, number: int) -> None:
        """Lets the arm move a little farther, so that trials in turn lead back."""
        message, end = TwistStamped(), time.perf_counter() + COMMANDED_FOR
        message.twist.linear.z = 0.1 if number % 2 else -0.1
        while time.perf_counter() < end:
            self._twists.publish(message)
            time.sleep(0.01)

    def _at_rest(self) -> tuple[float, tuple[float, float]]:
        """Waits until the arm has been at rest for a while; highest speed of its noise, and the last state."""
        since, noise, last = time.perf_counter(), 0.0, None
        while last is None or time.perf_counter() - since < STILL_FOR:
            state = self._newest()
            if state is not None:
                last = state
                if state[1] > 5e-3:
                    since, noise = time.perf_counter(), 0.0
                elif time.perf_counter() - since > 0.5 * STILL_FOR:
                    noise = max(noise, state[1])
            time.sleep(2e-4)
        return noise, last

    def _newest(self) -> tuple[float, float] | None:
        """Stamp and highest joint speed of a joint state that has arrived."""
        state = self._states.newest()
        if state is None:
            return None
        return state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec, float(np.abs(state.velocity).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100, help="commands to the arm at rest (100)")
    options = parser.parse_args()
    report, found = Report(), []
    report.heading("manipapy servo: from command to motion")
    report.note(machine())
    report.note(f"versions: {', '.join(f'{name} {version_of(name)}' for name in ('mujoco', 'rclpy'))}")
    common = [*parameters({"robot": "ur5", "use_sim_time": True}), "-r", "/clock:=clock"]
    nodes = dict.fromkeys(("sim_bridge", "controller", "planner", "servo"), common)
    nodes["sim_bridge"] = parameters({"robot": "ur5", "initial_positions": HOME})
    with ros(), processes(nodes), Peer("servo_latency", timeout=180.0) as peer:
        peer.bring_up(*nodes)
        trials = Trials(peer)
        for number in range(options.trials + 3):
            times = trials.once(number)
            trials.go_on(number)
            if number >= 3:  # the first ones touch memory for the first time
                found.append(times)
    rows = []
    for name, times in zip(("simulated", "wall"), np.array(found).T):
        rows.append([name, f"{len(times)}", *(f"{value:.1f}" for value in np.percentile(times, (0, 10, 50, 90, 99)))])
    report.table(["time", "commands", "least [ms]", "p10", "p50", "p90", "p99"], rows)
    median = float(np.median(np.array(found)[:, 0]))
    report.require("command to motion, median of simulated time", {"ur5": median}, BAR, at_least=False, unit=" ms")
    report.print_bars()


if __name__ == "__main__":
    main()
