"""Goals on a simulated arm: reached, cancelled, replaced, refused, aborted, and the motion afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from control.arms import AWAY, DT, HOME, UR5, Rig, move
from manipapy_core.control import (
    ControllerSettings,
    ErrorCode,
    ExecutionSettings,
    GoalPhase,
    GoalStatus,
    GoalTolerances,
    JointTolerance,
)
from manipapy_core.trajectory import JointTrajectory

NAMES = UR5.joint_names
HOME_, AWAY_ = HOME["ur5"], AWAY["ur5"]


def rig(law="computed_torque", **execution):
    """An arm that has been held for a moment."""
    return Rig.of("ur5", ControllerSettings(law=law, execution=ExecutionSettings(**execution))).run(0.05)


def references(rig, seconds):
    """Reference of every tick: shape (ticks, 3, n)."""
    blocks = []
    for _ in range(round(seconds / DT)):
        rig.tick()
        status = rig.controller.status()
        blocks.append([status.q_ref, status.qd_ref, status.qdd_ref])
    return np.array(blocks)


def is_smooth(blocks, acceleration=40.0):
    """Positions and velocities continue without a step, and the derivatives belong to the positions."""
    position_steps = np.abs(np.diff(blocks[:, 0], axis=0) - DT * 0.5 * (blocks[1:, 1] + blocks[:-1, 1])).max()
    velocity_steps = np.abs(np.diff(blocks[:, 1], axis=0)).max()
    return position_steps < 1e-4 and velocity_steps < acceleration * DT


def test_a_goal_is_reached_and_the_last_point_is_held():
    r = rig()
    goal = r.controller.submit(move(UR5, AWAY_, 2.0))
    r.run(2.2)
    assert goal.outcome.succeeded and goal.outcome.code is ErrorCode.SUCCESSFUL
    mark = r.mark()
    r.run(1.0)
    assert np.abs(np.array(r.q[mark:]) - AWAY_).max() < 1e-3 and r.still_within(mark, 0.0)
    assert r.controller.status().phase is GoalPhase.HOLDING


@pytest.mark.parametrize("carried", [0, 1, 2], ids=["linear", "cubic", "quintic"])
def test_interpolation_follows_the_fields_of_the_points(carried):
    r = rig(path_position=0.3)
    times = np.linspace(0.5, 2.5, 9)
    path = HOME_ + np.sin(0.5 * np.pi * (times - 0.5) / 2.0)[:, None] ** 2 * (AWAY_ - HOME_)
    slope = np.gradient(path, times, axis=0)
    slope[[0, -1]] = 0.0
    extras = [slope, np.zeros_like(slope)][:carried]
    goal = r.controller.submit(JointTrajectory(times, path, *extras, joint_names=NAMES))
    r.run(3.0)
    assert goal.outcome.succeeded, goal.outcome.text
    at = [r.mark() - 1 - round((3.0 - t) / DT) for t in times[1:-1]]
    assert np.abs(np.array([r.q[k] for k in at]) - path[1:-1]).max() < 0.02


def test_joint_order_does_not_matter():
    r = rig()
    order = [5, 2, 0, 4, 1, 3]
    zero = np.zeros((1, 6))
    goal = r.controller.submit(
        JointTrajectory([2.0], [AWAY_[order]], zero, zero, joint_names=[NAMES[j] for j in order])
    )
    r.run(2.5)
    assert goal.outcome.succeeded and np.abs(r.arm.q - AWAY_).max() < 2e-3


def test_joints_that_are_not_named_stay_where_they_are():
    r = rig()
    goal = r.controller.submit(JointTrajectory([1.5], [[0.7]], [[0.0]], [[0.0]], joint_names=["elbow_joint"]))
    r.run(2.0)
    assert goal.outcome.succeeded
    others = [0, 1, 3, 4, 5]
    assert np.abs(np.array(r.q)[:, others] - HOME_[others]).max() < 2e-3
    assert abs(r.arm.q[2] - 0.7) < 2e-3


def test_joints_that_a_replacing_goal_does_not_name_slow_down_and_stay():
    r = rig()
    r.controller.submit(move(UR5, AWAY_, 2.0))
    r.run(1.0)
    goal = r.controller.submit(JointTrajectory([2.0], [[1.0]], [[0.0]], [[0.0]], joint_names=["elbow_joint"]))
    blocks = references(r, 3.0)
    assert is_smooth(blocks)
    assert goal.outcome.succeeded and r.still_within(r.mark() - 300, 0.0)
    assert abs(r.arm.q[0] - HOME_[0]) > 0.4, "the first joint was under way and came to rest there"


def test_cancel_holds_position_after_a_stop_on_the_path():
    r = rig()
    goal = r.controller.submit(move(UR5, AWAY_, 2.0))
    r.run(1.0)
    assert np.abs(r.arm.qd).max() > 0.5
    r.controller.cancel(goal)
    mark = r.mark()
    blocks = references(r, 2.5)
    assert goal.outcome.status is GoalStatus.CANCELED
    assert is_smooth(blocks) and np.abs(blocks[:, 2]).max() < 2.0 * UR5.limits.acceleration.max()
    assert r.still_within(mark, 1.8)
    # On this path all joints move in proportion, so a deviation shows that the arm left it.
    shares = (np.array(r.q[mark:]) - HOME_) / (AWAY_ - HOME_)
    assert np.ptp(shares, axis=1).max() < 5e-3
    assert 0.5 < shares[-1].mean() < 0.999, "it stopped on the way"


def test_cancelling_another_goal_changes_nothing():
    r = rig()
    first = r.controller.submit(move(UR5, AWAY_, 2.0))
    r.run(0.2)
    second = r.controller.submit(move(UR5, HOME_, 2.0))
    r.run(0.1)
    r.controller.cancel(first)
    r.run(2.5)
    assert second.outcome.succeeded


def test_a_new_goal_replaces_the_old_one_without_a_jump():
    r = rig()
    first = r.controller.submit(move(UR5, AWAY_, 2.0))
    r.run(1.0)
    second = r.controller.submit(move(UR5, HOME_ + 0.1, 2.5))
    blocks = references(r, 3.0)
    assert first.outcome.status is GoalStatus.PREEMPTED and second.outcome.succeeded
    assert is_smooth(blocks)
    assert np.abs(r.arm.q - HOME_ - 0.1).max() < 2e-3


def test_a_goal_that_joins_in_mid_motion_is_blended():
    """Its first point is now, a little off the present motion: the difference fades, nothing jumps."""
    r = rig()
    r.controller.submit(move(UR5, AWAY_, 2.0))
    r.run(1.0)
    status = r.controller.status()
    start = status.q_ref + 0.02
    points = np.array([start, start + 0.2 * status.qd_ref, AWAY_])
    speeds = np.array([0.8 * status.qd_ref, 0.5 * status.qd_ref, np.zeros(6)])
    goal = r.controller.submit(JointTrajectory([0.0, 0.5, 2.0], points, speeds, joint_names=NAMES))
    blocks = references(r, 4.0)
    assert goal.outcome.succeeded, goal.outcome.text
    assert is_smooth(blocks)


def test_a_start_in_the_future_is_waited_for():
    r = rig()
    goal = r.controller.submit(move(UR5, AWAY_, 1.5, start_time=r.now + 0.5))
    r.run(0.45)
    assert r.controller.status().phase is GoalPhase.WAITING and goal.outcome is None
    assert np.abs(r.arm.q - HOME_).max() < 1e-3
    r.run(0.8)
    assert r.controller.status().phase is GoalPhase.RUNNING
    r.run(1.0)
    assert goal.outcome.succeeded


def test_a_start_in_the_past_is_joined_under_way():
    r = rig()
    t = np.linspace(0.0, 4.0, 41)
    path = HOME_ + 0.02 * (1 - np.cos(0.5 * np.pi * t))[:, None] * np.ones(6)
    speed = 0.01 * np.pi * np.sin(0.5 * np.pi * t)[:, None] * np.ones(6)
    speed[-1] = 0.0
    goal = r.controller.submit(JointTrajectory(t, path, speed, start_time=r.now - 3.0, joint_names=NAMES))
    blocks = references(r, 2.0)
    assert goal.outcome.succeeded, goal.outcome.text
    assert is_smooth(blocks)


def test_a_start_far_from_the_arm_is_refused_and_the_arm_stays():
    r = rig()
    goal = r.controller.submit(JointTrajectory([0.0, 1.0], [AWAY_, AWAY_], joint_names=NAMES))
    mark = r.mark()
    r.run(0.5)
    assert goal.outcome.code is ErrorCode.INVALID_GOAL
    assert "shoulder_pan_joint" in goal.outcome.text and "start tolerance 0.05" in goal.outcome.text
    assert np.abs(np.array(r.q[mark:]) - HOME_).max() < 1e-3


def test_a_first_point_too_far_for_its_time_is_refused():
    r = rig()
    goal = r.controller.submit(move(UR5, AWAY_, 0.05))
    r.run(0.3)
    assert goal.outcome.code is ErrorCode.INVALID_GOAL and "velocity of joint" in goal.outcome.text
    assert np.abs(r.arm.q - HOME_).max() < 1e-3


def test_a_refused_goal_does_not_disturb_the_one_under_way():
    r = rig()
    goal = r.controller.submit(move(UR5, AWAY_, 2.0))
    r.run(1.0)
    bad = r.controller.submit(JointTrajectory([0.0, 1.0], [HOME_ - 1.0, HOME_ - 1.0], joint_names=NAMES))
    r.run(1.5)
    assert not bad.outcome.succeeded and goal.outcome.succeeded


def test_arm_is_still_after_a_path_tolerance_abort():
    """The elbow is blocked: the goal is aborted with joint, error, tolerance and time, and the arm stays."""
    r = rig()
    requested = GoalTolerances(path=[JointTolerance("elbow_joint", 0.03)])
    goal = r.controller.submit(move(UR5, AWAY_, 2.0), requested)
    r.run(0.5)
    r.disturb = lambda rig: np.array([0, 0, 6.0 if rig.controller.status().goal else 0.0, 0, 0, 0])
    r.run(0.5)
    assert goal.outcome.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    for part in ("position of joint 'elbow_joint'", "tolerance 0.03 rad", "s of the trajectory"):
        assert part in goal.outcome.text
    r.run(2.0)
    assert r.still_within(r.mark() - 600, 0.0)
    assert r.controller.status().held is None, "a tolerance is not a matter for the guard"


def test_a_path_tolerance_on_velocity_is_checked_when_asked_for():
    r = rig()
    requested = GoalTolerances(path=[JointTolerance("elbow_joint", -1.0, 0.05)])
    goal = r.controller.submit(move(UR5, AWAY_, 2.0), requested)
    r.run(0.5)
    r.disturb = lambda _: np.array([0, 0, 10.0, 0, 0, 0])
    r.run(0.3)
    assert goal.outcome.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    assert "velocity of joint 'elbow_joint'" in goal.outcome.text


def test_minus_one_switches_the_path_check_off():
    r = rig()
    requested = GoalTolerances(path=[JointTolerance(name, -1.0) for name in NAMES])
    goal = r.controller.submit(move(UR5, AWAY_, 2.0), requested)
    r.run(0.5)
    r.disturb = lambda rig: np.array([0, 0, 5.0 if rig.now < 101.0 else 0.0, 0, 0, 0])
    r.run(2.5)
    assert goal.outcome.succeeded


def test_a_goal_that_is_not_reached_in_time_is_aborted_with_the_reason():
    """PD without gravity sags: it never gets within a hundredth of a radian."""
    r = rig("pd", path_position=0.5, goal_time=0.3)
    r.run(1.0)
    goal = r.controller.submit(move(UR5, HOME_ + 0.05, 1.0))
    r.run(2.0)
    assert goal.outcome.code is ErrorCode.GOAL_TOLERANCE_VIOLATED
    assert "rad off (tolerance 0.01 rad)" in goal.outcome.text and "after the end" in goal.outcome.text
    r.run(2.0)
    assert r.still_within(r.mark() - 500, 0.0)


def test_goal_time_minus_one_waits_without_limit():
    r = rig("pd", path_position=0.5, goal_time=0.3)
    r.run(1.0)
    goal = r.controller.submit(move(UR5, HOME_, 1.0), GoalTolerances(goal_time=-1.0))
    r.run(4.0)
    assert goal.outcome is None and r.controller.status().phase is GoalPhase.SETTLING


def test_trajectories_run_slower_on_request_and_stay_on_their_path():
    r = rig()
    goal = r.controller.submit(move(UR5, AWAY_, 2.0))
    r.run(0.8)
    r.controller.set_speed(0.25)
    blocks = references(r, 0.8)
    assert is_smooth(blocks)
    shares = (np.array(r.q) - HOME_) / (AWAY_ - HOME_)
    assert np.ptp(shares, axis=1).max() < 5e-3
    r.run(4.5)
    assert goal.outcome.succeeded
    assert np.abs(np.array(r.qd[1600:])).max() < 0.35, "a quarter of the speed"


def test_continuous_joints_take_goals_whole_turns_away():
    from manipapy_core.control import Execution, Reference, State, prepare
    from reference.cases import chain_of
    from reference.small_robots import CONTINUOUS

    chain = chain_of(CONTINUOUS)
    spinning = ~np.isfinite(chain.limits.upper)
    assert spinning.any()
    q = np.where(spinning, 0.3 + 4 * np.pi, 0.1)
    execution = Execution(chain, q)
    goal = np.where(spinning, 0.5, 0.2)
    zero = np.zeros((1, chain.n))
    plan = prepare(chain, JointTrajectory([1.0], [goal], zero, zero, joint_names=chain.joint_names))
    execution.start(plan, 0.0)
    for tick in range(1200):
        state = State(execution.reference.q.copy(), execution.reference.qd.copy())
        execution.step(tick * DT, DT, state)
    assert plan.outcome.succeeded
    assert np.allclose(execution.reference.q, np.where(spinning, 0.5 + 4 * np.pi, 0.2))
    assert isinstance(execution.reference, Reference)


def test_ten_thousand_points_are_executed():
    r = rig()
    t = np.linspace(0.2, 2.2, 10_000)
    u = (t - 0.2) / 2.0
    s = u**3 * (10 - 15 * u + 6 * u * u)
    ds = 30 * u * u * (1 - u) ** 2 / 2.0
    path, speed = HOME_ + np.outer(s, AWAY_ - HOME_), np.outer(ds, AWAY_ - HOME_)
    goal = r.controller.submit(JointTrajectory(t, path, speed, joint_names=NAMES))
    r.run(2.5)
    assert goal.outcome.succeeded and np.abs(r.arm.q - AWAY_).max() < 2e-3
