"""Intersections, slices, sums, largest balls and margins, each against SciPy or a closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection

from manipapy_core.errors import InputError
from manipapy_core.polytopes import (
    JointSet,
    Unbounded,
    from_halfspaces,
    intersect,
    minkowski_sum,
    project,
    slice_by_plane,
)
from polytopes.scipy_route import random_scene


@pytest.fixture
def pair():
    rng = np.random.default_rng(5)
    return project(*random_scene(rng, 5)), project(*random_scene(rng, 3))


def cube(half=1.0):
    return project(np.eye(3), JointSet.box(-half * np.ones(3), half * np.ones(3)))


def test_polytope_is_recovered_from_its_half_spaces(pair):
    again = from_halfspaces(pair[0].normals, pair[0].offsets)
    assert again.volume == pytest.approx(pair[0].volume, rel=1e-9)
    assert len(again.normals) == len(pair[0].normals)


def test_unbounded_half_spaces_are_refused_or_clipped():
    with pytest.raises(Unbounded, match=r"\[0\.0, 0\.0, 1\.0\]"):
        from_halfspaces([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, -1]], np.ones(5))
    clipped = from_halfspaces([[1.0], [-1.0]], [2.0, 1e9], limit=100.0, clip=True)
    assert sorted(clipped.vertices[:, 0]) == pytest.approx([-100.0, 2.0])


def test_intersection_is_that_of_scipy(pair):
    found = intersect(*pair)
    rows = np.concatenate([np.column_stack([p.normals, -p.offsets]) for p in pair])
    wanted = ConvexHull(HalfspaceIntersection(rows, found.largest_ball.centre).intersections).volume
    assert found.volume == pytest.approx(wanted, rel=1e-9)
    assert all(polytope.contains(found.vertices).all() for polytope in pair)


def test_polytopes_apart_have_an_empty_intersection():
    far = project(np.eye(3), JointSet.box(-np.ones(3), np.ones(3)), offset=[3.0, 0, 0])
    assert intersect(cube(), far).is_empty


def test_sum_is_the_hull_of_all_sums_of_corners(pair):
    found = minkowski_sum(*pair)
    sums = (pair[0].vertices[:, None] + pair[1].vertices[None]).reshape(-1, 3)
    assert found.volume == pytest.approx(ConvexHull(sums).volume, rel=1e-9)


def test_sum_of_a_cube_and_a_flat_square():
    square = project(np.eye(3, 2), JointSet.box([-1, -1], [1, 1]))
    assert minkowski_sum(cube(), square).volume == pytest.approx(4 * 4 * 2)


def test_a_slice_lies_in_the_plane_and_has_its_area(pair):
    found = slice_by_plane(pair[0], [0, 0, 2.0], 0.05)
    assert found.dimension == 2 and np.allclose(found.vertices[:, 2], 0.05, atol=1e-9)
    # Cavalieri: slices summed over the height are the volume.
    low, high = pair[0].bounds[0][2], pair[0].bounds[1][2]
    heights = low + (np.arange(120) + 0.5) / 120 * (high - low)
    areas = [slice_by_plane(pair[0], [0, 0, 1], height).measure for height in heights]
    assert np.mean(areas) * (high - low) == pytest.approx(pair[0].volume, rel=2e-3)


def test_a_thick_slice_is_solid_and_one_beside_the_set_is_empty():
    assert slice_by_plane(cube(), [1, 0, 0], 0.0, width=0.5).volume == pytest.approx(2.0)
    assert slice_by_plane(cube(), [1, 0, 0], 2.0).is_empty
    with pytest.raises(InputError, match="not all zero"):
        slice_by_plane(cube(), [0, 0, 0])


def test_largest_ball_is_that_of_a_linear_program(pair):
    polytope = pair[0]
    rows = np.column_stack([polytope.normals, np.ones(len(polytope.normals))])
    wanted = linprog([0, 0, 0, -1], A_ub=rows, b_ub=polytope.offsets, bounds=[(None, None)] * 3 + [(0, None)])
    assert polytope.largest_ball.radius == pytest.approx(wanted.x[3], rel=1e-9)
    assert polytope.margin(polytope.largest_ball.centre) == pytest.approx(wanted.x[3], rel=1e-9)


def test_capacity_margin_is_the_least_distance_to_a_face():
    required = cube(0.4).vertices
    assert cube().margin(required) == pytest.approx(0.6)
    assert cube(0.3).margin(required) == pytest.approx(-0.1)


def test_largest_ball_of_a_flat_polytope_has_zero_radius():
    square = project(np.eye(3, 2), JointSet.box([-1, -1], [1, 1]))
    assert square.largest_ball.radius == 0.0 and square.centroid == pytest.approx([0, 0, 0])


def test_empty_polytope_reports_that_it_is_empty():
    empty = intersect(cube(), project(np.eye(3), JointSet.box(4 * np.ones(3), 5 * np.ones(3))))
    assert empty.margin([0, 0, 0]) == -np.inf
    with pytest.raises(InputError, match="is_empty"):
        _ = empty.bounds
