"""Straight motions of the tip: on the line, with every option kept, and with the reason and place where they end."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import arm, at
from manipapy_core import InputError, dynamics, kinematics, lie
from manipapy_core.geometry import Box, Checker, World
from manipapy_core.motion import PlanStatus, TimeLaw, straight_tip_motion
from manipapy_core.trajectory import line_poses
from motion.scenes import READY


def moved(T, x=0.0, y=0.0, z=0.0, turn=0.0):
    shifted = T.copy()
    shifted[:3, 3] += [x, y, z]
    shifted[:3, :3] = shifted[:3, :3] @ lie.exp_so3(np.array([0.0, 0.0, turn]))
    return shifted


@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_the_tip_stays_on_its_line_and_turns_evenly(robot):
    checker = Checker(arm(robot)[2])
    chain, q = checker.body.chain, READY[robot]
    T = kinematics.forward(chain, q)
    goal = moved(T, 0.05, 0.15, -0.1, 0.5)
    result = straight_tip_motion(checker, q, goal)
    assert result.success, result.message
    assert result.fraction == 1.0 and result.verification.passed
    poses = kinematics.forward(chain, result.trajectory.positions)
    way = goal[:3, 3] - T[:3, 3]
    along = (poses[:, :3, 3] - T[:3, 3]) @ way / (way @ way)
    assert np.linalg.norm(poses[:, :3, 3] - T[:3, 3] - along[:, None] * way, axis=1).max() < 1e-4
    assert np.all(np.diff(along) > -1e-6)
    turns = lie.log_so3(T[:3, :3].T @ poses[:, :3, :3])
    np.testing.assert_allclose(turns, along[:, None] * [0.0, 0.0, 0.5], atol=1e-3)


def test_several_poses_are_reached_one_after_the_other():
    checker = Checker(arm("ur5")[2])
    chain, q = checker.body.chain, READY["ur5"]
    T = kinematics.forward(chain, q)
    poses = [moved(T, 0.1), moved(T, 0.1, 0.1), T]
    result = straight_tip_motion(checker, q, poses)
    assert result.success
    tips = kinematics.forward(chain, result.trajectory.positions)
    for pose in poses:
        off = np.linalg.norm(tips[:, :3, 3] - pose[:3, 3], axis=1)
        at_pose = int(np.argmin(off))
        assert off[at_pose] < 1e-4 and np.abs(result.trajectory.velocities[at_pose]).max() < 1e-9


def test_an_obstacle_blocks_the_line():
    body = arm("ur5")[2]
    chain, q = body.chain, READY["ur5"]
    T = kinematics.forward(chain, q)
    goal = moved(T, y=0.3)
    world = World()
    world.add("post", Box([0.3, 0.02, 0.3]), at(*(T[:3, 3] + [0.0, 0.2, 0.0])))
    result = straight_tip_motion(Checker(body, world), q, goal)
    assert result.status is PlanStatus.NO_PATH and "post" in result.message
    assert 0.1 < result.fraction < 0.7 and result.trajectory is None
    reached = kinematics.forward(chain, result.path[-1])
    assert (reached[1, 3] - T[1, 3]) / 0.3 == pytest.approx(result.fraction, abs=0.02)


def test_singular_and_unreachable_are_different_statuses():
    checker = Checker(arm("ur5")[2])
    chain, q = checker.body.chain, READY["ur5"]
    far = moved(kinematics.forward(chain, q), 1.5)
    near_singular = straight_tip_motion(checker, q, far, position_step=5e-4)
    assert near_singular.status is PlanStatus.SINGULAR and 0.0 < near_singular.fraction < 1.0
    last = kinematics.body_jacobian(chain, near_singular.path[-1])
    assert np.linalg.svd(last, compute_uv=False)[-1] >= 0.02
    end = straight_tip_motion(checker, q, far, position_step=5e-4, least_singular_value=0.0)
    assert end.status is PlanStatus.UNREACHABLE and end.fraction >= near_singular.fraction


def test_steps_are_bounded_and_refused_when_not_positive():
    T_a, T_b = at(0.1, 0.2, 0.3), moved(at(0.2, 0.2, 0.3), turn=1.0)
    poses = line_poses(T_a, T_b, 0.005, 0.02)
    assert np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1).max() <= 0.005
    np.testing.assert_allclose(poses[-1], T_b, atol=1e-12)
    with pytest.raises(InputError, match="positive"):
        straight_tip_motion(Checker(arm("ur5")[2]), READY["ur5"], np.eye(4), position_step=0.0)


def above_a_post(clearance, where):
    """A world with a post at a distance below the line of the panda's tip [m], at a fraction of the line."""
    body = arm("panda")[2]
    chain, q = body.chain, READY["panda"]
    goal = moved(kinematics.forward(chain, q), y=0.3)
    rows = straight_tip_motion(Checker(body), q, goal).path
    q_post = rows[round(where * (len(rows) - 1))]
    x, y, z = kinematics.forward(chain, q_post)[:3, 3]

    def checker(depth):
        world = World()
        world.add("post", Box([0.02, 0.02, 0.02]), at(x, y, z - depth))
        return Checker(body, world)

    near, far = 0.0, 0.5
    while far - near > 1e-5:
        middle = 0.5 * (near + far)
        near, far = (middle, far) if checker(middle).padded(clearance).check(q_post) else (near, middle)
    return checker(far), q, goal


