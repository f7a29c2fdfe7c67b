"""Starts the processes of a bringup, brings them to life in order, watches over them and takes them down.

When one dies the arm is made to hold first; then the cause is printed; then the policy decides between a restart and
a clean stop.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable
from types import TracebackType

from action_msgs.srv import CancelGoal
from lifecycle_msgs.msg import Transition
from std_srvs.srv import Trigger

from manipapy_core.errors import ManipapyError

from ..client.session import GivenUp, NoAnswer, Refused, RosSession
from .description import Bringup, NodeSpec
from .managed_process import ManagedProcess, stop_all

START_PATIENCE = 60.0
"""How long a node may take to appear, and for each transition [s]: compiling a robot takes seconds the first time."""
END_PATIENCE = 2.0
"""How long processes may take to end after Ctrl-C, before they are killed [s]."""
HOLD_PATIENCE = 0.3
"""How long the arm's holding may delay the end [s]; its own watchdogs take over after that."""
CHECK_EVERY = 0.02
"""How often the processes are looked at [s]."""
RESTARTS = 3
"""A node that dies more often than this within `RESTART_WINDOW` is not restarted again."""
RESTART_WINDOW = 60.0
"""[s]"""


class Policy(enum.Enum):
    """What happens when a node dies."""

    RESTART = "restart"
    """It is started again; what stopped because of it needs `manipapy reset`."""
    STOP = "stop"
    """Everything is taken down, with an exit code that says so."""


class NodeDied(ManipapyError):
    """A node ended that should have gone on."""

    def __init__(self, name: str, cause: str):
        super().__init__(f"{name} {cause}")
        self.name, self.cause = name, cause


class Supervisor:
    """The processes of one bringup. Use it in a `with` statement, from the main thread.

    Args:
        bringup: What to start.
        policy: What to do when a node dies.
        autostart: Configure and activate; otherwise nodes wait for `ros2 lifecycle set`.
        say: Prints a line about what happens.
        hear: Called with node and line for everything that the nodes print, from other threads.
        wants_to_stop: True when the user has asked for the end; looked at often.
    """

    def __init__(
        self,
        bringup: Bringup,
        *,
        policy: Policy = Policy.STOP,
        autostart: bool = True,
        say: Callable[[str], None] = print,
        hear: Callable[[str, str], None] = lambda node, line: print(f"[{node}] {line}"),
        wants_to_stop: Callable[[], bool] = lambda: False,
    ):
        self.bringup, self.policy, self.autostart = bringup, policy, autostart
        self._say, self._hear, self._wants_to_stop = say, hear, wants_to_stop
        self.children: dict[str, ManagedProcess] = {}
        """By name of the node."""
        self._deaths: dict[str, list[float]] = {}
        self.client = RosSession("supervisor", bringup.namespace)
        self._cancel = f"{bringup.trajectory_action}/_action/cancel_goal"
        for name in bringup.holds:
            self.client.look_for(Trigger, name)
        self.client.look_for(CancelGoal, self._cancel)

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start every process, then configure and activate in order.

        Raises:
            NodeDied: A node ended on the way; with its last words.
            NoAnswer, Refused: A node does not appear, or cannot be configured.
            GivenUp: The user wants to stop.
        """
        # All at once: most of the time goes into loading Python packages, which they can do side by side.
        for spec in self.bringup.nodes:
            self._launch(spec)
        if not self.autostart:
            self._say("nodes wait unconfigured: ros2 lifecycle set /<node> configure, then activate")
            return
        for spec in self.bringup.nodes:
            self._transition(spec, Transition.TRANSITION_CONFIGURE)
        for spec in self.bringup.nodes:
            self._transition(spec, Transition.TRANSITION_ACTIVATE)

    def check(self) -> None:
        """Look after the processes once; call it often.

        Raises:
            NodeDied: One died and the policy is to stop, or restarting does not help.
        """
        for spec in self.bringup.nodes:
            if not self.children[spec.executable].is_running:
                self._handle_death(spec)

    def supervise(self, seconds: float | None = None) -> None:
        """Look after the processes for so long [s], or until the user wants to stop.

        Raises:
            NodeDied: As from `check`.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while not self._wants_to_stop() and (end is None or time.monotonic() < end):
            time.sleep(CHECK_EVERY)
            self.check()

    def hold(self, seconds: float = HOLD_PATIENCE) -> bool:
        """Make the arm hold: whatever trajectory runs is cancelled, which is a hold for every trajectory controller.

        Returns:
            Whether someone confirmed it. If not, the far side's own watchdog must do.
        """
        held = False
        deadline = time.monotonic() + seconds
        for name in self.bringup.holds:
            held |= self._quietly(Trigger, name, Trigger.Request(), deadline)
        # Zero id and zero time stand for all goals.
        return held | self._quietly(CancelGoal, self._cancel, CancelGoal.Request(), deadline)

    def stop(self) -> None:
        """The arm holds, every process ends; a second call does nothing."""
        running = [child for child in self.children.values() if child.is_running]
        if running:
            if self.autostart:
                self.hold()
            late = stop_all(reversed(running), patience=END_PATIENCE)
            for child in late:
                self._say(f"{child.name} did not end by itself within {END_PATIENCE:g} s and was killed")
        self.client.close()
        self.children = {}

    def _launch(self, spec: NodeSpec) -> None:
        bringup = self.bringup
        command = spec.command(bringup.namespace, bringup.options.log_level)
        self.children[spec.executable] = ManagedProcess(spec.executable, command, bringup.environment, self._hear)

    def _transition(self, spec: NodeSpec, transition: int) -> None:
        child = self.children[spec.executable]
        try:
            self.client.transition(
                spec.executable,
                transition,
                seconds=START_PATIENCE,
                give_up=lambda: not child.is_running or self._wants_to_stop(),
            )
        except GivenUp:
            if not child.is_running:
                raise NodeDied(spec.executable, child.cause) from None
            raise

    def _handle_death(self, spec: NodeSpec) -> None:
        name = spec.executable
        held = self.hold()
        cause = self.children[name].cause
        self._say(f"{name} {cause}")
        self._say("the arm holds" if held else "nobody confirmed a hold; the arm's own watchdog has to hold it")
        recent = [at for at in self._deaths.get(name, []) if time.monotonic() - at < RESTART_WINDOW]
        self._deaths[name] = [*recent, time.monotonic()]
        if self.policy is Policy.STOP:
            raise NodeDied(name, cause)
        if len(recent) >= RESTARTS:
            raise NodeDied(name, f"died {len(recent) + 1} times within {RESTART_WINDOW:g} s, restarting does not help")
        self._say(f"restarting {name} ({len(recent) + 1} of {RESTARTS})")
        self._launch(spec)
        if self.autostart:
            self._transition(spec, Transition.TRANSITION_CONFIGURE)
            self._transition(spec, Transition.TRANSITION_ACTIVATE)
        self._say(f"{name} is back; if the arm was stopped meanwhile, `manipapy reset` lets it move again")

    def _quietly(self, service_type: type, name: str, request: object, deadline: float) -> bool:
        """Whether a service answered in time; on the way down or after a death it may well not."""
        try:
            answer = self.client.ask(service_type, name, request, seconds=max(deadline - time.monotonic(), 0.0))
        except (NoAnswer, Refused):
            return False
        return bool(getattr(answer, "success", True))
