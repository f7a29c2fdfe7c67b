"""Distances of convex shapes against coal."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.geometry import Box, Capsule, ConvexMesh, Cylinder, Sphere
from manipapy_core.geometry.exact import exact_distance
from manipapy_core.geometry.gjk import convex_distance

KINDS = ("sphere", "capsule", "cylinder", "box", "mesh")


def shape_of(kind, rng):
    a, b, c = rng.uniform(0.01, 0.2, 3)
    if kind == "mesh":
        return ConvexMesh(rng.normal(size=(int(rng.integers(4, 200)), 3)) * [a, b, c])
    return {"sphere": Sphere(a), "capsule": Capsule(a, b), "cylinder": Cylinder(a, b), "box": Box([a, b, c])}[kind]


def random_pose(rng):
    T = np.eye(4)
    T[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    T[:3, :3] *= np.sign(np.linalg.det(T[:3, :3]))
    T[:3, 3] = rng.uniform(-0.4, 0.4, 3)
    return T


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_distances_and_points_are_those_of_coal(first, second):
    rng = np.random.default_rng(KINDS.index(first) * 5 + KINDS.index(second))
    for index in range(40):
        shapes, poses = (shape_of(first, rng), shape_of(second, rng)), [random_pose(rng), random_pose(rng)]
        if index % 4 == 0:
            poses[1][:3, :3] = poses[0][:3, :3]  # parallel faces
        distance, p, other, n = convex_distance(shapes[0], poses[0], shapes[1], poses[1])
        told = exact_distance(shapes[0], poses[0], shapes[1], poses[1])
        if told.distance > 0.0:
            assert distance == pytest.approx(told.distance, abs=3e-6)
            assert other - p == pytest.approx(distance * n, abs=3e-6)
        else:
            assert distance < 1e-9


def test_a_shallow_overlap_is_measured():
    """A shape is pushed by a known depth into another along the shortest way between them."""
    rng = np.random.default_rng(9)
    compared = 0
    for _ in range(200):
        shapes = [shape_of(rng.choice(KINDS), rng) for _ in range(2)]
        poses = [random_pose(rng), random_pose(rng)]
        distance, _, _, n = convex_distance(shapes[0], poses[0], shapes[1], poses[1])
        if distance > 0.0:
            poses[1][:3, 3] -= (distance + 0.002) * n
            overlap, _, _, _ = convex_distance(shapes[0], poses[0], shapes[1], poses[1])
            compared += 1
            assert -0.0021 < overlap < 0.0
    assert compared > 100
