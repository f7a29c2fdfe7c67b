"""Kernels on an NVIDIA GPU, through CuPy: arrays on the GPU in, arrays on the GPU out, no copy by way of the host.

A kernel runs where its arrays are, without any switch: NumPy arrays are computed on the CPU, CuPy arrays
(and others with `__cuda_array_interface__`) on the GPU that holds them. One number per call comes back to the host:
whether an input was refused.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...errors import CompilerError, InputError, ShapeError
from ..function import batch_shape, common_type, first_bad, fitting, numbers, on_gpu
from ..kernels import RECIPES, kernels_of
from ..trace import Input, Kernel, Signature
from .diagnosis import explain
from .emit import BLOCK, Layout, function_name, source

if TYPE_CHECKING:
    from ...model.chain import Chain

__all__ = ["CupyDevice", "Device", "GpuFunction", "Layout", "bind", "explain"]

OPTIONS = ("-std=c++17",)
"""For NVRTC. No fast mathematics: it would change digits and lose the test for NaN."""
MAX_BLOCKS = 4096
"""More would not run at the same time on any GPU; the threads loop over what is left."""

Launch = Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]
"""Called with the numbers of blocks and of threads, and the kernel's arguments."""


class Device(Protocol):
    """Memory for arrays, and a compiler for what works on it."""

    arrays: Any
    """Module with NumPy's functions for arrays in that memory."""

    def load(self, text: str, name: str) -> Launch:
        """Compiles CUDA C++ and finds a kernel in it."""

    def beside(self, array: Any) -> AbstractContextManager[Any]:
        """Makes the GPU that holds the array the current one."""


class CupyDevice:
    """The NVIDIA GPUs of this machine. CuPy keeps compiled kernels on disk and loads them once per GPU."""

    def __init__(self) -> None:
        try:
            self.arrays = importlib.import_module("cupy")
        except ImportError as error:
            raise CompilerError(f"arrays on a GPU are computed through CuPy\n{explain()}") from error

    def load(self, text: str, name: str) -> Launch:
        module = self.arrays.RawModule(code=text, options=OPTIONS)
        try:
            module.compile()
        except self.arrays.cuda.compiler.CompileException as error:
            raise CompilerError(f"NVRTC refused kernel {name!r}: {error}") from error
        return module.get_function(name)

    def beside(self, array: Any) -> AbstractContextManager[Any]:
        return array.device


cupy_device = functools.cache(CupyDevice)


class GpuFunction:
    """What `CompiledFunction` is for the CPU: checks and broadcasts its arguments, and returns a new array.

    Args:
        make: Traces the kernel; called once per type.
        layout: In `Layout.COLUMNS` the batch comes last in every array: (n, ...) in, (6, n, ...) out.
        device: CuPy's if not given.
    """

    def __init__(
        self,
        signature: Signature,
        make: Callable[[], Kernel],
        layout: Layout = Layout.ROWS,
        device: Device | None = None,
    ):
        self.signature, self.layout = signature, layout
        self._device = cupy_device() if device is None else device
        self._kernel = functools.cache(lambda dtype: self._load(make(), dtype))

    def run(self, *arguments: Any, checked: bool = True) -> Any:
        """Runs the kernel on the current stream.

        Args:
            arguments: Batched ones on the GPU; shared ones (gravity, payload) may be on the host.
            checked: Waits for the kernel and raises if an input is not finite. Without it the call returns at once,
                and the results of such inputs are worthless.
        """
        inputs = self.signature.inputs
        if len(arguments) != len(inputs):
            raise InputError(f"{self.signature.name} takes {', '.join(i.name for i in inputs)}; got {len(arguments)}")
        given = [self._numbers(value, argument) for argument, value in zip(inputs, arguments)]
        rows = [array if argument.shared else self._as_rows(array, argument) for argument, array in zip(inputs, given)]
        dtype, batch = common_type(inputs, rows), batch_shape(inputs, rows)
        with self._device.beside(next(array for argument, array in zip(inputs, given) if not argument.shared)):
            operands = [self._operand(array, argument, batch, dtype) for argument, array in zip(inputs, rows)]
            out = self._device.arrays.empty(self._shape(self.signature.output_shape, batch), dtype=dtype)
            refused = self._device.arrays.zeros(1, dtype=np.int32)
            count = math.prod(batch)
            blocks = max(1, min(-(-count // BLOCK), MAX_BLOCKS))  # one at least: shared inputs are checked in any case
            self._kernel(dtype)((blocks,), (BLOCK,), (*operands, out, refused, np.int64(count)))
            if checked and int(refused[0]):
                bad = first_bad(inputs, given, dtype)
                assert bad is not None, "the kernel refused an input that passes the same bounds here"
                raise bad
        return out

    def _load(self, kernel: Kernel, dtype: np.dtype) -> Launch:
        name = function_name(self.signature, dtype, self.layout)
        return self._device.load(source(kernel, dtype, self.layout), name)

    def _numbers(self, value: Any, argument: Input) -> Any:
        if on_gpu(value):
            array = self._device.arrays.asarray(value)
            return fitting(array, argument) if argument.shared else array
        if argument.shared:
            return numbers(value, argument)
        raise InputError(
            f"{argument.name} is not on the GPU while other arguments are; "
            f"put it there with cupy.asarray({argument.name})"
        )

    def _as_rows(self, array: Any, argument: Input) -> Any:
        """A view with the batch in front, in either layout."""
        if self.layout is Layout.COLUMNS:
            depth = len(argument.shape)
            if array.shape[:depth] != argument.shape:
                wanted = ", ".join(str(length) for length in argument.shape)
                raise ShapeError(argument.name, f"({wanted}, ...)", array.shape)
            array = array.transpose(*range(depth, array.ndim), *range(depth))
        return fitting(array, argument)

    def _operand(self, array: Any, argument: Input, batch: tuple[int, ...], dtype: np.dtype) -> Any:
        """The array as the kernel reads it: on the GPU, of its type, without gaps."""
        arrays = self._device.arrays
        if argument.shared:
            return arrays.ascontiguousarray(arrays.asarray(array, dtype=dtype))
        array = arrays.broadcast_to(array, batch + argument.shape)
        if self.layout is Layout.COLUMNS:
            array = array.transpose(*range(len(batch), array.ndim), *range(len(batch)))
        return arrays.ascontiguousarray(array, dtype=dtype)

    def _shape(self, inner: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
        return inner + batch if self.layout is Layout.COLUMNS else batch + inner


def bind(chain: Chain, name: str, layout: Layout = Layout.COLUMNS) -> GpuFunction:
    """A kernel for arrays in the other layout, (n, N), or to be run unchecked."""
    if name not in RECIPES:
        raise InputError(f"no kernel {name!r}; there are: {', '.join(RECIPES)}")
    function = getattr(kernels_of(chain), name)
    return GpuFunction(function.signature, function.make, layout)
