"""Free cells around a surface: the same as by scipy's labels, dilations and distance transform."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from manipapy_core.geometry.free_space import GridSize, free_cells, reached_from_outside, squared_distances


def occupied_cells(share: float, shape: tuple[int, int, int]) -> np.ndarray:
    occupied = np.zeros(shape, dtype=np.bool_)
    occupied[4:-4, 4:-4, 4:-4] = np.random.default_rng(3).random(tuple(n - 8 for n in shape)) < share
    return occupied


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.2])
def test_cells_reached_from_outside(share):
    occupied = occupied_cells(share, (31, 24, 27))
    labels, _ = ndimage.label(~ndimage.binary_dilation(occupied))
    expected = ndimage.binary_dilation(labels == labels[0, 0, 0]) & ~occupied
    np.testing.assert_array_equal(reached_from_outside(occupied), expected)


@pytest.mark.parametrize("share", [0.001, 0.02, 0.3])
def test_distances_to_the_surface(share):
    free = ~occupied_cells(share, (31, 24, 27))
    np.testing.assert_allclose(np.sqrt(squared_distances(free)), ndimage.distance_transform_edt(free), atol=1e-6)


def test_inside_of_a_closed_box_is_not_free():
    corners = np.stack(np.meshgrid(*3 * [[-0.05, 0.05]], indexing="ij"), axis=-1).reshape(-1, 3)
    quads = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]
    triangles = np.array([corners[[a, b, c]] for q in quads for a, b, c in (q[:3], (q[0], q[2], q[3]))])
    cells, distances = free_cells(triangles, GridSize(0.002, 100_000))
    assert len(cells)
    assert np.abs(cells).max(axis=1).min() > 0.05
    outside = np.linalg.norm(np.maximum(np.abs(cells) - 0.05, 0.0), axis=1)
    assert np.abs(distances - outside).max() < 0.004
