"""Contact detection: external efforts against J^T w, no false alarms, and a stop that does not push on."""

from __future__ import annotations

import numpy as np
import pytest

from control.arms import AWAY, HOME, UR5, Rig, move
from control.simulated import fixed_box, sim_rig
from manipapy_core import InputError, Payload, Robot, kinematics
from manipapy_core.control import LAWS, Action, Check, ControllerSettings, GuardSettings
from manipapy_core.sim import DriveMode

NAMES = {
    "ur5": ("ur5", "base_link", "tool0"),
    "panda": ("panda", "panda_link0", "panda_hand"),
    "iiwa14": ("iiwa14", "iiwa_link_0", "iiwa_link_ee"),
    "gen3": ("gen3", "base_link", "end_effector_link"),
}
STARTS = {
    **HOME,
    "iiwa14": np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.9, 0.0]),
    "gen3": np.array([0.0, 0.5, 0.0, 1.4, 0.0, 0.8, 0.0]),
}
SIMULATORS = ("mujoco", "pybullet")
DEAF = GuardSettings(contact_threshold=100.0)
"""Observes, but stops no arm."""
robots = pytest.mark.parametrize("robot", NAMES)
simulators = pytest.mark.parametrize("simulator", SIMULATORS)


PUSHED = {"ur5": "forearm_link", "panda": "panda_hand", "iiwa14": "iiwa_link_ee", "gen3": "forearm_link"}
"""Links behind which there is some inertia: a light wrist yields so fast that the drives trip."""


def observer(rig):
    return rig.controller._pipeline.contact


def held(rig):
    return rig.controller.status().held


def fast_goal(rig, share=0.9, seed=3):
    """A motion whose fastest joint reaches a share of its velocity limit, and its duration [s]."""
    chain, start = rig.chain, rig.measured()[0]
    change = np.random.default_rng(seed).uniform(-0.6, 0.6, chain.n)
    goal = np.clip(start + change, chain.limits.lower + 0.1, chain.limits.upper - 0.1)
    limits = chain.limits
    duration = 1.875 * (np.abs(goal - start) / limits.velocity).max() / share
    duration = max(duration, np.sqrt(5.78 * (np.abs(goal - start) / limits.acceleration).max()))
    return move(chain, goal, duration), duration


def push(rig, link, force):
    """In the next step, at the origin of the link."""
    rig.robot.push(link, force, rig.robot.link_pose(link)[:3, 3])


def effort_of(rig, link, force):
    """J^T w of such a push [N m], shape (n,)."""
    part = Robot.from_urdf(rig.robot.name).chain(rig.chain.base, link)
    q = rig.measured()[0]
    at = rig.robot.link_pose(link)[:3, 3]
    J = np.zeros((6, rig.chain.n))
    J[:, : part.n] = kinematics.space_jacobian(part, q[: part.n])
    return J.T @ np.concatenate([np.cross(at, force), force])


@simulators
@robots
def test_residual_is_the_effort_of_a_push(robot, simulator):
    """The engine's wrench on a link, by the Jacobian at the point where it acts."""
    with sim_rig(NAMES[robot], STARTS[robot], ControllerSettings(guard=DEAF), simulator=simulator) as rig:
        rig.run(0.1)
        force, began = np.array([6.0, -9.0, 7.0]), rig.world.time
        rig.before_step = lambda rig: push(rig, PUSHED[robot], force * min((rig.world.time - began) / 0.1, 1.0))
        rig.run(0.3)
        expected = effort_of(rig, PUSHED[robot], force)
        np.testing.assert_allclose(observer(rig).residual, expected, atol=0.02 * np.abs(expected).max())
        assert not rig.robot.status().trips


