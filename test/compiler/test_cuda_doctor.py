"""Diagnosis of why a GPU is not used, with the cure."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from compiler.cuda_host import DeviceArray
from manipapy_core.compiler.cuda import device
from manipapy_core.compiler.cuda.diagnosis import CudaEnvironment, diagnose

READY = CudaEnvironment(cupy="14.2.0", driver=13000, runtime=13020, devices=("NVIDIA RTX 4000",), compiler=True)
OBSTACLES = {
    "no CuPy": (CudaEnvironment(), "CuPy is not installed", "pip install"),
    "broken CuPy": (CudaEnvironment(cupy="14.2.0", import_problem="libfoo.so"), "libfoo.so", "pip install"),
    "no driver": (CudaEnvironment(cupy="14.2.0", runtime=13020), "no NVIDIA driver", "--gpus all"),
    "old driver": (
        CudaEnvironment(cupy="14.2.0", driver=12040, runtime=13020),
        "driver is for CUDA 12.4, CuPy for CUDA 13.2",
        "update the driver",
    ),
    "no device": (
        CudaEnvironment(cupy="14.2.0", driver=13000, runtime=13020),
        "no GPU that it may use",
        "CUDA_VISIBLE_DEVICES",
    ),
    "no compiler": (
        CudaEnvironment(cupy="14.2.0", driver=13000, runtime=13020, devices=("NVIDIA RTX 4000",)),
        "finds no NVRTC",
        "nvidia-cuda-nvrtc",
    ),
}


@pytest.mark.parametrize(("found", "reason", "cure"), OBSTACLES.values(), ids=OBSTACLES)
def test_each_obstacle_is_named_with_its_cure(found, reason, cure):
    diagnosis = diagnose(found, DeviceArray(np.zeros(6)))
    assert not diagnosis.used
    assert reason in diagnosis.reason and cure in diagnosis.cure
    assert str(diagnosis) == f"GPU: not used: {diagnosis.reason}\n  cure: {diagnosis.cure}"


def test_numpy_arrays_are_the_last_obstacle():
    diagnosis = diagnose(READY, np.zeros(6), [1.0])
    assert not diagnosis.used
    assert "ndarray" in diagnosis.reason and "NVIDIA RTX 4000" in diagnosis.reason
    assert "cupy.asarray" in diagnosis.cure


def test_nothing_in_the_way():
    for arguments in ((), (DeviceArray(np.zeros(6)),), (DeviceArray(np.zeros(6)), np.zeros(3))):
        diagnosis = diagnose(READY, *arguments)
        assert diagnosis.used and not diagnosis.cure
        assert str(diagnosis).startswith("GPU: used: NVIDIA RTX 4000")


def test_a_driver_of_the_same_major_version_is_new_enough():
    """CUDA's minor versions are compatible with each other."""
    assert diagnose(READY).used
    assert not diagnose(CudaEnvironment(**{**vars(READY), "driver": 12090})).used


def test_this_machine_gets_an_answer():
    text = device.explain()
    assert text.startswith("GPU: ")
    assert "cure: " in text or text.startswith("GPU: used")


def test_cupy_is_imported_by_the_question_and_not_before():
    code = (
        "import sys, manipapy_core.compiler.cuda.device as gpu\n"
        "assert 'cupy' not in sys.modules\n"
        "sys.modules['cupy'] = None\n"
        "print(gpu.explain())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("GPU: not used: CuPy is not installed\n  cure: pip install")
