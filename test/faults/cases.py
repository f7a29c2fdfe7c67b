"""Faults of `make test-faults`: what is done to a moving or resting arm, and by whom."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from .rig import Rig

Inject = Callable[[Rig], float]
"""Causes the fault; returns its monotonic time [s]."""
Prepare = Callable[[Rig], None]


@dataclass(frozen=True)
class Case:
    """One fault."""

    name: str
    inject: Inject
    """Called when the arm is in the phase."""
    prepare: Prepare = lambda _: None
    """Called before the motion, for what takes time."""
    phase: str = "cruise"
    """start, cruise, near goal or holding."""
    may_succeed: bool = False
    """Whether the motion may go on to its goal."""
    seconds: float = 3.0
    """How long the arm is watched after the fault [s]."""


PHASES = ("start", "cruise", "near goal", "holding")


def release(rig: Rig) -> float:
    """Lets the prepared rogue publish."""
    return rig.release()


def rogue_states(*options: str) -> Prepare:
    """Wrong joint states for two seconds."""
    return lambda rig: rig.prepare("states", *options, "--joints", ",".join(rig.bot.joints))


def rogue_commands(mode: str, amount: float) -> Prepare:
    """Wild commands for half a second."""

    def prepare(rig: Rig) -> None:
        numbers = ("--amount", str(amount), "--count", str(len(rig.bot.joints)), "--rate", "1000", "--seconds", "0.5")
        rig.prepare("efforts", "--mode", mode, *numbers)

    return prepare


def stopped(node: str, seconds: float) -> Inject:
    """SIGSTOP, and SIGCONT after a time."""

    def inject(rig: Rig) -> float:
        process, began = rig.process(node).process, time.monotonic()
        process.send_signal(signal.SIGSTOP)
        rig.peer.spin_for(seconds)
        process.send_signal(signal.SIGCONT)
        return began

    return inject


def killed(node: str) -> Inject:
    """SIGKILL; started again after a second."""

    def inject(rig: Rig) -> float:
        began = time.monotonic()
        rig.process(node).process.send_signal(signal.SIGKILL)
        rig.process(node).process.wait()
        rig.peer.spin_for(1.0)
        rig.restart(node)
        return began

    return inject


def all_cases() -> list[Case]:
    """Every case of the table."""
    states = {
        "zeros at 10 Hz, simulation's stamps": ("--kind", "zeros"),
        "zeros at 10 Hz, wall-clock stamps": ("--kind", "zeros", "--stamps", "wall"),
        "zeros at 1 kHz": ("--kind", "zeros", "--rate", "1000"),
        "zeros without stamps": ("--kind", "zeros", "--stamps", "none"),
        "+0.1 rad at 10 Hz": ("--kind", "offset"),
        "+0.1 rad at 500 Hz": ("--kind", "offset", "--rate", "500"),
        "0.3 s old at 10 Hz": ("--kind", "stale"),
        "0.3 s old at 500 Hz": ("--kind", "stale", "--rate", "500"),
        "frozen at 100 Hz": ("--kind", "frozen", "--rate", "100"),
        "NaN at 100 Hz": ("--kind", "nan", "--rate", "100"),
    }
    cases = [
        Case(f"rogue joint states: {name}", release, rogue_states(*options), phase, seconds=4.5)
        for name, options in states.items()
        for phase in ("cruise", "holding")
    ]
    cases += [
        Case(f"rogue {mode} commands of ±{amount:g}", release, rogue_commands(mode, amount), phase, may_succeed=True)
        for mode, amount in (("effort", 150.0), ("effort", 10.0), ("velocity", 3.0), ("position", 2.0))
        for phase in ("cruise", "holding")
    ]
    cases += [
        Case(f"{node} stopped for {seconds:g} s", stopped(node, seconds), phase=phase, may_succeed=True)
        for node in ("controller", "sim_bridge")
        for seconds in (0.05, 0.3, 1.5)
        for phase in PHASES
    ]
    cases += [
        Case(f"{node} killed", killed(node), phase=phase, seconds=6.0)
        for node in ("controller", "sim_bridge")
        for phase in PHASES
    ]
    return cases
