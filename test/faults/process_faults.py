"""Faults of processes: stopped, slowed down, killed, without processor time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from .case import PHASES, Case, Inject, Prepare, goal_of_client, start_client, stopped
from .rig import Nodes, Rig
from .world_faults import move

FORECAST_STALE = 0.5
"""Age at which the guard holds for a missing forecast, in simulation (docs/control.md) [s]."""
HEARTBEAT = 5.0
"""Time without heartbeats of a planner after which its motion is held, in simulation (docs/control.md) [s]."""
CORES = 4
"""Processes that compute without end."""


def slowed(node: str, seconds: float = 1.5) -> Inject:
    """Gets a third of the time, in parts of 10 ms."""

    def inject(rig: Rig) -> float:
        process, began = rig.process(node).process, time.monotonic()
        while time.monotonic() < began + seconds:
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.02)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.01)
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


def killed_for(node: str) -> tuple[Inject, Prepare]:
    """SIGKILL; started again only when the arm has been watched."""

    def inject(rig: Rig) -> float:
        began = time.monotonic()
        rig.process(node).process.send_signal(signal.SIGKILL)
        rig.process(node).process.wait()
        return began

    return inject, lambda rig: rig.restart(node)


def client_gets(what: signal.Signals, seconds: float = 0.0) -> Inject:
    """A signal to the client, and SIGCONT after a time."""

    def inject(rig: Rig) -> float:
        began = time.monotonic()
        rig.children[-1].send_signal(what)
        if seconds:
            rig.peer.spin_for(seconds)
            rig.children[-1].send_signal(signal.SIGCONT)
        return began

    return inject


def busy_processes(rig: Rig) -> float:
    """Processes of normal priority that compute for two seconds."""
    began = time.monotonic()
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(CORES)]
    rig.peer.spin_for(2.0)
    for hog in hogs:
        hog.kill()
        hog.wait()
    return began


def cases_of_arm() -> list[Case]:
    """Bridge, controller and the client of a trajectory."""
    cases = [
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
    cases += [
        Case(f"{node} slowed down to a third for 1.5 s", slowed(node), phase=phase, may_succeed=True, seconds=4.0)
        for node in ("controller", "sim_bridge")
        for phase in ("cruise", "holding")
    ]
    cases += [
        Case(f"{CORES} busy processes", busy_processes, phase=phase, may_succeed=True, seconds=2.0)
        for phase in ("cruise", "holding")
    ]
    return cases + [
        Case(f"client of a trajectory {name}", inject, start_client("follow"), goal_of_client, may_succeed=True)
        for name, inject in (
            ("killed", client_gets(signal.SIGKILL)),
            ("stopped for 1 s", client_gets(signal.SIGSTOP, 1.0)),
        )
    ]


def cases_of_world() -> list[Case]:
    """Planner, collision_monitor and the client of ~/move."""
    world = {"nodes": Nodes.WORLD}
    moved = {"nodes": Nodes.WORLD, "send": move(), "may_succeed": True}
    cases = []
    for phase in ("start", "cruise", "holding"):
        kill, restart = killed_for("collision_monitor")
        stale = {"detection": FORECAST_STALE, "may_succeed": phase == "holding", **world}
        cases.append(Case("collision_monitor killed", kill, phase=phase, seconds=2.0, restore=restart, **stale))
    for seconds in (0.2, 1.5):
        stale = {"detection": FORECAST_STALE, "may_succeed": seconds < FORECAST_STALE, **world}
        cases.append(
            Case(f"collision_monitor stopped for {seconds:g} s", stopped("collision_monitor", seconds), **stale)
        )
    cases.append(Case("collision_monitor slowed down to a third for 1.5 s", slowed("collision_monitor"), **moved))
    for phase in ("planning", "cruise"):
        kill, restart = killed_for("planner")
        cases.append(Case("planner killed", kill, phase=phase, restore=restart, **moved))
        cases.append(Case("planner stopped for 1.5 s", stopped("planner", 1.5), phase=phase, **moved))
        cases.append(
            Case("client of ~/move killed", client_gets(signal.SIGKILL), start_client("move"), phase=phase,
                 **{**moved, "send": goal_of_client})
        )  # fmt: skip
    cases.append(Case("planner slowed down to a third for 1.5 s", slowed("planner"), **moved))
    kill, restart = killed_for("planner")
    slow = {**moved, "send": move(velocity_scaling=0.04), "may_succeed": False}
    cases.append(
        Case("planner of a slow motion killed", kill, phase="start", restore=restart, seconds=7.0,
             detection=HEARTBEAT + 0.2, **slow)
    )  # fmt: skip
    cases.append(Case("planner killed", killed("planner"), phase="holding", may_succeed=True, **world))
    return cases