def test_padding_is_kept_between_the_poses():
    checker, q, goal = above_a_post(0.003, 0.5)
    near = straight_tip_motion(checker, q, goal, padding=0.002)
    assert near.success and near.padding == pytest.approx(0.002), near.message
    assert not checker.padded(0.002).check(near.path).any()
    far = straight_tip_motion(checker, q, goal, padding=0.005)
    assert far.status is PlanStatus.NO_PATH and far.trajectory is None
    assert "within the padding of 5 mm" in far.message and "post" in far.message
    assert 0.3 < far.fraction < 0.5
    assert straight_tip_motion(checker, q, goal, padding=0.0).success


def test_padding_that_the_last_pose_does_not_keep_is_reduced_and_reported():
    checker, q, goal = above_a_post(0.003, 1.0)
    result = straight_tip_motion(checker, q, goal, padding=0.005)
    assert result.success and result.padding == pytest.approx(0.0025)
    assert "keeps 2.5 mm instead of 5" in result.message


def test_effort_limits_are_kept():
    checker = Checker(arm("ur5")[2])
    chain, q = checker.body.chain, READY["ur5"]
    goal = moved(kinematics.forward(chain, q), 0.1, 0.3, 0.1)
    rotors = chain.limits.effort / chain.limits.acceleration  # so heavy that the limits matter

    def efforts(q, qd, qdd):
        return dynamics.inverse_dynamics(chain, q, qd, qdd) + rotors * qdd

    free = straight_tip_motion(checker, q, goal)
    kept = straight_tip_motion(checker, q, goal, effort_limits=True, efforts=efforts)
    assert free.verification.effort == 0.0 and 0.9 < kept.verification.effort <= 1.0 + 1e-6
    assert (np.abs(efforts(*free.trajectory.states())) > chain.limits.effort).any()
    assert (np.abs(efforts(*kept.trajectory.states())) <= chain.limits.effort * (1.0 + 1e-6)).all()
    assert kept.trajectory.duration > free.trajectory.duration
    own = straight_tip_motion(checker, q, goal, effort_limits=True)
    assert 0.0 < own.verification.effort <= 1.0 + 1e-6


def test_time_laws_are_kept_or_refused():
    checker = Checker(arm("ur5")[2])
    q = READY["ur5"]
    goal = moved(kinematics.forward(checker.body.chain, q), 0.1, 0.1)
    pytest.importorskip("toppra")
    ours, other = (straight_tip_motion(checker, q, goal, law=law) for law in (TimeLaw.OPTIMAL, TimeLaw.TOPPRA))
    assert ours.success and other.success and other.verification.passed
    assert not np.array_equal(ours.trajectory.times, other.trajectory.times)
    assert other.trajectory.duration == pytest.approx(ours.trajectory.duration, rel=0.1)
    with pytest.raises(InputError, match="ruckig would stop at every pose"):
        straight_tip_motion(checker, q, goal, law=TimeLaw.RUCKIG)
