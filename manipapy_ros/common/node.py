"""The base of all nodes: lifecycle, service answers, live parameters, teardown, diagnostics and the robot.

A node declares its parameters as a table and fills in `configure`, `activate` and `deactivate`. It wraps what it
creates in `configure` with `own`, offers services with `offer`, reads its robot with `load_robot`, and reacts to
changes of live parameters in `check_parameters` and `apply_parameters`.
"""

from __future__ import annotations

import contextlib
import os
import threading
import traceback
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.lifecycle.publisher import LifecyclePublisher
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from manipapy_core import Robot, compile_notice
from manipapy_core.control.loop import enter_realtime
from manipapy_core.errors import ManipapyError

from . import params, robot_loader
from .bounds import check_size
from .diagnostics import DiagnosticReport, Diagnostics, Level
from .params import Values
from .process import EXECUTOR_PRIORITY
from .robot_loader import LoadedRobot

JOIN_TIMEOUT = 0.5
"""How long the end of a process waits for a thread [s]."""
Resource = TypeVar("Resource")
Answer = Callable[[Any, Any], str | None]
"""Fills in the response to a request; a returned text becomes its message."""


class NotActive(ManipapyError):
    """A request to a node that is not active."""

    def __init__(self, node: str):
        super().__init__(f"{node} is not active; configure and activate it (ros2 lifecycle set {node} activate)")
        self.node = node


