"""The time limit holds on every path of `ik.solve`, and the result reports when it ended the search."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from ik.arms import arm, configurations
from manipapy_core import ik, kinematics
from manipapy_core.errors import InputError
from manipapy_core.ik import IKStatus, query, selection
from manipapy_core.ik.numeric import TaskWeights, solver_for

WITHOUT_EAIK = ik.closed_form(arm("ur5")) is None
needs_eaik = pytest.mark.skipif(WITHOUT_EAIK, reason="closed forms come from the optional package eaik")
LONG = 1e6


def pose(chain, seed=1):
    return kinematics.forward(chain, configurations(chain, 1, seed=seed)[0])


def unsolvable(chain):
    """Inside the ball that the links span, yet solvable only outside the limits: the search ends without a solution."""
    T = np.diag([1.0, -1.0, -1.0, 1.0])
    T[:3, 3] = 0.0, 0.0, 0.4  # inside the upper arm
    found = ik.solve(chain, T)
    assert found.status is IKStatus.LIMIT_BLOCKED and not found.timed_out
    return T


@pytest.fixture
def clock(monkeypatch):
    """Sets how many checks of the clock a search passes before its time is over."""

    def allow(checks: int) -> None:
        left = [checks]

        def over(_) -> bool:
            left[0] -= 1
            return left[0] < 0

        monkeypatch.setattr(query.TimeLimit, "over", property(over))

    return allow


def test_starts_go_on_until_the_time_is_over(clock):
    chain = arm("panda")
    T = unsolvable(chain)
    starts = []
    for checks in (1, 5, 20):
        clock(checks)
        found = ik.solve(chain, T, timeout=LONG)
        assert found.timed_out and not found.solved
        starts.append(found.starts)
    assert np.diff(starts).tolist() == [4 * query.STARTS_AT_A_TIME, 15 * query.STARTS_AT_A_TIME]


def test_no_time_left_ends_the_search_after_the_quick_starts():
    chain = arm("panda")
    T = unsolvable(chain)
    usual, none = ik.solve(chain, T), ik.solve(chain, T, timeout=0.0)
    assert none.timed_out and none.starts < usual.starts
    assert none.q.shape == (7,) and np.isfinite(none.position_error)


@pytest.mark.parametrize("option", ["all_solutions", "objective", "collision"])
def test_restarts_end_at_the_time_limit_on_the_paths_through_all_solutions(option, clock):
    chain = arm("panda")
    T = unsolvable(chain)
    options = {
        "all_solutions": {"all_solutions": True},
        "objective": {"objective": ik.near(np.zeros(7))},
        "collision": {"collision": lambda q: np.zeros(len(q), dtype=bool)},
    }[option]
    clock(200)
    found = ik.solve(chain, T, timeout=LONG, **options)
    assert found.timed_out and not found.solved
    closest = found.closest if option == "all_solutions" else found
    assert closest.timed_out and closest.starts > ik.solve(chain, T).starts


def test_numeric_enumeration_ends_at_the_time_limit(clock, monkeypatch):
    monkeypatch.setattr("manipapy_core.ik.enumerate.closed_form", lambda chain: None)
    chain = arm("ur5")
    T = pose(chain)
    complete = ik.solve(chain, T, all_solutions=True, timeout=LONG, limits=False)
    assert len(complete) == 8 and not complete.timed_out
    asked = []
    solver = solver_for(chain, False, TaskWeights(), ik.IKTolerances())
    each_start = solver.each_start
    monkeypatch.setattr(solver, "each_start", lambda T, first, n: asked.append(n) or each_start(T, first, n))
    clock(2)
    short = ik.solve(chain, T, all_solutions=True, timeout=LONG, limits=False)
    assert short.timed_out and not short.complete
    assert asked == [query.STARTS_AT_A_TIME] * 3


@needs_eaik
def test_closed_form_of_a_redundant_arm_ends_at_the_time_limit(clock):
    chain = arm("panda")
    T = pose(chain)
    usual = ik.solve(chain, T, all_solutions=True, timeout=LONG)
    assert usual.complete and not usual.timed_out
    clock(10)
    short = ik.solve(chain, T, all_solutions=True, timeout=LONG)
    assert short.timed_out and not short.complete
    assert short.solved and 0 < len(short) < len(usual)


def test_descent_of_an_objective_ends_at_the_time_limit(monkeypatch):
    chain = arm("panda")
    T = pose(chain)
    objective = ik.centre_of_limits(chain)
    calls = []

    def counted(rows):
        calls.append(len(rows))
        return objective(rows)

    usual = ik.solve(chain, T, objective=counted, timeout=LONG)
    assert usual.solved and not usual.timed_out
    descents = len(calls)
    # Enumeration is given all the time it wants; it is over when the descent begins.
    gathered = []

    def gather(*arguments):
        gathered.append(selection.gather(*arguments))
        return gathered[-1]

    monkeypatch.setattr(sys.modules["manipapy_core.ik.solve"], "gather", gather)
    monkeypatch.setattr(query.TimeLimit, "over", property(lambda _: bool(gathered)))
    calls.clear()
    short = ik.solve(chain, T, objective=counted, timeout=LONG)
    assert short.solved and short.timed_out and len(calls) < descents
    assert np.abs(kinematics.forward(chain, short.q) - T).max() < 1e-6


def test_another_solution_is_searched_within_the_time_limit(clock):
    chain = arm("panda")
    T = pose(chain)
    clock(0)
    found = ik.solve(chain, T, timeout=LONG, collision=lambda q: np.ones(len(q), dtype=bool))
    assert found.status is IKStatus.IN_COLLISION and found.timed_out


@pytest.mark.parametrize(
    "options",
    [{}, {"all_solutions": True}, {"objective": ik.near(np.zeros(6))}],
    ids=lambda options: "".join(options) or "plain",
)
def test_a_solved_pose_is_not_timed_out(options):
    chain = arm("ur5")
    assert not ik.solve(chain, pose(chain), timeout=LONG, **options).timed_out


def test_a_pose_that_is_proved_unreachable_is_not_timed_out():
    chain = arm("ur5")
    T = np.eye(4)
    T[0, 3] = 3.0
    for options in ({}, {"all_solutions": True}):
        found = ik.solve(chain, T, timeout=LONG, **options)
        assert found.status is IKStatus.UNREACHABLE and not found.timed_out


@pytest.mark.parametrize("timeout", [-1.0, float("nan")])
def test_a_time_limit_that_is_none_is_refused(timeout):
    chain = arm("ur5")
    with pytest.raises(InputError, match="timeout is"):
        ik.solve(chain, pose(chain), timeout=timeout)
