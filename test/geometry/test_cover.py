"""Covering spheres contain the link and exceed it by no more than the given overshoot."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import ENDS, arm, at, union_distance
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, Capsule, ConvexMesh, Cylinder, Sphere
from manipapy_core.geometry.cover import cover, uncovered
from manipapy_core.geometry.parts import Part, centred_part, convex_of, enclosing_ball

MESH = ConvexMesh(0.04 * np.random.default_rng(5).normal(size=(30, 3)))


def points_of(parts, count=8000):
    corners = np.concatenate([part.corners() for part in parts])
    points = np.random.default_rng(6).uniform(corners.min(axis=0), corners.max(axis=0), (count, 3))
    return points[union_distance(parts, points) <= 0.0]


def gap(points, spheres):
    return np.min(np.linalg.norm(points[:, None] - spheres[:, :3], axis=2) - spheres[:, 3], axis=1)


@pytest.mark.parametrize("name", ENDS)
def test_every_link_is_covered(name):
    _, _, body = arm(name)
    for group in body.groups:
        assert gap(points_of(group.parts), group.spheres).max() <= 0.0, group.name


def test_the_proof_holds_for_a_whole_arm():
    robot, _, body = arm("ur5")
    for group in body.groups:
        # In the frame of the link, where the cubes of the proof lie as when the spheres were chosen.
        shapes = robot.links[group.name].collisions
        parts = [centred_part(convex_of(shape.geometry), shape.T_link_shape) for shape in shapes]
        spheres = body.link_spheres[group.name] + [0.0, 0.0, 0.0, 1e-12]  # they were turned there and back
        assert len(uncovered(parts, spheres, body.overshoot)) == 0, group.name


@pytest.mark.parametrize("name", ENDS)
def test_spheres_extend_at_most_the_overshoot(name):
    _, _, body = arm(name)
    d = np.random.default_rng(7).normal(size=(100, 3))
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    for group in body.groups:
        surface = (group.spheres[:, None, :3] + group.spheres[:, None, 3:4] * d).reshape(-1, 3)
        assert union_distance(group.parts, surface).max() <= body.overshoot + 1e-9
        filled = (group.spheres[:, None, :3] + group.spheres[:, None, 4:5] * d).reshape(-1, 3)
        assert union_distance(group.parts, filled).max() <= 1e-9


def test_the_proof_finds_a_sphere_that_is_too_small():
    parts = [Part(Sphere(0.1), np.eye(4))]
    spheres = np.array([[0.0, 0.0, 0.0, 0.103, 0.1]])
    assert len(uncovered(parts, spheres, 0.02)) == 0
    spheres[0, 3] = 0.099
    assert len(uncovered(parts, spheres, 0.02)) > 0


@pytest.mark.parametrize("shape", [Sphere(0.1), Capsule(0.05, 0.2), Cylinder(0.05, 0.02), MESH, Box([0.02, 0.2, 0.1])])
@pytest.mark.parametrize("overshoot", [0.012, 0.03])
def test_single_shapes_are_covered(shape, overshoot):
    parts = [Part(shape, np.eye(4))]
    spheres = cover(parts, overshoot)
    assert gap(points_of(parts, 5000), spheres).max() <= 0.0
    if isinstance(shape, Sphere):
        assert len(spheres) == 1


@pytest.mark.parametrize("shape", [Sphere(0.1), Capsule(0.05, 0.2), Cylinder(0.05, 0.02), MESH, Box([0.02, 0.2, 0.1])])
def test_enclosing_ball_holds_everything(shape):
    parts = [Part(shape, np.eye(4)), Part(Sphere(0.05), at(0.2))]
    centre, radius = enclosing_ball(parts)
    assert np.linalg.norm(points_of(parts) - centre, axis=1).max() <= radius + 1e-9


def test_absurd_overshoot_is_refused():
    with pytest.raises(InputError, match="overshoot"):
        cover([Part(Sphere(0.1), np.eye(4))], 0.0)


def test_spheres_per_link_are_in_the_frame_of_the_link():
    robot, _, body = arm("panda")
    for link, spheres in body.link_spheres.items():
        shapes = robot.links[link].collisions
        middles = np.array([shape.T_link_shape[:3, 3] for shape in shapes])
        assert gap(middles, spheres).max() < 0.0
