"""Ball fits on points of balls, and of other shapes."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.perception.shapes.balls import fit_ball, fit_standing_ball

UP = np.array([0.0, 0.0, 1.0])
FEET = np.array([0.3, -0.2, 0.1])
"""A point on the table [m]."""


def visible_half(radius: float, sigma: float, count: int = 150) -> np.ndarray:
    """Points of a ball on the table visible at 40° elevation, without the lowest third; shape (points, 3)."""
    rng = np.random.default_rng(2)
    normals = rng.normal(size=(20 * count, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    towards = np.array([np.cos(0.7), 0.0, np.sin(0.7)])
    normals = normals[(normals @ towards > 0.15) & (normals[:, 2] > -0.4)][:count]
    return FEET + radius * UP + radius * normals + sigma * rng.normal(size=(count, 1)) * towards


@pytest.mark.parametrize("radius", [0.025, 0.05, 0.08])
@pytest.mark.parametrize("noise", [0.0, 0.06])
def test_standing_ball_is_fitted_from_its_visible_half(radius, noise):
    found = fit_standing_ball(visible_half(radius, noise * radius), noise * radius, FEET, UP)
    assert found is not None
    assert found[1] == pytest.approx(radius, rel=0.05)
    np.testing.assert_allclose(found[0], FEET + radius * UP, atol=0.06 * radius)


def test_free_ball_is_fitted_without_noise():
    raised = visible_half(0.05, 0.0) + 0.2 * UP
    centre, radius = fit_ball(raised, 0.0)
    assert radius == pytest.approx(0.05, rel=1e-6)
    np.testing.assert_allclose(centre, FEET + 0.25 * UP, atol=1e-8)
    assert fit_standing_ball(raised, 0.0, FEET, UP) is None


@pytest.mark.parametrize("height", [0.06, 0.1, 0.16])
def test_can_is_no_ball(height):
    rng = np.random.default_rng(4)
    angle = rng.uniform(-1.4, 1.4, 150)
    side = np.column_stack([0.05 * np.cos(angle), 0.05 * np.sin(angle), rng.uniform(0.02, height, 150)])
    turn, out = rng.uniform(-3.1, 3.1, 100), 0.05 * np.sqrt(rng.uniform(0.0, 1.0, 100))
    top = np.column_stack([out * np.cos(turn), out * np.sin(turn), np.full(100, height)])
    can = FEET + np.concatenate([side, top])
    assert fit_standing_ball(can, 0.002, FEET, UP) is None and fit_ball(can, 0.002) is None


def test_too_few_points_are_no_ball():
    assert fit_standing_ball(visible_half(0.05, 0.0, 8), 0.0, FEET, UP) is None
