"""What every node shares: lifecycle transitions that cannot kill the process, and a clean way out."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from types import TracebackType

import rclpy
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from manipapy_core.errors import ManipapyError

from . import params

NOTICE_SHUTDOWN = 0.2
"""Longest wait [s] of the executor. rclpy wakes it for a signal before it shuts the context down; when the executor is
back in its wait before the shutdown is done, nothing wakes it again, and rclpy.spin() would hang for good."""


class _LogUnexpected:
    """Logs an exception on its way out: rclpy turns it into a failed transition without a word."""

    def __init__(self, node: LifecycleNode, doing: str):
        self._node, self._doing = node, doing

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            text = "".join(traceback.format_exception(kind, error, trace))
            self._node.get_logger().error(f"unexpected error while {self._doing}:\n{text}")


class NotActive(ManipapyError):
    """A node was asked to act before it was activated."""

    def __init__(self, node: str):
        super().__init__(f"{node} is not active; configure and activate it (ros2 lifecycle set {node} activate)")
        self.node = node


class ManagedNode(LifecycleNode):
    """A lifecycle node with a parameter table.

    A node fills in `configure`, `activate`, `deactivate` and `cleanup` as far as it needs them. A ManipapyError
    raised there is the user's to mend: it is logged, the transition fails, and the node stays where it was.
    """

    def __init__(self, name: str, table: Sequence[params.Param]):
        super().__init__(name)
        self.table = tuple(table)
        self.is_configured = False
        self.is_active = False
        params.declare(self, self.table)
        # rclpy lets a transition that the current state does not offer escape as an RCLError out of spin().
        self._carry_out_transition = self._service_change_state.callback
        self._service_change_state.callback = self._change_state

    def configure(self, values: dict[str, params.Value]) -> None:
        """Make everything that costs time or can fail, from the parameters' values by name."""

    def activate(self) -> None:
        """Begin to act; publishers are open already."""

    def deactivate(self) -> None:
        """Stop acting; publishers are still open."""

    def cleanup(self) -> None:
        """Give back what `configure` made."""

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Configure, then let managed entities follow."""
        values = dict(params.read(self, self.table))
        failure = self._attempt("configuring", lambda: self.configure(values))
        self.is_configured = failure is None
        return failure or super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the publishers, then activate."""
        opened = super().on_activate(state)
        if opened is not TransitionCallbackReturn.SUCCESS:
            return opened
        failure = self._attempt("activating", self.activate)
        if failure is not None:
            super().on_deactivate(state)
            return failure
        self.is_active = True
        return opened

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate, then close the publishers."""
        self.is_active = False
        return self._attempt("deactivating", self.deactivate) or super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back."""
        self.is_configured = False
        return self._attempt("cleaning up", self.cleanup) or super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Go down the same steps as a manager would ask for, from wherever the node is."""
        if self.is_active:
            self.on_deactivate(state)
        if self.is_configured:
            self.on_cleanup(state)
        return TransitionCallbackReturn.SUCCESS

    def _attempt(self, doing: str, step: Callable[[], None]) -> TransitionCallbackReturn | None:
        """Take one step; None when it went well, the result of the transition when not."""
        with _LogUnexpected(self, doing):
            try:
                step()
            except ManipapyError as error:
                self.get_logger().error(f"{doing} failed: {error}")
                return TransitionCallbackReturn.FAILURE
        return None

    def _change_state(self, request: ChangeState.Request, response: ChangeState.Response) -> ChangeState.Response:
        wanted = request.transition
        offered = {id_: label for id_, label, *_ in self._state_machine.available_transitions}
        if (wanted.label in offered.values()) if wanted.label else (wanted.id in offered):
            return self._carry_out_transition(request, response)
        state = self._state_machine.current_state[1]
        self.get_logger().warning(
            f"no transition {wanted.label or wanted.id} from state {state!r}; "
            f"possible: {', '.join(f'{label} ({id_})' for id_, label in offered.items()) or 'none'}"
        )
        response.success = False
        return response


def run(make_node: Callable[[], ManagedNode], argv: Sequence[str] | None = None) -> int:
    """Spin a node until Ctrl-C, SIGTERM or a shutdown of its context.

    Args:
        make_node: Called once ROS is up.
        argv: Command line with `--ros-args`; that of the process when not given.

    Returns:
        Exit code of the process.
    """
    rclpy.init(args=None if argv is None else list(argv))
    try:
        node = make_node()
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        try:
            while rclpy.ok():
                executor.spin_once(timeout_sec=NOTICE_SHUTDOWN)
        finally:
            node.destroy_node()
    except (KeyboardInterrupt, ExternalShutdownException):
        # The ordinary end of a node.
        return 0
    finally:
        rclpy.try_shutdown()
    return 0
