"""Roadmaps against shortest paths of SciPy, the optimal planner, the potential field against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from geometry.arms import arm
from manipapy_core import InputError
from manipapy_core.geometry import Checker
from manipapy_core.motion import Planner, PlanningSpace, PlanStatus, Roadmap, plan
from manipapy_core.motion.planners.optimal import ellipsoid_samples
from manipapy_core.motion.planners.potential_field import gradient, potential
from manipapy_core.motion.planners.roadmap import correct_labels
from motion.scenes import READY, problem


@pytest.fixture(scope="module")
def table():
    return problem("panda", "table", 3)


def test_roadmap_answers_many_queries(table):
    roadmap = Roadmap.build(table.checker, nodes=600, seed=1)
    solved = 0
    for a, b in ((table.start, table.goal), (table.goal, table.start), (READY["panda"], table.goal)):
        result = plan(table.checker, a, b, planner=roadmap, timeout=60.0)
        assert result.status in (PlanStatus.SUCCESS, PlanStatus.NO_PATH)
        if result.success:
            solved += 1
            np.testing.assert_array_equal(result.path[[0, -1]], [a, b])
            assert result.verification.passed
    assert solved >= 2


def test_roadmap_of_another_world_is_refused(table):
    other = problem("panda", "table", 4)
    roadmap = Roadmap.build(other.checker, nodes=50)
    with pytest.raises(InputError, match="build a new one"):
        plan(table.checker, table.start, table.goal, planner=roadmap)


def test_shortest_paths_are_those_of_scipy():
    rng = np.random.default_rng(0)
    nodes = 60
    weights = np.triu(rng.uniform(0.1, 1.0, (nodes, nodes)) * (rng.uniform(size=(nodes, nodes)) < 0.1), 1)
    weights = weights + weights.T
    graph = csr_array(weights)
    cost, via = correct_labels(graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data, 0)
    np.testing.assert_allclose(cost, dijkstra(graph, indices=0))
    for node in np.flatnonzero(np.isfinite(cost))[1:]:
        assert graph.indices[via[node]] == node


def test_more_effort_never_makes_the_path_longer():
    one = problem("ur5", "cage", 1)
    quick = plan(one.checker, one.start, one.goal, law=None, timeout=60.0)
    best = plan(one.checker, one.start, one.goal, planner=Planner.OPTIMAL, law=None, timeout=60.0)
    assert best.success and best.length <= quick.length * (1.0 + 1e-9)
    assert best.length >= np.linalg.norm(one.goal - one.start)
    again = plan(one.checker, one.start, one.goal, planner=Planner.OPTIMAL, law=None, timeout=60.0)
    np.testing.assert_array_equal(best.path, again.path)


def test_informed_samples_are_inside_their_ellipsoid(table):
    space = PlanningSpace.around(table.checker, table.start, table.goal[None])
    length = 1.3 * np.linalg.norm(table.goal - table.start)
    q = ellipsoid_samples(np.random.default_rng(0), table.start, table.goal[None], length, 500, space)
    through = np.linalg.norm(q - table.start, axis=1) + np.linalg.norm(q - table.goal, axis=1)
    assert len(q) > 50 and np.all(through <= length * (1.0 + 1e-9)) and through.max() > 0.9 * length


def test_potential_field_descends_and_reports_when_it_is_stuck(table):
    space = PlanningSpace.around(table.checker, table.start, table.goal[None])
    slope = gradient(space, table.start, table.goal)
    down = table.start - 1e-3 * slope / np.linalg.norm(slope)
    values = potential(space, np.stack([table.start, down]), table.goal)
    assert values[1] < values[0]
    free = Checker(arm("panda")[2])
    assert plan(free, READY["panda"], READY["panda"] + 0.4, planner=Planner.POTENTIAL_FIELD).success
    hard = problem("panda", "slot", 0)
    stuck = plan(hard.checker, hard.start, hard.goal, planner=Planner.POTENTIAL_FIELD, timeout=60.0)
    assert stuck.status is PlanStatus.NO_PATH and "stuck" in stuck.message
