"""Action server whose goals end later, without a blocking callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer
from rclpy.action.server import ServerGoalHandle


class DeferredActionServer(ActionServer):
    """An action server whose goals end with `finish` and not with the return of a callback.

    rclpy runs one callback per goal from beginning to end: it would block the executor, or, as a coroutine, keep it
    busy.
    """

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Callable[..., Any] | None) -> None:
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def finish(self, goal_handle: ServerGoalHandle, result: Any, *, succeeded: bool, cancelled: bool = False) -> None:
        """End a goal; may be called from any thread.

        Args:
            result: For the client.
            cancelled: Whether a goal without success ended because its client cancelled it.
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
    """Execute callback of a server whose goals end with `finish`."""
    raise AssertionError("goals end with `finish`")
