"""Margins around perceived obstacles."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, ConvexMesh, World
from manipapy_ros.planner.execution import margin_text
from manipapy_ros.planner.margins import PerceivedMargin, with_margin


def world() -> World:
    made = World()
    made.add("table", Box([1.0, 1.0, 0.1]))
    made.add("perceived_1", Box([0.2, 0.3, 0.4]))
    corners = np.array([0.5, 0.0, 0.3]) + np.array(list(itertools.product((-0.1, 0.1), repeat=3)))
    made.add("perceived_2", ConvexMesh(corners))
    return made


def test_margin_enlarges_only_perceived_obstacles():
    before = world().snapshot()
    after = with_margin(before, 0.02)
    assert after.objects["table"] is before.objects["table"]
    np.testing.assert_allclose(after.objects["perceived_1"].shape.size, [0.24, 0.34, 0.44])
    hull = after.objects["perceived_2"].shape
    np.testing.assert_allclose(hull.vertices.max(axis=0), [0.62, 0.12, 0.42])
    np.testing.assert_allclose(hull.vertices.min(axis=0), [0.38, -0.12, 0.18])
    assert before.objects["perceived_1"].shape.size[0] == 0.2


def test_no_margin_or_no_perceived_obstacle_keeps_the_snapshot():
    before = world().snapshot()
    assert with_margin(before, 0.0) is before
    empty = World().snapshot()
    assert with_margin(empty, 0.1) is empty


def test_margin_grows_with_attempts_and_shrinks_to_the_least():
    margin = PerceivedMargin(0.02, 0.004)
    assert margin.steps(1) == pytest.approx((0.02, 0.012, 0.004))
    assert margin.steps(3) == pytest.approx((0.06, 0.032, 0.004))
    assert PerceivedMargin(0.0, 0.0).steps(2) == (0.0,)


def test_least_margin_above_the_margin_is_refused():
    with pytest.raises(InputError, match=r"obstacles\.least_margin is 0\.03 m"):
        PerceivedMargin.of({"obstacles.margin": 0.02, "obstacles.least_margin": 0.03})


def test_margin_text_names_a_reduction():
    assert margin_text(0.02, 0.02) == "margin to perceived obstacles 0.020 m"
    assert "reduced from 0.020 m to 0.010 m" in margin_text(0.01, 0.02)
    assert margin_text(np.inf, 0.02) == ""
