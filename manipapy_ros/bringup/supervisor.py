"""Supervisor of a bringup: starts its processes, configures and activates the nodes in order, and stops them.

When a process dies, the arm is held first; then the cause is printed; then the policy decides between a restart and a
clean stop.
"""

from __future__ import annotations

import enum
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType, TracebackType

from action_msgs.srv import CancelGoal
from lifecycle_msgs.msg import Transition
from rich.console import Console
from rich.markup import escape
from std_srvs.srv import Trigger

from manipapy_core.checks import positive
from manipapy_core.errors import InputError, ManipapyError

from ..client.session import GivenUp, NoAnswer, Refused, RosSession
from .description import Bringup, NodeSpec
from .local_commands import LocalCommands
from .local_socket import LocalSocket
from .managed_process import ManagedProcess, stop_all

TRANSITION_TIMEOUT = 300.0
"""For a node to appear, and for each transition [s]: the first compilation and collision body of a robot take seconds,
beside thirty busy processes more than two minutes. A process that ends is noticed at once."""
STOP_TIMEOUT = 2.0
"""For processes to end after Ctrl-C, before they are killed [s]."""
HOLD_TIMEOUT = 0.3
"""For the arm to confirm a hold [s]; its own watchdogs take over after that."""
CHECK_PERIOD = 0.02
"""Between two checks of the processes [s]."""
RESTARTS = 3
"""A node that dies more often than this within `RESTART_WINDOW` is not restarted again."""
RESTART_WINDOW = 60.0
"""[s]"""


class Policy(enum.Enum):
    """What happens when a node dies."""

    RESTART = "restart"
    """Start it again; an arm that stopped meanwhile needs `manipapy reset`."""
    STOP = "stop"
    """Stop everything, with exit code 1."""


class NodeDied(ManipapyError):
    """A node ended unexpectedly."""

    def __init__(self, name: str, cause: str):
        super().__init__(f"{name} {cause}")
        self.name, self.cause = name, cause


class Supervisor:
    """The processes of one bringup. Use it in a `with` statement, from the main thread.

    Args:
        bringup: What to start.
        policy: What to do when a node dies.
        autostart: Configure and activate; otherwise nodes wait for `ros2 lifecycle set`.
        stop_timeout: Time for processes to end before they are killed [s].
        log: Prints a line about the bringup.
        on_output: Called with node and line for all output of the nodes, from other threads.
        stop_requested: Whether the user has requested the end; called often.
    """

    def __init__(
        self,
        bringup: Bringup,
        *,
        policy: Policy = Policy.STOP,
        autostart: bool = True,
        stop_timeout: float = STOP_TIMEOUT,
        log: Callable[[str], None] = print,
        on_output: Callable[[str, str], None] = lambda node, line: print(f"[{node}] {line}"),
        stop_requested: Callable[[], bool] = lambda: False,
    ):
        self.bringup, self.policy, self.autostart = bringup, policy, autostart
        self.stop_timeout = positive(stop_timeout, "stop_timeout", "s")
        self._log, self._on_output, self._stop_requested = log, on_output, stop_requested
        self.children: dict[str, ManagedProcess] = {}
        """By name of the node."""
        self._deaths: dict[str, list[float]] = {}
        self._local: LocalSocket | None = None
        """Answers `manipapy hold` and `state` of this machine."""
        self.client = RosSession("supervisor", bringup.namespace)
        self._cancel = f"{bringup.trajectory_action}/_action/cancel_goal"
        for name in bringup.holds:
            self.client.service_client(Trigger, name)
        self.client.service_client(CancelGoal, self._cancel)

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start every process, configure all nodes at the same time, then activate them in order.

        Raises:
            NodeDied: A node ended; with its last output.
            NoAnswer, Refused: A node does not appear, or cannot be configured.
            GivenUp: The user asked to stop.
        """
        # All at once: most of the time goes into importing Python packages, in parallel.
        for spec in self.bringup.nodes:
            self._launch(spec)
        if not self.autostart:
            self._log("nodes wait unconfigured: ros2 lifecycle set /<node> configure, then activate")
            return
        self._configure_all()
        for spec in self.bringup.nodes:
            self._transition(spec, Transition.TRANSITION_ACTIVATE)
        self._local = LocalCommands(self.client).served()

    def check(self) -> None:
        """Check the processes once; to be called often.

        Raises:
            NodeDied: One died and the policy is to stop, or it died too often.
        """
        for spec in self.bringup.nodes:
            if not self.children[spec.executable].is_running:
                self._handle_death(spec)

    def supervise(self, seconds: float | None = None) -> None:
        """Check the processes for so long [s], or until the user asks to stop.

        Raises:
            NodeDied: As from `check`.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while not self._stop_requested() and (end is None or time.monotonic() < end):
            time.sleep(CHECK_PERIOD)
            self.check()

    def hold(self, seconds: float = HOLD_TIMEOUT) -> bool:
        """Hold the arm: active trajectories are cancelled, which is a hold for every trajectory controller.

        Returns:
            Whether it was confirmed. If not, the watchdog of the far side has to hold the arm.
        """
        held = False
        deadline = time.monotonic() + seconds
        for name in self.bringup.holds:
            held |= self._try_call(Trigger, name, Trigger.Request(), deadline)
        # Zero id and zero time stand for all goals.
        return held | self._try_call(CancelGoal, self._cancel, CancelGoal.Request(), deadline)

    def stop(self) -> None:
        """Hold the arm and end every process; a second call does nothing."""
        running = [child for child in self.children.values() if child.is_running]
        if running:
            if self.autostart:
                self.hold()
            late = stop_all(reversed(running), timeout=self.stop_timeout)
            for child in late:
                self._log(f"{child.name} did not end within {self.stop_timeout:g} s and was killed")
            for child in running:
                if child not in late and child.exit_code != 0:
                    self._log(f"{child.name} {child.cause}")
        if self._local is not None:
            self._local.close()
        self.client.close()
        self.children = {}

    def _launch(self, spec: NodeSpec) -> None:
        bringup = self.bringup
        command = spec.command(bringup.namespace, bringup.options.log_level)
        self.children[spec.executable] = ManagedProcess(spec.executable, command, bringup.environment, self._on_output)

    def _configure_all(self) -> None:
        """Each node compiles and builds its collision body on one core; nothing moves yet."""
        failed = threading.Event()

        def configure(spec: NodeSpec) -> None:
            try:
                self._transition(spec, Transition.TRANSITION_CONFIGURE, failed.is_set)
            except BaseException:
                failed.set()
                raise

        for spec in self.bringup.nodes:
            self.client.prepare_transitions(spec.executable)
        with ThreadPoolExecutor(len(self.bringup.nodes), thread_name_prefix="configure") as threads:
            steps = [threads.submit(configure, spec) for spec in self.bringup.nodes]
        errors = [error for step in steps if (error := step.exception()) is not None]
        if errors:
            # The others were given up because of the first failure.
            raise next((error for error in errors if not isinstance(error, GivenUp)), errors[0])

    def _transition(self, spec: NodeSpec, transition: int, give_up: Callable[[], bool] = lambda: False) -> None:
        child = self.children[spec.executable]
        try:
            self.client.transition(
                spec.executable,
                transition,
                seconds=TRANSITION_TIMEOUT,
                give_up=lambda: not child.is_running or self._stop_requested() or give_up(),
            )
        except GivenUp:
            if not child.is_running:
                raise NodeDied(spec.executable, child.cause) from None
            raise

    def _handle_death(self, spec: NodeSpec) -> None:
        name = spec.executable
        held = self.hold()
        cause = self.children[name].cause
        self._log(f"{name} {cause}")
        self._log("the arm holds" if held else "no hold was confirmed; the arm's own watchdog has to hold it")
        recent = [at for at in self._deaths.get(name, []) if time.monotonic() - at < RESTART_WINDOW]
        self._deaths[name] = [*recent, time.monotonic()]
        if self.policy is Policy.STOP:
            raise NodeDied(name, cause)
        if len(recent) >= RESTARTS:
            raise NodeDied(name, f"died {len(recent) + 1} times within {RESTART_WINDOW:g} s, it is not restarted again")
        self._log(f"restarting {name} ({len(recent) + 1} of {RESTARTS})")
        self._launch(spec)
        if self.autostart:
            self._transition(spec, Transition.TRANSITION_CONFIGURE)
            self._transition(spec, Transition.TRANSITION_ACTIVATE)
        self._log(f"{name} is active again; if the arm was stopped meanwhile, `manipapy reset` ends the stop")

    def _try_call(self, service_type: type, name: str, request: object, deadline: float) -> bool:
        """Whether a service answered in time; during a shutdown or after a crash it may not."""
        try:
            answer = self.client.call(service_type, name, request, seconds=max(deadline - time.monotonic(), 0.0))
        except (NoAnswer, Refused):
            return False
        return bool(getattr(answer, "success", True))


