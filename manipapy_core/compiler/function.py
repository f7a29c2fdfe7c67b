"""A compiled kernel as a function of arrays: any batch shape, new arrays as results, checks of the input."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, NotFiniteError, ShapeError
from ..typing import AnyArray
from .llvm.types import ANGLE_BOUND, COUNTER, NUMBER_BOUND, PIECE
from .pools import RESULTS
from .trace import Input, Kernel, Signature

if TYPE_CHECKING:
    from .cuda.device import GpuFunction
    from .llvm.entry import Entries

empty = np.empty
FLOAT64, FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)


class CompiledFunction:
    """Checks, converts and broadcasts its arguments, runs the kernel, and returns a new array.

    float32 arrays are computed in float32, everything else in float64. Arrays on a GPU are computed there.
    """

    def __init__(self, signature: Signature, load: Callable[[np.dtype], Entries], make: Callable[[], Kernel]):
        self.signature = signature
        self.make = make
        self._entries = functools.cache(load)
        self._single = self._first_call
        self._out_shape = signature.output_shape

    def entries(self, dtype: np.dtype) -> Entries:
        """The bare builtins for a type."""
        return self._entries(dtype)

    def run(self, *arguments: ArrayLike, threads: int = 1) -> AnyArray:
        # First the fast path of a control loop: one configuration in plain float64 arrays, which the builtin checks.
        out = empty(self._out_shape)
        try:
            if self._single(*arguments, out):
                return out
        except (TypeError, ValueError, BufferError):
            pass  # a batch, a list, another type or a mistake: the slow path distinguishes them
        return self._general(arguments, threads)

    @functools.cached_property
    def gpu(self) -> GpuFunction:
        """The same kernel for arrays on a GPU."""
        from .cuda.device import GpuFunction

        return GpuFunction(self.signature, self.make)

    def _first_call(self, *arguments: Any) -> bool:
        if any(map(on_gpu, arguments)):
            raise TypeError("arrays on a GPU need no machine code of the CPU: `run` sends them to the slow path")
        self._single = self._entries(FLOAT64).single
        return self._single(*arguments)

    def _general(self, arguments: tuple[ArrayLike, ...], threads: int) -> AnyArray:
        if any(map(on_gpu, arguments)):
            return self.gpu.run(*arguments)
        if not isinstance(threads, int) or threads < 1:
            raise InputError(f"threads is {threads!r}; give a whole number from 1 up")
        inputs = self.signature.inputs
        arrays = [numbers(value, argument) for argument, value in zip(inputs, arguments)]
        dtype, batch = common_type(inputs, arrays), batch_shape(inputs, arrays)
        rows = [
            _rows(array, argument.shape if argument.shared else batch + argument.shape, dtype)
            for argument, array in zip(inputs, arrays)
        ]
        out = RESULTS.empty(batch + self._out_shape, dtype)
        entries = self._entries(dtype)
        if threads < 2 or math.prod(batch) < threads * PIECE:
            good = entries.batch(*rows, out)
        else:
            from .pools import TEAM  # rarely used

            good = TEAM.run(threads, entries.pieces, (*rows, out, np.array([0, 0, 0, threads], COUNTER)))
        # The kernel checks sums of squares; the bounds hold for each number.
        if not good and (bad := first_bad(inputs, arrays, dtype)) is not None:
            raise bad
        return out


def on_gpu(value: Any) -> bool:
    """True for arrays in the memory of an NVIDIA GPU, CuPy's and others'."""
    return type(value) is not np.ndarray and hasattr(value, "__cuda_array_interface__")


def numbers(value: ArrayLike, argument: Input) -> AnyArray:
    """A NumPy array that fits the argument."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{argument.name} is not a rectangular array of numbers: {error}") from None
    return fitting(array, argument)


def fitting(array: Any, argument: Input) -> Any:
    """The array itself, wherever it is, if its type and shape fit the argument."""
    if array.dtype.kind not in "fiu":
        raise InputError(f"{argument.name} holds {array.dtype.name} values; give real numbers")
    depth = len(argument.shape)
    if array.ndim < depth or array.shape[array.ndim - depth :] != argument.shape:
        raise ShapeError(argument.name, _wanted(argument), array.shape)
    if argument.shared and array.ndim != depth:
        raise ShapeError(argument.name, f"{argument.shape}, one for the whole batch", array.shape)
    return array


def _rows(array: AnyArray, shape: tuple[int, ...], dtype: np.dtype) -> AnyArray:
    """The array as kernels read it; mostly it is so already, and NumPy's own conversion takes longer than a kernel."""
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    flags = array.flags
    if array.dtype == dtype and flags.c_contiguous and flags.aligned:
        return array
    return np.require(array, dtype, ["C", "ALIGNED"])


def _wanted(argument: Input) -> str:
    inner = ", ".join(str(length) for length in argument.shape)
    return f"({inner},)" if argument.shared else f"(..., {inner})"


def common_type(inputs: tuple[Input, ...], arrays: list[Any]) -> np.dtype:
    """What to compute in: float32 if all batched arrays are."""
    batched = [array for argument, array in zip(inputs, arrays) if not argument.shared]
    return FLOAT32 if all(array.dtype == FLOAT32 for array in batched) else FLOAT64


def batch_shape(inputs: tuple[Input, ...], arrays: list[Any]) -> tuple[int, ...]:
    """The batch that all arrays broadcast to."""
    shapes = {
        argument.name: array.shape[: array.ndim - len(argument.shape)]
        for argument, array in zip(inputs, arrays)
        if not argument.shared
    }
    if len(different := set(shapes.values())) == 1:
        return different.pop()
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listing = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(f"batch shapes do not fit together: {listing}; make them equal or broadcastable") from None


def checked(value: ArrayLike, argument: Input) -> AnyArray:
    """The value as an array that a kernel would take for this argument, or the error that it would raise."""
    array = numbers(value, argument)
    dtype = common_type((argument,), [array])
    bad = first_bad((argument,), [array], dtype)
    if bad is not None:
        raise bad
    return array.astype(dtype, copy=False)


def first_bad(inputs: tuple[Input, ...], arrays: list[Any], dtype: np.dtype) -> NotFiniteError | None:
    """The first number that is not finite or too large; a kernel only detects that there is one."""
    for argument, array in zip(inputs, arrays):
        bound = (ANGLE_BOUND if argument.angle else NUMBER_BOUND)[dtype]
        wrong = ~(abs(array.astype(dtype)) <= bound)
        if wrong.any():
            index = tuple(int(positions[0]) for positions in wrong.nonzero()) if wrong.ndim else ()
            return NotFiniteError(argument.name, index, float(array[index]), bound)
    return None
