"""A controller on wall time, fed with joint states by hand: incomplete ones, impossible ones, none at all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from manipapy_msgs.msg import ControllerStatus
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from manipapy_core import Robot, dynamics
from ros_arm import HOME, JOINTS, bring_up


class Feeder:
    """Joint states by hand, for a controller on wall time."""

    def __init__(self, peer, controller):
        self._peer = peer
        namespace = controller.full_name.rsplit("/", 1)[0]
        self._publisher = peer.node.create_publisher(JointState, f"{namespace}/joint_states", 10)
        self._statuses: list[ControllerStatus] = []
        peer.node.create_subscription(ControllerStatus, f"{controller.full_name}/status", self._statuses.append, 10)

    def until(self, condition: Callable[[ControllerStatus], bool], spoil=lambda state: None) -> ControllerStatus:
        """Feeds until a status fulfils the condition; `spoil` may change each message."""
        self._statuses.clear()

        def step() -> bool:
            state = JointState(name=list(JOINTS), position=HOME.tolist(), velocity=[0.0] * 6)
            state.header.stamp = self._peer.node.get_clock().now().to_msg()
            spoil(state)
            self._publisher.publish(state)
            return any(map(condition, self._statuses))

        self._peer.wait_for(step, "the status that was hoped for")
        return next(filter(condition, self._statuses))


LENIENT_GUARD = ("-p", "guard.state_hold_after:=3.0", "-p", "guard.state_stop_after:=20.0")
"""For a controller that is fed by a test."""


@pytest.fixture(scope="module")
def fed(start_for_module, peer):
    """A controller on wall time."""
    controller = start_for_module("controller", *LENIENT_GUARD, namespace="/fed")
    bring_up(peer, controller)
    return controller, Feeder(peer, controller)


def _without_the_elbow(state):
    state.name[2] = "knee_joint"


def _without_velocities(state):
    state.velocity = []


def _nan(state):
    state.position[4] = float("nan")


def _from_another_clock(state):
    state.header.stamp.sec = 12


def test_states_that_do_not_name_every_joint_never_seed_the_arm(fed):
    status = fed[1].until(lambda status: "knee_joint" in status.reason, _without_the_elbow)
    assert not status.seeded
    assert "elbow_joint" in status.reason
    status = fed[1].until(lambda status: "velocities" in status.reason, _without_velocities)
    assert not status.seeded


@pytest.mark.parametrize(
    ("spoil", "check", "reason"),
    [(_nan, "finite numbers", "wrist_2_joint"), (_from_another_clock, "fresh state", "use_sim_time")],
    ids=["nan", "another clock"],
)
def test_states_that_cannot_be_true_hold_or_stop_the_arm(fed, peer, spoil, check, reason):
    controller, feeder = fed
    feeder.until(lambda status: status.seeded and status.verdict == ControllerStatus.OK)
    status = feeder.until(lambda status: status.verdict >= ControllerStatus.HOLD, spoil)
    assert status.check == check
    assert reason in status.reason
    # A reset ends the hold only if what caused it is over, so good states come first.
    since = peer.node.get_clock().now()
    feeder.until(lambda status: Time.from_msg(status.header.stamp) > since)
    assert peer.call(Trigger, controller, "reset", Trigger.Request()).success
    feeder.until(lambda status: status.verdict == ControllerStatus.OK)


def test_silence_stops_the_arm(start, peer):
    controller = start("controller", namespace="/quiet")
    bring_up(peer, controller)
    feeder = Feeder(peer, controller)
    feeder.until(lambda status: status.seeded)
    statuses: list[ControllerStatus] = []
    peer.node.create_subscription(ControllerStatus, "/quiet/controller/status", statuses.append, 10)
    peer.wait_for(
        lambda: bool(statuses) and statuses[-1].verdict == ControllerStatus.STOP and "silent" in statuses[-1].reason,
        "a stop",
    )


def test_gravity_and_payload_count_whatever_is_changed_live(start, peer):
    """An arm on a wall: what it weighs there must survive other gains, and what the hand holds another law."""
    gravity = (0.0, 9.81, 0.0)
    controller = start("controller", *LENIENT_GUARD, "-p", f"gravity:={list(gravity)}", namespace="/wall")
    bring_up(peer, controller)
    feeder, efforts = Feeder(peer, controller), []
    topic = "/wall/forward_effort_controller/commands"
    peer.node.create_subscription(Float64MultiArray, topic, lambda message: efforts.append(message.data), 10)
    chain = Robot.from_urdf("ur5").chain("base_link", "tool0")

    def change(**parameters: object):
        rows = [
            Parameter(name.replace("__", "."), value=value).to_parameter_msg() for name, value in parameters.items()
        ]
        request = SetParametersAtomically.Request(parameters=rows)
        return peer.call(SetParametersAtomically, controller, "set_parameters_atomically", request).result

    def carries(payload: dynamics.Payload | None) -> bool:
        """Feeds the arm at rest until the efforts are those of its weight."""
        zeros = np.zeros(chain.n)
        weight = dynamics.inverse_dynamics(chain, HOME, zeros, zeros, gravity=gravity, payload=payload)
        feeder.until(lambda status: bool(efforts) and np.abs(np.array(efforts[-1]) - weight).max() < 1e-6)
        return True

    assert carries(None)
    assert change(gains__computed_torque__kp=[300.0]).successful
    assert carries(None)
    held = dynamics.Payload(1.5, (0.0, 0.02, 0.1))
    assert change(payload__mass=1.5, payload__com=[0.0, 0.02, 0.1]).successful
    assert carries(held)
    assert change(law="feedforward").successful
    assert carries(held)
    refused = change(payload__com=[0.0, 0.1])
    assert not refused.successful and "payload com" in refused.reason
    assert carries(held)
    assert change(payload__mass=0.0).successful
    assert carries(None)
