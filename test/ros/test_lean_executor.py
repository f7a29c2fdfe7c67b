"""The executor of nodes with a loop: all that rclpy's own one carries out, it carries out as well."""

from __future__ import annotations

import time

import pytest
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient, ActionServer
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from std_msgs.msg import String
from std_srvs.srv import Trigger

from manipapy_ros.client.session import destroy_node
from manipapy_ros.realtime import lean_executor as lean
from manipapy_ros.realtime.lean_executor import LeanExecutor
from manipapy_ros.realtime.polled_topics import NeverExecuted

TIMEOUT = 30.0
"""[s]"""


@pytest.fixture
def context(domain):
    context = Context()
    context.init()
    yield context
    context.try_shutdown()


@pytest.fixture
def executor(context):
    executor = LeanExecutor(context=context)
    yield executor
    executor.shutdown()


@pytest.fixture
def node(context, executor):
    node = Node("frugal", context=context)
    executor.add_node(node)
    yield node
    destroy_node(node)


def spin_until(executor, condition):
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "the event did not come"
        executor.spin_once(timeout_sec=0.05)


def test_timers_are_called_until_they_are_cancelled_or_destroyed(node, executor):
    calls, steady = [], Clock(clock_type=ClockType.STEADY_TIME)
    first = node.create_timer(0.01, lambda: calls.append("first"), clock=steady)
    second = node.create_timer(0.01, lambda: calls.append("second"), clock=steady)
    spin_until(executor, lambda: calls.count("first") >= 3 and calls.count("second") >= 3)
    first.cancel()
    node.destroy_timer(second)
    calls.clear()
    deadline = time.monotonic() + 0.1
    while time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.02)
    assert not calls


def test_a_timer_may_destroy_its_neighbour(node, executor):
    calls, steady = [], Clock(clock_type=ClockType.STEADY_TIME)
    timers = []

    def only_one() -> None:
        calls.append(1)
        for timer in timers[1:]:
            node.destroy_timer(timer)
        del timers[1:]

    timers += [node.create_timer(0.01, only_one, clock=steady) for _ in range(3)]
    time.sleep(0.05)  # all of them are due at once
    spin_until(executor, lambda: len(calls) >= 3)
    assert len(timers) == 1


def test_messages_arrive_also_on_topics_that_come_later(node, executor):
    heard = []
    node.create_subscription(String, "early", lambda message: heard.append(message.data), 10)
    executor.spin_once(timeout_sec=0.01)
    node.create_subscription(String, "late", lambda message, info: heard.append(message.data), 10)
    publishers = [node.create_publisher(String, topic, 10) for topic in ("early", "late")]
    spin_until(executor, lambda: all(publisher.get_subscription_count() == 1 for publisher in publishers))
    for publisher, text in zip(publishers, ("one", "two"), strict=True):
        publisher.publish(String(data=text))
    spin_until(executor, lambda: sorted(heard) == ["one", "two"])


def test_a_polled_subscription_is_left_alone(node, executor):
    heard = []
    group = NeverExecuted()
    hot = node.create_subscription(String, "hot", lambda message: heard.append(message.data), 1, callback_group=group)
    publisher = node.create_publisher(String, "hot", 1)
    spin_until(executor, lambda: publisher.get_subscription_count() == 1)
    publisher.publish(String(data="news"))
    for _ in range(5):
        executor.spin_once(timeout_sec=0.02)
    assert not heard
    with hot.handle:
        assert hot.handle.take_message(String, False)[0].data == "news"


def test_clocks_are_taken_along(node, executor):
    """They do not wake the executor, but are not lost."""
    heard = []
    node.create_subscription(ClockMessage, "a_clock", lambda message: heard.append(message.clock.sec), 1)
    publisher = node.create_publisher(ClockMessage, "a_clock", 1)
    spin_until(executor, lambda: publisher.get_subscription_count() == 1)
    message = ClockMessage()
    message.clock.sec = 42
    publisher.publish(message)
    spin_until(executor, lambda: heard == [42])


def test_services_and_clients_and_tasks_are_served(node, executor):
    def answer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = True, "here"
        return response

    node.create_service(Trigger, "ask", answer)
    client = node.create_client(Trigger, "ask")
    spin_until(executor, client.service_is_ready)
    future = client.call_async(Trigger.Request())
    spin_until(executor, future.done)
    assert future.result().message == "here"
    task = executor.create_task(lambda: "done")
    spin_until(executor, task.done)
    assert task.result() == "done"


def test_guard_conditions_ring(node, executor):
    rung = []
    guard = node.create_guard_condition(lambda: rung.append(1))
    executor.spin_once(timeout_sec=0.01)
    guard.trigger()
    spin_until(executor, lambda: rung == [1])


def test_actions_are_carried_out(node, executor):
    def execute(handle) -> FollowJointTrajectory.Result:
        handle.succeed()
        return FollowJointTrajectory.Result(error_string="well done")

    server = ActionServer(node, FollowJointTrajectory, "act", execute)
    client = ActionClient(node, FollowJointTrajectory, "act")
    spin_until(executor, client.server_is_ready)
    sent = client.send_goal_async(FollowJointTrajectory.Goal())
    spin_until(executor, sent.done)
    result = sent.result().get_result_async()
    spin_until(executor, result.done)
    assert result.result().result.error_string == "well done"
    client.destroy()
    server.destroy()


def test_a_callback_that_raises_is_reported(node, executor):
    def fail() -> None:
        raise RuntimeError("a test")

    node.create_timer(0.001, fail, clock=Clock(clock_type=ClockType.STEADY_TIME))
    with pytest.raises(RuntimeError, match="a test"):
        spin_until(executor, lambda: False)


def test_a_shutdown_ends_the_wait(node, executor, context):
    executor.spin_once(timeout_sec=0.01)
    context.try_shutdown()
    with pytest.raises(ExternalShutdownException):
        executor.spin_once(timeout_sec=1.0)


def test_without_work_it_comes_back_in_time(node, executor):
    for _ in range(3):
        executor.spin_once(timeout_sec=0.0)


def test_a_fallback_to_the_executor_of_rclpy_is_logged_with_its_reason(context, monkeypatch, capfd):
    monkeypatch.setattr(lean, "EXECUTOR_INTERNALS", ("_guard", "_gone"))
    monkeypatch.setattr(lean, "SingleThreadedExecutor", lambda: SingleThreadedExecutor(context=context))
    executor = lean.lean_executor()
    assert type(executor) is SingleThreadedExecutor
    executor.shutdown()
    assert "rclpy has no _gone" in capfd.readouterr().err
