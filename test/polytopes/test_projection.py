"""The exact projection against closed forms and against Qhull; flat and empty sets are answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from manipapy_core.errors import InputError, ShapeError
from manipapy_core.polytopes import JointSet, hull3d, project, projection
from polytopes.scipy_route import interior, random_scene, volume


def test_a_box_maps_to_itself():
    found = project(np.eye(3), JointSet.box([-1, -2, -3], [1, 2, 3.5]))
    assert found.volume == pytest.approx(2 * 4 * 6.5, rel=1e-14)
    assert len(found.vertices) == 8 and len(found.triangles) == 12 and len(found.normals) == 6
    assert np.allclose(sorted(np.abs(found.normals).max(axis=1)), 1.0)
    assert found.bounds[0] == pytest.approx([-1, -2, -3]) and found.bounds[1] == pytest.approx([1, 2, 3.5])


def test_planar_two_joint_arm_has_the_parallelogram_of_its_columns():
    # Two unit links at q = (0, π/2): columns (-1, 1) and (-1, 0), speeds 2 and 3: area 4 · 2 · 3 · |det|.
    found = project([[-1.0, -1.0], [1.0, 0.0]], JointSet.box([-2, -3], [2, 3]))
    assert found.d == 2 and found.dimension == 2 and found.volume == pytest.approx(24.0)
    assert len(found.vertices) == 4 and len(found.normals) == 4


def test_planar_arm_in_space_is_flat_and_keeps_its_area():
    found = project([[-1.0, -1.0], [1.0, 0.0], [0.0, 0.0]], JointSet.box([-2, -3], [2, 3]))
    assert found.is_flat and found.dimension == 2 and found.volume == 0.0
    assert found.measure == pytest.approx(24.0)
    assert len(found.triangles) == 2
    assert found.contains([0.1, 0.2, 0.0]) and not found.contains([0.1, 0.2, 1e-3])


def test_one_direction_gives_an_interval():
    found = project([[1.0, -2.0, 0.5]], JointSet.box([-1, -1, -1], [1, 2, 1]), offset=[10.0])
    assert sorted(found.vertices[:, 0]) == pytest.approx([10 - 5.5, 10 + 3.5])
    assert found.volume == pytest.approx(9.0)
    assert found.contains([[4.5], [13.5]]).all() and not found.contains([13.6])


def test_zero_map_gives_a_point():
    found = project(np.zeros((3, 2)), JointSet.box([-1, -1], [1, 1]), offset=[1, 2, 3])
    assert found.dimension == 0 and found.vertices.tolist() == [[1, 2, 3]]
    assert found.contains([1, 2, 3]) and not found.contains([1, 2, 3.01])


def test_a_line_in_space():
    found = project(np.outer([0.6, 0.0, 0.8], [1.0, 2.0]), JointSet.box([-1, -1], [1, 1]))
    assert found.dimension == 1 and found.measure == pytest.approx(6.0)
    assert found.contains([0.6, 0.0, 0.8]) and not found.contains([0.6, 0.1, 0.8])


def test_contradicting_rows_are_an_empty_polytope():
    joints = JointSet(-np.ones(4), np.ones(4), [[1, 1, 0, 0], [-1, -1, 0, 0]], [-0.5, -0.5])
    found = project(np.random.default_rng(0).normal(size=(3, 4)), joints)
    assert found.is_empty and found.volume == 0.0 and not found.contains([0, 0, 0])
    assert project(np.eye(2, 4), JointSet.box(np.ones(4), -np.ones(4))).is_empty


def test_two_opposite_rows_make_it_flat():
    M = np.random.default_rng(1).normal(size=(3, 3))
    flat = project(M, JointSet.box(-np.ones(3), np.ones(3)).with_rows([M[2], -M[2]], [0.1, -0.1]))
    assert flat.dimension == 2 and np.allclose(flat.vertices[:, 2], 0.1, atol=1e-12)


@pytest.mark.parametrize("cuts", [0, 1, 4, 12, 24])
def test_volume_is_that_of_qhull(cuts):
    rng = np.random.default_rng(cuts)
    for _ in range(12):
        matrix, joints = random_scene(rng, cuts)
        found = project(matrix, joints)
        assert found.volume == pytest.approx(volume(matrix, joints), rel=1e-9)
        assert np.allclose(found.preimages @ matrix.T, found.vertices, atol=1e-12)
        assert joints.contains(found.preimages).all()
        assert found.contains(found.vertices).all()
        # The corners' own hull has the same volume: no corner too many, none missing.
        assert ConvexHull(found.vertices).volume == pytest.approx(found.volume, rel=1e-9)


def test_surface_is_closed_and_faces_outward():
    found = project(*random_scene(np.random.default_rng(7), 6))
    edges = np.concatenate([found.triangles[:, [0, 1]], found.triangles[:, [1, 2]], found.triangles[:, [2, 0]]])
    assert {tuple(edge) for edge in edges} == {tuple(edge) for edge in edges[:, ::-1]}
    corners = found.vertices[found.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert ((corners[:, 0] - found.centroid) * normals).sum(axis=1).min() > 0.0


def test_sets_without_the_origin_and_nearly_flat_sets():
    rng = np.random.default_rng(11)
    empty = 0
    for index in range(60):
        flatten = 10.0 ** -rng.integers(1, 6) if index % 3 == 0 else 1.0
        matrix, joints = random_scene(rng, int(rng.integers(5, 20)), around_origin=False, flatten=flatten)
        found, ball = project(matrix, joints), interior(joints)
        if ball is None:
            assert found.is_empty
            empty += 1
        elif ball[3] > 1e-6:
            wanted = volume(matrix, joints)
            assert found.volume == pytest.approx(wanted, rel=1e-7 if flatten == 1.0 else 1e-5)
    assert empty > 3


def test_known_points_are_inside_and_known_outside_points_are_not():
    rng = np.random.default_rng(3)
    matrix, joints = random_scene(rng, 8)
    found = project(matrix, joints)
    y = rng.uniform(joints.lower, joints.upper, (4000, 7))
    y = y[joints.contains(y)]
    assert len(y) > 5 and found.contains(y @ matrix.T).all()
    assert not found.contains(found.vertices * 1.001 - found.centroid * 0.001, tolerance=1e-12).any()


@pytest.mark.parametrize(("matrix", "error"), [(np.ones((4, 2)), ShapeError), ([[np.nan, 1.0]], InputError)])
def test_bad_matrices_are_refused(matrix, error):
    with pytest.raises(error):
        project(matrix, JointSet.box([-1, -1], [1, 1]))


def test_unbounded_joints_are_refused():
    with pytest.raises(InputError, match="give every joint a bound"):
        JointSet.box([-1, -np.inf], [1, 1])


def test_degenerate_facet_gives_no_half_space():
    """A tetrahedron with a fifth point on one edge, closed by a facet without area."""
    X = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0, 0]])
    corners = np.array([[0, 2, 1], [0, 1, 4], [0, 4, 3], [4, 1, 3], [1, 2, 3], [2, 0, 3]])
    planes = np.zeros((6, 4))
    areas = [hull3d.set_plane(X, corners, facet, planes) for facet in range(6)]
    assert areas[1] == 0.0 and hull3d.is_closed_and_convex(X, 5, corners, 6, planes, 1e-8)
    points, _, triangles, normals, offsets, volume = projection._in_caller_coordinates(
        X, X, corners, planes, np.eye(3), np.zeros(3), np.zeros(3), np.ones(3)
    )
    assert volume == pytest.approx(1 / 6) and len(triangles) == 6
    assert len(normals) == 4 and (points @ normals.T <= offsets + 1e-12).all()


@pytest.mark.parametrize("number", range(3))
def test_a_crowded_arm_has_a_polytope(number):
    """Velocities of a Panda among ten boxes, with slivers among the faces: no hull of these was found once."""
    data = np.load(Path(__file__).parent / "data" / "crowded_panda.npz")
    matrix, A, b = (data[f"{name}_{number}"] for name in ("matrix", "A", "b"))
    found = project(matrix, JointSet(-np.ones(7), np.ones(7), A, b))
    assert found.volume == pytest.approx(ConvexHull(found.vertices).volume, rel=1e-9)
    assert (found.vertices @ found.normals.T - found.offsets).max() < 1e-12
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    for direction in np.random.default_rng(0).normal(size=(30, 3)):
        farthest = linprog(-direction @ matrix, A_ub=A, b_ub=b, bounds=[(-1.0, 1.0)] * 7, options=exact)
        assert (found.vertices @ direction).max() == pytest.approx(-farthest.fun, abs=1e-8)
