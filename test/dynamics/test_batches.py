"""One configuration or any batch, in any memory layout: the numbers are the same and belong to the caller alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from reference.cases import BUNDLED, RPRPRR, chain_of, disagreement
from reference.public_functions import PUBLIC_FUNCTIONS, PublicFunction, function_name
from reference.small_robots import MIMIC

every_function = pytest.mark.parametrize("function", PUBLIC_FUNCTIONS, ids=function_name)

SAME = 1e-12
"""Vector lanes and single calls may round differently, not more than that."""


def single_results(function: PublicFunction, operands: list[np.ndarray]) -> np.ndarray:
    return np.stack([function.call(chain_of(RPRPRR), *row) for row in zip(*operands, strict=True)])


@every_function
@pytest.mark.parametrize("count", [1, 7, 8, 9, 15, 16, 17, 33, 1003])
def test_batches_of_any_length_equal_single_calls(function: PublicFunction, count: int) -> None:
    chain = chain_of(RPRPRR)
    operands = function.arguments(chain, count, seed=count)
    result = function.call(chain, *operands)
    assert result.shape == (count, *function.tail(chain))
    sample = np.unique(np.r_[0, count - 1, np.random.default_rng(count).integers(0, count, 20)])
    expected = single_results(function, [operand[sample] for operand in operands])
    assert disagreement(result[sample], expected) <= SAME


@every_function
def test_a_long_batch_is_right_everywhere(function: PublicFunction) -> None:
    """Every row, by permuting: a row must not depend on its place among the others."""
    chain = chain_of(RPRPRR)
    operands = function.arguments(chain, 1003, seed=2)
    order = np.random.default_rng(0).permutation(1003)
    result = function.call(chain, *operands)
    assert disagreement(function.call(chain, *(operand[order] for operand in operands)), result[order]) <= SAME


@every_function
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 1, 3), (0,), (0, 4), (3, 0)], ids=str)
def test_leading_axes_are_kept(function: PublicFunction, shape: tuple[int, ...]) -> None:
    chain = chain_of(RPRPRR)
    count = int(np.prod(shape))
    flat = function.arguments(chain, count)
    result = function.call(chain, *(operand.reshape(*shape, chain.n) for operand in flat))
    assert result.shape == (*shape, *function.tail(chain))
    assert result.dtype == np.float64
    if count:
        expected = single_results(function, flat).reshape(result.shape)
        assert disagreement(result, expected) <= SAME


@every_function
@pytest.mark.parametrize("count", [1, 9])
def test_threads_change_nothing_but_the_time(function: PublicFunction, count: int) -> None:
    chain = chain_of(RPRPRR)
    operands = function.arguments(chain, count * 1000)
    assert disagreement(function.call(chain, *operands, threads=2), function.call(chain, *operands)) <= SAME


@every_function
def test_memory_layout_does_not_matter(function: PublicFunction) -> None:
    chain = chain_of(RPRPRR)
    operands = function.arguments(chain, 12)
    expected = function.call(chain, *operands)
    frozen = [operand.copy() for operand in operands]
    for operand in frozen:
        operand.setflags(write=False)
    padded = [np.full((24, 2 * chain.n), 7.0) for _ in operands]
    for wide, operand in zip(padded, operands, strict=True):
        wide[::2, ::2] = operand
    layouts = {
        "Fortran order": [np.asfortranarray(operand) for operand in operands],
        "every second element": [wide[::2, ::2] for wide in padded],
        "negative strides": [operand[::-1, ::-1].copy()[::-1, ::-1] for operand in operands],
        "read only": frozen,
        "lists": [operand.tolist() for operand in operands],
        "tuples": [tuple(map(tuple, operand.tolist())) for operand in operands],
        "other byte order": [operand.astype(">f8") for operand in operands],
        "unaligned": [unaligned(operand) for operand in operands],
        "transposed": [np.ascontiguousarray(operand.T).T for operand in operands],
    }
    for name, variants in layouts.items():
        assert disagreement(function.call(chain, *variants), expected) <= SAME, name


def unaligned(operand: np.ndarray) -> np.ndarray:
    """The same numbers one byte off their natural address."""
    buffer = np.zeros(operand.nbytes + 1, dtype=np.uint8)
    view = buffer[1:].view(operand.dtype).reshape(operand.shape)
    view[...] = operand
    assert not view.flags.aligned
    return view


@every_function
@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, np.float16], ids=str)
def test_whole_numbers_are_numbers(function: PublicFunction, dtype: type) -> None:
    chain = chain_of(RPRPRR)
    operands = [np.array([1, 0, 1, 1, 0, 1], dtype=dtype)] * len(function.operands)
    result = function.call(chain, *operands)
    assert result.dtype == np.float64
    assert disagreement(result, function.call(chain, *(operand.astype(float) for operand in operands))) == 0.0


@pytest.mark.parametrize("function", [f for f in PUBLIC_FUNCTIONS if len(f.operands) > 1], ids=function_name)
def test_batches_broadcast_like_numpy(function: PublicFunction) -> None:
    """One velocity serves a batch of positions; (3, 1) and (4,) make (3, 4)."""
    chain = chain_of(RPRPRR)
    operands = function.arguments(chain, 12)
    rows = [operands[0].reshape(3, 4, -1)[:, :1], *(operand[:4] for operand in operands[1:])]
    expected = function.call(chain, *(np.broadcast_to(row, (3, 4, chain.n)) for row in rows))
    assert disagreement(function.call(chain, *rows), expected) <= SAME
    one = function.call(chain, operands[0], *(operand[0] for operand in operands[1:]))
    expected = function.call(chain, operands[0], *(np.tile(operand[0], (12, 1)) for operand in operands[1:]))
    assert disagreement(one, expected) <= SAME


@every_function
@pytest.mark.parametrize("count", [None, 1, 9])
def test_results_are_fresh_and_operands_untouched(function: PublicFunction, count: int | None) -> None:
    chain = chain_of(RPRPRR)
    operands = function.arguments(chain, count or 1)
    operands = operands if count else [operand[0] for operand in operands]
    before = [operand.copy() for operand in operands]
    first = function.call(chain, *operands)
    kept = first.copy()
    second = function.call(chain, *(operand + 0.1 for operand in operands))
    assert first.flags.writeable and first.flags.c_contiguous
    assert not np.shares_memory(first, second)
    assert not any(np.shares_memory(first, operand) for operand in operands)
    np.testing.assert_array_equal(first, kept)
    for operand, original in zip(operands, before, strict=True):
        np.testing.assert_array_equal(operand, original)
    first[...] = 0.0
    np.testing.assert_array_equal(function.call(chain, *operands), kept)


@pytest.mark.parametrize("case", [RPRPRR, BUNDLED["ur5"], MIMIC], ids=lambda case: case.name)
def test_eight_threads_at_once_agree(case) -> None:
    chain = chain_of(case)
    jobs = [
        (function, function.arguments(chain, count, seed=count))
        for function in PUBLIC_FUNCTIONS
        for count in (1, 9, 300)
    ]
    expected = [function.call(chain, *operands) for function, operands in jobs]

    def work(seed: int) -> float:
        worst = 0.0
        for index in np.random.default_rng(seed).permutation(len(jobs)).tolist():
            function, operands = jobs[index]
            worst = max(worst, disagreement(function.call(chain, *operands), expected[index]))
        return worst

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(work, range(32))) == 0.0


def test_first_use_from_eight_threads_at_once_compiles_once_and_agrees() -> None:
    """A chain not used before: all threads ask for the same missing kernel."""
    from manipapy_core import Robot, dynamics

    chain = Robot.from_urdf(RPRPRR.text).chain(RPRPRR.base, RPRPRR.tip)
    operands = PUBLIC_FUNCTIONS[10].arguments(chain, 20)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: dynamics.inverse_dynamics(chain, *operands), range(8)))
    expected = dynamics.inverse_dynamics(chain_of(RPRPRR), *operands)
    assert max(disagreement(result, expected) for result in results) == 0.0