class ManagedNode(LifecycleNode):
    """A lifecycle node with a parameter table.

    A ManipapyError raised in `configure`, `activate`, `deactivate` or `cleanup` is an error of the user: it is logged,
    the transition fails, and the node keeps its state.

    Args:
        name: Of the node.
        table: Its parameters.
    """

    realtime = False
    """True: the executor and the middleware get real-time scheduling while the node is active, where permitted."""
    lean_executor = False
    """True: a loop shares the interpreter; callbacks are plain functions, and no timer runs on simulated time."""
    udp_transport = False
    """True: a new subscriber must not delay a loop; see realtime/udp_transport.py."""
    executor_priority = EXECUTOR_PRIORITY
    """SCHED_FIFO priority while a real-time node is active; nodes with a loop set it in `configure`."""

    def __init__(self, name: str, table: Sequence[params.Param]):
        super().__init__(name)
        self.table = tuple(table)
        self.values: dict[str, params.Value] = {}
        """Current values of the table by name, from configure on."""
        self.is_configured = False
        self.is_active = False
        self.stop_requested: Callable[[], bool] = lambda: False
        """Whether a signal asked the process to end."""
        self.hardware_id = ""
        """Name of the robot, in diagnostics."""
        self._owned = contextlib.ExitStack()
        params.declare(self, self.table)
        self.add_on_set_parameters_callback(self._on_set_parameters)
        self.add_post_set_parameters_callback(self._on_parameters_set)
        # rclpy lets a transition that the current state does not offer escape as an RCLError out of spin().
        self._carry_out_transition = self._service_change_state.callback
        self._service_change_state.callback = self._change_state

    # For subclasses.

    def configure(self, values: Values) -> None:
        """Create everything that takes time or can fail, from the values of the parameters."""

    def activate(self) -> None:
        """Start to act; publishers are open already."""

    def deactivate(self) -> None:
        """Stop acting; publishers are still open."""

    def cleanup(self) -> None:
        """Release what `configure` created and `own` does not release."""

    def check_parameters(self, values: Values, changed: frozenset[str]) -> None:
        """Refuse a change of live parameters by raising a ManipapyError.

        Args:
            values: All values as they would be.
            changed: Names of those that differ from now.
        """

    def apply_parameters(self, values: Values, changed: frozenset[str]) -> None:
        """Put a change of live parameters into effect.

        Args:
            values: All values as they are now.
            changed: Names of those that have changed.
        """

    def diagnose(self) -> DiagnosticReport:
        """State of the node, published once a second from configure to cleanup."""
        return DiagnosticReport(Level.OK, "active" if self.is_active else "inactive")

    # For use in `configure`.

    def own(self, resource: Resource) -> Resource:
        """Destroy a resource at cleanup or when configuring fails, last created first.

        Args:
            resource: A publisher, subscription, service or timer of this node, or an object with `destroy` or `close`.
        """
        self._owned.callback(self._destroy, resource)
        return resource

    def every(self, period: float, callback: Callable[[], None]) -> Timer:
        """Call a function periodically until cleanup, on the steady clock: simulated time may be paused.

        Args:
            period: [s]
        """
        return self.own(self.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME)))

    def offer(
        self,
        kind: type,
        name: str,
        answer: Answer,
        *,
        only_active: bool = True,
        complete: Callable[[Any], None] | None = None,
    ) -> None:
        """Offer a service, whose response has `success` and `message`, until cleanup.

        A ManipapyError of `answer` becomes a response without success, with the error as message; so does a
        request that is too large.

        Args:
            only_active: Refuse requests while the node is not active.
            complete: Fills in fields that every response has, with success or without.
        """

        def respond(request: Any, response: Any) -> Any:
            response.success = True
            try:
                if only_active:
                    self.require_active()
                check_size(request)
                text = answer(request, response)
                response.message = response.message if text is None else text
            except ManipapyError as error:
                response = type(response)(success=False, message=str(error))
            if complete is not None:
                complete(response)
            return response

        self.own(self.create_service(kind, name, respond))

    def join(self, thread: threading.Thread) -> None:
        """Wait for the end of a daemon thread; while the process is ending, not longer than `JOIN_TIMEOUT`.

        A thread that compiles, or is in another long call, cannot be interrupted; it ends with the process.
        """
        thread.join(JOIN_TIMEOUT if self.stop_requested() else None)

    def require_active(self) -> None:
        """Raises NotActive unless the node is active."""
        if not self.is_active:
            raise NotActive(self.get_fully_qualified_name())

    def load_description(self, values: Values) -> Robot:
        """The robot that the parameters of `robot_loader` describe; waits for the topic when they leave it to that.

        Raises:
            NoDescription: Nothing arrived on the topic in time.
            InputError: No such robot, or a description with errors.
        """
        robot = robot_loader.robot_from_parameters(values)
        if robot is None:
            timeout = float(values["robot_description_timeout"])
            self.get_logger().info(f"waiting for {self.resolve_topic_name(robot_loader.TOPIC)}")
            text = robot_loader.wait_for_description(self, timeout, self.stop_requested)
            robot = robot_loader.robot_from_text(text, values)
        for warning in robot.warnings:
            self.get_logger().warning(warning)
        self.hardware_id = robot.name
        return robot

    def load_robot(self, values: Values) -> LoadedRobot:
        """The robot, as from `load_description`, with its arm from `base_link` to `tip_link`.

        Raises:
            InputError: As from `load_description`, or there is no arm between the two links.
        """
        return LoadedRobot.of(self.load_description(values), values)

    # Lifecycle.

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Configure, then the managed entities."""
        try:
            failure = self._attempt("configuring", self._configure)
            self.is_configured = failure is None
        finally:
            if not self.is_configured:
                self._owned.close()
        if failure is not None:
            return failure
        self.own(Diagnostics(self, self.hardware_id, self.diagnose))
        return super().on_configure(state)

    def _configure(self) -> None:
        self.values = params.read(self, self.table)
        if "robot" in self.values:
            self.values = robot_loader.with_folder(self.values)
        self.configure(self.values)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the publishers, then activate."""
        opened = super().on_activate(state)
        if opened is not TransitionCallbackReturn.SUCCESS:
            return opened
        self._schedule_realtime(True)
        failure = self._attempt("activating", self.activate)
        if failure is not None:
            self._schedule_realtime(False)
            super().on_deactivate(state)
            return failure
        self.is_active = True
        compile_notice.report_late_compilation(self.get_name())
        return opened

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate, then close the publishers."""
        self.is_active = False
        compile_notice.expect_compilation(self.get_name())
        failure = self._attempt("deactivating", self.deactivate)
        self._schedule_realtime(False)
        return failure or super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Release everything that `configure` created."""
        return self._release() or super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate and clean up from whatever state the node is in."""
        self.shut_down()
        return TransitionCallbackReturn.SUCCESS

    def shut_down(self) -> None:
        """Deactivate if active, clean up if configured."""
        state = LifecycleState(self._state_machine.current_state[1], self._state_machine.current_state[0])
        if self.is_active:
            self.on_deactivate(state)
        if self.is_configured:
            self.on_cleanup(state)

    def destroy_node(self) -> None:
        """Leave no thread and no child process behind, whatever the state."""
        if self.is_active:
            self.is_active = False
            self._attempt("deactivating", self.deactivate)
        if self.is_configured:
            self._release()
        super().destroy_node()
        # rclpy leaves it, and with it the DDS participant and its shared memory.
        self._state_machine.destroy_when_not_in_use()

    def _release(self) -> TransitionCallbackReturn | None:
        self.is_configured = False
        failure = self._attempt("cleaning up", self.cleanup)
        return self._attempt("cleaning up", self._owned.close) or failure

    def _destroy(self, resource: Any) -> None:
        if isinstance(resource, LifecyclePublisher):
            self.destroy_lifecycle_publisher(resource)
        elif isinstance(resource, Publisher):
            self.destroy_publisher(resource)
        elif isinstance(resource, Subscription):
            self.destroy_subscription(resource)
        elif isinstance(resource, Service):
            self.destroy_service(resource)
        elif isinstance(resource, Timer):
            self.destroy_timer(resource)
        else:
            release = getattr(resource, "destroy", None) or resource.close
            release()

    def _schedule_realtime(self, active: bool) -> None:
        """Real-time scheduling for the executor of a real-time node while it is active, where permitted.

        The executor shares the interpreter with a loop. A thread that is preempted while it holds the interpreter
        delays the loop, whatever the loop's own priority, so no other thread may have a priority between the two: with
        the step of a simulation in between, the controller waited for it in every tenth tick.
        """
        if self.realtime and active:
            enter_realtime(self.executor_priority, lock_memory=False)
        elif self.realtime:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

    def _attempt(self, doing: str, step: Callable[[], None]) -> TransitionCallbackReturn | None:
        """Run one step; None on success, the result of the transition on failure."""
        with _LogUnexpected(self, doing):
            try:
                step()
            except ManipapyError as error:
                self.get_logger().error(f"{doing} failed: {error}")
                return TransitionCallbackReturn.FAILURE
            except MemoryError as error:
                self.get_logger().error(
                    f"{doing} failed: not enough memory ({error}); simplify the meshes of the robot"
                )
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

    # Parameters.

    def _on_set_parameters(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        values, changed = self._changed(parameters)
        if not self.is_configured or not changed:
            return SetParametersResult(successful=True)
        fixed = [row.name for row in self.table if row.name in changed and not row.live]
        if fixed:
            reason = f"{', '.join(fixed)} is read when the node is configured; clean it up and configure it again"
            return SetParametersResult(successful=False, reason=reason)
        try:
            self.check_parameters(values, changed)
        except ManipapyError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _on_parameters_set(self, parameters: Sequence[Parameter]) -> None:
        values, changed = self._changed(parameters)
        if self.is_configured and changed:
            self.values = values
            self.apply_parameters(values, changed)

    def _changed(self, parameters: Sequence[Parameter]) -> tuple[dict[str, params.Value], frozenset[str]]:
        """All values with new ones in place, and the names of those that differ from `values`."""
        given = params.changes(self.table, parameters)
        changed = frozenset(name for name, value in given.items() if self.values.get(name) != value)
        return {**self.values, **given}, changed


class _LogUnexpected:
    """Logs an exception that leaves its block: rclpy turns it into a failed transition without a log line."""

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
