"""The CUDA source of every kernel, run by the host compiler, against the algorithm on NumPy and the CPU kernels."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from compiler.cuda_cases import COUNT, DOUBLE_BOUND, FLOAT32, FLOAT64, ROBOTS, Array, KernelCase, all_cases, case_of
from compiler.cuda_host import HostLibrary, needs_host_compiler, run_rows, source_of
from manipapy_core.compiler.cuda.emit import Layout, emit, function_name
from manipapy_core.compiler.kernels import RECIPES
from manipapy_core.compiler.llvm.types import ANGLE_BOUND
from manipapy_core.compiler.scalar import sincos
from manipapy_core.compiler.trace import Input, Signature, trace
from reference.cases import disagreement

pytestmark = needs_host_compiler

SINGLE_BOUND = 1e-5
"""Relative to the largest entry of the result; for forward dynamics, of the forces that it solves for."""
LAYOUTS = pytest.mark.parametrize("layout", Layout, ids=lambda layout: layout.value)
KERNELS = pytest.mark.parametrize(
    ("robot", "name"), [(robot, case.name) for robot in ROBOTS for case in all_cases(robot)]
)


@functools.cache
def library(robot: str, dtype: np.dtype) -> HostLibrary:
    """All kernels of a robot in both layouts."""
    functions = [emit(case.kernel, dtype, layout) for case in all_cases(robot) for layout in Layout]
    return HostLibrary(source_of(*functions, dtype=dtype))


def compute(robot: str, case: KernelCase, arguments: list[Array], layout: Layout) -> Array:
    dtype = arguments[0].dtype
    name = function_name(case.function.signature, dtype, layout)
    return run_rows(library(robot, dtype), name, case.function.signature, arguments, layout)


def test_every_kernel_is_here():
    names = {case.name for case in all_cases("ur5")}
    assert names >= RECIPES.keys()
    assert {name for name in names if "trajectory" in name} == {
        "joint_trajectory_3_6", "joint_trajectory_5_6", "screw_trajectory_3", "screw_trajectory_5",
    }  # fmt: skip


@KERNELS
@LAYOUTS
def test_double_precision_agrees_with_numpy_and_with_the_cpu_kernel(robot, name, layout):
    case = case_of(robot, name)
    arguments = case.arguments(COUNT, FLOAT64)
    result = compute(robot, case, arguments, layout)
    # Derivatives of accelerations pass through the inverse of the mass matrix twice.
    bound = 1e-11 if name.startswith("forward_dynamics_derivatives") else DOUBLE_BOUND
    assert disagreement(result, case.reference(arguments)) <= bound
    assert disagreement(result, case.function.run(*arguments)) <= bound


@KERNELS
@LAYOUTS
def test_single_precision_has_the_digits_that_it_can_have(robot, name, layout):
    case = case_of(robot, name)
    arguments = case.arguments(COUNT, FLOAT32)
    result = compute(robot, case, arguments, layout)
    assert result.dtype == np.float32
    exact = [array.astype(FLOAT64) for array in arguments]
    if name.startswith("forward_dynamics_derivatives"):
        truth = case.reference(exact)
        largest = 100.0 * np.max(np.abs(truth))  # the mass matrix of light links is badly conditioned
    elif name.startswith("forward_dynamics"):
        # Accelerations of light links magnify any rounding; the forces that they stand for do not.
        inverse = case_of(robot, name.replace("forward", "inverse"))
        result, truth = inverse.reference([*exact[:2], result.astype(FLOAT64), *exact[3:]]), exact[2]
        bias = inverse.reference([*exact[:2], np.zeros_like(exact[2]), *exact[3:]])
        largest = max(np.max(np.abs(truth)), np.max(np.abs(bias)))
    else:
        truth = case.reference(exact)
        largest = np.max(np.abs(truth))
    assert np.max(np.abs(result - truth)) <= SINGLE_BOUND * largest


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_sine_and_cosine_are_those_of_the_cpu_kernel_over_the_whole_range(dtype):
    signature = Signature("sine_and_cosine", (Input("q", (1,), angle=True),), (2,))
    kernel = trace(signature, lambda q: sincos(q[0]))
    host = HostLibrary(source_of(emit(kernel, dtype), dtype=dtype))
    bound = ANGLE_BOUND[dtype]
    quarters = np.arange(-40, 41)[:, None] * np.pi / 4 + np.array([0.0, 1e-7, -1e-12])
    sizes = np.geomspace(1e-12, bound, 2000)
    angles = np.concatenate([quarters.ravel(), sizes, -sizes, [0.0, bound, -bound]]).astype(dtype)
    out, refused = np.full((len(angles), 2), np.nan, dtype), np.zeros(1, np.int32)
    host.kernel("sine_and_cosine_" + {4: "float", 8: "double"}[dtype.itemsize] + "_rows")(
        (3,), (16,), (angles, out, refused, np.int64(len(angles)))
    )
    truth = np.stack([np.sin(angles.astype(np.longdouble)), np.cos(angles.astype(np.longdouble))], axis=1)
    assert refused[0] == 0
    assert np.max(np.abs(out - truth)) <= 1.2 * np.finfo(dtype).eps


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
@LAYOUTS
def test_every_element_of_every_input_is_checked(dtype, layout, bad):
    case = case_of("ur5", "inverse_dynamics_wrench_payload")
    host, signature = library("ur5", dtype), case.function.signature
    launch = host.kernel(function_name(signature, dtype, layout))
    arguments = case.arguments(3, dtype)
    if layout is Layout.COLUMNS:
        arguments = [a if i.shared else np.ascontiguousarray(a.T) for i, a in zip(signature.inputs, arguments)]
    out = np.empty(18, dtype)
    for argument, array in zip(signature.inputs, arguments):
        for element in range(array.size):
            value, array.flat[element] = array.flat[element], bad
            refused = np.zeros(1, np.int32)
            launch((1,), (2,), (*arguments, out, refused, np.int64(3)))
            # 1e30 is a number like any other in double precision, unless it is an angle
            wrong = not np.isfinite(bad) or dtype == FLOAT32 or argument.angle
            assert refused[0] == wrong, (argument.name, element)
            array.flat[element] = value
