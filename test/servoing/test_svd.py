"""The compiled singular value decomposition, against LAPACK and by its own definition."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.servoing.svd import decompose


def decomposed(J):
    Ut, sigma, Vt = np.empty((6, 6)), np.empty(6), np.empty((6, J.shape[1]))
    decompose(J, Ut, sigma, Vt)
    return Ut, sigma, Vt


def assert_is_decomposition(J, Ut, sigma, Vt):
    rank = min(J.shape)
    assert np.abs(Ut @ Ut.T - np.eye(6)).max() < 1e-13
    assert np.abs(Vt[:rank] @ Vt[:rank].T - np.eye(rank)).max() < 1e-13
    assert np.abs(Ut[:rank].T * sigma[:rank] @ Vt[:rank] - J).max() < 1e-11
    np.testing.assert_allclose(sigma[:rank], np.linalg.svd(J, compute_uv=False), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("n", [5, 6, 7, 9])
def test_it_agrees_with_lapack(n):
    rng = np.random.default_rng(n)
    for _ in range(50):
        J = rng.normal(size=(6, n)) * np.array([[0.15]] * 3 + [[1.0]] * 3)
        assert_is_decomposition(J, *decomposed(J))


@pytest.mark.parametrize("smallest", [1e-3, 1e-7, 1e-10, 1e-15, 0.0])
def test_a_lost_direction_is_found(smallest):
    rng = np.random.default_rng(3)
    for n in (6, 7):
        U, sigma, Vt = np.linalg.svd(rng.normal(size=(6, n)))
        sigma[-1] = smallest
        J = U * sigma @ Vt[:6]
        found = decomposed(J)
        assert_is_decomposition(J, *found)
        assert abs(abs(found[0][-1] @ U[:, -1]) - 1.0) < 1e-9
        if n == 6:
            assert abs(abs(found[2][-1] @ Vt[-1]) - 1.0) < 1e-4


def test_a_jacobian_of_zeros_has_directions():
    Ut, sigma, Vt = decomposed(np.zeros((6, 6)))
    assert not sigma.any()
    np.testing.assert_array_equal(np.abs(Ut).sum(axis=1), np.ones(6))
    assert np.abs(Vt @ Vt.T - np.eye(6)).max() < 1e-13
