"""What a case of the fault table is: a motion, a phase of it, a fault, and what is expected of the arm."""

from __future__ import annotations

import enum
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .rig import Nodes, Rig, tell

Inject = Callable[[Rig], float]
"""Causes the fault; returns its monotonic time [s]."""
Prepare = Callable[[Rig], None]
Send = Callable[[Rig], Any]
"""Begins a motion; returns the handle of its goal, or None."""
PHASES = ("start", "cruise", "near goal", "holding")


class Expect(enum.Enum):
    """What an arm must do after a fault."""

    STOP = "stop within the braking distance"
    STOP_GENTLY = "stop on its path, with the accelerations of normal motion"
    CLEAR = "keep clear of an obstacle"
    REST = "come to rest, wherever"


def follow(seconds: float = 3.0, where: str = "away") -> Send:
    """A trajectory from home."""

    def send(rig: Rig) -> Any:
        rig.target = getattr(rig.bot, where)
        return rig.arm.send(rig.arm.goal(rig.target, seconds=seconds, names=rig.bot.joints))

    return send


TO_AWAY = follow()


def start_client(what: str) -> Prepare:
    """Starts a process that will send the goal."""

    def prepare(rig: Rig) -> None:
        positions = ",".join(f"{q:.6f}" for q in rig.bot.away)
        child = rig.child("client", what, "--joints", ",".join(rig.bot.joints), f"--positions={positions}")
        child.stdout.readline()

    return prepare


def goal_of_client(rig: Rig) -> None:
    """Lets the client send its goal; the handle is in the client."""
    rig.target = rig.bot.away
    tell(rig.children[-1], "go")


def stopped(node: str, seconds: float) -> Inject:
    """SIGSTOP, and SIGCONT after a time."""

    def inject(rig: Rig) -> float:
        process, began = rig.process(node).process, time.monotonic()
        process.send_signal(signal.SIGSTOP)
        rig.peer.spin_for(seconds)
        process.send_signal(signal.SIGCONT)
        return began

    return inject


@dataclass(frozen=True)
class Case:
    """One fault."""

    name: str
    inject: Inject
    """Called when the arm is in the phase."""
    prepare: Prepare = lambda _: None
    """Called before the motion, for what takes time."""
    send: Send = TO_AWAY
    """Begins the motion."""
    phase: str = "cruise"
    """planning, start, cruise, near goal, replanning or holding."""
    nodes: Nodes = Nodes.ARM
    expect: Expect = Expect.STOP
    may_succeed: bool = False
    """Whether the motion may go on to its goal."""
    detection: float = 0.0
    """Documented time after which the fault is acted on, from which a stop is judged [s]."""
    seconds: float = 3.0
    """How long the arm is watched after the fault [s]."""
    impact: Callable[[Rig], Any] = lambda _: None
    """What the impact alone does to the speeds (impact.py); None: there is none that must be so hard."""
    restore: Prepare = lambda _: None
    """Called before the arm has to recover, for what a user would undo."""