@simulators
@pytest.mark.parametrize("payload", [None, Payload(1.5, (0.0, 0.0, 0.06))], ids=["empty", "loaded"])
def test_residual_follows_a_push_in_fast_motion(simulator, payload):
    """With a payload, the real arm has none: its weight appears as an external effort that acts upwards."""
    settings = ControllerSettings(guard=DEAF)
    with sim_rig(NAMES["ur5"], HOME["ur5"], settings, simulator=simulator, delay=1) as rig:
        rig.run(0.1)
        if payload is not None:
            rig.controller.set_payload(payload)
            rig.run(0.4)
        goal, duration = fast_goal(rig)
        rig.controller.submit(goal)
        rig.run(0.5 * duration)
        assert rig.shares()[-1].max() > 0.2
        before, force = observer(rig).residual.copy(), np.array([0.0, 20.0, 10.0])
        rig.before_step = lambda rig: push(rig, "forearm_link", force)
        rig.run(0.05)
        expected = effort_of(rig, "forearm_link", force)
        assert np.abs(observer(rig).residual - before - expected).max() < 0.15 * np.abs(expected).max()
        if payload is None:
            assert np.abs(before).max() < 0.5, "[N m]"


@pytest.mark.parametrize("delay", [0, 2])
@simulators
@robots
def test_no_false_alarm_in_fast_motions(robot, simulator, delay):
    """Commands that act up to two milliseconds later than sent, too."""
    with sim_rig(NAMES[robot], STARTS[robot], simulator=simulator, delay=delay) as rig:
        rig.run(0.1)
        worst = -1.0
        for seed in (1, 2):
            goal, duration = fast_goal(rig, seed=seed)
            goal = rig.controller.submit(goal)
            for _ in range(round(1000 * (duration + 0.2))):
                rig.step()
                seen = observer(rig)
                worst = max(worst, (np.abs(seen.residual) / seen.threshold).max())
            assert goal.outcome is not None and goal.outcome.succeeded, goal.outcome
        assert worst < 0.5, "far from a false alarm"


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("robot", ["ur5", "panda"])
def test_no_law_causes_a_false_alarm(robot, law):
    with sim_rig(NAMES[robot], STARTS[robot], delay=1) as rig:
        rig.run(0.1)
        rig.controller.set_law(law)
        goal, duration = fast_goal(rig, share=0.5)
        rig.controller.submit(goal)
        rig.run(duration + 0.3)
        assert held(rig) is None or held(rig).check is not Check.CONTACT


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_moving_gripper_is_no_contact(simulator):
    with sim_rig(("panda", "panda_link0", "panda_hand"), HOME["panda"], simulator=simulator) as rig:
        rig.run(0.1)
        rig.controller.submit(fast_goal(rig, share=0.5)[0])
        for number in range(6):
            rig.robot.command(DriveMode.POSITION, [0.04 * (number % 2)], ["panda_finger_joint1"])
            rig.run(0.3)
        assert held(rig) is None and (np.abs(observer(rig).residual) < 0.25 * observer(rig).threshold).all()


def test_a_true_payload_that_the_user_names_while_the_arm_moves_is_no_contact():
    rig = Rig.of("ur5", ControllerSettings(payload=None), payload=Payload(2.0, (0.0, 0.0, 0.05))).run(0.3)
    rig.controller.submit(move(UR5, AWAY["ur5"], 1.5))
    rig.run(0.7)
    rig.controller.set_payload(Payload(2.0, (0.0, 0.0, 0.05)))
    rig.run(1.5)
    assert held(rig) is None
    assert np.abs(observer(rig).residual).max() < 0.5


def into_a_wall(rig, distance=0.15, seconds=1.2, size=(0.1, 0.4, 0.4)):
    """Drives the tip of the arm sideways into a fixed box."""
    at = kinematics.forward(rig.chain, rig.measured()[0])[:3, 3]
    sideways = np.array([-at[1], at[0], 0.0]) / np.hypot(*at[:2])
    rig.world.spawn(fixed_box(at + sideways * (distance + 0.1), np.full(3, 0.2)))
    goal = rig.measured()[0].copy()
    goal[0] += 1.0
    return rig.controller.submit(move(rig.chain, goal, seconds))


def pressure(rig):
    return sum(contact.force for contact in rig.robot.contacts() if contact.other == "box")


