"""Seen, free and unknown space from depth images of analytic scenes; by a second route, against the true depths."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot
from manipapy_core.errors import InputError
from manipapy_core.geometry import Checker, Octomap, RobotBody, World
from manipapy_core.model import arm_chain
from manipapy_core.motion import PlanStatus, plan
from manipapy_core.perception import SelfFilter, SpaceMap, SpaceState, UnknownSpace, as_depth, depth_from_image
from perception.depth_scenes import CAMERA, DepthScene, box, camera_at

BOX = box([0.12, 0.12, 0.2], [0.05, -0.05])
T = camera_at(1.1, 0.9)
EYE = T[:3, 3]


def depth_of(scene: DepthScene, seed: int = 0):
    frame, _ = scene.frame(T, seed)
    metres = as_depth(frame.depth, frame.encoding)
    return depth_from_image(metres, CAMERA, noise=1.4e-3, noise_floor=1.1e-3, max_depth=3.0)


@pytest.fixture(scope="module")
def seen():
    space = SpaceMap([-0.6, -0.6, -0.3], [0.6, 0.6, 0.7], cell=0.04)
    space.update(depth_of(DepthScene([BOX])), T)
    return space


def test_space_is_free_occupied_or_unknown(seen):
    above, inside, below_table = [0.05, -0.05, 0.3], [0.05, -0.05, 0.08], [0.1, 0.1, -0.15]
    beside_image = [0.5, 0.55, 0.6]
    top = [0.05, -0.05, 0.195]
    # Behind the box along the line of sight, above the table.
    away = np.array([0.05, -0.05, 0.2]) - EYE
    behind = EYE + away * (1.0 + 0.1 / np.linalg.norm(away))
    states = seen.state_at([above, inside, below_table, beside_image, top, behind, [9.0, 0.0, 0.0]])
    free, unknown, occupied = SpaceState.FREE, SpaceState.UNKNOWN, SpaceState.OCCUPIED
    assert states.tolist() == [free, unknown, unknown, unknown, occupied, unknown, unknown]


def test_free_cells_are_in_front_of_what_is_there(seen):
    """All corners of every free cell project to pixels whose true depth is behind them."""
    truth, _ = DepthScene([BOX]).truth(T)
    free = seen.centres(SpaceState.FREE)
    assert len(free) > 1000
    corners = free[:, None] + 0.5 * seen.cell * np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    optical = (corners - EYE) @ T[:3, :3]
    u = np.rint(optical[..., 0] / optical[..., 2] * CAMERA.K[0, 0] + CAMERA.K[0, 2]).astype(int)
    v = np.rint(optical[..., 1] / optical[..., 2] * CAMERA.K[1, 1] + CAMERA.K[1, 2]).astype(int)
    assert u.min() >= 0 and v.min() >= 0 and u.max() < 640 and v.max() < 480, "cells that are not wholly in the image"
    assert np.mean(optical[..., 2] < truth[v, u]) > 0.9999


def test_object_that_appears_is_occupied_at_once_and_one_that_leaves_is_freed(seen):
    space = SpaceMap([-0.6, -0.6, -0.3], [0.6, 0.6, 0.7], cell=0.04)
    empty, full = depth_of(DepthScene([])), depth_of(DepthScene([BOX]))
    place = [[0.05, -0.05, 0.195]]
    for _ in range(5):
        space.update(empty, T)
    assert space.state_at(place)[0] == SpaceState.FREE
    space.update(full, T)
    assert space.state_at(place)[0] == SpaceState.OCCUPIED
    for _ in range(6):
        space.update(empty, T)
    assert space.state_at(place)[0] == SpaceState.FREE
    space.reset()
    assert not len(space.centres(SpaceState.FREE))


def test_robot_is_neither_occupied_nor_unknown():
    space = SpaceMap([-0.6, -0.6, -0.3], [0.6, 0.6, 0.7], cell=0.04)
    sphere = np.array([[0.05, -0.05, 0.1, 0.13]])
    space.update(depth_of(DepthScene([BOX])), T, sphere)
    assert space.state_at([[0.05, -0.05, 0.195], [0.05, -0.05, 0.08]]).tolist() == [SpaceState.FREE] * 2


def test_holes_and_too_near_pixels_free_nothing():
    depth = depth_of(DepthScene([]))
    for value in (np.nan, -np.inf):
        space = SpaceMap([-0.6, -0.6, -0.3], [0.6, 0.6, 0.7], cell=0.04)
        image = np.full_like(depth.depth, value)
        space.update(type(depth)(image, depth.sigma, depth.camera), T)
        assert not len(space.centres(SpaceState.FREE)) and not len(space.centres(SpaceState.OCCUPIED))


def test_planner_keeps_out_of_unknown_space():
    robot = Robot.from_urdf("ur5").completed()
    body, world = RobotBody.build(robot, arm_chain(robot)), World()
    checker = Checker(body, world)
    start, goal = np.array([0.0, -1.4, 1.4, -1.6, -1.57, 0.0]), np.array([1.2, -1.4, 1.4, -1.6, -1.57, 0.0])
    space = SpaceMap([-1.1] * 3, [1.1] * 3, cell=0.05)
    centres = space.centres(SpaceState.UNKNOWN)
    assert len(centres) == np.prod(space.shape)  # nothing was seen
    spheres = SelfFilter(body).spheres_at(start)
    assert not UnknownSpace.FREE.blocked(centres, 0.05, spheres, 0.3).any()
    policies = (UnknownSpace.AUTO, UnknownSpace.BLOCKED)
    near, all_of_it = (policy.blocked(centres, 0.05, spheres, 0.3) for policy in policies)
    assert 0 < np.count_nonzero(near) < np.count_nonzero(all_of_it) < len(centres)
    assert plan(checker, start, goal, timeout=5.0).status is PlanStatus.SUCCESS
    for kept in (near, all_of_it):
        world.add("unknown_space", Octomap(centres[kept], np.full(np.count_nonzero(kept), 0.05)))
        assert not checker.check(start[None])[0]  # where the arm is, is free
        assert plan(checker, start, goal, timeout=2.0).status is PlanStatus.GOAL_IN_COLLISION
        world.remove("unknown_space")


@pytest.mark.parametrize(
    ("lower", "upper", "cell"),
    [([0, 0, 0], [1, 1, 1], 0.0), ([0, 0, 0], [0, 1, 1], 0.1), ([0, 0], [1, 1], 0.1), ([-9] * 3, [9] * 3, 0.01)],
)
def test_impossible_maps_are_refused(lower, upper, cell):
    with pytest.raises(InputError):
        SpaceMap(lower, upper, cell=cell)


def test_cells_lie_on_whole_multiples_of_their_edge():
    """As the leaves of an octree do."""
    space = SpaceMap([-0.61, -0.6, -0.33], [0.6, 0.6, 0.7], cell=0.04)
    assert np.allclose(space.lower / space.cell, np.rint(space.lower / space.cell))
    assert np.all(space.lower <= [-0.61, -0.6, -0.33])
