"""Motions without a planner stop before contact: real processes, and exact distances of the measured configurations."""

from __future__ import annotations

import functools
import signal
import time

import numpy as np
import pytest
from manipapy_msgs.msg import CollisionObject
from manipapy_msgs.srv import ChangeWorld

from manipapy_core import Robot, kinematics, lie
from manipapy_core.geometry import Box, RobotBody, World
from manipapy_core.geometry.exact import ExactChecker, exact_distance
from manipapy_ros.common.conversions import pose_from_matrix
from ros_arm import ABORTED, SUCCEEDED, Arm, bring_up

SIZE = [0.1, 0.1, 0.4]
NEAR = 0.03
"""An arm that stops further away has stopped too early [m]."""
SHARE = 80
"""Of recorded states that are compared exactly, at most."""


class MonitoredArm:
    """A simulated arm with controller, planner and collision monitor."""

    def __init__(self, peer, start, robot: str, base: str, tip: str, home, folded):
        self.home, self.folded, self.robot = np.array(home), np.array(folded), robot
        self._peer, self._start, self.namespace = peer, start, f"/monitored_{robot}"
        model = Robot.from_urdf(robot)
        self.chain = model.chain(base, tip)
        self.body = RobotBody.build(model, self.chain)
        self._names = ["-p", f"robot:={robot}", "-p", f"base_link:={base}", "-p", f"tip_link:={tip}"]
        bridge = [*self._names, "-p", f"initial_positions:={self.home.tolist()}"]
        self.arm = Arm(peer, start, self.namespace, bridge, [*self._names, "-p", "collision_forecast:=require"])
        self.planner = self._node("planner")
        self.monitor = self._node("collision_monitor")
        self.await_forecasts()

    def _node(self, name: str):
        node = self._start(
            name, *self._names, "-p", "use_sim_time:=true", "-r", "/clock:=clock", namespace=self.namespace
        )
        bring_up(self._peer, node)
        return node

    def restart_monitor(self) -> None:
        self.monitor = self._node("collision_monitor")
        self.await_forecasts()

    def await_forecasts(self) -> None:
        self.arm.status(lambda status: not status.collision_warning)

    def change(self, operation: int, at=(0.0, 0.0, 0.0), size=SIZE) -> None:
        item = CollisionObject(id="box", type="box", dimensions=[float(x) for x in size])
        item.pose = pose_from_matrix(lie.pose(translation=at))
        answer = self._peer.call(
            ChangeWorld, self.planner, "change_world", ChangeWorld.Request(operation=operation, object=item)
        )
        assert answer.success, answer.message
        time.sleep(0.3)  # until the monitor has it

    def go_home(self) -> None:
        self.change(ChangeWorld.Request.CLEAR)
        for _ in range(5):
            self._peer.wait_for(lambda: self.arm.trigger(self.arm.controller, "reset").success, "a reset")
            status, result = self.arm.execute(self.goal(self.home))
            if status == SUCCEEDED:
                break
        assert status == SUCCEEDED, result.error_string

    def goal(self, q, seconds: float = 2.0):
        return self.arm.goal(np.asarray(q), seconds=seconds, names=self.chain.joint_names)

    def recorded(self, handle, seconds: float):
        """Joint positions while a goal is executed, and how it ended."""
        first = self.arm.states.next()
        until = first.header.stamp.sec + 1e-9 * first.header.stamp.nanosec + seconds
        rows = np.array([self.positions(state) for state in self.arm.states.record(until)])
        return rows, *self.arm.outcome(handle)

    def positions(self, state):
        """Of the arm's joints, without those of a gripper [rad], shape (n,)."""
        return np.array([state.position[list(state.name).index(name)] for name in self.chain.joint_names])

    def exact(self, at, size=SIZE) -> ExactChecker:
        world = World()
        world.add("box", Box(size), lie.pose(translation=at))
        return ExactChecker(self.body, world)


ROBOTS = {
    "ur5": ("base_link", "tool0", [0.0, -1.57, 1.57, -1.57, -1.57, 0.0], [-0.73, -0.84, 2.94, -0.2, -1.45, 1.11]),
    "panda": (
        "panda_link0",
        "panda_hand_tcp",
        [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785],
        [0.1, -1.5, 0.5, -3.02, 0.59, 0.84, 1.41],
    ),
}
"""Base, tip, where the arm starts, and a configuration in which it touches itself."""


# A second arm takes another half minute.
PARAMS = [pytest.param(name, marks=pytest.mark.slow if name == "panda" else ()) for name in ROBOTS]


@pytest.fixture(scope="module", params=PARAMS)
def monitored(request, peer, start_for_module):
    pytest.importorskip("coal")
    nodes = []

    def start(*arguments, **options):
        nodes.append(start_for_module(*arguments, **options))
        return nodes[-1]

    yield MonitoredArm(peer, start, request.param, *ROBOTS[request.param])
    # Two arms at 1 kHz are too much for two cores.
    for node in nodes:
        node.close()


PUSH = {"ur5": 0.05, "panda": 0.5}
"""Weights that gravity compensation wrongly counts with [kg]."""


def nearest(exact: ExactChecker, rows, box: bool) -> float:
    """Smallest exact distance along recorded configurations [m]: to the box, or between links."""
    distances = []
    for q in rows[np.unique(np.linspace(0, len(rows) - 1, SHARE).astype(int))]:
        pairs = [pair for pair in exact._pairs(q, None) if ("box" in pair[0]) == box]
        distances.append(min(exact_distance(*first, *second).distance for _, first, second in pairs))
    return min(distances)


def place_on_arc(monitored: MonitoredArm, angle: float):
    """Where the tip would be if the first joint turned by an angle."""
    q = monitored.home.copy()
    q[0] += angle
    return kinematics.forward(monitored.chain, q)[:3, 3]


