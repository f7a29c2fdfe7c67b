"""Memory for large results: what the last result left is used for the next one.

Fresh memory comes from the operating system page by page, each filled with zeros when it is touched first, and goes
back as a whole. For a fast kernel this takes as long as the computation, and more when several threads touch pages of
one process at once. Whether the C library keeps memory depends on what else happened in the process; here it is kept.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 20
"""Bytes from which a result is worth it: smaller ones come from the C library's own store."""
LARGEST = 1 << 25
"""Bytes from which computing takes long against getting memory, and keeping it would be felt by others."""
KEPT = 3
"""Pieces of memory kept at most."""


class Results:
    """Hands out arrays and takes their memory back when nobody refers to them any more, whichever thread is last."""

    def __init__(self) -> None:
        self._free: deque[_Memory] = deque(maxlen=KEPT)  # the oldest falls out

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """An array of unset numbers, C-contiguous."""
        size = math.prod(shape) * dtype.itemsize
        if not LARGE <= size <= LARGEST:
            return np.empty(shape, dtype)
        return np.asarray(_Lease(self._free, self._take(size), shape, dtype))

    def _take(self, size: int) -> _Memory:
        for memory in tuple(self._free):
            if size <= memory.size <= 2 * size:
                try:
                    self._free.remove(memory)
                except ValueError:
                    continue  # another thread was faster
                return memory
        return _Memory(size)


class _Memory:
    """Bytes without an owner."""

    def __init__(self, size: int):
        self.size = size
        self._bytes = np.empty(size, np.uint8)
        self.address: int = self._bytes.__array_interface__["data"][0]


class _Lease:
    """What an array refers to while it uses memory; the array's last view takes it along."""

    def __init__(self, free: deque[_Memory], memory: _Memory, shape: tuple[int, ...], dtype: np.dtype[Any]):
        self._free, self._memory = free, memory
        where = (memory.address, False)
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": where}

    def __del__(self) -> None:
        self._free.append(self._memory)


RESULTS = Results()
