"""Faults of the disk: full, or read-only, for caches, reports of failed motions and recordings."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from tempfile import mkdtemp
from unittest import mock

from .case import Case, Inject, Prepare
from .judge import Obstacle, tips
from .process_faults import killed_for
from .rig import Nodes, Rig
from .world_faults import SIZE, known, move, now

WRITERS = ("planner", "collision_monitor", "controller")
"""Nodes that get no more room; the bridge writes the record that the arm is judged by."""
NOWHERE = "/proc/manipapy"
"""A folder that cannot be made, by root neither."""
ROOM = 65536
"""Of a recording [B]."""
RECORD = "from manipapy_ros.quick import main; main()"
READ_ONLY = {
    "cache": {"XDG_CACHE_HOME": NOWHERE, "MANIPAPY_CACHE_DIR": NOWHERE, "NUMBA_CACHE_DIR": NOWHERE},
    "home": {"XDG_STATE_HOME": NOWHERE, "ROS_LOG_DIR": NOWHERE},
}


def room(rig: Rig, size: int) -> None:
    """Limits the size of every file that the nodes write [B]; -1: no limit."""
    for name in WRITERS:
        if name in rig.others or name == "controller":
            _, most = resource.prlimit(rig.process(name).process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(rig.process(name).process.pid, resource.RLIMIT_FSIZE, (size, most))


def disk_full(rig: Rig) -> float:
    """From now on no file grows."""
    began = time.monotonic()
    room(rig, 0)
    return began


def disk_cleared(rig: Rig) -> None:
    """There is room again."""
    room(rig, resource.RLIM_INFINITY)


def box_at_goal(rig: Rig) -> None:
    """Places a box where the tip is to be."""
    rig.objects = Obstacle(rig.bot.body, tips(rig.bot.chain, rig.bot.away), SIZE)


def then_disk_full(prepare: Prepare) -> Prepare:
    """The disk is full before the motion."""

    def both(rig: Rig) -> None:
        prepare(rig)
        room(rig, 0)

    return both


def restarted(node: str, environment: Mapping[str, str]) -> Inject:
    """Killed, and started again where folders are read-only."""
    kill, restart = killed_for(node)

    def inject(rig: Rig) -> float:
        began = kill(rig)
        with mock.patch.dict(os.environ, environment):
            restart(rig)
        return began

    return inject


def recorder(rig: Rig) -> None:
    """Records into a file that may not grow beyond its room."""
    path = os.path.join(mkdtemp(), "run.mcap")
    command = [sys.executable, "-m", "manipapy_core.cli", "record", path, "--namespace", rig.namespace]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))  # noqa: E731
    rig.children.append(
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit)
    )
    rig.peer.spin_for(3.0)


def cases_of_world() -> list[Case]:
    """With a planner."""
    full = {"nodes": Nodes.WORLD, "may_succeed": True, "restore": disk_cleared}
    blocked = then_disk_full(known(box_at_goal))
    cases = [
        Case("disk full", disk_full, send=move(), **full),
        Case("disk full, and the goal is blocked", now, blocked, move(), "planning", **{**full, "may_succeed": False}),
    ]
    for what, environment in READ_ONLY.items():
        for node in ("planner", "controller"):
            cases.append(
                Case(f"{node} restarted with a read-only folder for its {what}", restarted(node, environment),
                     phase="holding", nodes=Nodes.WORLD, may_succeed=True)
            )  # fmt: skip
    return cases


def cases_of_arm() -> list[Case]:
    """Without one."""
    return [Case("recording on a full disk", now, recorder, may_succeed=True)]
