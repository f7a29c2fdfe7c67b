"""Compiled checks of curves, compared with dense samples of the same curves."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.motion.deadline import Deadline
from manipapy_core.motion.goals import distinct_rows
from manipapy_core.motion.planners.registry import first_path
from manipapy_core.motion.planners.shortcut import shorten
from manipapy_core.motion.space import PADDING, PlanningSpace
from manipapy_core.motion.timing.paths import BlendedPath, largest_radii, round_corners, rounded
from manipapy_core.motion.timing.time_laws import timed_trajectory
from manipapy_core.motion.verify import first_collision
from manipapy_core.trajectory import Spline
from manipapy_core.trajectory.bounds import motion_bounds
from manipapy_core.trajectory.spline import quintic_coefficients
from motion.scenes import problem


@pytest.mark.parametrize("robot", ["panda", "ur5"])
@pytest.mark.parametrize("seed", range(4))
def test_the_first_collision_is_where_dense_samples_have_it(robot, seed):
    one = problem(robot, "table", seed)
    checker, rng = one.checker, np.random.default_rng(seed)
    space = PlanningSpace.around(checker, one.start, one.goal[None])
    corners = np.stack([one.start, 0.5 * (one.start + one.goal) + rng.uniform(-0.2, 0.2, one.start.size), one.goal])
    trajectory, _ = timed_trajectory(rounded(corners, 0.2), motion_bounds(checker.body.chain))
    spline = Spline.of(trajectory)
    time, samples = first_collision(quintic_coefficients(trajectory), spline.lengths, space)
    times = np.linspace(0.0, trajectory.duration, 20_000)
    hits = checker.check(np.ascontiguousarray(spline.sample_many(times)[:, 0]))
    assert samples > 0
    if time is None:
        assert not hits.any()
    else:
        # Its own samples are a little denser or less dense than these.
        assert hits.any() and abs(times[np.argmax(hits)] - time) < 0.02


def test_quintics_of_a_trajectory_are_those_of_its_spline():
    one = problem("panda", "table", 0)
    corners = np.stack([one.start, one.start + 0.3, one.goal])
    trajectory, _ = timed_trajectory(rounded(corners, 0.2), motion_bounds(one.checker.body.chain))
    np.testing.assert_allclose(quintic_coefficients(trajectory), Spline.of(trajectory).coefficients, atol=1e-15)


def test_curves_and_their_derivatives():
    corners = np.random.default_rng(1).uniform(-1.0, 1.0, (6, 5))
    for radii in (largest_radii(corners), 0.3 * largest_radii(corners), np.zeros(4)):
        path = BlendedPath(corners, radii)
        s, h = np.linspace(1e-4, path.length - 1e-4, 4000), 1e-6
        _, slope, bend = path.evaluate(s)
        ahead, behind = path.evaluate(s + h), path.evaluate(s - h)
        smooth = np.abs(s[:, None] - path.marks).min(axis=1) > 1e-4 if not radii.any() else np.ones(len(s), dtype=bool)
        np.testing.assert_allclose((ahead[0] - behind[0])[smooth] / (2.0 * h), slope[smooth], atol=1e-7)
        np.testing.assert_allclose((ahead[1] - behind[1])[smooth] / (2.0 * h), bend[smooth], atol=1e-3)
        grid = path.grid()
        assert grid[0] == 0.0 and grid[-1] == path.length and np.diff(grid).min() > 0.0
        for mark, radius in zip(path.marks[1:-1], radii):
            assert np.abs(grid - (mark - radius)).min() < 1e-12 and np.abs(grid - (mark + radius)).min() < 1e-12


def test_rounded_corners_are_free_and_as_large_as_can_be():
    blocked = 0
    for seed in range(6):
        one = problem("ur5", "cage", seed)
        padded = one.checker.padded(PADDING, self_padding=PADDING)
        space = PlanningSpace.around(padded, one.start, one.goal[None], original=one.checker)
        path = shorten(space, first_path(space, one.start, one.goal[None], seed, Deadline(20.0)).path, tries=2)
        smooth = round_corners(space, path)
        assert not one.checker.check(smooth.evaluate(np.linspace(0.0, smooth.length, 5000))[0]).any()
        for corner in np.flatnonzero(smooth.radii < 0.99 * largest_radii(path)):
            larger = BlendedPath(path, np.where(np.arange(len(smooth.radii)) == corner, 2.0, 1.0) * smooth.radii)
            mark, radius = larger.marks[corner + 1], larger.radii[corner]
            s = np.linspace(mark - radius, mark + radius, 5000)
            blocked += padded.check(larger.evaluate(s)[0]).any()
            assert padded.check(larger.evaluate(s)[0]).any()
    assert blocked


def test_distinct_rows_are_sorted_and_far_apart():
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(20, 6)), 3, axis=0) + rng.uniform(-4e-4, 4e-4, (60, 6))
    start = rng.normal(size=6)
    kept = distinct_rows(rng.permutation(rows), start, 1e-3)
    assert len(kept) == 20
    assert np.all(np.diff(np.linalg.norm(kept - start, axis=1)) >= 0.0)
