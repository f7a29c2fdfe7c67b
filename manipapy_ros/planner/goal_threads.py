"""Goals of actions, each on a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

from ..common.deferred_action import DeferredActionServer, not_used

KEEP_RESULTS = 120
"""How long results are kept for clients [s]."""
MAX_GOALS = 4
"""Goals that run at the same time."""
TOO_MANY = f"{MAX_GOALS} goals are active already; wait for the end of one"


class GoalThreads:
    """Runs goals, and cancels them for their clients.

    Args:
        node: Whose actions they are.
        name: Of the threads.
    """

    def __init__(self, node: Node, name: str):
        self._node, self._name = node, name
        self._lock = threading.Lock()
        self._running: dict[bytes, tuple[threading.Thread, threading.Event]] = {}

    def server(
        self, kind: Any, name: str, work: Callable[[ServerGoalHandle, threading.Event], None]
    ) -> DeferredActionServer:
        """An action whose goals are accepted and run by a function of the goal and its cancel."""
        return DeferredActionServer(
            self._node,
            kind,
            name,
            execute_callback=not_used,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            handle_accepted_callback=lambda handle: self._start(handle, work),
            cancel_callback=self._on_cancel,
            result_timeout=KEEP_RESULTS,
        )

    @property
    def too_many(self) -> bool:
        """Whether more goals run than may."""
        with self._lock:
            return len(self._running) > MAX_GOALS

    def cancel(self, *, wait: bool) -> None:
        """Cancel every goal, and wait for its thread if `wait`."""
        with self._lock:
            running = list(self._running.values())
        for _, cancel in running:
            cancel.set()
        for thread, _ in running if wait else ():
            thread.join()

    def _start(self, handle: ServerGoalHandle, work: Callable[[ServerGoalHandle, threading.Event], None]) -> None:
        handle.execute()
        key, cancel = bytes(handle.goal_id.uuid), threading.Event()

        def run() -> None:
            try:
                work(handle, cancel)
            finally:
                with self._lock:
                    del self._running[key]

        thread = threading.Thread(target=run, name=self._name, daemon=True)
        with self._lock:
            self._running[key] = (thread, cancel)
        thread.start()

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        with self._lock:
            entry = self._running.get(bytes(handle.goal_id.uuid))
        if entry is None:
            return CancelResponse.REJECT
        entry[1].set()
        return CancelResponse.ACCEPT
