"""`manipapy up`: a bringup from start to end, told in lines, ended by Ctrl-C or by itself."""

from __future__ import annotations

import signal
from types import FrameType

from rich.console import Console
from rich.markup import escape

from manipapy_core.errors import InputError, ManipapyError

from ..client.session import GivenUp
from .description import Bringup
from .supervisor import NodeDied, Policy, Supervisor


class StopRequest:
    """Turns Ctrl-C and SIGTERM into a wish that the main loop fulfils; a third one ends the process at once."""

    def __init__(self) -> None:
        self._count = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def __call__(self) -> bool:
        return self._count > 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        if self._count >= 3:
            # The children go with us: see child.py.
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


def run(bringup: Bringup, *, policy: str, autostart: bool, seconds: float | None, console: Console) -> int:
    """Start everything and look after it; exit code of the process.

    Args:
        policy: What to do when a node dies, a value of `Policy`.
        seconds: How long to stay up [s]; None until Ctrl-C.
    """
    try:
        chosen = Policy(policy)
    except ValueError:
        raise InputError(f"on_failure is {policy!r}; choose {' or '.join(p.value for p in Policy)}") from None
    wish = StopRequest()

    def say(line: str) -> None:
        console.print(f"[bold cyan]manipapy[/] {escape(line)}")

    def hear(node: str, line: str) -> None:
        console.print(f"[dim]{escape(f'[{node}]')}[/] {escape(line)}")

    supervisor = Supervisor(bringup, policy=chosen, autostart=autostart, say=say, hear=hear, wants_to_stop=wish)
    with supervisor:
        try:
            supervisor.start()
            say(f"up: {', '.join(bringup.full_name(node.executable) for node in bringup.nodes)}")
            say(f"trajectories go to {bringup.full_name(bringup.trajectory_action)}; Ctrl-C ends everything")
            supervisor.supervise(seconds)
        except GivenUp:
            say("stopped before everything was up")
        except NodeDied as death:
            say(f"taken down because {death.name} died")
            return 1
        except ManipapyError as error:
            say(f"cannot come up: {error}")
            return 1
    say("down; nothing is left running")
    return 0
