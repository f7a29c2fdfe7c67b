"""The bridge as a real process: commands, time, objects, determinism, and a camera."""

from __future__ import annotations

import numpy as np
import pytest
from manipapy_msgs.srv import RemoveObject, SpawnObject, StepSimulation
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from manipapy_ros.common import qos
from ros_arm import HOME, JOINTS, StateWatch, bring_up, stamp_of, wait


@pytest.fixture(scope="module")
def bridge(start_for_module, peer):
    home = f"initial_positions:={HOME.tolist()}"
    node = start_for_module("sim_bridge", "-p", home, "-p", "scene:=table")
    bring_up(peer, node)
    return node


@pytest.fixture(scope="module")
def states(bridge, peer):
    return StateWatch(peer, "")


@pytest.fixture
def at_home(bridge, peer, states):
    """Back at HOME, running."""
    assert peer.call(SetBool, bridge, "pause", SetBool.Request(data=False)).success
    assert peer.call(Trigger, bridge, "reset", Trigger.Request()).success
    states.wait_until_still()


class Commander:
    """Publishes commands of one kind."""

    def __init__(self, peer, kind: str):
        self._peer = peer
        topic = f"forward_{kind}_controller/commands"
        self._publisher = peer.node.create_publisher(Float64MultiArray, topic, qos.COMMAND)
        peer.wait_for(lambda: self._publisher.get_subscription_count() > 0, "the bridge to listen")

    def send(self, values) -> None:
        self._publisher.publish(Float64MultiArray(data=[float(value) for value in values]))


def test_joint_states_are_complete_and_in_simulated_time(at_home, states):
    state = states.next()
    assert list(state.name) == list(JOINTS)
    np.testing.assert_allclose(state.position, HOME, atol=1e-3)
    assert len(state.velocity) == len(state.effort) == 6
    assert 0.0 < stamp_of(state) < 1e6
    assert stamp_of(states.after(stamp_of(state))) > stamp_of(state)


def test_clock_follows_the_joint_states(at_home, peer, states):
    times: list[float] = []
    best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    subscription = peer.node.create_subscription(
        Clock, "clock", lambda message: times.append(message.clock.sec + 1e-9 * message.clock.nanosec), best_effort
    )
    peer.wait_for(lambda: len(times) > 20, "time")
    assert times == sorted(times)
    assert abs(stamp_of(states.next()) - times[-1]) < 0.5
    peer.node.destroy_subscription(subscription)


def test_position_commands_are_followed(at_home, peer, states):
    goal = HOME + np.array([0.3, 0.2, -0.2, 0.3, -0.3, 0.5])
    Commander(peer, "position").send(goal)
    states.wait_until(lambda state: np.abs(np.subtract(state.position, goal)).max() < 0.005, "the commanded position")
    states.wait_until_still()
    states.assert_still()


def test_velocity_commands_stop_when_they_stop_coming(at_home, peer, states):
    commander = Commander(peer, "velocity")
    for _ in range(10):
        commander.send([0.3, 0.0, 0.0, 0.0, 0.0, 0.0])
        wait(0.02)
    moved = states.q()[0]
    assert moved > 0.005
    states.wait_until_still()
    states.assert_still()


@pytest.mark.parametrize(
    "values",
    [[float("nan")] * 6, [float("inf")] + [0.0] * 5, [1.0, 2.0], []],
    ids=["nan", "infinite", "too short", "empty"],
)
@pytest.mark.parametrize("kind", ["effort", "velocity", "position"])
def test_bad_commands_do_not_move_the_arm(at_home, peer, states, kind, values):
    commander = Commander(peer, kind)
    for _ in range(3):
        commander.send(values)
    states.assert_still(0.1)
    np.testing.assert_allclose(states.q(), HOME, atol=2e-3)


