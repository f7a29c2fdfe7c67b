"""Faults of the camera that shows what is in the way, while a planned motion is under way."""

from __future__ import annotations

import time

from lifecycle_msgs.msg import Transition

from .case import Case, Expect, Inject
from .rig import Nodes, Rig, tell
from .world_faults import activate, move, transition

STALE, FROZEN, LATENCY = 2.0, 1.0, 0.3
"""Age at which obstacles are stale and time for which an image may be repeated (docs/perception.md), and time from a
fault to the last message on obstacles that was made before [s]."""
FAULTS = {"silent": STALE, "black": STALE, "stuck": STALE, "frozen": STALE + FROZEN, "apart": STALE}
"""What the camera does, and after which time the arm must stop [s]."""
NAMES = {
    "silent": "camera silent",
    "black": "camera black",
    "stuck": "camera repeats its last image with its stamp",
    "frozen": "camera repeats its last image with new stamps",
    "apart": "left and right image 0.5 s apart",
}


def camera(kind: str) -> Inject:
    """Tells the camera what to do."""
    return lambda rig: tell(rig.children[0], kind)


def camera_for(kind: str, seconds: float) -> Inject:
    """The same for a while."""

    def inject(rig: Rig) -> float:
        began = tell(rig.children[0], kind)
        rig.peer.spin_for(seconds)
        tell(rig.children[0], "sees")
        return began

    return inject


def sees(rig: Rig) -> None:
    """The camera works again, and perception has said so."""
    tell(rig.children[0], "sees")
    time.sleep(1.0)


def cases_of_camera() -> list[Case]:
    """All of them; the arm must stop on its path, because nobody sees what is in the way."""
    blind = {"nodes": Nodes.CAMERA, "phase": "start", "send": move(velocity_scaling=0.08), "seconds": 6.0}
    cases = [
        Case(NAMES[kind], camera(kind), expect=Expect.STOP_GENTLY, detection=seconds + LATENCY, restore=sees, **blind)
        for kind, seconds in FAULTS.items()
    ]
    short = {**blind, "seconds": 16.0, "may_succeed": True, "restore": sees}
    cases += [
        Case("camera silent for 1 s", camera_for("silent", 1.0), **short),
        Case("camera black for 4 s", camera_for("black", 4.0), expect=Expect.REST, **short),
    ]
    off = Transition.TRANSITION_DEACTIVATE
    return [
        *cases,
        Case("perception deactivated", transition("perception", off), expect=Expect.STOP_GENTLY,
             detection=STALE + LATENCY, restore=activate("perception"), **blind),
        Case("camera silent", camera("silent"), nodes=Nodes.CAMERA, phase="holding", may_succeed=True, restore=sees),
    ]  # fmt: skip
