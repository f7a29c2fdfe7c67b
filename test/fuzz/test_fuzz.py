"""A part of `make fuzz` for every run of the tests: the same cases each time."""

from __future__ import annotations

import pytest

from .worker import run_cases

CASES = {
    "urdf": 500,
    "urdf_file": 100,
    "xacro": 250,
    "mesh": 150,
    "reach_map": 80,
    "kernel_cache": 100,
    "command": 60,
}


@pytest.mark.parametrize("target", CASES)
def test_broken_input_gets_an_error_of_ours(target):
    results = list(run_cases(target, range(CASES[target])))
    assert len(results) == CASES[target]
    findings = [f"seed {finding.seed}: {finding.what}" for _, finding in results if finding is not None]
    assert not findings, "\n".join(findings[:5])
