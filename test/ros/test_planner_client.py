"""What clients of the planner are told when it ends before their motion does."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from manipapy_msgs.action import Move
from manipapy_msgs.msg import MotionRequest
from rclpy.action.server import ServerGoalHandle

from manipapy_core.errors import ManipapyError
from manipapy_ros.client import planner
from manipapy_ros.client.session import NoAnswer, Refused, RosSession
from manipapy_ros.common.deferred_action import DeferredActionServer, not_used


class SilentPlanner:
    """Accepts goals and never ends them."""

    def __init__(self, peer, namespace: str):
        self.accepted: list[ServerGoalHandle] = []
        self._server = DeferredActionServer(
            peer.node,
            Move,
            f"{namespace}/planner/move",
            execute_callback=not_used,
            handle_accepted_callback=self.accepted.append,
        )

    def destroy(self) -> None:
        self._server.destroy()


@pytest.fixture
def client(domain, monkeypatch) -> Iterator[planner.PlannerClient]:
    monkeypatch.setattr(planner, "TIMEOUT", 2.0)
    with RosSession("tester", "/silent") as session:
        yield planner.PlannerClient(session)


def moving(peer, client, server: SilentPlanner) -> tuple[threading.Thread, list[ManipapyError]]:
    """A thread that moves, and the error that it ends with."""
    errors: list[ManipapyError] = []

    def move() -> None:
        try:
            client.move(MotionRequest())
        except ManipapyError as error:
            errors.append(error)

    thread = threading.Thread(target=move)
    thread.start()
    peer.wait_for(lambda: bool(server.accepted), "a goal")
    return thread, errors


def test_a_motion_ends_when_its_planner_has_died(peer, client):
    server = SilentPlanner(peer, "/silent")
    thread, errors = moving(peer, client, server)
    peer.spin_for(3.0)  # a planner that is only slow is waited for
    assert thread.is_alive()
    server.destroy()
    peer.wait_for(lambda: not thread.is_alive(), "the end of the motion")
    assert isinstance(errors[0], NoAnswer)


def test_a_motion_ends_when_its_planner_was_started_again(peer, client):
    """The new one looks like the old one, but has no such goal."""
    first = SilentPlanner(peer, "/silent")
    thread, errors = moving(peer, client, first)
    first.destroy()
    second = SilentPlanner(peer, "/silent")
    peer.wait_for(lambda: not thread.is_alive(), "the end of the motion")
    second.destroy()
    assert isinstance(errors[0], Refused)
    assert "started again" in str(errors[0])
