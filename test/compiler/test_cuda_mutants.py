"""The parity test can fail: one wrong digit or sign anywhere in a CUDA kernel is noticed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from compiler.cuda_cases import COUNT, DOUBLE_BOUND, FLOAT64, case_of
from compiler.cuda_host import HostLibrary, needs_host_compiler, run_rows, source_of
from manipapy_core.compiler.cuda.emit import Layout, emit, emit_sincos, function_name
from reference.cases import disagreement

pytestmark = needs_host_compiler

LITERAL = re.compile(r"(?<![\w.])0x[0-9a-f.]+p[+-]\d+")
SIGN = re.compile(r" ([+-]) ")
COMPUTED = re.compile(r"^ +const double v\d+ = ", re.MULTILINE)


def mutants(function: str) -> Iterator[str]:
    """The kernel with one operation changed: each literal by a millionth, each + and − into the other."""
    for statement in COMPUTED.finditer(function):
        stop = function.index(";", statement.end())
        for literal in LITERAL.finditer(function, statement.end(), stop):
            value = float.fromhex(literal.group()) * (1 + 1e-6)
            yield function[: literal.start()] + value.hex() + function[literal.end() :]
        for sign in SIGN.finditer(function, statement.end(), stop):
            other = {"+": "-", "-": "+"}[sign.group(1)]
            yield function[: sign.start(1)] + other + function[sign.end(1) :]


@pytest.mark.parametrize(("name", "fewest"), [("gravity_forces", 30), ("forward", 40), ("screw_trajectory_5", 50)])
def test_one_wrong_literal_or_sign_is_noticed(name, fewest):
    case = case_of("ur5", name)
    original = emit(case.kernel, FLOAT64)
    label = function_name(case.function.signature, FLOAT64, Layout.ROWS)
    wrong = list(mutants(original))
    assert len(wrong) >= fewest
    renamed = [text.replace(label, f"{label}_{number}") for number, text in enumerate([original, *wrong])]
    host = HostLibrary(source_of(*renamed, dtype=FLOAT64))
    arguments = case.arguments(COUNT, FLOAT64)
    reference = case.reference(arguments)

    def error(number: int) -> float:
        result = run_rows(host, f"{label}_{number}", case.function.signature, arguments)
        return disagreement(result, reference)

    assert error(0) <= DOUBLE_BOUND
    unnoticed = [wrong[number - 1] for number in range(1, len(renamed)) if error(number) <= DOUBLE_BOUND]
    assert not unnoticed, f"{len(unnoticed)} of {len(wrong)}; the first:\n{unnoticed[0]}"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("quadrant & 2 ? -even", "quadrant & 2 ? even"),
        ("(quadrant + 1) & 2", "(quadrant + 2) & 2"),
        ("quadrant & 1 ? s : c", "quadrant & 1 ? c : s"),
        ("-0x1.921fb54442d18p+0", "-0x1.921fb54442d19p+0"),
    ],
)
def test_a_wrong_sine_is_noticed(right, wrong):
    case = case_of("ur5", "forward")
    text = source_of(emit(case.kernel, FLOAT64), dtype=FLOAT64)
    assert right in emit_sincos(FLOAT64)
    host = HostLibrary(text.replace(right, wrong))
    arguments = case.arguments(COUNT, FLOAT64)
    arguments[0][0] = 1e6  # many turns: the last digit of π/2 counts
    name = function_name(case.function.signature, FLOAT64, Layout.ROWS)
    result = run_rows(host, name, case.function.signature, arguments)
    assert disagreement(result, case.reference(arguments)) > DOUBLE_BOUND
