"""Factorisation as straight-line code, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.compiler.algorithms import ldl
from manipapy_core.compiler.trace import Input, Signature, trace


def positive(size: int, seed: int = 0) -> np.ndarray:
    A = np.random.default_rng(seed).normal(size=(size, size + 2))
    return A @ A.T


@pytest.mark.parametrize("size", range(1, 9))
def test_solution_is_that_of_numpy(size):
    S, b = positive(size), np.arange(1.0, size + 1)
    np.testing.assert_allclose(ldl.solve(S.tolist(), b.tolist()), np.linalg.solve(S, b), rtol=1e-9)


@pytest.mark.parametrize("size", range(1, 9))
def test_inverse_trace_is_that_of_numpy(size):
    S = positive(size, seed=size)
    assert ldl.inverse_trace(S.tolist()) == pytest.approx(np.trace(np.linalg.inv(S)), rel=1e-9)


def test_only_the_lower_triangle_is_read_and_nothing_is_written():
    S, b = positive(4), [1.0, 2.0, 3.0, 4.0]
    lower = [row[: r + 1] for r, row in enumerate(S.tolist())]
    kept = [list(row) for row in lower]
    np.testing.assert_array_equal(ldl.solve(lower, b), ldl.solve(S.tolist(), b))
    assert lower == kept and b == [1.0, 2.0, 3.0, 4.0]


def test_gram_matrix_with_ridge_is_positive():
    rows = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]  # of rank one
    S = ldl.with_ridge(ldl.gram(rows), 1e-6)
    full = np.array(rows) @ np.transpose(rows)
    full += 1e-6 / 2 * np.trace(full) * np.eye(2)
    np.testing.assert_allclose([entry for row in S for entry in row], full[np.tril_indices(2)], rtol=1e-12)
    assert np.isfinite(ldl.solve(S, [1.0, 1.0])).all()


def test_branches_of_a_tree_cost_nothing():
    """An arrow matrix with its dense row first, as the base joint of a tree: elimination makes no new entries."""
    size = 6

    def solve(numbers):
        diagonal, edge, b = numbers[:size], numbers[size : 2 * size - 1], numbers[2 * size - 1 :]
        S = [[diagonal[0]], *([edge[r], *[0.0] * r, diagonal[r + 1]] for r in range(size - 1))]
        return ldl.solve(S, b)

    width = 3 * size - 1
    kernel = trace(Signature("arrow", (Input("x", (width,)),), (size,)), solve)
    # one division each; per edge two products and subtractions forward, one back; the scaling of each entry
    assert kernel.operations <= size * 2 + (size - 1) * 7