class StopRequest:
    """Records Ctrl-C, SIGTERM and SIGHUP for the main loop; a third one ends the process at once."""

    def __init__(self) -> None:
        self._count = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def __call__(self) -> bool:
        return self._count > 0

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count >= 3:
            # The child processes end with this one: see managed_process.py.
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


def run_bringup(
    bringup: Bringup,
    *,
    policy: str,
    autostart: bool,
    seconds: float | None,
    console: Console,
    stop_timeout: float = STOP_TIMEOUT,
) -> int:
    """Start a bringup and supervise it until Ctrl-C; returns the exit code.

    Args:
        policy: What to do when a node dies, a value of `Policy`.
        seconds: How long to run [s]; None: until Ctrl-C.
        stop_timeout: Time for nodes to end before they are killed [s].
    """
    try:
        chosen = Policy(policy)
    except ValueError:
        raise InputError(f"on_failure is {policy!r}; choose {' or '.join(p.value for p in Policy)}") from None
    stop = StopRequest()

    def log(line: str) -> None:
        console.print(f"[bold cyan]manipapy[/] {escape(line)}")

    def on_output(node: str, line: str) -> None:
        console.print(f"[dim]{escape(f'[{node}]')}[/] {escape(line)}")

    supervisor = Supervisor(
        bringup,
        policy=chosen,
        autostart=autostart,
        stop_timeout=stop_timeout,
        log=log,
        on_output=on_output,
        stop_requested=stop,
    )
    with supervisor:
        try:
            supervisor.start()
            log(f"up: {', '.join(bringup.full_name(node.executable) for node in bringup.nodes)}")
            log(f"trajectories go to {bringup.full_name(bringup.trajectory_action)}; Ctrl-C ends everything")
            supervisor.supervise(seconds)
        except GivenUp:
            log("stopped before everything was up")
        except NodeDied as death:
            log(f"stopped because {death.name} died")
            return 1
        except ManipapyError as error:
            log(f"cannot start: {error}")
            return 1
    log("down; no process is left running")
    return 0
