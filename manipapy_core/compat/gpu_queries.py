"""What ManipulaPy's CUDA module tells about the GPU and its kernels; part of `cuda_kernels`.

The functions of `cuda_kernels` run on the CPU whether or not there is a GPU, so no kernel is ever selected, pooled or
profiled here: the answers are those that ManipulaPy gives on a machine without CUDA. `docs/gpu.md` explains how batches
run on a GPU.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, NoReturn

from ..errors import ManipapyError

try:
    import cupy

    CUPY_AVAILABLE = True
except ImportError:
    CUPY_AVAILABLE = False

ON = ("1", "true", "yes", "on")


class NoKernelHere(ManipapyError, RuntimeError):
    """A function that only a kernel on a GPU has a use for."""

    def __init__(self, name: str):
        super().__init__(
            f"{name} has no use here: {__package__}.cuda_kernels runs on the CPU; docs/gpu.md says how to use a GPU"
        )
        self.name = name


def check_cuda_availability() -> bool:
    """Whether CuPy is installed and finds a GPU; not where ManipulaPy's variable or CUDA's own hides it."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")
    if not CUPY_AVAILABLE or hidden or os.environ.get("MANIPULAPY_FORCE_CPU", "").lower() in ON:
        return False
    try:
        return bool(cupy.cuda.runtime.getDeviceCount() > 0)
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


def check_cupy_availability() -> bool:
    """Whether CuPy is installed; a UserWarning if it is not."""
    if not CUPY_AVAILABLE:
        warnings.warn("CuPy not available: install cupy-cuda12x to use a GPU", UserWarning, stacklevel=2)
    return CUPY_AVAILABLE


def get_gpu_properties() -> dict[str, int] | None:
    """Number of multiprocessors and largest block of the GPU; None without one."""
    if not check_cuda_availability():
        return None
    told = cupy.cuda.runtime.getDeviceProperties(0)
    return {
        "multiprocessor_count": int(told["multiProcessorCount"]),
        "max_threads_per_block": int(told["maxThreadsPerBlock"]),
        "max_shared_memory_per_block": int(told["sharedMemPerBlock"]),
    }


def auto_select_optimal_kernel(N: int, num_joints: int) -> str:
    """Always "none": no kernel runs on a GPU here."""
    return "none"


def get_optimal_kernel_config(N: int, num_joints: int, kernel_type: str = "auto") -> dict[str, Any] | None:
    """Always None: no kernel runs on a GPU here."""
    return None


def benchmark_kernel_performance(kernel_type: str, *args: Any, num_runs: int = 10) -> dict[str, float] | None:
    """Always None: there is no kernel to measure; `benchmarks/gpu.py` measures those of this library."""
    return None


def print_performance_recommendations(N: int, num_joints: int) -> None:
    """Prints that trajectories are computed on the CPU."""
    print(f"{N} samples of {num_joints} joints are computed on the CPU; docs/gpu.md says how batches run on a GPU")


def setup_cuda_environment_for_40x_speedup() -> None:
    """No effect: there is no environment to set up."""


def profile_start() -> None:
    """No effect, as `profile_stop`: there is no kernel to profile."""


def profile_stop() -> None:
    """No effect."""


def get_memory_pool_stats() -> dict[str, float]:
    """Of a pool of arrays on the GPU, which is always empty here."""
    return {"total_arrays": 0, "cache_hit_rate": 0.0, "memory_usage_mb": 0.0}


def get_cuda_array(shape: Any, dtype: Any = None) -> NoReturn:
    """Refused: there are no arrays on a GPU here."""
    raise NoKernelHere("get_cuda_array")


def return_cuda_array(array: Any) -> NoReturn:
    """Refused, as `get_cuda_array`."""
    raise NoKernelHere("return_cuda_array")
