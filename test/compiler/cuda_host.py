"""A processor without a GPU that runs CUDA source: g++ compiles it, and every thread of the grid is called in turn."""

from __future__ import annotations

import ctypes
import hashlib
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

needs_host_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="no g++, which stands in for the GPU here; apt install build-essential"
)

FLAGS = ("-std=c++17", "-shared", "-fPIC", "-Wall", "-Wno-unknown-pragmas", "-Wno-unused-function")


class HostLibrary:
    """CUDA source as machine code of this processor."""

    def __init__(self, text: str, optimise: int = 0):
        self._folder = tempfile.TemporaryDirectory(prefix="manipapy-cuda-")
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        file, library = Path(self._folder.name, f"{name}.cpp"), Path(self._folder.name, f"{name}.so")
        file.write_text(text)
        command = ["g++", *FLAGS, f"-O{optimise}", str(file), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr
        self._library = ctypes.CDLL(str(library))

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


class DeviceArray:
    """What a CuPy array looks like from outside: no buffer, no way to NumPy without asking for it."""

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
        """Memory that nobody wrote to yet must not look right by chance."""
        return np.full(shape, np.nan, dtype=dtype)
