"""DBSCAN labels against scikit-learn, element by element."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manipapy_core.errors import InputError
from manipapy_core.perception import dbscan

cluster = pytest.importorskip("sklearn.cluster", reason="the reference: pip install 'manipapy[test]'")


def reference(points, eps, min_samples):
    return cluster.DBSCAN(eps=eps, min_samples=min_samples).fit_predict(points)


def blobs(seed: int, count: int, spread: float = 0.05) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-1.0, 1.0, (8, 3))
    around = centres[rng.integers(8, size=count)] + spread * rng.normal(size=(count, 3))
    around[: count // 10] = rng.uniform(-1.5, 1.5, (count // 10, 3))
    return rng.permutation(around)


@pytest.mark.parametrize("count", [1, 2, 10, 300, 3000, 20000])
@pytest.mark.parametrize(("eps", "min_samples"), [(0.03, 5), (0.08, 10), (0.02, 1), (5.0, 3)])
def test_labels_equal_those_of_scikit_learn(count, eps, min_samples):
    if count * eps > 20000:
        count = 1000  # all points are neighbours: the reference would need gigabytes
    points = blobs(count, count)
    np.testing.assert_array_equal(dbscan(points, eps, min_samples), reference(points, eps, min_samples))


@given(
    st.lists(st.tuples(*[st.integers(-6, 6)] * 3), min_size=1, max_size=120),
    st.sampled_from([1.0, 1.5, 2.0]),
    st.integers(1, 8),
)
def test_ties_and_repeated_points_equal_scikit_learn(cells, eps, min_samples):
    """On a lattice many distances are exactly eps."""
    points = np.array(cells, dtype=np.float64)
    np.testing.assert_array_equal(dbscan(points, eps, min_samples), reference(points, eps, min_samples))


@given(st.integers(0, 10_000))
def test_ties_with_rounding_equal_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    points = 0.1 * rng.integers(0, 5, (80, 3))
    np.testing.assert_array_equal(dbscan(points, 0.1, 4), reference(points, 0.1, 4))


def test_distant_points_are_clustered():
    points = np.array([[0.0, 0.0, 0.0], [1e7, 0.0, 0.0], [1e7, 1e-3, 0.0], [0.0, 1e-3, 0.0]])
    np.testing.assert_array_equal(dbscan(points, 0.01, 2), [0, 1, 1, 0])


def test_eps_per_point():
    points = np.array([[0.0, 0, 0], [0.05, 0, 0], [0.10, 0, 0], [1.0, 0, 0], [1.05, 0, 0], [1.10, 0, 0]])
    reach = np.array([0.02, 0.02, 0.02, 0.06, 0.06, 0.06])
    np.testing.assert_array_equal(dbscan(points, reach, 2), [-1, -1, -1, 0, 0, 0])
    np.testing.assert_array_equal(dbscan(points, np.full(6, 0.06), 2), reference(points, 0.06, 2))


def test_eps_per_point_equals_brute_force():
    """By brute force: neighbours are at most the larger eps apart."""
    rng = np.random.default_rng(4)
    points, reach = rng.uniform(0, 0.5, (400, 3)), rng.uniform(0.02, 0.08, 400)
    near = np.linalg.norm(points[:, None] - points, axis=-1) <= np.maximum(reach[:, None], reach)
    matrix = np.where(near, 0.0, 2.0)
    expected = cluster.DBSCAN(eps=1.0, min_samples=5, metric="precomputed").fit_predict(matrix)
    np.testing.assert_array_equal(dbscan(points, reach, 5), expected)


def test_no_points_no_labels():
    assert dbscan(np.empty((0, 3)), 0.1, 3).shape == (0,)


@pytest.mark.parametrize(
    ("points", "eps", "min_samples"),
    [
        (np.zeros((3, 2)), 0.1, 2),
        (np.full((3, 3), np.nan), 0.1, 2),
        (np.zeros((3, 3)), 0.0, 2),
        (np.zeros((3, 3)), np.inf, 2),
        (np.zeros((3, 3)), [0.1, 0.2], 2),
        (np.zeros((3, 3)), 0.1, 0),
    ],
)
def test_invalid_arguments_are_rejected(points, eps, min_samples):
    with pytest.raises(InputError):
        dbscan(points, eps, min_samples)
