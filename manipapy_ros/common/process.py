"""The process of a node: real-time scheduling, signals, and spinning until the end."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from manipapy_core.control.loop import enter_realtime

from ..realtime.lean_executor import lean_executor
from ..realtime.udp_transport import use_udp_transport
from .log_folder import with_log_files
from .security import NotSecured, require_security

if TYPE_CHECKING:
    from .node import ManagedNode

SPIN_TIMEOUT = 0.2
"""Longest wait of the executor [s], which a signal does not wake."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
LONGEST_END = 45.0
"""A node that has not ended so long after the request prints where its threads are, and ends [s]."""
REPEATED_SIGNAL = 3.0
"""Signals that arrive this soon after the first are the same request [s]: launchers repeat what a terminal sent."""
MIDDLEWARE_PRIORITY, EXECUTOR_PRIORITY = 60, 50
"""SCHED_FIFO priorities of the middleware's threads and of executors of real-time nodes without a loop."""
BELOW_LOOP = 5
"""Difference between the priority of a loop and that of the executor in the same interpreter."""


class NodeType(Protocol):
    """A subclass of ManagedNode."""

    realtime: bool
    lean_executor: bool
    udp_transport: bool

    def __call__(self) -> ManagedNode: ...


def below_loop(priority: int | None) -> int:
    """Priority of an executor whose loop has this one; that of other nodes if the loop has none."""
    return EXECUTOR_PRIORITY if priority is None else max(priority - BELOW_LOOP, 1)


@contextlib.contextmanager
def at_low_priority() -> Iterator[None]:
    """Run long work of an executor below the messages and loops of other processes."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    if parameters.sched_priority > EXECUTOR_PRIORITY:
        os.sched_setscheduler(0, policy, os.sched_param(EXECUTOR_PRIORITY))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


def run(make_node: NodeType, argv: Sequence[str] | None = None) -> int:
    """Spin a node until Ctrl-C, SIGTERM or a shutdown of its context.

    Signals are handled here and not by rclpy, whose handlers shut the context down at once: a node that moves an arm
    needs its topics a moment longer, to bring the arm to rest.

    Args:
        make_node: Class of the node; instantiated after rclpy.init.
        argv: Command line with `--ros-args`; that of the process when not given.

    Returns:
        Exit code of the process.
    """
    stop = _StopSignal()
    try:
        require_security()
        with (
            _realtime_threads() if make_node.realtime else contextlib.nullcontext(),
            use_udp_transport(shared_memory=not make_node.udp_transport),
        ):
            arguments, no_log_files = with_log_files(sys.argv if argv is None else argv)
            rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
            node = make_node()
        if no_log_files:
            node.get_logger().warning(no_log_files)
        node.stop_requested = lambda: stop.requested
        _log_lost_responses(node)
        executor = lean_executor() if make_node.lean_executor else SingleThreadedExecutor()
        executor.add_node(node)
        try:
            while rclpy.ok() and not stop.requested:
                executor.spin_once(timeout_sec=SPIN_TIMEOUT)
            faulthandler.dump_traceback_later(LONGEST_END, exit=True)
            if rclpy.ok():
                node.shut_down()
        finally:
            executor.shutdown()
            node.destroy_node()
    except ParameterException as error:
        print(f"cannot start: {error}; correct the parameter", file=sys.stderr)
        return 2
    except NotSecured as error:
        print(f"cannot start: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, ExternalShutdownException):
        # The ordinary end of a node.
        return 0
    finally:
        rclpy.try_shutdown()
        stop.ignore()
    return 0


def end_process(code: int) -> NoReturn:
    """End a process whose node has ended: run exit handlers, write out its output, and leave.

    Python would free every module, compiled kernel and DDS object one by one first, 0.2 s to 0.5 s of computing per
    node. When all nodes of an arm end together on two cores, some took 4 s, and were killed after 2 s.

    Args:
        code: Exit code.
    """
    # What `sys.exit` would call; temporary folders are deleted there.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # The reader of a pipe may be gone.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


@contextlib.contextmanager
def _realtime_threads() -> Iterator[None]:
    """Threads created inside inherit real-time scheduling; this thread returns to its own afterwards."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    enter_realtime(MIDDLEWARE_PRIORITY, lock_memory=False)
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


def _log_lost_responses(node: ManagedNode) -> None:
    """Log a response that rclpy could not deliver in one line: its client has ended, or is not discovered yet and will
    ask again. rclpy issues a Python warning with its source line.
    """
    show = warnings.showwarning

    def show_or_log(message: Warning | str, *arguments: Any, **options: Any) -> None:
        if "failed to send response" in str(message):
            node.get_logger().info("a response did not reach its client, which is not discovered yet or has ended")
        else:
            show(message, *arguments, **options)

    warnings.showwarning = show_or_log


class _StopSignal:
    """Records the first SIGINT or SIGTERM; a later one interrupts a shutdown that takes too long."""

    def __init__(self) -> None:
        self.requested = False
        self._since = 0.0
        for number in SIGNALS:
            signal.signal(number, self._on_signal)

    def ignore(self) -> None:
        """Ignore signals from now on: the process is ending, and must not end with the exit code of a signal."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self.requested:
            self.requested, self._since = True, time.monotonic()
        elif time.monotonic() - self._since > REPEATED_SIGNAL:
            raise KeyboardInterrupt
