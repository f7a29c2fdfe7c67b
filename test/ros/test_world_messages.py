"""What cameras see, as the planner counts with it."""

from __future__ import annotations

import itertools

import numpy as np

from manipapy_core.geometry import Box, ConvexMesh, World
from manipapy_ros.planner.world_messages import with_margin


def world() -> World:
    made = World()
    made.add("table", Box([1.0, 1.0, 0.1]))
    made.add("seen_1", Box([0.2, 0.3, 0.4]))
    corners = np.array([0.5, 0.0, 0.3]) + np.array(list(itertools.product((-0.1, 0.1), repeat=3)))
    made.add("seen_2", ConvexMesh(corners))
    return made


def test_only_what_cameras_see_becomes_thicker():
    before = world().snapshot()
    after = with_margin(before, 0.02)
    assert after.objects["table"] is before.objects["table"]
    np.testing.assert_allclose(after.objects["seen_1"].shape.size, [0.24, 0.34, 0.44])
    hull = after.objects["seen_2"].shape
    np.testing.assert_allclose(hull.vertices.max(axis=0), [0.62, 0.12, 0.42])
    np.testing.assert_allclose(hull.vertices.min(axis=0), [0.38, -0.12, 0.18])
    assert before.objects["seen_1"].shape.size[0] == 0.2


def test_without_a_margin_or_anything_seen_the_world_stays_the_same_object():
    before = world().snapshot()
    assert with_margin(before, 0.0) is before
    empty = World().snapshot()
    assert with_margin(empty, 0.1) is empty
