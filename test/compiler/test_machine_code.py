"""Machine code: sine and cosine against mpmath, every batch length, every row width, both number types."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest

from manipapy_core.compiler.kernels import compiled
from manipapy_core.compiler.llvm.types import ANGLE_BOUND
from manipapy_core.compiler.scalar import sincos, sqrt
from manipapy_core.compiler.trace import Input, Signature
from manipapy_core.errors import NotFiniteError


def make(name, inputs, output_shape, algorithm):
    return compiled(Signature(name, tuple(inputs), output_shape), algorithm)


@pytest.fixture(scope="module")
def sine_and_cosine():
    return make("sine_and_cosine", [Input("q", (1,), angle=True)], (2,), lambda q: sincos(q[0]))


def difficult_angles(dtype):
    rng = np.random.default_rng(1)
    bound = ANGLE_BOUND[np.dtype(dtype)]
    near = (np.arange(-40, 41) * np.pi / 4)[:, None] + np.array([0.0, 1e-7, -1e-12])
    spread = 10.0 ** rng.uniform(-12, np.log10(bound), 2000) * rng.choice([-1, 1], 2000)
    return np.unique(np.concatenate([near.ravel(), spread, [0.0, -0.0, bound, -bound]]).astype(dtype))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 2.5e-16), (np.float32, 1.5e-7)])
def test_sine_and_cosine_are_right_to_the_last_digits_over_the_whole_range(sine_and_cosine, dtype, tolerance):
    angles = difficult_angles(dtype)
    with mpmath.workdps(50):
        truth = np.array([[float(f(mpmath.mpf(float(a)))) for f in (mpmath.sin, mpmath.cos)] for a in angles])
    error = np.abs(sine_and_cosine.run(angles[:, None]) - truth)
    worst = np.unravel_index(np.argmax(error), error.shape)
    assert error.max() < tolerance, f"at angle {angles[worst[0]]!r}: {error.max():.3g}"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_bound_holds_for_each_number_not_for_all_together(dtype):
    function = make("sum_of_four", [Input("q", (4,), angle=True)], (1,), lambda q: [q[0] + q[1] + q[2] + q[3]])
    bound = ANGLE_BOUND[np.dtype(dtype)]
    largest = np.full((9, 4), bound, dtype)
    np.testing.assert_array_equal(function.run(largest), np.full((9, 1), 4 * bound, dtype))
    np.testing.assert_array_equal(function.run(largest[0]), [4 * bound])
    largest[5, 2] = np.nextafter(largest[5, 2], dtype(np.inf))
    with pytest.raises(NotFiniteError) as caught:
        function.run(largest)
    assert caught.value.index == (5, 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_single_and_batch_give_the_same_bits_for_plain_sums(dtype):
    function = make("sums", [Input("x", (3,))], (2,), lambda x: [x[0] + x[1], x[2] - x[0]])
    x = np.random.default_rng(2).normal(size=(37, 3)).astype(dtype)
    together = function.run(x)
    apart = np.array([function.run(row[None])[0] for row in x])
    np.testing.assert_array_equal(together, apart)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 33])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_any_width_are_read_and_written_whole(width, dtype):
    """Each output row is the input row reversed: a wrong shuffle would show."""
    function = make(f"reversed_{width}", [Input("x", (width,))], (width,), lambda x: [-v for v in x[::-1]])
    for count in (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 100):
        x = np.arange(count * width, dtype=dtype).reshape(count, width)
        np.testing.assert_array_equal(function.run(x), -x[:, ::-1])


def test_shared_inputs_serve_every_configuration():
    function = make(
        "shared",
        [Input("x", (2,)), Input("scale", (2, 2), shared=True)],
        (2,),
        lambda x, s: [sqrt(s[0] * s[3]) * x[0], s[1] * x[1]],
    )
    x, scale = np.random.default_rng(3).normal(size=(21, 2)), np.array([[4.0, 2.0], [0.0, 9.0]])
    np.testing.assert_allclose(function.run(x, scale), x * [6.0, 2.0], rtol=1e-15)


def test_builtin_refuses_what_does_not_fit():
    function = make("fits", [Input("x", (2,)), Input("g", (1,), shared=True)], (2,), lambda x, g: [x[0] * g[0], x[1]])
    kernel = function.entries(np.dtype(np.float64)).batch
    x, g, out = np.ones((5, 2)), np.ones(1), np.empty((5, 2))
    assert kernel(x, g, out) is True
    wrong = {
        "too few arguments": (x, g),
        "another number type": (x.astype(np.float32), g, out),
        "integers of the same size": (x.astype(np.int64), g, out),
        "fewer results than configurations": (x, g, np.empty((4, 2))),
        "a shared input per configuration": (x, np.ones(5), out),
        "rows that are cut in two": (np.ones(9), g, out),
        "out is an input": (x, g, x),
        "out overlaps an input": (x, g, np.empty(0)),
        "not contiguous": (np.ones((5, 4))[:, ::2], g, out),
        "out cannot be written": (x, g, np.broadcast_to(out, out.shape)),
    }
    memory = np.ones(15)
    wrong["out overlaps an input"] = (memory[:10].reshape(5, 2), g, memory[5:].reshape(5, 2))
    for reason, arguments in wrong.items():
        with pytest.raises(ValueError, match=r"kernel fits takes|contiguous|read-only") as caught:
            kernel(*arguments)
        assert str(caught.value), reason
    for value in ([1.0, 2.0], None, "text"):
        with pytest.raises(TypeError):
            kernel(value, g, out)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_number_anywhere_in_a_batch_is_seen(dtype, bad):
    """Also in an input that no output depends on."""
    function = make("seen", [Input("x", (3,)), Input("g", (1,), shared=True)], (1,), lambda x, g: [x[0] * g[0]])
    kernel = function.entries(np.dtype(dtype)).batch
    out = np.empty((19, 1), dtype)
    for row, column in itertools.product((0, 7, 8, 16, 18), range(3)):
        x, g = np.ones((19, 3), dtype), np.ones(1, dtype)
        assert kernel(x, g, out)
        x[row, column] = bad
        assert not kernel(x, g, out)
    assert not kernel(np.ones((19, 3), dtype), np.array([bad], dtype), out)
    assert not kernel(np.ones((1, 3), dtype), np.array([bad], dtype), out[:1])
