"""Memory of results that are no longer used is reused, memory in use never."""

from __future__ import annotations

import gc
import itertools
import threading

import numpy as np
import pytest

from manipapy_core import Robot, kinematics
from manipapy_core.compiler.pools import KEPT, LARGE, LARGEST, BufferPool

FLOAT64 = np.dtype(np.float64)
COUNT = LARGE // FLOAT64.itemsize


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_memory_of_a_released_result_is_reused():
    results = BufferPool()
    first = results.empty((COUNT,), FLOAT64)
    where = address(first)
    del first
    assert address(results.empty((COUNT // 2, 2), FLOAT64)) == where


def test_a_view_keeps_the_memory():
    results = BufferPool()
    view = results.empty((COUNT, 2), FLOAT64)[5:, 1]
    view[:] = 7.0
    others = [results.empty((COUNT, 2), FLOAT64) for _ in range(KEPT + 1)]
    for other in others:
        other[:] = -1.0
    assert (view == 7.0).all()


def test_results_in_use_share_no_memory():
    results = BufferPool()
    alive = []
    for round_ in range(20):
        alive.append(results.empty((COUNT + round_,), FLOAT64))
        if round_ % 3 == 2:
            del alive[round_ % len(alive)]
        spans = sorted((address(array), address(array) + array.nbytes) for array in alive)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_are_plain_arrays(dtype):
    array = BufferPool().empty((COUNT, 3), np.dtype(dtype))
    assert type(array) is np.ndarray and array.dtype == dtype and array.shape == (COUNT, 3)
    assert array.flags.c_contiguous and array.flags.writeable and array.flags.aligned


def test_little_is_kept_and_small_or_huge_results_not_at_all():
    results = BufferPool()
    for size in (LARGE - 8, LARGEST + 8):
        results.empty((size // 8,), FLOAT64)
    assert len(results._free) == 0
    many = [results.empty((COUNT,), FLOAT64) for _ in range(KEPT + 4)]
    del many
    gc.collect()
    assert len(results._free) == KEPT


def test_memory_far_too_large_is_not_taken():
    results = BufferPool()
    large = results.empty((4 * COUNT,), FLOAT64)
    where = address(large)
    del large
    assert address(results.empty((COUNT,), FLOAT64)) != where


def test_threads_never_get_the_same_memory():
    results, wrong = BufferPool(), []

    def work(number: float) -> None:
        for _ in range(200):
            mine = results.empty((COUNT,), FLOAT64)
            mine[:: COUNT // 64] = number
            if not (mine[:: COUNT // 64] == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(float(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_large_batch_is_right_again_and_again_whatever_is_kept():
    rng = np.random.default_rng(3)
    chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
    kept = []
    for round_ in range(8):
        q = rng.uniform(-3.0, 3.0, (20_000, chain.n))
        poses = kinematics.forward(chain, q, threads=1 + round_ % 2)
        pick = int(rng.integers(len(q)))
        kept.append((poses if round_ % 3 == 0 else poses[pick : pick + 1].copy(), q, pick, round_ % 3 == 0))
    for poses, q, pick, whole in kept:
        expected = kinematics.forward(chain, q[pick])
        np.testing.assert_allclose(poses[pick if whole else 0], expected, rtol=0, atol=1e-12)