def test_pausing_stops_time_and_steps_advance_it_exactly(at_home, bridge, peer, states):
    answer = peer.call(StepSimulation, bridge, "step", StepSimulation.Request(steps=1))
    assert not answer.success
    assert "pause it first" in answer.message
    assert peer.call(SetBool, bridge, "pause", SetBool.Request(data=True)).success
    before = states.next().header.stamp
    wait(0.2)
    assert states.next().header.stamp == before
    answer = peer.call(StepSimulation, bridge, "step", StepSimulation.Request(steps=250))
    assert answer.success, answer.message
    passed = (answer.time.sec - before.sec) * 1_000_000_000 + answer.time.nanosec - before.nanosec
    assert passed == 250_000_000
    assert not peer.call(StepSimulation, bridge, "step", StepSimulation.Request(steps=0)).success


def test_the_same_commands_at_the_same_steps_give_the_same_motion(at_home, bridge, peer, states):
    commander = Commander(peer, "position")
    runs = []
    for _ in range(2):
        assert peer.call(SetBool, bridge, "pause", SetBool.Request(data=True)).success
        assert peer.call(Trigger, bridge, "reset", Trigger.Request()).success
        positions = []
        for goal in (HOME + 0.2, HOME - 0.1):
            for _ in range(5):  # time stands still: more of the same changes nothing
                commander.send(goal)
                wait(0.05)
            assert peer.call(StepSimulation, bridge, "step", StepSimulation.Request(steps=150)).success
            positions.append(list(states.next().position))
        runs.append(positions)
    assert runs[0] == runs[1]
    assert np.abs(np.array(runs[0][0]) - HOME).max() > 0.01


def test_objects_come_fall_show_and_go(at_home, bridge, peer):
    seen: dict[str, Marker] = {}

    def look(message: MarkerArray) -> None:
        for marker in message.markers:
            seen[marker.ns] = marker

    subscription = peer.node.create_subscription(MarkerArray, f"{bridge.full_name}/ground_truth", look, 10)
    request = SpawnObject.Request(name="cube", type="box", dimensions=[0.05, 0.05, 0.05], mass=0.1)
    request.pose.position.x, request.pose.position.z = 0.55, 0.3
    answer = peer.call(SpawnObject, bridge, "spawn", request)
    assert answer.success, answer.message
    assert not peer.call(SpawnObject, bridge, "spawn", request).success
    peer.wait_for(lambda: "cube" in seen and seen["cube"].pose.position.z < 0.04, "the cube to fall on the table")
    assert seen["cube"].header.frame_id == "world"
    assert peer.call(RemoveObject, bridge, "remove", RemoveObject.Request(name="cube")).success
    peer.wait_for(lambda: seen["cube"].action == Marker.DELETE, "the marker to be deleted")
    answer = peer.call(RemoveObject, bridge, "remove", RemoveObject.Request(name="cube"))
    assert not answer.success
    assert "table" in answer.message
    peer.node.destroy_subscription(subscription)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (SpawnObject.Request(name="crate", type="pyramid"), "type 'pyramid'"),
        (SpawnObject.Request(name="crate", type="box", dimensions=[1.0, -1.0, 1.0]), "size y is -1"),
        (SpawnObject.Request(name="crate", type="sphere", dimensions=[0.1, 0.2]), "dimensions"),
        (SpawnObject.Request(name="crate", type="cylinder", dimensions=[0.1]), "length"),
        (SpawnObject.Request(name="crate", type="mesh", mesh="missing.stl"), "missing.stl"),
        (SpawnObject.Request(type="sphere", dimensions=[0.1]), "name"),
    ],
    ids=["type", "negative", "too many", "too few", "no file", "no name"],
)
def test_what_cannot_be_spawned_says_why(bridge, peer, request_, reason):
    answer = peer.call(SpawnObject, bridge, "spawn", request_)
    assert not answer.success
    assert reason in answer.message


def test_the_robot_stands_in_the_world_frame(bridge, peer):
    found: list[TFMessage] = []
    subscription = peer.node.create_subscription(TFMessage, "tf_static", found.append, qos.LATCHED)
    peer.wait_for(lambda: bool(found), "static frames")
    assert ("world", "base_link") in {(t.header.frame_id, t.child_frame_id) for t in found[0].transforms}
    peer.node.destroy_subscription(subscription)
