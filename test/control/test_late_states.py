"""Joint states that are late and do not say so: the efforts sent do not show in them."""

from __future__ import annotations

import numpy as np
import pytest

from control.arms import ARMS, AWAY, HOME, move
from control.simulated import sim_rig
from manipapy_core import kinematics
from manipapy_core.control import Action, Check, ControllerSettings, GuardSettings

TIPS = {"ur5": ("ur5", "base_link", "tool0"), "panda": ("panda", "panda_link0", "panda_hand")}
SIMULATED = ControllerSettings(guard=GuardSettings(state_hold_after=0.25, state_stop_after=1.0))


def goes_home(rig, robot: str) -> None:
    """After a reset, with good states."""
    rig.controller.reset()
    rig.run(0.2)
    again = rig.controller.submit(move(ARMS[robot], HOME[robot], 2.5))
    rig.run(3.0)
    assert again.outcome is not None and again.outcome.succeeded, again.outcome


@pytest.mark.parametrize("late", [30, 60, 100, 200])
@pytest.mark.parametrize("robot", ARMS)
def test_states_that_come_late_with_the_stamps_of_their_arrival_stop_the_arm(robot, late):
    """A prediction cannot be corrected by them, nor a hold be closed over them: the drives hold the arm."""
    with sim_rig(TIPS[robot], HOME[robot], SIMULATED, delay=1) as rig:
        rig.run(0.2)
        goal = rig.controller.submit(move(ARMS[robot], AWAY[robot], 2.5))
        rig.run(1.2)
        mark, moving = len(rig.q), rig.measured()[1].copy()
        rig.late = late
        rig.run(2.5)
        held = rig.controller.status().held
        assert (held.action, held.check) == (Action.STOP, Check.CONTACT) and not goal.outcome.succeeded
        tips = kinematics.forward(rig.chain, np.array(rig.q[mark:]))[:, :3, 3]
        assert np.linalg.norm(tips - tips[0], axis=1).max() < 0.03, "[m]"
        assert (np.abs(rig.qd[mark:]).max(axis=0) < np.abs(moving) + 0.2).all(), "no oscillation"
        assert rig.shares(len(rig.q) - 1000).max() < 0.01
        rig.late = 0
        rig.run(0.3)
        goes_home(rig, robot)


@pytest.mark.parametrize("robot", ARMS)
def test_a_few_milliseconds_do_not_matter(robot):
    with sim_rig(TIPS[robot], HOME[robot], SIMULATED, delay=1) as rig:
        rig.run(0.2)
        rig.late = 5
        goal = rig.controller.submit(move(ARMS[robot], AWAY[robot], 2.5))
        rig.run(3.0)
        assert goal.outcome is not None and goal.outcome.succeeded and rig.controller.status().held is None


@pytest.mark.parametrize("robot", ARMS)
def test_states_of_which_nearly_all_are_lost_stop_the_arm_which_is_left_to_its_drives(robot):
    """A state every 20 ms, about: neither too late one by one, nor often enough to close a loop over them."""
    with sim_rig(TIPS[robot], HOME[robot], SIMULATED, delay=0) as rig:
        rig.run(0.2)
        goal = rig.controller.submit(move(ARMS[robot], AWAY[robot], 2.5))
        rig.run(1.2)
        mark, rng = len(rig.q), np.random.default_rng(1)
        rig.lost = lambda: rng.random() < 0.95
        rig.run(1.0)
        held = rig.controller.status().held
        assert not goal.outcome.succeeded and held.check in (Check.DEADLINE, Check.PLAUSIBLE)
        assert rig.shares(mark).max() < 1.05 and rig.shares(len(rig.q) - 300).max() < 0.02
        rig.lost = lambda: False
        rig.run(0.5)
        goes_home(rig, robot)


@pytest.mark.parametrize("robot", ARMS)
def test_states_of_which_a_third_is_lost_do_not(robot):
    with sim_rig(TIPS[robot], HOME[robot], SIMULATED, delay=0) as rig:
        rig.run(0.2)
        rng = np.random.default_rng(2)
        rig.lost = lambda: rng.random() < 0.3
        goal = rig.controller.submit(move(ARMS[robot], AWAY[robot], 2.5))
        rig.run(5.0)
        assert goal.outcome is not None and goal.outcome.succeeded, goal.outcome
