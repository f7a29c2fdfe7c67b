"""Faults of joint states: beside the right ones (rogue.py), or in their place (relay.py)."""

from __future__ import annotations

from .case import Case, Inject, Prepare
from .rig import Nodes, Rig, tell

ROGUES = {
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
SPOILED = {
    "positions and velocities stay, stamps go on": "freeze 1 1000",
    "positions stay, velocities 0, stamps go on": "freeze 0 1000",
    "+0.1 rad, once": "shift 0.1 1",
    "+0.1 rad for 1 s": "shift 0.1 1000",
    "+0.008 rad, once": "shift 0.008 1",
    "drift of 0.2 rad/s for 1 s": "drift 0.2 1000",
    "noise of 2 mrad for 1 s": "noise 0.002 1000",
    "velocities with the wrong sign for 1 s": "scale_velocity -1 1000",
    "velocities of 0 for 1 s": "scale_velocity 0 1000",
    "velocities +0.5 rad/s for 1 s": "shift_velocity 0.5 1000",
    "5 ms late for 1 s": "delay 5 1000",
    "30 ms late for 1 s": "delay 30 1000",
    "100 ms late for 1 s": "delay 100 1000",
    "half of them lost for 1 s": "drop 0.5 1000",
    "95 % lost for 1 s": "drop 0.95 1000",
    "all lost for 0.1 s": "drop 1 100",
    "all lost for 0.5 s": "drop 1 500",
    "each three times for 1 s": "duplicate 3 1000",
    "reversed in pairs for 1 s": "reverse 2 1000",
    "reversed in blocks of 20 for 1 s": "reverse 20 1000",
    "clock jumps by +1 s for 0.5 s": "stamp 1 500",
    "clock jumps by +1 s, once": "stamp 1 1",
    "clock jumps by −1 s for 0.5 s": "stamp -1 500",
    "clock jumps to 0 for 0.5 s": "stamp -1e6 500",
}
"""Lines for the relay; counts are joint states, 1000 a second of simulated time."""
AT_REST_TOO = (
    "positions and velocities stay, stamps go on",
    "+0.1 rad for 1 s",
    "drift of 0.2 rad/s for 1 s",
    "30 ms late for 1 s",
    "all lost for 0.5 s",
    "clock jumps by −1 s for 0.5 s",
)
"""Also while the arm is held."""


def release(rig: Rig) -> float:
    """Lets the prepared rogue publish."""
    return rig.release()


def rogue_states(*options: str) -> Prepare:
    """Wrong joint states for a second."""
    return lambda rig: rig.prepare("states", *options, "--seconds", "1", "--joints", ",".join(rig.bot.joints))


def rogue_commands(mode: str, amount: float) -> Prepare:
    """Wild commands for half a second."""

    def prepare(rig: Rig) -> None:
        numbers = ("--amount", str(amount), "--count", str(len(rig.bot.joints)), "--rate", "1000", "--seconds", "0.5")
        rig.prepare("efforts", "--mode", mode, *numbers)

    return prepare


def spoiled(line: str) -> Inject:
    """Tells the relay what to do."""
    return lambda rig: tell(rig.children[0], line)


def cases_of_arm() -> list[Case]:
    """Rogue joint states and commands."""
    cases = [
        Case(f"rogue joint states: {name}", release, rogue_states(*options), phase=phase, seconds=3.0)
        for name, options in ROGUES.items()
        for phase in ("cruise", "holding")
    ]
    return cases + [
        Case(
            f"rogue {mode} commands of ±{amount:g}",
            release,
            rogue_commands(mode, amount),
            phase=phase,
            may_succeed=True,
        )
        for mode, amount in (("effort", 150.0), ("effort", 10.0), ("velocity", 3.0), ("position", 2.0))
        for phase in ("cruise", "holding")
    ]


def cases_of_relay() -> list[Case]:
    """Joint states that are spoiled on their way."""
    return [
        Case(f"joint states: {name}", spoiled(line), phase=phase, nodes=Nodes.RELAY, may_succeed=True)
        for name, line in SPOILED.items()
        for phase in ("cruise", *(("holding",) if name in AT_REST_TOO else ()))
    ]
