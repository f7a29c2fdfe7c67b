"""Velocity volume as an objective of inverse kinematics and along a path."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import arm, at
from manipapy_core import ik, kinematics, polytopes
from manipapy_core.draw import new_figure
from manipapy_core.draw.capability import draw_path_quality
from manipapy_core.errors import InputError, ShapeError
from manipapy_core.geometry import Box, World

Q = np.array([0.3, -0.6, 0.2, -1.9, 0.4, 1.8, 0.5])


def test_volume_objective_chooses_the_solution_with_the_largest_polytope():
    """Among all solutions of a UR5, each measured by itself."""
    _, chain, body = arm("ur5")
    T = kinematics.forward(chain, np.array([0.4, -1.2, 1.4, -1.0, -1.3, 0.2]))
    best = ik.solve(chain, T, objective=polytopes.volume_objective(chain, body=body))
    every = ik.solve(chain, T, all_solutions=True)
    volumes = [
        polytopes.velocity_polytope(chain, q, damping=True, near=polytopes.near_points(body, None, q)).volume
        for q in every.q
    ]
    assert len(volumes) >= 4 and min(volumes) < 0.9 * max(volumes)
    found = polytopes.velocity_polytope(chain, best.q, damping=True, near=polytopes.near_points(body, None, best.q))
    assert best.solved and found.volume == pytest.approx(max(volumes), rel=1e-6)


def test_path_quality_is_that_of_each_polytope():
    _, chain, body = arm("panda")
    world = World()
    world.add("wall", Box(np.array([0.02, 1.0, 1.0])), at(0.47, 0.0, 0.6))
    path = Q + np.linspace(0.0, 1.0, 5)[:, None] * np.array([-0.3, 0.2, 0.1, 0.3, 0.0, 0.0, 0.0])
    quality = polytopes.path_quality(chain, path, body=body, world=world)
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(4000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for q, volume, slowest, distance in zip(path, quality.volume, quality.slowest, quality.distance):
        near = polytopes.near_points(body, world, q)
        polytope = polytopes.velocity_polytope(chain, q, damping=True, near=near)
        assert volume == pytest.approx(polytope.volume) and distance == near.distance.min()
        # Along each direction, the greatest speed inside every half-space; over all directions, the least of them.
        along = directions @ polytope.normals.T
        speeds = np.where(along > 1e-9, polytope.offsets / np.maximum(along, 1e-9), np.inf).min(axis=1)
        assert slowest <= speeds.min() + 1e-9 and speeds.min() < slowest + 0.05
    free = polytopes.path_quality(chain, path)
    assert (free.volume > quality.volume).any() and np.isinf(free.distance).all()


def test_path_quality_is_drawn():
    _, chain, _ = arm("panda")
    quality = polytopes.path_quality(chain, np.array([Q, Q + 0.1, Q + 0.2]))
    axes = new_figure().add_subplot()
    line = draw_path_quality(axes, quality, at=[0.0, 0.5, 1.0])
    assert np.array_equal(line.get_ydata(), quality.volume) and np.array_equal(line.get_xdata(), [0.0, 0.5, 1.0])
    with pytest.raises(InputError, match="3 configurations"):
        draw_path_quality(axes, quality, at=[0.0])
    with pytest.raises(ShapeError, match="path"):
        polytopes.path_quality(chain, Q)
