"""Point clouds and octomaps: the grid of distances against brute force."""

from __future__ import annotations

import time

import numpy as np
from geometry.arms import arm, configurations

from manipapy_core import kinematics
from manipapy_core.geometry import Checker, Octomap, PointCloud, World
from manipapy_core.geometry.fields import REACH


def test_field_is_the_distance_between_cells():
    rng = np.random.default_rng(0)
    cloud = PointCloud(rng.uniform(-0.2, 0.2, (15, 3)), cell=0.05)
    occupied = np.floor(cloud.points / 0.05)
    x = rng.uniform(-0.5, 0.5, (500, 3))
    between = np.maximum(np.abs(np.floor(x / 0.05)[:, None] - occupied) - 1, 0) * 0.05
    expected = np.minimum(np.linalg.norm(between, axis=2).min(axis=1), REACH)
    assert np.allclose(cloud.distance(x), expected, atol=1e-6)


def test_field_is_never_more_than_the_distance_to_the_points():
    rng = np.random.default_rng(1)
    cloud = PointCloud(rng.uniform(-0.3, 0.3, (200, 3)))
    x = rng.uniform(-0.5, 0.5, (2000, 3))
    true = np.linalg.norm(x[:, None] - cloud.points, axis=2).min(axis=1)
    found = cloud.distance(x)
    assert np.all(found <= true + 1e-6)
    near = true < REACH
    assert np.all(found[near] >= true[near] - 2 * np.sqrt(3) * 0.02 - 1e-6)


def test_large_leaves_fill_their_cells():
    tree = Octomap([[0.1, 0.1, 0.1], [0.225, 0.025, 0.025]], [0.2, 0.05])
    x = np.random.default_rng(2).uniform(0.0, 0.2, (500, 3))
    assert np.all(tree.distance(x) == 0.0)
    assert tree.distance([[0.225, 0.025, 0.025]]) == 0.0
    assert tree.distance([[0.4, 0.1, 0.1]]) > 0.05


def test_checker_agrees_with_spheres_against_the_field():
    _, chain, body = arm("ur5")
    rng = np.random.default_rng(3)
    cloud = PointCloud(rng.uniform([-0.8, -0.8, 0.2], [0.8, 0.8, 1.0], (60, 3)))
    world = World()
    world.add("cloud", cloud)
    q = configurations(chain, 1000)
    told, alone = Checker(body, world).check(q), Checker(body).check(q)
    poses = kinematics.link_poses(chain, q)
    expected = alone.copy()
    for link in body.moving_links:
        spheres = body.link_spheres[link]
        T = poses[:, chain.link_names.index(link)]
        centres = np.einsum("nij,kj->nki", T[:, :3, :3], spheres[:, :3]) + T[:, None, :3, 3]
        expected |= np.any(cloud.distance(centres) < spheres[:, 3], axis=1)
    assert 0.05 < np.mean(told & ~alone)
    assert not np.any(expected & ~told)
    # float32 and the safety margin tip configurations at the edge of a cell
    assert np.mean(told & ~expected) < 0.02


def test_large_clouds_are_ready_quickly():
    points = np.random.default_rng(4).uniform([-1, -1, 0], [1, 1, 1], (200_000, 3))
    start = time.process_time()
    PointCloud(points)
    assert time.process_time() - start < 5.0