@simulators
@pytest.mark.parametrize("robot", ["ur5", "panda"])
def test_an_arm_that_touches_something_stops_and_does_not_push(robot, simulator):
    with sim_rig(NAMES[robot], STARTS[robot], simulator=simulator, delay=1) as rig:
        rig.run(0.1)
        goal = into_a_wall(rig, seconds=3.0)
        touched, stopped = None, None
        after = []
        for _ in range(3000):
            rig.step()
            if touched is None and pressure(rig) > 0.0:
                touched = len(rig.q)
            if stopped is None and held(rig) is not None:
                stopped = len(rig.q)
            if stopped is not None:
                after.append(pressure(rig))
        assert touched is not None and stopped is not None
        verdict = held(rig)
        assert verdict.action is Action.STOP and verdict.check in (Check.CONTACT, Check.PLAUSIBLE)
        assert stopped - touched < 150, "milliseconds"
        assert verdict.joint is not None and "STOP" in goal.outcome.text
        if verdict.check is Check.CONTACT:
            assert "external effort of joint" in verdict.text and verdict.unit == "N m"
        assert max(after[100:]) < 60.0, "it leans on the box at most lightly [N]"
        assert rig.shares(len(rig.q) - 300).max() < 0.01


def leans(rig, effort):
    """A push on the first joint that grows to its size within half a second [N m]."""
    began, before = rig.now, 0.0 if rig.disturb is None else rig.disturb(rig)[0]

    def disturb(rig):
        share = min((rig.now - began) / 0.5, 1.0)
        return np.array([before + share * (effort - before), 0, 0, 0, 0, 0])

    rig.disturb = disturb
    return rig


def test_after_a_reset_an_arm_in_contact_may_move_away_and_not_farther_in():
    """A push that does not end: the arm is stopped, reset, and goes on under the same push; a stronger one stops it."""
    settings = ControllerSettings(guard=GuardSettings(tracking_error=3.0))
    rig = leans(Rig.of("ur5", settings).run(0.1), 50.0).run(1.0)
    assert held(rig).check is Check.CONTACT and held(rig).joint == "shoulder_pan_joint"
    assert held(rig).amount > held(rig).limit >= 30.0
    rig.controller.reset()
    rig.run(0.3)
    assert held(rig) is None
    leans(rig, 40.0)
    goal = rig.controller.submit(move(UR5, rig.arm.q + 0.05, 1.0))
    rig.run(4.0)
    assert goal.outcome is not None and held(rig) is None
    leans(rig, 90.0).run(1.0)
    assert held(rig).check is Check.CONTACT
    assert held(rig).amount > 60.0, "what was tolerated is added to the threshold"


@pytest.mark.parametrize("law", [name for name, law in LAWS.items() if not law.stiff])
def test_compliant_laws_may_be_pushed(law):
    rig = leans(Rig.of("ur5", ControllerSettings(law=law)).run(0.1), 38.0).run(0.5)
    assert np.abs(observer(rig).residual[0]) > 30.0, "a stiff law would have stopped"
    assert held(rig) is None or held(rig).check is not Check.CONTACT


def test_zero_switches_the_detection_off():
    settings = ControllerSettings(guard=GuardSettings(contact_threshold=0.0, tracking_error=3.0))
    rig = leans(Rig.of("ur5", settings).run(0.1), 50.0).run(1.0)
    assert observer(rig) is None and held(rig) is None
    for wrong in ({"contact_threshold": -0.1}, {"contact_dynamic": np.nan}, {"contact_bandwidth": 0.0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            GuardSettings(**wrong)


def test_states_that_were_not_accepted_leave_no_residual():
    rig = Rig.of("ur5").run(0.1)
    rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(0.8)
    lies = iter([0.3] * 5)
    rig.measure = lambda rig: (rig.arm.q + next(lies, 0.0), rig.arm.qd.copy(), rig.now)
    rig.run(1.5)
    assert held(rig).check is Check.PLAUSIBLE
    assert np.abs(observer(rig).residual).max() < 1.0


def test_states_slower_than_ticks_are_compared_with_the_mean_of_the_efforts():
    """A driver that publishes every eighth millisecond, as that of a UR5 does."""
    rig = Rig.of("ur5", ControllerSettings(guard=GuardSettings(velocity_jump=10.0)))
    kept = []

    def every_eighth(rig):
        if not kept or round(rig.now * 1000) % 8 == 0:
            kept[:] = [rig.truth()]
        return kept[0]

    rig.measure = every_eighth
    rig.run(0.1)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    worst = 0.0
    for _ in range(2300):
        rig.tick()
        worst = max(worst, (np.abs(observer(rig).residual) / observer(rig).threshold).max())
    assert goal.outcome.succeeded and worst < 0.5
