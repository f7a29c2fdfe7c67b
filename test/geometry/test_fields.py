"""Distance fields of point clouds and octomaps against brute force."""

from __future__ import annotations

import numpy as np

from geometry.arms import arm, configurations, union_distance
from manipapy_core import kinematics
from manipapy_core.geometry import Checker, Octomap, PointCloud, World
from manipapy_core.geometry.body import link_frames
from manipapy_core.geometry.fields import MAX_DISTANCE


def test_field_is_the_distance_between_cells():
    rng = np.random.default_rng(0)
    cloud = PointCloud(rng.uniform(-0.2, 0.2, (15, 3)), cell=0.05)
    occupied = np.floor(cloud.points / 0.05)
    x = rng.uniform(-0.5, 0.5, (500, 3))
    between = np.maximum(np.abs(np.floor(x / 0.05)[:, None] - occupied) - 1, 0) * 0.05
    expected = np.minimum(np.linalg.norm(between, axis=2).min(axis=1), MAX_DISTANCE)
    assert np.allclose(cloud.distance(x), expected, atol=1e-6)


def test_field_is_never_more_than_the_distance_to_the_points():
    rng = np.random.default_rng(1)
    cloud = PointCloud(rng.uniform(-0.3, 0.3, (200, 3)))
    x = rng.uniform(-0.5, 0.5, (2000, 3))
    true = np.linalg.norm(x[:, None] - cloud.points, axis=2).min(axis=1)
    found = cloud.distance(x)
    assert np.all(found <= true + 1e-6)
    near = true < MAX_DISTANCE
    assert np.all(found[near] >= true[near] - 2 * np.sqrt(3) * 0.02 - 1e-6)


def test_large_leaves_fill_their_cells():
    tree = Octomap([[0.1, 0.1, 0.1], [0.225, 0.025, 0.025]], [0.2, 0.05])
    x = np.random.default_rng(2).uniform(0.0, 0.2, (500, 3))
    assert np.all(tree.distance(x) == 0.0)
    assert tree.distance([[0.225, 0.025, 0.025]]) == 0.0
    assert tree.distance([[0.4, 0.1, 0.1]]) > 0.05


def test_points_inside_links_collide_and_distant_points_do_not():
    _, chain, body = arm("ur5")
    rng = np.random.default_rng(3)
    cloud = PointCloud(rng.uniform([-0.8, -0.8, 0.2], [0.8, 0.8, 1.0], (60, 3)))
    world = World()
    world.add("cloud", cloud)
    q = configurations(chain, 600)
    reported, alone = Checker(body, world).check(q), Checker(body).check(q)
    poses, frames = kinematics.link_poses(chain, q), link_frames(chain)
    inside, near = np.zeros(len(q), dtype=bool), np.zeros(len(q), dtype=bool)
    for group in body.groups:
        if group.frame > 0:
            T = poses[:, chain.link_names.index(group.name)]
            R, p = frames[group.name]
            local = np.einsum("nji,nkj->nki", T[:, :3, :3], cloud.points - T[:, None, :3, 3]) @ R.T + p
            depth = union_distance(group.parts, local.reshape(-1, 3)).reshape(len(q), -1).min(axis=1)
            inside |= depth < 0.0
            near |= depth < body.overshoot + 2 * np.sqrt(3) * cloud.cell + 1e-3
    assert np.mean(inside & ~alone) > 0.02
    assert np.all(reported[inside]) and not np.any(reported & ~near & ~alone)


def test_large_cloud_agrees_with_its_occupied_cells():
    rng = np.random.default_rng(4)
    cloud = PointCloud(rng.uniform([-1, -1, 0], [1, 1, 1], (200_000, 3)))
    occupied = np.unique(np.floor(cloud.points / cloud.cell), axis=0)
    x = rng.uniform([-1.2, -1.2, -0.2], [1.2, 1.2, 1.2], (40, 3))
    between = np.maximum(np.abs(np.floor(x / cloud.cell)[:, None] - occupied) - 1, 0) * cloud.cell
    expected = np.minimum(np.linalg.norm(between, axis=2).min(axis=1), MAX_DISTANCE)
    assert np.allclose(cloud.distance(x), expected, atol=1e-6)
