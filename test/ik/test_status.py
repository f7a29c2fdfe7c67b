"""Why a pose is not solved: limits, collision, distance. Never a false claim."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ik.arms import BUNDLED, arm, configurations
from manipapy_core import Robot, ik, kinematics, lie
from manipapy_core.ik import IKStatus
from reference.urdf_writing import joint, link, robot

ROBOTS = ["ur5", "panda", "xarm6"]


def six_revolute_joints(limit: float):
    parts = [link("l0")]
    for i, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0)], start=1):
        parts += [link(f"l{i}", 1.0)]
        place = {"xyz": (0.1, 0.0, 0.25), "axis": axis, "limits": (-limit, limit)}
        parts += [joint(f"j{i}", "revolute", f"l{i - 1}", f"l{i}", **place)]
    return Robot.from_urdf(robot("six", *parts)).chain("l0", "l6")


@pytest.mark.parametrize("name", BUNDLED)
def test_poses_beyond_reach_are_proved_unreachable(name):
    chain = arm(name)
    T = kinematics.forward(chain, configurations(chain, 100, seed=1))
    T[:, :3, 3] += 5.0
    answer = ik.solve_batch(chain, T)
    assert not answer.solved.any()
    assert all(status is IKStatus.UNREACHABLE for status in answer.status)


@pytest.mark.parametrize("name", ROBOTS)
def test_no_false_claim_and_no_long_wait(name):
    chain = arm(name)
    T = kinematics.forward(chain, configurations(chain, 200, seed=2))
    T[:, :3, 3] *= np.linspace(1.0, 2.0, 200)[:, None]
    ik.solve(chain, T[-1])
    for solver_is_warm in (False, True):
        durations = []
        for pose in T:
            start = time.thread_time()
            result = ik.solve(chain, pose)
            durations.append(time.thread_time() - start)
            off = lie.log_se3(lie.inverse(kinematics.forward(chain, result.q)) @ pose)
            reached = np.abs(off).max() < 2e-6
            assert result.solved == reached
        if solver_is_warm:
            assert np.median(durations) < 2e-3


def test_a_solution_outside_the_limits_is_reported_as_such():
    wide, narrow = (six_revolute_joints(limit) for limit in (2.8, 0.5))
    T = kinematics.forward(wide, configurations(wide, 100, seed=3))
    found = [ik.solve(narrow, pose) for pose in T]
    blocked = [k for k, result in enumerate(found) if result.status is IKStatus.LIMIT_BLOCKED]
    assert len(blocked) > 90
    freed = [ik.solve(narrow, T[k], limits=False) for k in blocked]
    assert all(result.solved for result in freed)
    assert np.abs(kinematics.forward(narrow, [r.q for r in freed]) - T[blocked]).max() < 5e-6
    assert not any(len(ik.solve(narrow, T[k], all_solutions=True)) for k in blocked[:10])


def test_another_solution_is_taken_where_the_first_collides():
    chain = arm("ur5")
    T = kinematics.forward(chain, configurations(chain, 1, seed=4)[0])
    everything = ik.solve(chain, T, all_solutions=True)
    elbow_up = everything.q[:, 2] > 0
    assert elbow_up.any() and not elbow_up.all()
    result = ik.solve(chain, T, collision=lambda q: q[:, 2] > 0)
    assert result.solved and result.q[2] <= 0
    free = ik.solve(chain, T, all_solutions=True, collision=lambda q: q[:, 2] > 0)
    assert len(free) == (~elbow_up).sum() and (free.q[:, 2] <= 0).all()
    blocked = ik.solve(chain, T, collision=lambda q: np.ones(len(q), dtype=bool))
    assert blocked.status is IKStatus.IN_COLLISION


def test_a_timeout_keeps_trying():
    chain = arm("panda")
    T = kinematics.forward(chain, configurations(chain, 1, seed=5)[0])
    T[:3, 3] *= 1.02
    T[2, 3] -= 0.9
    short, long = ik.solve(chain, T), ik.solve(chain, T, timeout=0.05)
    if short.status is IKStatus.LEAST_SQUARES:
        assert long.solved or long.starts > short.starts
