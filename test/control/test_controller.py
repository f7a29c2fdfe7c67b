"""The whole controller on a simulated arm: laws, gains, payloads, and requests from other threads."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from control.arms import ARMS, AWAY, DT, HOME, PANDA, UR5, Rig, move
from manipapy_core import InputError, Payload
from manipapy_core.control import (
    LAWS,
    Action,
    ArmController,
    Check,
    ControllerSettings,
    ErrorCode,
    FilterSettings,
    GainError,
    GoalRefused,
    GuardSettings,
    LoopSettings,
    PeriodicLoop,
    SimulatedArm,
    UnknownLaw,
    make_law,
)
from manipapy_core.control.controller import INBOX_CAPACITY, InboxFull
from manipapy_core.trajectory import JointTrajectory

FOLLOWING = [name for name in LAWS if LAWS[name].follows and name != "pd"]


@pytest.mark.parametrize("robot", ARMS)
@pytest.mark.parametrize("law", FOLLOWING)
def test_every_following_law_brings_the_arm_to_its_goal(robot, law):
    rig = Rig.of(robot, ControllerSettings(law=law)).run(0.05)
    goal = rig.controller.submit(move(ARMS[robot], AWAY[robot], 2.5))
    rig.run(4.5)
    assert goal.outcome.succeeded, goal.outcome.text
    assert np.abs(rig.arm.q - AWAY[robot]).max() < 0.01


def test_filter_reduces_noise_of_the_efforts():
    def roughness(filter_settings):
        rig = Rig.of("ur5", ControllerSettings(filter=filter_settings))
        rng = np.random.default_rng(0)

        def noisy(rig):
            q, qd, stamp = rig.truth()
            return q + 1e-5 * rng.normal(size=6), qd + 0.02 * rng.normal(size=6), stamp

        rig.measure = noisy
        rig.run(0.1)
        goal = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
        rig.run(2.5)
        assert goal.outcome.succeeded, goal.outcome.text
        return np.std(np.diff(rig.tau, axis=0), axis=0)

    settings = FilterSettings(position_noise=1e-5, velocity_noise=0.02, jerk_density=20.0)
    assert (roughness(settings) * 3 < roughness(None)).all()


def test_laws_change_in_mid_motion_without_a_step():
    rig = Rig.of("ur5").run(0.05)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 3.0))
    for law in ("feedforward", "robust", "pd_gravity", "computed_torque", "joint_impedance"):
        rig.run(0.5)
        rig.controller.set_law(law)
    rig.run(1.5)
    assert goal.outcome.succeeded and rig.controller.status().law == "joint_impedance"
    assert np.abs(np.diff(rig.tau, axis=0)).max() < 1.0


def test_gains_change_in_mid_motion_without_a_step():
    rig = Rig.of("ur5").run(0.05)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    for kp in (900.0, 100.0, 400.0):
        rig.run(0.4)
        rig.controller.set_gains({"kp": kp, "kd": 2 * np.sqrt(kp)})
    rig.run(1.5)
    assert goal.outcome.succeeded and np.abs(np.diff(rig.tau, axis=0)).max() < 1.0


def test_invalid_settings_are_refused_and_change_nothing():
    rig = Rig.of("ur5").run(0.05)
    with pytest.raises(UnknownLaw):
        rig.controller.set_law("magic")
    with pytest.raises(GainError):
        rig.controller.set_gains({"kp": -1.0})
    with pytest.raises(InputError, match="another chain"):
        rig.controller.set_law(make_law("pd", PANDA))
    with pytest.raises(InputError, match="speed"):
        rig.controller.set_speed(0.0)
    with pytest.raises(GoalRefused):
        rig.controller.submit(JointTrajectory([1.0], [[np.nan] * 6], joint_names=UR5.joint_names))
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(2.5)
    assert goal.outcome.succeeded and rig.controller.status().law == "computed_torque"


def test_hand_guided_arm_stays_where_it_is_left():
    rig = Rig.of("ur5", ControllerSettings(law="gravity_compensation")).run(0.1)
    rig.disturb = lambda _: np.array([4.0, 0, 0, 0, 0, 0])
    rig.run(0.6)
    rig.disturb = None
    rig.run(4.0)
    assert rig.arm.q[0] > 0.2 and rig.still_within(rig.mark() - 100, 0.0)
    refused = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(0.1)
    assert refused.outcome.code is ErrorCode.INVALID_GOAL and "gravity_compensation" in refused.outcome.text


def test_switch_from_hand_guiding_to_a_stiff_law_in_motion():
    rig = Rig.of("ur5", ControllerSettings(law="gravity_compensation")).run(0.1)
    rig.arm.qd[0] = 0.8
    rig.run(0.1)
    rig.controller.set_law("computed_torque")
    mark = rig.mark()
    rig.run(2.0)
    assert np.abs(np.diff(rig.tau[mark - 5 :], axis=0)).max() < 2.0, "taken over without a jerk"
    assert rig.still_within(mark, 1.5)
    goal = rig.controller.submit(move(UR5, HOME["ur5"], 2.0))
    rig.run(2.5)
    assert goal.outcome.succeeded


def test_hold_stops_a_trajectory_on_its_path_and_a_hand_guided_arm_in_place():
    rig = Rig.of("ur5").run(0.05)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(1.0)
    rig.controller.hold()
    rig.run(2.5)
    assert goal.outcome.text == "held by request" and rig.still_within(rig.mark() - 200, 0.0)
    rig.controller.set_law("gravity_compensation")
    rig.run(0.3)
    rig.controller.hold()
    rig.run(0.1)
    held = rig.controller.status().held
    assert (held.action, held.check) == (Action.HOLD, Check.OPERATOR)
    before = rig.arm.q.copy()
    rig.disturb = lambda _: np.array([4.0, 0, 0, 0, 0, 0])
    rig.run(0.5)
    assert np.abs(rig.arm.q - before).max() < 0.1, "it can no longer be led away"


def test_operator_stop_holds_until_reset():
    rig = Rig.of("ur5").run(0.05)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(0.8)
    rig.controller.stop("door open")
    rig.run(1.5)
    assert "door open" in goal.outcome.text and rig.still_within(rig.mark() - 500, 0.0)
    rig.controller.set_law("pd_gravity")
    rig.run(0.2)
    assert rig.controller.status().held.action is Action.STOP, "a change of law is no reset"
    rig.controller.reset()
    rig.run(0.3)
    assert rig.controller.status().held is None
    again = rig.controller.submit(move(UR5, HOME["ur5"], 2.0))
    rig.run(3.5)
    assert again.outcome.succeeded


def test_new_payload_is_compensated_by_law_and_hold():
    load = Payload(2.0, (0.0, 0.0, 0.08))
    rig = Rig.of("panda", payload=load)
    rig.controller.set_payload(load)
    rig.run(0.3)
    goal = rig.controller.submit(move(PANDA, AWAY["panda"], 2.0))
    rig.run(2.5)
    assert goal.outcome.succeeded and np.abs(rig.arm.q - AWAY["panda"]).max() < 2e-3
    rig.controller.stop("test")
    rig.run(1.0)
    assert np.abs(rig.arm.q - AWAY["panda"]).max() < 5e-3, "the hold compensates the payload as well"


def test_status_is_a_snapshot_of_one_tick():
    rig = Rig.of("ur5").run(0.05)
    rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(1.0)
    status = rig.controller.status()
    assert status.ticks == 1050 and status.goal is not None and status.goal_time == pytest.approx(1.0, abs=2e-3)
    assert np.array_equal(status.tau, rig.tau[-1]) and np.array_equal(status.q, rig.q[-2])
    assert np.allclose(status.error, status.q_ref - status.q) and status.verdict.text == "all checks passed"
    kept = status.tau.copy()
    rig.run(0.1)
    assert np.array_equal(status.tau, kept), "a status does not change"


def test_inbox_is_bounded_when_no_loop_runs():
    controller = ArmController(UR5)
    for _ in range(INBOX_CAPACITY):
        controller.hold()
    with pytest.raises(InboxFull, match="running"):
        controller.hold()


def test_requests_of_many_threads_against_a_running_loop():
    """Goals, laws, holds and status from five threads while the loop runs: the arm ends where the last goal is."""
    # A busy machine may not run this loop for a while, which must not trip the guard here.
    tolerant = GuardSettings(
        late_slow=8.0,
        late_hold=9.0,
        longest_tick=10.0,
        state_hold_after=8.0,
        state_stop_after=9.0,
        state_consistency=10.0,
        velocity_jump=10.0,
        contact_threshold=0.0,
    )
    controller, arm = ArmController(UR5, ControllerSettings(guard=tolerant)), SimulatedArm(UR5, HOME["ur5"])
    problems: list[BaseException] = []

    def tick(now):
        tau = controller.tick(now, arm.q, arm.qd, now)
        assert np.isfinite(tau).all()
        arm.step(tau, DT)

    loop = PeriodicLoop(tick, LoopSettings(priority=None, lock_memory=False, spin=0.0), on_failure=problems.append)
    loop.start()
    rng = np.random.default_rng(0)

    def worker(action):
        try:
            for _ in range(15):
                action()
                time.sleep(0.01)
        except Exception as error:  # handed to the test's own thread
            problems.append(error)

    def goal():
        controller.submit(move(UR5, HOME["ur5"] + 0.05 * rng.normal(size=6), 1.0))

    def read_status():
        status = controller.status()
        assert np.isfinite(status.tau).all()

    actions = (
        goal,
        lambda: controller.set_law("pd_gravity"),
        lambda: controller.set_law("computed_torque"),
        controller.cancel,
        read_status,
    )
    threads = [threading.Thread(target=worker, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    controller.reset()
    final = controller.submit(move(UR5, HOME["ur5"] + 0.1, 2.0))
    outcome = final.wait(60.0)
    loop.stop()
    assert not problems
    assert outcome is not None and outcome.succeeded, outcome
    assert np.abs(arm.q - HOME["ur5"] - 0.1).max() < 0.02


def test_failure_outside_the_controller_stops_the_arm():
    rig = Rig.of("ur5").run(0.05)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(1.0)
    rig.controller.fail(OSError("publisher gone"))
    rig.run(1.5)
    status = rig.controller.status()
    assert status.held.check is Check.SOFTWARE and "publisher gone" in goal.outcome.text
    assert isinstance(status.failure, OSError) and rig.still_within(rig.mark() - 300, 0.0)


def test_effort_limit_of_zero_is_refused():
    weak = replace(UR5, limits=replace(UR5.limits, effort=np.array([150.0, 150.0, 0.0, 28.0, 28.0, 28.0])))
    with pytest.raises(InputError, match="elbow_joint"):
        ArmController(weak)
