"""NVRTC takes every kernel, for real architectures and without a GPU: no doubles in single precision, and no spills.

Derivatives of the dynamics are programs of thousands of operations, and may spill some hundred bytes.

The quick tests compile each kernel for sm_80 and, in turn, for one of the other architectures. The slow one compiles
everything for all of them and rewrites the table in docs/gpu.md.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiler.cuda_cases import FLOAT32, FLOAT64, all_cases, case_of
from compiler.cuda_nvrtc import ARCHITECTURES, Usage, compile_for, needs_nvrtc
from compiler.cuda_table import GROUPS, sweep, table, write_table, written_table
from manipapy_core.compiler.cuda.emit import Layout, source

pytestmark = needs_nvrtc

CASES = all_cases("ur5")
kernels = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

SPILL_OF_DERIVATIVES = 1024
"""Bytes per thread."""
DOUBLE = re.compile(r"\.f64\b")


def check(usage: Usage, dtype: np.dtype, where: str) -> None:
    assert usage.registers <= 255, where
    if dtype == FLOAT32:
        allowed = SPILL_OF_DERIVATIVES if "dynamics_derivatives" in where else 0
        assert usage.spilled <= allowed and usage.stack <= allowed, f"{where} spills {usage.spilled} bytes"
        assert not DOUBLE.search(usage.assembly), f"{where} computes in double"


@kernels
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_compiles_for_ampere_in_rows(case, dtype):
    check(compile_for(80, source(case.kernel, dtype)), dtype, f"{case.name} {dtype}")


@kernels
def test_compiles_in_columns_for_another_architecture(case):
    others = [number for number in ARCHITECTURES if number != 80]
    architecture = others[CASES.index(case) % len(others)]
    usage = compile_for(architecture, source(case.kernel, FLOAT32, Layout.COLUMNS))
    check(usage, FLOAT32, f"{case.name} in columns for sm_{architecture}")


def test_double_would_be_noticed():
    """The check above can fail: one literal that no float holds makes its product a double."""
    kernel = case_of("ur5", "inverse_dynamics").kernel
    text = source(kernel, FLOAT32)
    careless = re.sub(r"(const float v\d+ = .*)0x[0-9a-f.]+p[+-]\d+f", r"\g<1>0.1", text, count=1)
    assert careless != text
    assert DOUBLE.search(compile_for(80, careless).assembly)


def test_a_spill_would_be_noticed():
    """The check above can fail: blocks of 1024 threads leave 64 registers for each."""
    kernel = case_of("panda", "forward_dynamics").kernel
    crowded = source(kernel, FLOAT32).replace("__launch_bounds__(256)", "__launch_bounds__(1024)")
    assert compile_for(80, crowded).spilled > 0


def test_what_cupy_adds_changes_nothing():
    """CuPy 14 passes one option of its own: functions are meant for the GPU unless they say otherwise."""
    text = source(case_of("ur5", "inverse_dynamics").kernel, FLOAT32)
    assert compile_for(80, text, "--device-as-default-execution-space") == compile_for(80, text)


def test_table_in_the_docs_has_every_kernel_and_architecture(project):
    text = written_table(project / "docs/gpu.md")
    for group, cases in GROUPS.items():
        for dtype in ("float32", "float64"):
            section = text.partition(f"**{group}, {dtype}**")[2].partition("**")[0]
            assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == [case.name for case in cases()]
            assert all(f"sm_{number}" in section for number in ARCHITECTURES)
            assert dtype == "float64" or "spills" not in section


@pytest.mark.slow
def test_everything_compiles_everywhere(project):
    entries = []
    for entry in sweep():
        where = f"{entry.group}: {entry.kernel} {entry.dtype} {entry.layout.value} sm_{entry.architecture}"
        check(entry.usage, entry.dtype, where)
        entries.append(entry)
    write_table(project / "docs/gpu.md", table(entries))
