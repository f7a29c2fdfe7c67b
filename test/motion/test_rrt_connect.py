"""RRT-Connect and shortcuts: collision-free by coal, the same for the same seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from manipapy_core.motion import Planner, PlanningSpace, plan
from manipapy_core.motion.deadline import Deadline
from manipapy_core.motion.planners import rrt_connect
from manipapy_core.motion.planners.edges import next_random, seed_random
from manipapy_core.motion.planners.registry import first_path
from manipapy_core.motion.planners.shortcut import shorten
from manipapy_core.motion.space import PADDING, STEP
from motion.scenes import KINDS, coal_scene, problem


def space_of(one):
    robot = one.checker.padded(PADDING)
    return PlanningSpace.around(robot, one.start, one.goal[None], original=one.checker)


def dense(path, step):
    pieces = [
        a + (b - a) * np.linspace(0.0, 1.0, max(2, int(np.linalg.norm(b - a) / step)))[:, None]
        for a, b in itertools.pairwise(path)
    ]
    return np.vstack(pieces)


def length(path):
    return np.linalg.norm(np.diff(path, axis=0), axis=1).sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_paths_are_free_by_coal_and_get_shorter(robot, kind):
    one = problem(robot, kind, 0)
    space = space_of(one)
    path = first_path(space, one.start, one.goal[None], 0, Deadline(20.0)).path
    np.testing.assert_array_equal(path[0], one.start)
    np.testing.assert_array_equal(path[-1], one.goal)
    assert len(path) > 2
    shorter = shorten(space, path, seed=1)
    np.testing.assert_array_equal(shorter[[0, -1]], path[[0, -1]])
    assert length(shorter) < length(path)
    for rows in (path, shorter):
        assert not coal_scene(one).check(dense(rows, 0.02)).any()
        limits = one.checker.body.chain.limits
        assert np.all((rows >= limits.lower) & (rows <= limits.upper))


def test_coal_finds_collisions_on_the_straight_line():
    one = problem("panda", "table", 0)
    assert coal_scene(one).check(dense(np.stack([one.start, one.goal]), 0.02)).any()


def test_the_same_seed_gives_the_same_path_and_another_one_another():
    one = problem("panda", "cage", 1)
    first, again, other = (
        plan(one.checker, one.start, one.goal, seed=seed, law=None, timeout=60.0).path for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert first.shape != other.shape or not np.array_equal(first, other)


def test_slices_do_not_change_the_search():
    one = problem("panda", "cage", 2)
    space, paths = space_of(one), []
    for size in (7, 100_000):
        trees = rrt_connect.Trees.planted(one.start, one.goal[None], 5)
        while rrt_connect.search(space, trees, size, STEP) != rrt_connect.FOUND:
            assert trees.iterations < 100_000
        paths.append(trees.path())
    np.testing.assert_array_equal(*paths)


def test_trees_grow_beyond_their_first_capacity(monkeypatch):
    monkeypatch.setattr(rrt_connect, "FIRST_CAPACITY", 8)
    one = problem("panda", "cage", 2)
    space = space_of(one)
    small, large = (rrt_connect.Trees.planted(one.start, one.goal[None], 4) for _ in range(2))
    for _ in range(5):
        large.grow()
    for trees in (small, large):
        while rrt_connect.search(space, trees, 1000, STEP) != rrt_connect.FOUND:
            assert trees.iterations < 100_000
    assert 16 < small.nodes.shape[1] < large.nodes.shape[1]
    np.testing.assert_array_equal(small.path(), large.path())


def test_the_first_samples_are_near_start_and_goal():
    one = problem("ur5", "cage", 1)
    space = space_of(one)
    near, wide = space.bounds
    for bounds in (near, wide):
        assert np.all(bounds[0] <= np.minimum(one.start, one.goal)) and np.all(
            bounds[1] >= np.maximum(one.start, one.goal)
        )
    np.testing.assert_array_equal(wide, [space.lower, space.upper])
    assert np.all(near[0] >= wide[0]) and np.all(near[1] <= wide[1]) and not np.array_equal(near, wide)
    trees = rrt_connect.Trees.planted(one.start, one.goal[None], 0)
    rrt_connect.search(space, trees, rrt_connect.NEAR_SAMPLES, STEP)
    for tree in (0, 1):
        nodes = trees.nodes[tree, : trees.counts[tree]]
        assert np.all((nodes >= near[0]) & (nodes <= near[1]))


def test_the_nearest_of_several_goals_that_can_be_reached_is_taken():
    one = problem("panda", "table", 1)
    near = one.start + 0.02
    assert not one.checker.padded(PADDING).collides(near)
    result = plan(one.checker, one.start, np.stack([one.goal, near]), law=None)
    np.testing.assert_allclose(result.path[-1], near)
    assert result.goals == 2


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 250])
def test_nearest_is_that_of_numpy(count):
    space = space_of(problem("panda", "table", 1))
    rng = np.random.default_rng(0)
    columns, short = rng.normal(size=(2, 7, 256)).astype(np.float32), np.empty(7, dtype=np.float32)
    columns[:, :, count:] = np.nan  # what is behind the nodes must not matter
    for tree in (0, 1):
        for q in rng.normal(size=(50, 7)):
            squares = ((columns[tree, :, :count].T - q.astype(np.float32)) ** 2).sum(axis=1)
            found = rrt_connect.nearest(space.code, columns, tree, count, q, short)
            assert squares[found] <= squares.min() * (1.0 + 1e-6)


def test_random_numbers_are_even():
    state = np.zeros(1, dtype=np.uint64)
    for seed in (0, 1, 2**40):
        seed_random(state, seed)
        values = np.array([next_random(state) for _ in range(4000)])
        assert values.min() >= 0.0 and values.max() < 1.0
        counts = np.histogram(values, 10, (0.0, 1.0))[0]
        assert np.abs(counts - 400).max() < 100


def test_certified_motions_are_free_at_samples_of_any_density():
    """What is called free for certain has no collision at 50 samples per step of the search."""
    one = problem("ur5", "shelf", 0)
    space = space_of(one)
    rng = np.random.default_rng(3)
    lower, upper = space.lower, space.upper
    a = rng.uniform(lower, upper, (400, 6))
    b = a + rng.normal(scale=0.3, size=a.shape)
    certain = [space.is_free(x, y) for x, y in zip(a, b)]
    at_samples = [space.is_free_at_samples(x, y) for x, y in zip(a, b)]
    assert 20 < sum(certain) < 380
    assert not any(c and not s for c, s in zip(certain, at_samples))
    for x, y in (pair for pair, free in zip(zip(a, b), certain) if free):
        assert not one.checker.check(dense(np.stack([x, y]), STEP / 50)).any()


def test_reaches_bound_the_motion_of_every_sphere():
    from manipapy_core import kinematics

    one = problem("panda", "table", 0)
    body, chain = one.checker.body, one.checker.body.chain
    space = space_of(one)
    rng = np.random.default_rng(2)
    q = rng.uniform(chain.limits.lower, chain.limits.upper, (300, chain.n))
    names = list(chain.link_names)
    largest = np.zeros(chain.n)
    for joint in range(chain.n):
        moved = q.copy()
        moved[:, joint] += 1e-6
        before, after = kinematics.link_poses(chain, q), kinematics.link_poses(chain, moved)
        for link, spheres in body.link_spheres.items():
            centres = np.c_[spheres[:, :3], np.ones(len(spheres))].T
            way = (after[:, names.index(link)] - before[:, names.index(link)]) @ centres
            largest[joint] = max(largest[joint], np.linalg.norm(way[:, :3], axis=1).max() / 1e-6)
    assert np.all(largest <= space.reaches)
    assert np.all(space.reaches[:4] < 2.0 * largest[:4])


@pytest.mark.parametrize("planner", [Planner.OPTIMAL, Planner.OMPL])
def test_other_planners_find_free_paths(planner):
    one = problem("ur5", "shelf", 1)
    result = plan(one.checker, one.start, one.goal, planner=planner, timeout=60.0)
    assert result.success, result.message
    assert not one.checker.check(dense(result.path, 0.005)).any()
