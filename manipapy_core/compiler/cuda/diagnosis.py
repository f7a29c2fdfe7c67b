"""Diagnosis of why kernels do not run on a GPU here, with the cure."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

from ..function import on_gpu

INSTALL = 'pip install "manipapy[gpu]" (CuPy for CUDA 13; cupy-cuda12x[ctk] for drivers older than 580)'


@dataclass(frozen=True)
class CudaEnvironment:
    """What was found on this machine."""

    cupy: str | None = None
    """Its version; None if it is not installed."""
    import_problem: str = ""
    """Why CuPy, though installed, cannot be imported."""
    driver: int = 0
    """CUDA version that the NVIDIA driver supports, 1000 · major + 10 · minor; 0 without a driver."""
    runtime: int = 0
    """CUDA version that CuPy was built for."""
    devices: tuple[str, ...] = ()
    """Names of the GPUs that this process may use."""
    compiler: bool = False
    """True if CuPy finds NVRTC."""


@dataclass(frozen=True)
class Diagnosis:
    """Whether a GPU is used, why, and how to change it."""

    used: bool
    reason: str
    cure: str = ""

    def __str__(self) -> str:
        text = f"GPU: {'used' if self.used else 'not used'}: {self.reason}"
        return f"{text}\n  cure: {self.cure}" if self.cure else text


def explain(*arguments: Any) -> str:
    """Text that states whether these arguments would be computed on a GPU, and if not, why. Imports CuPy if installed.

    Args:
        arguments: What a kernel would be called with; none to ask about the machine alone.
    """
    return str(diagnose(look(), *arguments))


def diagnose(found: CudaEnvironment, *arguments: Any) -> Diagnosis:
    """The first obstacle to computing on a GPU."""
    if found.cupy is None:
        return Diagnosis(False, "CuPy is not installed", INSTALL)
    if found.import_problem:
        return Diagnosis(False, f"CuPy {found.cupy} cannot be imported: {found.import_problem}", INSTALL)
    if found.driver == 0:
        cure = "install the NVIDIA driver; in a container, start it with --gpus all and the NVIDIA container toolkit"
        return Diagnosis(False, "this machine has no NVIDIA driver", cure)
    if found.driver < found.runtime - found.runtime % 1000:
        reason = f"the NVIDIA driver is for CUDA {_version(found.driver)}, CuPy for CUDA {_version(found.runtime)}"
        return Diagnosis(False, reason, "update the driver, or pip install the cupy-cuda1Nx that fits it")
    if not found.devices:
        cure = "nvidia-smi lists the GPUs; CUDA_VISIBLE_DEVICES may hide them from this process"
        return Diagnosis(False, "there is an NVIDIA driver but no GPU that it may use", cure)
    if not found.compiler:
        return Diagnosis(False, "CuPy finds no NVRTC, which compiles the kernels", "pip install nvidia-cuda-nvrtc")
    names = ", ".join(found.devices)
    if arguments and not any(map(on_gpu, arguments)):
        kinds = ", ".join(sorted({type(argument).__name__ for argument in arguments}))
        return Diagnosis(False, f"{names} is there, but the input is {kinds}: arrays are computed where they are",
                         "q = cupy.asarray(q), and the same for the other batched arguments")  # fmt: skip
    return Diagnosis(True, f"{names}; CuPy arrays are computed there, NumPy arrays on the CPU")


def look() -> CudaEnvironment:
    """Asks CuPy, if it is installed."""
    if importlib.util.find_spec("cupy") is None:
        return CudaEnvironment()
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        return CudaEnvironment(cupy="(version unknown)", import_problem=str(error))
    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError:  # without a driver, or with one that is too old, or without a GPU
        count = 0
    return CudaEnvironment(
        cupy=cupy.__version__,
        driver=runtime.driverGetVersion(),
        runtime=runtime.runtimeGetVersion(),
        devices=tuple(runtime.getDeviceProperties(index)["name"].decode() for index in range(count)),
        compiler=_has_nvrtc(cupy),
    )


def _has_nvrtc(cupy: Any) -> bool:
    try:
        cupy.cuda.nvrtc.getVersion()
    except (RuntimeError, OSError, ImportError):  # CuPy's error differs between its versions
        return False
    return True


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
