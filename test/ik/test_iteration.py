"""The traced iteration against the same lines run on NumPy arrays, and its parts against plain linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from ik.arms import arm, configurations
from manipapy_core import kinematics
from manipapy_core.compiler.algorithms.ik_step import (
    SETTINGS,
    STATE,
    Task,
    Variant,
    damped_step,
    iteration,
    rotation_error,
    tip_motion,
)
from manipapy_core.compiler.kernels import compiled
from manipapy_core.compiler.llvm import iterate
from manipapy_core.compiler.mechanism import mechanism_of
from manipapy_core.compiler.scalar import less, maximum, minimum, select
from manipapy_core.compiler.trace import Input, Signature
from manipapy_core.ik.bounds import search_bounds


@pytest.mark.parametrize("name", ["ur5", "panda", "random RRPRRRR"])
def test_columns_are_the_jacobian_at_the_tip(name):
    chain = arm(name)
    for q in configurations(chain, 5, seed=1):
        R, p, columns = tip_motion(mechanism_of(chain), q.tolist())
        T = kinematics.forward(chain, q)
        assert np.allclose(np.reshape(R, (3, 3)), T[:3, :3], atol=1e-12) and np.allclose(p, T[:3, 3], atol=1e-12)
        J_body = kinematics.body_jacobian(chain, q)
        expected = np.concatenate([T[:3, :3] @ J_body[:3], T[:3, :3] @ J_body[3:]])
        assert np.allclose(np.array(columns).T, expected, atol=1e-12)


def test_the_step_solves_the_damped_equations():
    rng = np.random.default_rng(2)
    for n in (2, 6, 9):
        J, error = rng.normal(size=(6, n)), rng.normal(size=6)
        expected = J.T @ np.linalg.solve(J @ J.T + 0.3 * np.eye(6), error)
        assert np.allclose(damped_step(J.T.tolist(), error.tolist(), 0.3), expected, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi])
def test_the_rotation_error_grows_to_half_a_turn(angle):
    c, s = np.cos(angle), np.sin(angle)
    R = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    error, square = rotation_error(R, [c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0])
    if angle < np.pi:
        assert error[2] == pytest.approx(4.0 * np.tan(angle / 4.0), rel=1e-9, abs=1e-15)
    assert angle == 0.0 or square > 0.0
    assert angle < 3.1 or square >= 1.0  # half a turn off is never taken for the goal


@pytest.mark.parametrize("task", list(Task))
@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_lanes_compute_what_numpy_computes(name, task):
    chain = arm(name)
    bounds, mechanism = search_bounds(chain, True), mechanism_of(chain)
    variant = Variant(task, bounds.stops)
    code = iterate.load(variant.signature(), ("q", "state"), variant.formula(mechanism))
    lanes, n = code.lanes, chain.n
    q = configurations(chain, lanes, seed=3)
    q[0, 1] = bounds.upper[1]  # one joint stands at its limit
    T = kinematics.forward(chain, configurations(chain, lanes, seed=4))[:, :3].reshape(lanes, 12)
    state = np.tile([0.0, 1e30, 0.0, 0.0, 0.0], (lanes, 1))
    settings = np.array([0.03, 1.0, 1e12, 1e12, 3.0, 0.9, 1.5])  # one iteration, then every lane gives up
    weights = np.array([0.0, 0.6, 0.8, 1.0, 2.0, 0.5])
    assert len(settings) == len(SETTINGS) and state.shape[1] == len(STATE)

    reference = iteration(
        mechanism, variant, list(q.T), list(T.T), list(state.T), bounds.lower, bounds.upper, settings, weights
    )
    memory = np.zeros(((n + 12 + 5) * lanes + 8,))
    start = -(memory.ctypes.data // 8) % lanes
    work = memory[start : start + (n + 17) * lanes].reshape(n + 17, lanes)
    work[:n], work[n : n + 12], work[n + 12 :] = q.T, T.T, state.T
    import ctypes

    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 7)(code.address)
    arrays = work[:n], work[n : n + 12], work[n + 12 :], bounds.lower, bounds.upper, settings, weights
    ended = run(*(array.ctypes.data for array in arrays))
    assert ended == ((1 << lanes) - 1) << 32
    for row, expected in zip(work[n + 12 :], reference[n : n + 5]):
        assert np.allclose(row, np.broadcast_to(expected, lanes), rtol=1e-10, atol=1e-13)
    assert np.array_equal(work[:n], q.T)  # a lane that ends keeps its q


def test_choices_run_on_floats_arrays_and_symbols():
    def algorithm(x):
        big = less(1.0, x[0]) & less(x[1], 2.0)
        return [select(big | less(x[1], -3.0), minimum(x[0], x[1]), maximum(x[0], 0.5))]

    rows = np.random.default_rng(5).uniform(-4.0, 4.0, (64, 2))
    by_arrays = algorithm(list(rows.T))[0]
    by_floats = [algorithm(row.tolist())[0] for row in rows]
    signature = Signature("choices", (Input("x", (2,)),), (1,))
    by_code = compiled(signature, algorithm).run(rows)[:, 0]
    assert np.array_equal(by_arrays, by_floats) and np.array_equal(by_arrays, by_code)
