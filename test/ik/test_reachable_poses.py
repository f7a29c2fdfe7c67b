"""Poses that the arm can reach are reached: all of them, within the tolerances, inside the limits."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from ik.arms import BUNDLED, RANDOM, arm, configurations, errors_by_pinocchio, inside_limits
from manipapy_core import ik, kinematics
from manipapy_core.ik import IKStatus

COUNT = 2000


@pytest.mark.parametrize("name", [*BUNDLED, *RANDOM])
def test_every_random_pose_is_solved(name):
    chain = arm(name)
    T = kinematics.forward(chain, configurations(chain, COUNT, seed=7))
    answer = ik.solve_batch(chain, T)
    assert answer.solved.all()
    position, orientation = errors_by_pinocchio(name, answer.q, T)
    assert position.max() < 1e-6 and orientation.max() < 1e-6
    assert inside_limits(chain, answer.q)
    assert np.allclose(answer.position_error, position, atol=1e-9)
    assert np.allclose(answer.orientation_error, orientation, atol=1e-9)


@pytest.mark.parametrize("name", [*BUNDLED, *RANDOM])
def test_one_at_a_time_too(name):
    chain = arm(name)
    T = kinematics.forward(chain, configurations(chain, 300, seed=8))
    results = [ik.solve(chain, pose) for pose in T]
    assert all(result.solved for result in results)
    q = np.array([result.q for result in results])
    position, orientation = errors_by_pinocchio(name, q, T)
    assert position.max() < 1e-6 and orientation.max() < 1e-6 and inside_limits(chain, q)


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_awkward_configurations(name):
    """At the limits, at multiples of a quarter turn, stretched out: where Jacobians lose rank."""
    chain = arm(name)
    rng = np.random.default_rng(3)
    lower, upper = chain.limits.lower, chain.limits.upper
    at_limits = np.where(rng.random((200, chain.n)) < 0.5, lower, upper)
    mixed = np.where(rng.random((200, chain.n)) < 0.5, at_limits, configurations(chain, 200, seed=4))
    quarters = np.clip(rng.integers(-2, 3, (200, chain.n)) * 0.5 * np.pi, lower, upper)
    for q in (at_limits, mixed, quarters, np.clip(np.zeros((1, chain.n)), lower, upper)):
        answer = ik.solve_batch(chain, kinematics.forward(chain, q))
        assert answer.solved.all() and inside_limits(chain, answer.q)


def test_same_pose_same_answer():
    chain = arm("panda")
    T = kinematics.forward(chain, configurations(chain, 5, seed=2))
    assert all(np.array_equal(ik.solve(chain, pose).q, ik.solve(chain, pose).q) for pose in T)


def test_threads_share_a_solver():
    chain = arm("panda")
    T = kinematics.forward(chain, configurations(chain, 400, seed=5))
    expected = np.array([ik.solve(chain, pose).q for pose in T])
    answers: dict[int, np.ndarray] = {}

    def work(key: int) -> None:
        answers[key] = np.array([ik.solve(chain, pose).q for pose in T])

    threads = [threading.Thread(target=work, args=(key,)) for key in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(answer, expected) for answer in answers.values())
    assert ik.solve_batch(chain, T, threads=3).solved.all()


@pytest.mark.parametrize("batch", [True, False])
def test_a_seed_nearby_decides_the_branch(batch):
    chain = arm("ur5")
    q = configurations(chain, 300, seed=6)
    T = kinematics.forward(chain, q)
    seeds = q + np.random.default_rng(1).uniform(-0.02, 0.02, q.shape)
    seeds = np.clip(seeds, chain.limits.lower, chain.limits.upper)
    found = (
        ik.solve_batch(chain, T, q_seed=seeds).q
        if batch
        else np.array([ik.solve(chain, pose, q_seed=seed).q for pose, seed in zip(T, seeds)])
    )
    near = np.abs(found - q).max(axis=1) < 0.3
    assert near.mean() > 0.97  # the few others began beside a singular pose
    assert inside_limits(chain, found)


def test_status_objects():
    chain = arm("ur5")
    T = kinematics.forward(chain, configurations(chain, 3, seed=1))
    batch = ik.solve_batch(chain, T)
    assert len(batch) == 3 and [result.status for result in batch] == [IKStatus.SOLVED] * 3
    assert batch[0].iterations >= 1 and batch[0].starts >= 1