def test_a_blind_trajectory_stops_before_a_box_and_may_leave_it(monitored):
    monitored.go_home()
    at = place_on_arc(monitored, 0.8)
    monitored.change(ChangeWorld.Request.ADD, at)
    q = monitored.home.copy()
    q[0] += 1.4
    rows, status, result = monitored.recorded(monitored.arm.send(monitored.goal(q)), 3.0)
    assert status == ABORTED
    assert "collision ahead" in result.error_string and "box" in result.error_string
    distance = nearest(monitored.exact(at), rows, box=True)
    print(
        f"{monitored.robot}: blind trajectory kept {1e3 * distance:.1f} mm from the box, turned {rows[-1, 0]:.2f} rad"
    )
    assert 0.0 < distance < NEAR
    monitored.arm.states.assert_still()
    # Nearer still is refused at once; away is not.
    status, result = monitored.arm.execute(monitored.goal(q))
    assert status == ABORTED and "collision ahead" in result.error_string
    assert nearest(monitored.exact(at), monitored.positions(monitored.arm.states.next())[None], box=True) > 0.0
    # At once: the newest forecast is still that of the aborted goal.
    status, result = monitored.arm.execute(monitored.goal(monitored.home))
    assert status == SUCCEEDED, result.error_string


def test_a_fast_blind_trajectory_stops_before_a_box(monitored):
    monitored.go_home()
    at = place_on_arc(monitored, 0.9)
    monitored.change(ChangeWorld.Request.ADD, at)
    q = monitored.home.copy()
    q[0] += 1.4
    rows, status, result = monitored.recorded(monitored.arm.send(monitored.goal(q, seconds=1.3)), 2.5)
    distance = nearest(monitored.exact(at), rows, box=True)
    print(f"{monitored.robot}: fast blind trajectory kept {1e3 * distance:.1f} mm")
    assert status == ABORTED and "collision ahead" in result.error_string, result.error_string
    assert distance > 0.0  # held before it starts if it could not be slowed down in time


def test_a_trajectory_into_the_arm_itself_stops_before_contact(monitored):
    monitored.go_home()
    rows, status, result = monitored.recorded(monitored.arm.send(monitored.goal(monitored.folded, 3.0)), 4.0)
    assert status == ABORTED and "collision ahead" in result.error_string
    distance = nearest(ExactChecker(monitored.body), rows, box=False)
    print(f"{monitored.robot}: kept {1e3 * distance:.1f} mm between its own links")
    assert distance > 0.0
    status, result = monitored.arm.execute(monitored.goal(monitored.home))
    assert status == SUCCEEDED, result.error_string


def test_a_free_trajectory_is_not_slowed(monitored):
    monitored.go_home()
    monitored.change(ChangeWorld.Request.ADD, place_on_arc(monitored, -0.9))
    q = monitored.home.copy()
    q[0] += 1.0
    slowed = []
    handle = monitored.arm.send(monitored.goal(q))
    rows, status, result = monitored.recorded(handle, 2.2)
    slowed.append(monitored.arm.status().verdict)
    assert status == SUCCEEDED, result.error_string
    assert abs(rows[-1, 0] - q[0]) < 0.01, "late"
    assert slowed == [0]


def test_an_arm_that_is_pushed_by_hand_stops_before_contact(monitored):
    monitored.go_home()
    tip = kinematics.forward(monitored.chain, monitored.home)[:3, 3]
    size = [0.5, 0.5, 0.05]
    exact = functools.partial(monitored.exact, size=size)
    at = tip + np.array([0.0, 0.0, 0.05])
    while nearest(exact(at), monitored.home[None], box=True) < 0.05:
        at = at + np.array([0.0, 0.0, 0.01])
    monitored.change(ChangeWorld.Request.ADD, at, size)
    assert monitored.arm.set(law="gravity_compensation").successful
    # An unknown weight of the wrong sign: the arm floats upwards.
    assert monitored.arm.set(payload__mass=PUSH[monitored.robot]).successful
    first = monitored.arm.states.next()
    rows = np.array([monitored.positions(state) for state in monitored.arm.states.record(first.header.stamp.sec + 6.0)])
    said = monitored.arm.status()
    assert monitored.arm.set(payload__mass=0.0, law="computed_torque").successful
    distance = nearest(exact(at), rows, box=True)
    print(f"{monitored.robot}: pushed arm kept {1e3 * distance:.1f} mm")
    assert said.check == "collision ahead", said.reason
    assert distance > 0.0
    assert np.abs(rows[-1] - rows[0]).max() > 0.02, "it never moved"


def test_an_arm_whose_required_monitor_dies_is_held(monitored):
    monitored.go_home()
    ages = [monitored.arm.status().collision_age for _ in range(20)]
    print(f"{monitored.robot}: forecasts were {1e3 * np.median(ages):.0f} ms old, at most {1e3 * max(ages):.0f}")
    q = monitored.home.copy()
    q[0] += 1.4
    handle = monitored.arm.send(monitored.goal(q, seconds=6.0))
    monitored.arm.states.wait_until_moving()
    monitored.monitor.process.send_signal(signal.SIGKILL)
    status, result = monitored.arm.outcome(handle)
    assert status == ABORTED and "collision forecast" in result.error_string
    monitored.arm.states.wait_until_still()
    monitored.arm.states.assert_still()
    said = monitored.arm.status(lambda status: bool(status.collision_warning))
    assert "old" in said.collision_warning and said.collision_forecast == "require"
    monitored.restart_monitor()
    assert monitored.arm.execute(monitored.goal(monitored.home, seconds=3.0))[0] == SUCCEEDED
