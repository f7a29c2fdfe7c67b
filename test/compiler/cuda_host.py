"""A processor without a GPU that runs CUDA source: g++ compiles it, and every thread of the grid is called in turn."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from manipapy_core.compiler.cuda.emit import PRELUDE, Layout, emit_sincos
from manipapy_core.compiler.trace import Signature

needs_host_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="no g++, which stands in for the GPU here; apt install build-essential"
)

FLAGS = ("-std=c++17", "-O0", "-shared", "-fPIC", "-Wall", "-Wno-unused-function")
"""Optimising would take longer than it saves; warnings count as errors."""


class HostLibrary:
    """CUDA source as machine code of this processor."""

    def __init__(self, text: str):
        with tempfile.TemporaryDirectory(prefix="manipapy-cuda-") as folder:
            file, library = Path(folder, "kernels.cpp"), Path(folder, "kernels.so")
            file.write_text(text)
            done = subprocess.run(["g++", *FLAGS, str(file), "-o", str(library)], capture_output=True, text=True)
            assert done.returncode == 0 and not done.stderr, done.stderr
            self._library = ctypes.CDLL(str(library))  # stays when its file goes

    def kernel(self, name: str) -> Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]:
        """Called as CuPy's kernels are: numbers of blocks, numbers of threads, arguments."""
        function = self._library[name]
        function.restype = None
        places = [ctypes.c_uint.in_dll(self._library, which) for which in ("blockIdx", "threadIdx")]
        sizes = [ctypes.c_uint.in_dll(self._library, which) for which in ("gridDim", "blockDim")]

        def launch(grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
            values = [_passed(argument) for argument in arguments]
            for size, (value,) in zip(sizes, (grid, block)):
                size.value = value
            for position in itertools.product(range(grid[0]), range(block[0])):
                for place, value in zip(places, position):
                    place.value = value
                function(*values)

        return launch


def _passed(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    assert isinstance(argument, np.int64), "CuPy passes a NumPy integer as the C type of its size"
    return ctypes.c_longlong(int(argument))


def source_of(*functions: str, dtype: np.dtype) -> str:
    """Several kernels of one type in one file."""
    return "\n".join([PRELUDE, emit_sincos(dtype), *functions])


def run_rows(
    host: HostLibrary, name: str, signature: Signature, arguments: list[np.ndarray], layout: Layout = Layout.ROWS
) -> np.ndarray:
    """Launches a kernel on row arrays, turned to columns and back where the kernel wants them.

    There are too few threads for the batch, so each goes through the loop several times, and not equally often.
    """
    columns = layout is Layout.COLUMNS
    count = next(len(array) for argument, array in zip(signature.inputs, arguments) if not argument.shared)
    operands = [
        np.ascontiguousarray(array.reshape(count, -1).T) if columns and not argument.shared else array
        for argument, array in zip(signature.inputs, arguments)
    ]
    shape = (count, signature.output_width)
    out = np.full(shape[::-1] if columns else shape, np.nan, arguments[0].dtype)
    refused = np.zeros(1, np.int32)
    host.kernel(name)((3,), (16,), (*operands, out, refused, np.int64(count)))
    assert refused[0] == 0
    return (out.T if columns else out).reshape(count, *signature.output_shape)


class DeviceArray:
    """A CuPy array as seen from outside: no buffer, and no way to NumPy unless one asks for it."""

    def __init__(self, memory: Any):
        self.memory = np.asarray(memory)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.memory.__array_interface__

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("an array on the GPU was about to be copied to the host behind the user's back")


class HostDevice:
    """`gpu.Device` on this processor: NumPy as the array library, g++ as the compiler. Counts what it is asked."""

    def __init__(self) -> None:
        self.launches: list[tuple[str, int, int]] = []
        self.compiled: list[str] = []
        self.arrays = SimpleNamespace(
            asarray=self._asarray,
            ascontiguousarray=np.ascontiguousarray,
            broadcast_to=np.broadcast_to,
            empty=self._unset,
            zeros=np.zeros,
        )

    def load(self, text: str, name: str) -> Callable[..., None]:
        self.compiled.append(name)
        launch = HostLibrary(text).kernel(name)

        def counted(grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
            self.launches.append((name, grid[0], block[0]))
            launch(grid, block, arguments)

        return counted

    def beside(self, array: Any) -> AbstractContextManager[Any]:
        assert isinstance(array, np.ndarray)
        return nullcontext()

    @staticmethod
    def _asarray(value: Any, dtype: Any = None) -> np.ndarray:
        return np.asarray(value.memory if isinstance(value, DeviceArray) else value, dtype=dtype)

    @staticmethod
    def _unset(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Memory that was not written yet must not be right by chance."""
        return np.full(shape, np.nan, dtype=dtype)
