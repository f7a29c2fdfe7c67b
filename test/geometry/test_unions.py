"""The union of parts and the choice of balls, by a second route."""

from __future__ import annotations

import numpy as np

from geometry.arms import union_distance
from manipapy_core import lie
from manipapy_core.geometry import Box, ConvexMesh, Sphere
from manipapy_core.geometry.cover import _gap
from manipapy_core.geometry.parts import Part
from manipapy_core.geometry.set_cover import choose_balls
from manipapy_core.geometry.unions import PartUnion

RNG = np.random.default_rng(8)


def some_parts():
    shapes = [ConvexMesh(0.1 * RNG.normal(size=(25, 3))) for _ in range(6)] + [Box([0.1, 0.2, 0.1]), Sphere(0.1)]
    poses = [lie.pose(lie.exp_so3(RNG.normal(size=3)), RNG.uniform(-0.3, 0.3, 3)) for _ in shapes]
    return [Part(shape, T) for shape, T in zip(shapes, poses)]


def test_distance_and_nearest_part_are_those_of_the_parts_alone():
    parts = some_parts()
    points = RNG.uniform(-0.6, 0.6, (3000, 3))
    distances, nearest = PartUnion(parts).nearest(points)
    np.testing.assert_allclose(distances, union_distance(parts, points), atol=1e-12)
    own = np.array([part.signed_distance(points) for part in parts])
    np.testing.assert_allclose(own[nearest, np.arange(len(points))], distances, atol=1e-12)


def test_within_asks_each_part_for_its_own_distance():
    parts = some_parts()
    points = RNG.uniform(-0.6, 0.6, (3000, 3))
    limits = RNG.uniform(-0.02, 0.05, len(parts))
    own = np.array([part.signed_distance(points) for part in parts])
    np.testing.assert_array_equal(PartUnion(parts).within(points, limits), np.any(own <= limits[:, None], axis=0))


def test_chosen_balls_hold_all_points_that_any_holds_and_each_is_needed():
    centres, radii = RNG.uniform(-1.0, 1.0, (400, 3)), RNG.uniform(0.1, 0.3, 400)
    points = RNG.uniform(-1.0, 1.0, (500, 3))
    held = np.linalg.norm(points[:, None] - centres, axis=2) < radii
    chosen = choose_balls(centres, radii, points)
    np.testing.assert_array_equal(held[:, chosen].any(axis=1), held.any(axis=1))
    for ball in chosen:
        others = [other for other in chosen if other != ball]
        assert not np.array_equal(held[:, others].any(axis=1), held.any(axis=1))
    # The first one holds most points of all.
    assert held[:, chosen].sum(axis=0).max() == held.sum(axis=0).max()


def test_gaps_do_not_depend_on_which_points_are_looked_at_together():
    spheres = np.column_stack([RNG.uniform(-1.0, 1.0, (60, 3)), RNG.uniform(0.1, 0.4, 60)])
    points = np.round(RNG.uniform(-1.2, 1.2, (1001, 3)), 1)
    far = np.min(np.linalg.norm(points[:, None] - spheres[:, :3], axis=2) - spheres[:, 3], axis=1)
    np.testing.assert_array_equal(_gap(points, spheres, -0.05), far > -0.05)
