"""Motions that are proved to be free between their samples, compared with dense samples."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from manipapy_core.motion.space import PADDING, PlanningSpace
from motion.scenes import problem


@pytest.mark.parametrize("robot", ["panda", "ur5"])
@pytest.mark.parametrize("kind", ["table", "shelf"])
def test_the_first_blocked_piece_is_the_first_that_dense_samples_find(robot, kind):
    one = problem(robot, kind, 0)
    padded = one.checker.padded(PADDING, self_padding=PADDING)
    space = PlanningSpace.around(padded, one.start, one.goal[None], original=one.checker)
    rng, shares = np.random.default_rng(0), np.linspace(0.0, 1.0, 4000)[:, None]
    found = {True: 0, False: 0}
    for _ in range(40):
        rows = one.start + np.cumsum(rng.choice([0.02, 0.05, 0.15]) * rng.normal(size=(6, one.start.size)), axis=0)
        rows = np.clip(np.vstack([one.start, rows]), space.lower, space.upper)
        blocked = space.first_blocked(rows)
        pieces = [a + shares * (b - a) for a, b in itertools.pairwise(rows)]
        touching = [bool(one.checker.check(piece).any()) for piece in pieces]
        near = [bool(padded.check(piece).any()) for piece in pieces]
        found[blocked < 0] += 1
        if blocked < 0:
            assert not any(touching)
        else:
            # Between its samples a motion may come nearer than the padding, but not be refused without that.
            assert not any(touching[:blocked]) and near[blocked]
    assert min(found.values()) > 5


def test_a_repeated_point_and_no_motion_are_free():
    one = problem("panda", "table", 0)
    space = PlanningSpace.around(one.checker, one.start, one.goal[None])
    assert space.first_blocked(np.stack([one.start, one.start, one.start])) == -1


SCRIPT = """
import sys
sys.path.insert(0, "test")
from numba.core.dispatcher import Dispatcher
from manipapy_core.motion import PoseGoal, plan, warm_up
from manipapy_core.motion.planners import registry, rrt_connect
from motion.scenes import problem

one = problem("panda", "slot", 2)
warm_up(one.checker)
names, load = [], Dispatcher.compile
Dispatcher.compile = lambda self, types: names.append(self.py_func.__name__) or load(self, types)
rrt_connect.SLICE, registry.RESTART_AFTER = 16, 64
assert plan(one.checker, one.start, PoseGoal(one.T_goal), timeout=60.0).success
print(names)
"""


def test_after_warm_up_a_long_search_compiles_nothing():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip().endswith("[]")
