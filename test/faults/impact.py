"""How fast an impact throws the joints of an arm by itself, before any controller can react.

The same motion into the same box in the same physics, in this process, with drives that are switched off in the step of
the impact. A light wrist that is hit at its tip is thrown by the momentum of the arm, whatever its drive does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from control.arms import move
from control.simulated import SimRig, fixed_box, sim_rig
from manipapy_core.control import ControllerSettings, GuardSettings
from manipapy_core.sim import DriveMode

from .bots import Bot

AT_ONCE, SOON = 0.003, 0.010
"""Before the first effort after the impact acts, and half the time in which an effort may rise to its limit [s]."""
BEFORE, MOST = 0.3, 5.0
"""Rest before the motion, and longest time to the impact [s]."""
SIMULATED = GuardSettings(state_hold_after=0.25, state_stop_after=1.0)


@dataclass(frozen=True)
class Impact:
    """Largest speeds over their limits after an impact without drives."""

    at_once: float
    """Within `AT_ONCE`."""
    soon: float
    """Within `SOON`."""


def impact_alone(bot: Bot, goal: np.ndarray, seconds: float, box: Any) -> Impact | None:
    """Largest speeds by the impact alone; None if the arm does not touch the box.

    Args:
        bot: The arm, at home.
        goal: Of the motion [rad], shape (n,).
        seconds: Duration of the motion [s].
        box: With `at` and `size` [m].
    """
    settings = ControllerSettings(guard=SIMULATED)
    with sim_rig((bot.name, bot.base, bot.tip), bot.home, settings, delay=1) as rig:
        rig.world.spawn(fixed_box(box.at, box.size))
        rig.run(BEFORE)
        rig.controller.submit(move(bot.chain, goal, seconds))
        while not any(contact.other == "box" for contact in rig.robot.contacts()):
            if len(rig.q) > 1000 * MOST:
                return None
            rig.step()
        hit = len(rig.qd) - 1
        switch_off(rig)
        shares = rig.shares(hit).max(axis=1)
        return Impact(*(float(shares[: round(1000 * span)].max()) for span in (AT_ONCE, SOON)))


def switch_off(rig: SimRig) -> None:
    """The arm moves on without efforts for a while."""
    rig.robot.settings = replace(rig.robot.settings, effort_rise_time=0.0, overspeed=math.inf, command_timeout=1.0)
    rig.robot.enable()
    for _ in range(round(1000 * SOON)):
        rig.robot.command(DriveMode.EFFORT, np.zeros(rig.chain.n), rig.chain.joint_names)
        rig.world.step()
        rig.qd.append(rig.measured()[1])
