"""Shapes: distances and farthest points against brute force, and refusal of what is no shape."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.errors import InputError
from manipapy_core.geometry import (
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Octomap,
    Plane,
    PointCloud,
    Sphere,
    World,
    signed_distance,
    support,
)

CUBE = np.array(np.meshgrid(*3 * [[-0.1, 0.1]])).reshape(3, -1).T
CONVEX = [Sphere(0.2), Capsule(0.1, 0.3), Cylinder(0.1, 0.3), Box([0.1, 0.2, 0.3]), ConvexMesh(CUBE + 0.05)]
each_convex = pytest.mark.parametrize("shape", CONVEX, ids=lambda shape: type(shape).__name__)


def directions(count=2000):
    d = np.random.default_rng(0).normal(size=(count, 3))
    return d / np.linalg.norm(d, axis=1, keepdims=True)


@each_convex
def test_farthest_points_lie_on_the_surface(shape):
    assert np.abs(signed_distance(shape, support(shape, directions()))).max() < 1e-12


@each_convex
def test_no_inside_point_lies_farther_than_the_support(shape):
    points = np.random.default_rng(1).uniform(-0.5, 0.5, (20000, 3))
    inside = points[signed_distance(shape, points) < 0]
    d = directions(200)
    reach = np.sum(support(shape, d) * d, axis=1)
    assert np.all(inside @ d.T <= reach + 1e-12)


@each_convex
def test_distance_outside_lies_between_planes_and_points(shape):
    """No plane in front of the shape is farther away than the shape, and no point of it is nearer."""
    points = np.random.default_rng(2).uniform(-0.6, 0.6, (300, 3))
    outside = points[signed_distance(shape, points) > 0.02]
    d = directions(5000)
    surface = support(shape, d)
    distance = signed_distance(shape, outside)
    planes = np.max(outside @ d.T - np.sum(surface * d, axis=1), axis=1)
    nearest = np.min(np.linalg.norm(outside[:, None] - surface, axis=2), axis=1)
    assert np.all(distance <= nearest + 1e-12)
    # For meshes the distance is a lower bound beyond their edges.
    assert isinstance(shape, ConvexMesh) or np.all(distance >= planes - 1e-12)


@each_convex
def test_distance_is_lipschitz(shape):
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-0.6, 0.6, (2, 5000, 3))
    change = np.abs(signed_distance(shape, a) - signed_distance(shape, b))
    assert np.all(change <= np.linalg.norm(a - b, axis=1) + 1e-12)


def test_plane_takes_any_length_of_its_normal():
    plane = Plane([0, 0, 5], 0.2)
    assert signed_distance(plane, [[0, 0, 1], [3, 1, 0]]) == pytest.approx([0.8, -0.2])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Sphere(0.0), "radius"),
        (lambda: Sphere(float("nan")), "finite"),
        (lambda: Sphere("big"), "finite"),
        (lambda: Capsule(0.1, -1.0), "length"),
        (lambda: Cylinder(float("inf"), 1.0), "radius"),
        (lambda: Box([0.1, 0.0, 0.1]), "edge"),
        (lambda: Box([0.1, 0.1]), "shape"),
        (lambda: Box([0.1, float("nan"), 0.1]), "nan"),
        (lambda: Box([1e4, 1.0, 1.0]), "100"),
        (lambda: ConvexMesh(np.zeros((3, 3))), "at least 4"),
        (lambda: ConvexMesh(np.random.default_rng(0).normal(size=(20, 3)) * [1, 1, 0]), "one plane"),
        (lambda: ConvexMesh([[0, 0, float("inf")]] * 5), "inf"),
        (lambda: Plane([0, 0, 0]), "zero"),
        (lambda: Plane([0, 0, 1], float("nan")), "offset"),
        (lambda: PointCloud(np.empty((0, 3))), "empty"),
        (lambda: PointCloud([[0, 0, float("nan")]]), "nan"),
        (lambda: PointCloud([[0, 0, 0]], cell=0.0), "cell"),
        (lambda: PointCloud([[-50, 0, 0], [50, 50, 50]], cell=0.01), "crop"),
        (lambda: Octomap([[0, 0, 0]], [0.1, 0.2]), "one size per leaf"),
        (lambda: Octomap([[0, 0, 0], [1, 0, 0]], [0.1, 0.25]), "multiples"),
        (lambda: World().add("item", "a box"), "Sphere"),
        (lambda: World().add("", Sphere(0.1)), "named"),
        (lambda: World().add("item", Sphere(0.1), np.eye(3)), "shape"),
        (lambda: World().add("item", Sphere(0.1), 2 * np.eye(4)), "rotation"),
        (lambda: World().move("nothing", np.eye(4)), "no object"),
    ],
)
def test_bad_shape_is_refused_with_a_reason(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_arrays_of_shapes_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        Box([1, 1, 1]).size[0] = 2
