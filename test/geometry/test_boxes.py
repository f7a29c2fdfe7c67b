"""Boxes of configurations, and what is known of a link wherever the arm is: reach, capsule, distance to others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from geometry.arms import arm, at, configurations, table_world
from manipapy_core import InputError, kinematics
from manipapy_core.errors import NotFiniteError, ShapeError
from manipapy_core.geometry import Box, Checker, ConvexMesh, PointCloud, World
from manipapy_core.geometry.body import link_frames
from manipapy_core.geometry.codegen.layout import MAP_CELLS
from manipapy_core.geometry.levers import reach_ball
from manipapy_core.geometry.tables import SAFETY

HALVES = (1e-3, 5e-3, 0.02)


def carrying(name: str) -> Checker:
    _, chain, body = arm(name)
    world = table_world()
    world.add("held", Box([0.05, 0.1, 0.2]), at(0.0, 0.0, 3.0))
    world.attach("held", chain.tip, at(0.0, 0.0, 0.15), touch_links=tuple(body.moving_links[:4]))
    return Checker(body, world)


def cloud_world() -> World:
    world = World()
    points = np.random.default_rng(0).uniform([0.3, -0.5, 0.0], [0.7, 0.5, 0.1], (3000, 3))
    world.add("cloud", PointCloud(points, 0.02))
    return world


@pytest.mark.parametrize("name", ["panda", "ur5", "iiwa14"])
def test_a_box_of_no_width_is_a_configuration(name):
    _, chain, body = arm(name)
    checker, q = Checker(body, table_world()), configurations(chain, 3000)
    assert np.array_equal(checker.check_boxes(q, np.zeros(chain.n)), checker.check(q))


@pytest.mark.parametrize("make", [lambda: Checker(arm("panda")[2], table_world()), lambda: carrying("panda"),
                                  lambda: Checker(arm("ur5")[2], table_world(1), padding=0.01, self_padding=1e-3),
                                  lambda: Checker(arm("ur5")[2], cloud_world())])  # fmt: skip
def test_nothing_inside_a_box_that_is_free_touches(make):
    checker, rng = make(), np.random.default_rng(1)
    # What the proof uses up of the safety margin is left out of the robot that looks for contacts.
    inner = checker.padded(max(checker.padding - SAFETY, 0.0), self_padding=max(checker.self_padding - 1e-4, 0.0))
    q = configurations(checker.body.chain, 2000)
    for half in HALVES:
        halves = half * rng.uniform(0.0, 1.0, q.shape)
        free = ~checker.check_boxes(q, halves)
        assert free.any() and not free[checker.check(q)].any()
        for _ in range(20):
            corners = q[free] + rng.choice([-1.0, -0.5, 0.5, 1.0], (free.sum(), q.shape[1])) * halves[free]
            hits = inner.check(corners)
            assert hits.mean() < 1e-3 if inner is checker else not hits.any()


def test_most_boxes_in_open_space_are_proved():
    checker = Checker(arm("panda")[2], table_world())
    q = configurations(checker.body.chain, 3000)
    free = q[~checker.check(q)]
    assert np.mean(checker.check_boxes(free, np.full(7, 5e-3))) < 0.1


def test_bad_boxes_are_refused():
    checker = Checker(arm("panda")[2])
    with pytest.raises(InputError, match="negative"):
        checker.check_boxes(np.zeros(7), np.full(7, -0.1))
    with pytest.raises(ShapeError):
        checker.check_boxes(np.zeros(7), np.zeros(6))
    with pytest.raises(InputError, match="broadcast"):
        checker.check_boxes(np.zeros((3, 7)), np.zeros((2, 7)))
    with pytest.raises(NotFiniteError):
        checker.check_boxes(np.zeros(7), np.full(7, np.nan))


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_links_stay_as_far_apart_as_their_map_says(name):
    _, chain, body = arm(name)
    mapped = [pair for pair in body.pairs if pair.clearances is not None]
    assert mapped
    q = np.random.default_rng(2).uniform(-7.0, 7.0, (20_000, chain.n))
    for pair in mapped:
        known = pair.clearances
        cell, other = (np.floor(q[:, j] / (2.0 * np.pi) % 1.0 * MAP_CELLS).astype(int) for j in known.joints)
        least = known.distances[cell, other]
        assert np.all(least[:, 1] <= least[:, 0])
        alone = Checker(replace(body, pairs=(replace(pair, clearances=None),)))
        for distance in (1e-3, 5e-3, 0.02):
            apart = least[:, 0] > distance
            assert not alone.padded(0.0, self_padding=0.5 * distance - 1e-4).check(q[apart]).any()
        assert np.mean(least[:, 0] > 1e-3) > 0.5


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_maps_change_no_result(name):
    _, chain, body = arm(name)
    plain = replace(body, pairs=tuple(replace(pair, clearances=None) for pair in body.pairs))
    q = configurations(chain, 20_000)
    assert np.array_equal(Checker(body).check(q), Checker(plain).check(q))


@pytest.mark.parametrize("name", ["panda", "ur5", "iiwa14"])
def test_links_never_leave_their_reach_and_their_capsule(name):
    _, chain, body = arm(name)
    poses = kinematics.link_poses(chain, configurations(chain, 500))
    directions = np.random.default_rng(3).normal(scale=5.0, size=(40, 3))
    for group in body.groups:
        points = np.array([part.farthest_from(x) for part in group.parts for x in directions])
        capsule = group.capsule
        square = max(float(capsule.half @ capsule.half), 1e-12)
        share = np.clip((points - capsule.middle) @ capsule.half / square, -1.0, 1.0)
        distance = np.linalg.norm(points - capsule.middle - share[:, None] * capsule.half, axis=1)
        assert distance.max() <= capsule.radius + 1e-9
        if group.frame == 0:
            continue
        R, p = link_frames(chain)[group.name]
        local = (points - p) @ R
        T = poses[:, chain.link_names.index(group.name)]
        placed = np.einsum("bij,kj->bki", T[:, :3, :3], local) + T[:, None, :3, 3]
        centre, radius = reach_ball(chain, group)
        assert np.linalg.norm(placed - centre, axis=-1).max() <= radius + 1e-9


def test_objects_out_of_reach_are_found_by_no_link_and_others_by_all():
    """The same world, far boxes taken as meshes, which are compared with every link."""
    _, chain, body = arm("panda")
    q = configurations(chain, 20_000)
    rng, boxes, turned = np.random.default_rng(4), World(), World()
    for index in range(30):
        size, T = rng.uniform(0.02, 0.3, 3), at(*rng.uniform(-1.0, 1.0, 3))
        boxes.add(f"{index}", Box(size), T)
        c, s = np.cos(1.0), np.sin(1.0)
        turn = np.array([[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
        turned.add(f"{index}", Box(size), T @ turn)
    for world in (boxes, turned):
        meshes = World()
        for name, item in world.snapshot().objects.items():
            corners = np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1).T * item.shape.size
            meshes.add(name, ConvexMesh(corners), item.T_base_object)
        ours, others = Checker(body, world).check(q), Checker(body, meshes).check(q)
        assert np.mean(ours != others) < 1e-3
