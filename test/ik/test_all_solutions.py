"""Every solution: the one that made the pose is among them, each is one, and none is there twice."""

from __future__ import annotations

import numpy as np
import pytest

from ik.arms import arm, configurations, errors_by_pinocchio, inside_limits
from manipapy_core import ik, kinematics

WITHOUT_EAIK = ik.closed_form(arm("ur5")) is None
needs_eaik = pytest.mark.skipif(WITHOUT_EAIK, reason="closed forms come from the optional package eaik")


def smallest_distance(solutions: np.ndarray, q: np.ndarray) -> float:
    return float(np.abs(solutions - q).max(axis=1).min(initial=np.inf))


@pytest.mark.parametrize("name", ["ur5", "ur10e", "xarm6"])
def test_the_generating_configuration_is_among_them(name):
    chain = arm(name)
    for q in configurations(chain, 100, seed=1):
        T = kinematics.forward(chain, q)
        found = ik.solve(chain, T, all_solutions=True)
        assert smallest_distance(found.q, q) < 1e-4
        assert inside_limits(chain, found.q)
        assert found.position_error.max() < 1e-6 and found.orientation_error.max() < 1e-6


@needs_eaik
def test_two_solutions_that_nearly_meet_are_both_there():
    chain = arm("ur5")
    q = np.array([0.3, -1.2, 1e-4, -0.7, 0.9, 0.4])  # the elbow is almost straight
    found = ik.solve(chain, kinematics.forward(chain, q), all_solutions=True, limits=False)
    assert smallest_distance(found.q, q) < 1e-6
    assert np.sort(np.abs(found.q - q).max(axis=1))[1] < 1e-3


@needs_eaik
@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_seven_joints_by_the_held_joint(name):
    chain = arm(name)
    form = ik.closed_form(chain)
    for q in configurations(chain, 50, seed=2):
        T = kinematics.forward(chain, q)
        found = ik.solve(chain, T, all_solutions=True, redundancy=[q[form.held]])
        assert found.complete and smallest_distance(found.q, q) < 1e-4
        assert np.allclose(found.q[:, form.held], q[form.held], atol=1e-6)


@pytest.mark.parametrize("name", ["ur5", "panda", "xarm6"])
def test_each_is_a_solution_and_none_is_there_twice(name):
    chain = arm(name)
    T = kinematics.forward(chain, configurations(chain, 1, seed=3)[0])
    found = ik.solve(chain, T, all_solutions=True)
    position, orientation = errors_by_pinocchio(name, found.q, np.broadcast_to(T, (len(found), 4, 4)))
    assert position.max() < 1e-6 and orientation.max() < 1e-6
    apart = np.abs(found.q[:, None] - found.q[None]).max(axis=2) + np.eye(len(found))
    assert apart.min() > 1e-3


@needs_eaik
def test_windings_and_branches_of_a_ur5():
    chain = arm("ur5")
    q = np.array([0.3, -1.2, 1.1, -0.7, 0.9, 0.4])
    T = kinematics.forward(chain, q)
    free = ik.solve(chain, T, all_solutions=True, limits=False)
    assert len(free) == 8 and free.complete and "PARALLEL" in free.method
    windings = ik.solve(chain, T, all_solutions=True)
    turns = np.unique(
        np.round((windings.q - q)[np.abs(np.sin((windings.q - q) / 2)).max(axis=1) < 1e-6] / (2 * np.pi)), axis=0
    )
    limits_allow = np.prod(
        [2 if upper - lower > 12 else 1 for lower, upper in zip(chain.limits.lower, chain.limits.upper)]
    )
    assert len(turns) == limits_allow


def test_numeric_enumeration_agrees_with_the_closed_form(monkeypatch):
    chain = arm("ur5")
    q = configurations(chain, 20, seed=5)
    T = kinematics.forward(chain, q)
    expected = [ik.solve(chain, pose, all_solutions=True, limits=False).q for pose in T]
    monkeypatch.setattr("manipapy_core.ik.enumerate.closed_form", lambda chain: None)
    for pose, closed in zip(T, expected):
        numeric = ik.solve(chain, pose, all_solutions=True, limits=False)
        assert numeric.method == "numeric enumeration" and not numeric.complete
        assert len(numeric) == len(closed)


def test_ranking_follows_seed_or_objective():
    chain = arm("ur5")
    T = kinematics.forward(chain, configurations(chain, 1, seed=6)[0])
    wish = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    by_seed = ik.solve(chain, T, all_solutions=True, q_seed=wish)
    distance = ((by_seed.q - wish) ** 2).sum(axis=1)
    assert (np.diff(distance) >= 0).all()
    best = ik.solve(chain, T, objective=ik.near(wish))
    assert np.allclose(best.q, by_seed.q[0], atol=1e-6)


def test_no_solution_gives_an_empty_list_with_the_closest():
    chain = arm("ur5")
    T = np.eye(4)
    T[0, 3] = 3.0
    found = ik.solve(chain, T, all_solutions=True)
    assert len(found) == 0 and found.q.shape == (0, 6) and not found.solved
    assert found.closest.status is ik.IKStatus.UNREACHABLE and found.closest.q.shape == (6,)
