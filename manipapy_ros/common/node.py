"""What every node shares: lifecycle transitions that cannot kill the process, and a clean way out."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, TracebackType

import rclpy
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions

from manipapy_core.control.loop import enter_realtime
from manipapy_core.errors import ManipapyError

from ..realtime.lean_executor import lean_executor
from ..realtime.udp_transport import use_udp_transport
from . import params

NOTICE_SHUTDOWN = 0.2
"""Longest wait [s] of the executor, which nothing wakes for a signal."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)
ECHO = 3.0
"""Signals that come this soon after the first are the same wish [s]: launchers pass on what a terminal has sent."""

MIDDLEWARE_PRIORITY, EXECUTOR_PRIORITY = 60, 50
"""Of SCHED_FIFO for threads that carry messages and for executors of prompt nodes without a loop."""
BELOW_LOOP = 5
"""How far the priority of an executor is below that of the loop it shares the interpreter with."""


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

    prompt = False
    """True: messages must not wait for a busy machine."""
    frugal = False
    """True: the interpreter belongs to a loop; callbacks are plain functions, and no timer goes by simulated time."""
    datagrams = False
    """True: a loop must not be held up by those who begin to listen; see datagrams.py."""
    executor_priority = EXECUTOR_PRIORITY
    """Of SCHED_FIFO while a prompt node is active; nodes with a loop set it in `configure`."""

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
        self._hurry(True)
        failure = self._attempt("activating", self.activate)
        if failure is not None:
            self._hurry(False)
            super().on_deactivate(state)
            return failure
        self.is_active = True
        return opened

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate, then close the publishers."""
        self.is_active = False
        failure = self._attempt("deactivating", self.deactivate)
        self._hurry(False)
        return failure or super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give everything back."""
        self.is_configured = False
        return self._attempt("cleaning up", self.cleanup) or super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Go down the same steps as a manager would ask for, from wherever the node is."""
        self.shut_down()
        return TransitionCallbackReturn.SUCCESS

    def shut_down(self) -> None:
        """Deactivate and clean up, as far as there is something to."""
        state = LifecycleState(self._state_machine.current_state[1], self._state_machine.current_state[0])
        if self.is_active:
            self.on_deactivate(state)
        if self.is_configured:
            self.on_cleanup(state)

    def _hurry(self, active: bool) -> None:
        """Real-time scheduling for the executor of a prompt node while it is active, where permitted.

        It shares the interpreter with a loop. A thread that is put aside while it has the interpreter keeps the loop
        waiting, whatever the loop's own priority. So nothing must come between the two: with the step of a simulation
        in between, the controller waited for that one in every tenth tick.
        """
        if self.prompt and active:
            enter_realtime(self.executor_priority, lock_memory=False)
        elif self.prompt:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

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


def below_loop(priority: int | None) -> int:
    """Priority of an executor whose loop has this one; that of other nodes if the loop has none."""
    return EXECUTOR_PRIORITY if priority is None else max(priority - BELOW_LOOP, 1)


@contextlib.contextmanager
def at_low_priority() -> Iterator[None]:
    """Work of an executor that takes long, at a priority that lets messages and loops of other processes pass."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    if parameters.sched_priority > EXECUTOR_PRIORITY:
        os.sched_setscheduler(0, policy, os.sched_param(EXECUTOR_PRIORITY))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


def run(make_node: type[ManagedNode], argv: Sequence[str] | None = None) -> int:
    """Spin a node until Ctrl-C, SIGTERM or a shutdown of its context.

    Signals are taken here and not by rclpy, whose handlers shut the context down at once: a node that moves an arm
    needs its topics a moment longer, to bring the arm to rest.

    Args:
        make_node: Called once ROS is up.
        argv: Command line with `--ros-args`; that of the process when not given.

    Returns:
        Exit code of the process.
    """
    stop = _StopSignal()
    try:
        with (
            _realtime_threads() if make_node.prompt else contextlib.nullcontext(),
            use_udp_transport() if make_node.datagrams else contextlib.nullcontext(),
        ):
            rclpy.init(args=None if argv is None else list(argv), signal_handler_options=SignalHandlerOptions.NO)
            node = make_node()
        executor = lean_executor() if make_node.frugal else SingleThreadedExecutor()
        executor.add_node(node)
        try:
            while rclpy.ok() and not stop.asked:
                executor.spin_once(timeout_sec=NOTICE_SHUTDOWN)
            if rclpy.ok():
                node.shut_down()
        finally:
            executor.shutdown()
            node.destroy_node()
    except (KeyboardInterrupt, ExternalShutdownException):
        # The ordinary end of a node.
        return 0
    finally:
        rclpy.try_shutdown()
        stop.done()
    return 0


@contextlib.contextmanager
def _realtime_threads() -> Iterator[None]:
    """Threads that are made meanwhile inherit real-time scheduling; this thread has it only as long."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    enter_realtime(MIDDLEWARE_PRIORITY, lock_memory=False)
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


class _StopSignal:
    """Remembers the first SIGINT or SIGTERM; a later one interrupts whatever still takes time."""

    def __init__(self) -> None:
        self.asked = False
        self._since = 0.0
        for number in SIGNALS:
            signal.signal(number, self._ask)

    def done(self) -> None:
        """From now on the process ends anyway; a signal that comes meanwhile must not make that look like a death."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self.asked, self._since = True, time.monotonic()
        elif time.monotonic() - self._since > ECHO:
            raise KeyboardInterrupt
