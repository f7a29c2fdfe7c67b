"""Kernels in threads: same answers, no GIL while they compute, code that outlives its chain."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from manipapy_core import Robot, dynamics, kinematics
from manipapy_core.compiler import bind
from manipapy_core.compiler.llvm.types import PIECE
from manipapy_core.errors import NotFiniteError


@pytest.fixture(scope="module")
def chain():
    return Robot.from_urdf("ur5").chain("base_link", "tool0")


def test_threads_of_one_call_give_the_bits_of_one_thread(chain):
    q, qd, qdd = np.random.default_rng(5).uniform(-3, 3, (3, 5000, 6))
    alone = dynamics.inverse_dynamics(chain, q, qd, qdd)
    for threads in (2, 3, 7):
        np.testing.assert_array_equal(dynamics.inverse_dynamics(chain, q, qd, qdd, threads=threads), alone)


def test_threads_report_a_bad_number_wherever_it_is_and_compute_the_rest_of_the_batch_whole(chain):
    q = np.random.default_rng(8).uniform(-3, 3, (2 * PIECE + 7, 6))
    np.testing.assert_array_equal(kinematics.forward(chain, q, threads=2), kinematics.forward(chain, q))
    for row in (0, PIECE, len(q) - 1):  # the first piece, the second, and the rest that fills no lanes
        spoilt = q.copy()
        spoilt[row, 4] = np.inf
        with pytest.raises(NotFiniteError) as caught:
            kinematics.forward(chain, spoilt, threads=2)
        assert caught.value.index == (row, 4)


def test_many_threads_may_compile_and_call_the_same_kernel_at_once():
    fresh = Robot.from_urdf("ur5").chain("base_link", "tool0")
    q = np.random.default_rng(6).uniform(-3, 3, (400, 6))
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: kinematics.forward(fresh, q), range(32)))
    for result in results:
        np.testing.assert_array_equal(result, results[0])


def test_python_runs_on_while_a_large_batch_is_computed(chain):
    """With the GIL held, the counter could not move between the two readings."""
    q, qd, qdd = np.random.default_rng(7).uniform(-3, 3, (3, 2_000_000, 6))
    out, kernel = np.empty_like(q), bind(chain, "forward_dynamics")
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = counted[0]
        kernel(q, qd, qdd, dynamics.GRAVITY, out)
        during = counted[0] - before
    finally:
        stop.set()
        counter.join()
    assert during > 10


def test_a_bound_kernel_outlives_its_chain():
    q, out = np.linspace(-1, 1, 6), np.empty((4, 4))
    chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
    expected, kernel = kinematics.forward(chain, q), bind(chain, "forward")
    del chain
    gc.collect()
    for _ in range(100):
        assert kernel(q, out)
    np.testing.assert_array_equal(out, expected)


def test_chains_come_and_go_without_harm():
    """Each engine is freed with its chain; sharing a target machine between engines would crash here."""
    for _ in range(20):
        chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
        kinematics.forward(chain, np.zeros(6))
        dynamics.mass_matrix(chain, np.zeros((9, 6)))
        del chain
        gc.collect()


def test_a_forked_process_computes_in_threads_too(chain):
    """Its helpers are gone; nothing waits for them."""
    q = np.random.default_rng(9).uniform(-3, 3, (5000, 6))
    expected = kinematics.forward(chain, q, threads=2)
    child = os.fork()
    if child == 0:
        right = np.array_equal(kinematics.forward(chain, q, threads=2), expected)
        os._exit(0 if right else 1)
    deadline = time.monotonic() + 30.0
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)


def test_helpers_keep_nothing_of_a_batch(chain):
    q = np.random.default_rng(10).uniform(-3, 3, (5000, 6))
    kept = weakref.ref(kinematics.forward(chain, q, threads=3))
    deadline = time.monotonic() + 10.0
    while kept() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert kept() is None
