"""Payloads that the user sets: what is there is taken over, what is not there does not lift the arm."""

from __future__ import annotations

import numpy as np
import pytest

from control.arms import ARMS, HOME, UR5, Rig
from control.simulated import sim_rig
from manipapy_core import Payload, kinematics
from manipapy_core.control import ControllerSettings, GuardSettings

LOAD = Payload(4.0, (0.0, 0.0, 0.05))
TIPS = {"ur5": ("ur5", "base_link", "tool0"), "panda": ("panda", "panda_link0", "panda_hand")}
robots = pytest.mark.parametrize("robot", ARMS)


def share(rig):
    return rig.controller.status().payload_share


def moved(rig, since: int, start: np.ndarray) -> float:
    """Largest distance of the tip from where it was [m]."""
    return float(np.linalg.norm(kinematics.forward(rig.chain, np.array(rig.q[since:]))[:, :3, 3] - start, axis=1).max())


@pytest.mark.parametrize("simulator", ["mujoco", "pybullet"])
@robots
def test_a_payload_that_is_not_there_does_not_lift_the_arm(robot, simulator):
    with sim_rig(TIPS[robot], HOME[robot], simulator=simulator, delay=1) as rig:
        rig.run(0.2)
        start, mark = kinematics.forward(rig.chain, rig.measured()[0])[:3, 3], len(rig.q)
        rig.controller.set_payload(Payload(5.0))
        rig.run(1.5)
        assert moved(rig, mark, start) < 5e-3, "[m]"
        assert 0.0 < share(rig) < 0.5 and rig.controller.status().held is None


@robots
def test_a_payload_that_is_there_is_taken_over_and_the_arm_no_longer_sags(robot):
    settings = ControllerSettings(guard=GuardSettings(contact_threshold=1.0))
    rig = Rig.of(robot, settings, payload=LOAD).run(1.0)
    sag = np.abs(rig.arm.q - HOME[robot]).max()
    rig.controller.set_payload(LOAD)
    rig.run(0.3)
    assert 0.4 < share(rig) < 0.7, "not at once"
    rig.run(1.5)
    assert share(rig) == 1.0
    assert np.abs(rig.arm.q - HOME[robot]).max() < 0.05 * sag
    assert np.abs(rig.controller._pipeline.contact.residual).max() < 0.01


def test_a_payload_that_is_cleared_although_it_hangs_at_the_tip_does_not_drop_the_arm():
    settings = ControllerSettings(payload=LOAD)
    rig = Rig.of("ur5", settings, payload=LOAD).run(0.5)
    start, mark = kinematics.forward(UR5, rig.arm.q)[:3, 3], rig.mark()
    rig.controller.set_payload(None)
    rig.run(1.5)
    assert moved(rig, mark, start) < 5e-3 and share(rig) < 0.5
    rig.arm.model.inputs[1][:] = 0.0  # it falls off
    rig.run(2.0)
    assert share(rig) == 1.0 and np.abs(rig.arm.q - HOME["ur5"]).max() < 2e-3


def test_a_payload_that_stands_on_a_table_is_taken_over_as_soon_as_it_is_lifted():
    rig = Rig.of("ur5", payload=Payload(0.0)).run(0.2)
    rig.controller.set_payload(LOAD)
    rig.run(1.0)
    assert share(rig) < 0.5
    for part in np.linspace(0.0, 1.0, 200):
        rig.arm.model.inputs[1][:] = part * LOAD.parameters
        rig.run(0.005)
    rig.run(1.0)
    assert share(rig) == 1.0 and rig.controller.status().held is None
    assert np.abs(rig.arm.q - HOME["ur5"]).max() < 2e-3


@pytest.mark.parametrize("guard", [GuardSettings(payload_tolerance=0.0), GuardSettings(contact_threshold=0.0)])
def test_without_the_check_a_payload_is_taken_over_in_half_a_second(guard):
    rig = Rig.of("ur5", ControllerSettings(guard=guard)).run(0.2)
    rig.controller.set_payload(Payload(0.5))
    rig.run(0.6)
    assert share(rig) == 1.0


def test_a_change_of_law_keeps_the_share_of_the_payload():
    rig = Rig.of("ur5").run(0.2)
    start, mark = kinematics.forward(UR5, rig.arm.q)[:3, 3], rig.mark()
    rig.controller.set_payload(Payload(5.0))
    rig.run(0.6)
    rig.controller.set_law("pd_gravity")
    rig.run(1.0)
    assert moved(rig, mark, start) < 8e-3 and share(rig) < 0.5
    assert rig.controller.status().held is None
