"""Output checks of the guard: limits, torque rate, tracking, singularities, collisions, late ticks, exceptions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from control.arms import ARMS, AWAY, DT, HOME, PANDA, UR5, Rig, move
from control.faulty_laws import FaultyLaw, chatter, crash, force, not_a_number, push
from manipapy_core import InputError, dynamics
from manipapy_core.control import (
    Action,
    ArmController,
    Check,
    CollisionAhead,
    ControllerSettings,
    ErrorCode,
    ForecastPolicy,
    GoalTolerances,
    GuardSettings,
    JointTolerance,
    SimulatedArm,
)
from manipapy_core.trajectory import BrakingLimits

UNCHECKED = GoalTolerances(path=[JointTolerance(name, -1.0) for name in (*UR5.joint_names,)])


def with_fault(fault, *, robot="ur5", settings=None, after=50):
    """An arm at rest whose law becomes faulty after some ticks."""
    rig = Rig.of(robot, settings).run(0.05)
    rig.controller.set_law(FaultyLaw(rig.chain, fault, after))
    rig.run(0.05)
    return rig, rig.mark()


def compensates_gravity(rig):
    weight = dynamics.gravity_forces(rig.chain, rig.arm.q)
    return np.abs(rig.tau[-1] - weight).max() < 0.05 * np.abs(weight).max()


def held(rig):
    return rig.controller.status().held


def test_a_law_that_gives_nan_is_replaced_by_a_hold():
    rig, mark = with_fault(not_a_number)
    rig.run(0.5)
    assert np.abs(np.array(rig.q[mark:]) - HOME["ur5"]).max() < 1e-3 and compensates_gravity(rig)
    assert (held(rig).action, held(rig).check, held(rig).joint) == (Action.STOP, Check.FINITE, "shoulder_lift_joint")


def test_a_law_that_raises_is_replaced_by_a_hold_and_the_cause_is_kept():
    rig, mark = with_fault(crash)
    rig.run(0.5)
    assert np.abs(np.array(rig.q[mark:]) - HOME["ur5"]).max() < 1e-3 and compensates_gravity(rig)
    assert (held(rig).action, held(rig).check) == (Action.STOP, Check.SOFTWARE) and "fell over" in held(rig).text
    failure = rig.controller.status().failure
    assert isinstance(failure, RuntimeError) and failure.__traceback__ is not None


@pytest.mark.parametrize("speed", [0.4, 1.0, 1.8])
def test_fast_arm_stops_before_a_position_limit(speed):
    """Led by hand and let go: the elbow of the Panda flies towards its upper limit."""
    guard = GuardSettings(velocity_jump=1.0)  # the test sets the velocity at once
    rig = Rig.of("panda", ControllerSettings(law="gravity_compensation", guard=guard))
    limit = PANDA.limits.upper[3]
    rig.arm.q[3] = limit - 0.12 * speed - 0.03
    rig.run(0.05)
    rig.arm.qd[3] = speed
    rig.run(1.5)
    assert limit - 0.1 < np.array(rig.q)[:, 3].max() < limit
    assert rig.still_within(rig.mark() - 500, 0.0)
    assert (held(rig).check, held(rig).joint) == (Check.POSITION, "panda_joint4")


def test_a_runaway_law_cannot_drive_the_arm_beyond_a_position_limit():
    settings = ControllerSettings(guard=GuardSettings(tracking_error=100.0, velocity_hold=100.0, velocity_slow=100.0))
    rig, _ = with_fault(force(3, 60.0), robot="panda", settings=settings)
    rig.run(2.5)
    assert np.array(rig.q)[:, 3].max() < PANDA.limits.upper[3]
    assert held(rig).check is Check.POSITION and rig.still_within(rig.mark() - 500, 0.0)


def test_an_arm_beyond_a_limit_may_come_back():
    rig = Rig.of("panda")
    rig.arm.q[3] = PANDA.limits.upper[3] + 0.01
    rig.run(0.3)
    assert held(rig) is None
    inside = rig.arm.q.copy()
    inside[3] = -1.0
    goal = rig.controller.submit(move(PANDA, inside, 2.0))
    rig.run(2.5)
    assert goal.outcome.succeeded, goal.outcome.text


def test_runaway_joint_is_held_by_the_velocity_check():
    settings = ControllerSettings(guard=GuardSettings(tracking_error=100.0))
    rig, mark = with_fault(force(0, 30.0), settings=settings)
    rig.run(3.0)
    shares = np.abs(rig.qd).max(axis=0) / UR5.limits.velocity
    assert 0.5 < shares.max() <= 1.05
    assert held(rig).check is Check.VELOCITY and held(rig).joint == UR5.joint_names[shares.argmax()]
    assert rig.still_within(mark, 1.5) and compensates_gravity(rig)


def test_a_law_that_asks_for_too_much_effort_is_clipped():
    """The rig asserts in every tick that no effort exceeds its limit; here the law commands ten times that."""
    settings = ControllerSettings(guard=GuardSettings(velocity_slow=100.0, velocity_hold=100.0))
    rig, mark = with_fault(push(1, 5000.0), settings=settings)
    rig.run(3.0)
    assert 100.0 < np.abs(rig.tau).max() <= UR5.limits.effort.max()
    assert rig.still_within(mark, 2.5) and compensates_gravity(rig)


def test_an_arm_too_weak_for_its_trajectory_goes_slower_on_the_same_path():
    weak = replace(UR5, limits=replace(UR5.limits, effort=np.array([8.0, 50.0, 150.0, 28.0, 28.0, 28.0])))
    rig = Rig(ArmController(weak), SimulatedArm(weak, HOME["ur5"])).run(0.05)
    goal = rig.controller.submit(move(weak, AWAY["ur5"], 1.3))
    slowest = 1.0
    for _ in range(4000):
        rig.tick()
        slowest = min(slowest, rig.controller.status().rate)
    assert goal.outcome.succeeded, goal.outcome.text
    assert slowest < 0.9, "it was slowed down"
    shares = (np.array(rig.q) - HOME["ur5"]) / (AWAY["ur5"] - HOME["ur5"])
    assert np.ptp(shares[:, :3], axis=1).max() < 0.1


def test_efforts_never_change_faster_than_the_torque_rate():
    rig, mark = with_fault(push(1, 100.0), settings=ControllerSettings(guard=GuardSettings(effort_rise_time=0.05)))
    rig.run(1.0)
    steps = np.abs(np.diff(rig.tau[mark - 50 :], axis=0))
    assert (steps.max(axis=0) <= UR5.limits.effort / 0.05 * DT * (1 + 1e-9)).all()


def test_a_law_that_chatters_is_replaced_by_a_hold():
    rig, mark = with_fault(chatter(0, 40.0))
    rig.run(1.5)
    assert (held(rig).check, held(rig).action) == (Check.TORQUE_RATE, Action.HOLD)
    assert rig.still_within(mark, 0.5) and compensates_gravity(rig)
    assert np.abs(np.array(rig.q[mark:]) - HOME["ur5"]).max() < 0.3


def test_given_torque_rate_is_respected():
    settings = ControllerSettings(guard=GuardSettings(torque_rate=1000.0))
    rig = Rig.of("panda", settings).run(0.05)
    goal = rig.controller.submit(move(PANDA, AWAY["panda"], 2.0))
    rig.run(2.5)
    assert goal.outcome.succeeded
    assert np.abs(np.diff(rig.tau, axis=0)).max() <= 1.0 + 1e-9, "one newton metre per tick, as Franka has it"


def test_blocked_arm_stops_pushing():
    """Without path tolerance and contact detection: the tracking error shows it, and the arm stops pushing."""
    settings = ControllerSettings(law="pd_gravity", guard=GuardSettings(contact_threshold=0.0))
    rig = Rig.of("ur5", settings).run(0.05)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0), UNCHECKED)

    def wall(rig):
        beyond = max(rig.arm.q[0] - 0.3, 0.0)
        return np.array([-2000.0 * beyond - 100.0 * rig.arm.qd[0] * (beyond > 0), 0, 0, 0, 0, 0])

    rig.disturb = wall
    strongest = 0.0
    for _ in range(3000):
        rig.tick()
        strongest = max(strongest, -wall(rig)[0])
    assert (held(rig).check, held(rig).joint) == (Check.TRACKING, "shoulder_pan_joint")
    assert held(rig).amount == pytest.approx(0.25, abs=0.01) and held(rig).limit == 0.25
    assert goal.outcome.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    assert rig.still_within(rig.mark() - 500, 0.0)
    assert -wall(rig)[0] < strongest / 2, "it leans on the wall, but no longer with all its might"


def test_a_slow_down_does_not_hide_a_hold():
    """The effort is clipped all the time (slow), and the arm drifts away (hold): the hold must win."""
    settings = ControllerSettings(
        guard=GuardSettings(tracking_error=0.1, velocity_hold=50.0, velocity_slow=50.0, velocity_jump=50.0)
    )
    rig, mark = with_fault(push(4, 500.0), settings=settings)
    rig.run(2.0)
    assert held(rig).check in (Check.TRACKING, Check.POSITION)
    assert rig.still_within(mark, 1.5)


@pytest.fixture
def straight_elbow():
    """A UR5 under Cartesian impedance, with a goal that would stretch its elbow."""
    rig = Rig.of("ur5", ControllerSettings(law="cartesian_impedance")).run(0.05)
    stretched = HOME["ur5"].copy()
    stretched[2] = 0.0
    goal = rig.controller.submit(move(UR5, stretched, 3.0), UNCHECKED)
    return rig, goal


def test_a_tip_law_slows_down_and_holds_before_a_singularity(straight_elbow):
    rig, goal = straight_elbow
    rates = []
    for _ in range(5000):
        rig.tick()
        rates.append(rig.controller.status().rate)
        if goal.outcome is not None:
            break
    rig.run(1.0)
    assert held(rig).check is Check.SINGULAR and held(rig).amount >= held(rig).limit
    assert min(rates) < 0.5, "it slowed down on the way"
    assert np.array(rig.q)[:, 2].min() > 0.01, "it never was straight"
    assert rig.still_within(rig.mark() - 300, 0.0) and compensates_gravity(rig)


def test_a_tip_law_may_leave_a_singularity(straight_elbow):
    rig, goal = straight_elbow
    while goal.outcome is None:
        rig.tick()
    rig.run(1.0)
    away = rig.controller.submit(move(UR5, HOME["ur5"], 3.0), UNCHECKED)
    rig.run(8.0)
    assert away.outcome.succeeded, away.outcome.text


def test_joint_laws_ignore_singularities():
    rig = Rig.of("ur5").run(0.05)
    stretched = HOME["ur5"].copy()
    stretched[2] = 0.0
    goal = rig.controller.submit(move(UR5, stretched, 3.0))
    rig.run(3.5)
    assert goal.outcome.succeeded


def test_an_obstacle_ahead_slows_the_arm_and_then_holds_it():
    rig = Rig.of("ur5").run(0.05)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 3.0))
    rig.run(0.8)
    ahead = CollisionAhead(stale_after=1e9)
    rig.controller.watch_for_collisions(ahead)
    ahead.update(0.2, 0.0, describe=lambda: "forearm_link near box")
    rig.run(1.0)
    assert rig.controller.status().rate == pytest.approx(0.2, abs=0.01)
    assert "forearm_link near box" in rig.controller.status().verdict.text
    assert goal.outcome is None and np.abs(rig.arm.qd).max() < 0.2
    ahead.update(0.0, 0.0)
    mark = rig.mark()
    rig.run(1.0)
    assert held(rig).check is Check.COLLISION and rig.still_within(mark, 0.3)
    again = rig.controller.submit(move(UR5, AWAY["ur5"], 3.0))
    ahead.update(np.nan, 0.0, trajectory=2)
    rig.run(0.2)
    assert again.outcome is not None, "a forecast that is not a number is no permission"


@pytest.mark.parametrize("policy", list(ForecastPolicy))
def test_a_stale_forecast_holds_the_arm_only_where_it_is_required(policy):
    rig = Rig.of("ur5").run(0.05)
    ahead = CollisionAhead(policy, stale_after=0.1)
    ahead.update(1.0, rig.controller.status().time)
    rig.controller.watch_for_collisions(ahead)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 3.0))
    rig.run(0.05)
    assert goal.outcome is None and not ahead.warning(rig.controller.status().time)
    rig.run(1.0)
    if policy is ForecastPolicy.REQUIRE:
        assert "age of the collision forecast" in held(rig).text and goal.outcome is not None
    else:
        assert goal.outcome is None and rig.controller.status().held is None
    assert ("old" in ahead.warning(rig.controller.status().time)) == (policy is not ForecastPolicy.OFF)


def test_a_forecast_without_a_fresh_world_is_not_enough_where_one_is_required():
    for policy in (ForecastPolicy.USE, ForecastPolicy.REQUIRE):
        ahead = CollisionAhead(policy)
        ahead.update(1.0, 0.0, world_fresh=False)
        assert (ahead.verdict(0.01).action is Action.HOLD) == (policy is ForecastPolicy.REQUIRE)
        assert "world" in ahead.warning(0.01)


def test_the_path_ahead_is_what_is_executed_next():
    rig = Rig.of("ur5").run(0.05)
    assert rig.controller.path_ahead(5, 0.02) is None
    rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(0.5)
    ahead = rig.controller.path_ahead(11, 0.02)
    rows, rate = ahead.positions, ahead.rate
    assert ahead.trajectory == 1 and ahead.spacing == 0.02
    assert rate == 1.0
    for row in rows:
        np.testing.assert_allclose(rig.controller.status().q_ref, row, atol=1e-9)
        rig.run(0.02)
    rig.controller.cancel()
    rig.run(0.05)
    ahead = rig.controller.path_ahead(3, 0.02)
    assert 0.0 < ahead.rate < 1.0
    np.testing.assert_allclose(rig.controller.status().q_ref, ahead.positions[0], atol=1e-9)


def test_ticks_that_come_late_slow_the_arm_down():
    rig = Rig.of("ur5").run(0.05)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(0.5)
    rig.run(0.6, dt=0.01)
    assert rig.controller.status().verdict.check is Check.DEADLINE
    assert rig.controller.status().rate < 0.5
    rig.run(4.0)
    assert goal.outcome.succeeded


def test_a_tick_that_comes_much_too_late_holds_the_arm():
    rig = Rig.of("ur5").run(0.05)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(1.0)
    rig.tick(dt=0.08)
    mark = rig.mark()
    rig.run(1.5)
    assert held(rig).check is Check.DEADLINE and goal.outcome is not None
    assert rig.still_within(mark, 1.0) and compensates_gravity(rig)


@pytest.mark.parametrize("robot", ARMS)
def test_a_hold_in_full_motion_brakes_within_the_limits_and_never_sends_zeros(robot):
    rig = Rig.of(robot).run(0.05)
    rig.controller.submit(move(ARMS[robot], AWAY[robot], 2.0))
    rig.run(1.0)
    rig.controller.stop("emergency")
    mark = rig.mark()
    rig.run(1.5)
    assert rig.still_within(mark, 1.0 if robot == "ur5" else 0.4)
    slowing = np.diff(rig.qd[mark - 1 : mark + 1000], axis=0) / DT
    assert (np.abs(slowing).max(axis=0) < 1.3 * BrakingLimits.of(ARMS[robot]).brake).all()
    weights = dynamics.gravity_forces(ARMS[robot], np.array(rig.q[mark:]))
    assert np.linalg.norm(rig.tau[mark:], axis=1).min() > 0.1 * np.linalg.norm(weights, axis=1).max()
    assert held(rig).text == "STOP by the check of operator: emergency"


@pytest.mark.parametrize(
    "wrong", [{"state_hold_after": 0.0}, {"brake_factor": -1.0}, {"late_hold": np.nan}, {"tracking_error": -0.1}]
)
def test_invalid_settings_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        ArmController(UR5, ControllerSettings(guard=GuardSettings(**wrong)))
