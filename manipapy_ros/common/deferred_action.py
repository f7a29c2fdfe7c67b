"""Action servers whose goals take their time without blocking anybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer
from rclpy.action.server import ServerGoalHandle


class DeferredActionServer(ActionServer):
    """An action server whose goals end by `finish` and not by the return of a callback.

    rclpy runs one callback per goal from beginning to end: it would block the executor, or, as a coroutine, keep it
    spinning without rest.
    """

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Callable[..., Any] | None) -> None:
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def finish(self, goal_handle: ServerGoalHandle, result: Any, *, succeeded: bool, cancelled: bool = False) -> None:
        """Ends a goal; from any thread.

        Args:
            result: What the client gets.
            cancelled: Whether a goal without success ended because its client wanted so.
        """

        def conclude(goal_handle: ServerGoalHandle) -> Any:
            if succeeded:
                goal_handle.succeed()
            elif cancelled and goal_handle.is_cancel_requested:
                goal_handle.canceled()
            else:
                goal_handle.abort()
            return result

        self.notify_execute(goal_handle, conclude)


def not_used(_: ServerGoalHandle) -> Any:
    """In the place of the callback that would execute a goal."""
    raise AssertionError("goals end by `finish`")
