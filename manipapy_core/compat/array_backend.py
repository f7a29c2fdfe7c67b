"""Array functions under ManipulaPy's names: `ArrayBackend`, and `NumpyBackend`, which is NumPy itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np


class ArrayBackend(ABC):
    """Functions on arrays of one kind; NumPy's unless a subclass replaces them."""

    name: ClassVar[str] = ""
    gpu_capable: ClassVar[bool] = False
    """Whether its arrays live on a GPU."""
    float32, float64 = np.float32, np.float64

    zeros, eye, stack, concatenate, diag = (
        staticmethod(f) for f in (np.zeros, np.eye, np.stack, np.concatenate, np.diag)
    )
    inv, pinv, solve, norm = (staticmethod(f) for f in (np.linalg.inv, np.linalg.pinv, np.linalg.solve, np.linalg.norm))
    sin, cos, sqrt, arccos, arctan2, abs = (
        staticmethod(f) for f in (np.sin, np.cos, np.sqrt, np.arccos, np.arctan2, np.abs)
    )
    clip, maximum, minimum, where, cross, matmul, trace = (
        staticmethod(f) for f in (np.clip, np.maximum, np.minimum, np.where, np.cross, np.matmul, np.trace)
    )
    sum, amax, amin, mean, argmax, all, any, isfinite = (
        staticmethod(f) for f in (np.sum, np.amax, np.amin, np.mean, np.argmax, np.all, np.any, np.isfinite)
    )

    @abstractmethod
    def asarray(self, obj: Any, dtype: Any = None) -> Any:
        """An array of this kind; the object itself if it is one."""

    @abstractmethod
    def to_numpy(self, x: Any) -> Any:
        """A NumPy array with the same values."""

    @abstractmethod
    def is_backend_array(self, x: Any) -> bool:
        """Whether an object is an array of this kind."""

    def array(self, obj: Any, dtype: Any = None) -> Any:
        """A new array of this kind."""
        return np.array(obj, dtype=dtype)

    def svd(self, a: Any, full_matrices: bool = False) -> Any:
        """Left vectors, singular values in falling order, right vectors as rows."""
        return np.linalg.svd(a, full_matrices=full_matrices)

    def svdvals(self, a: Any) -> Any:
        """Singular values in falling order."""
        return np.linalg.svd(a, compute_uv=False)

    def to_device(self, x: Any) -> Any:
        """The array where this backend computes."""
        return self.asarray(x)

    def ascontiguous(self, x: Any) -> Any:
        """The array in C order."""
        return np.ascontiguousarray(x)

    def is_concrete(self, x: Any) -> bool:
        """Whether the values of an array are known, and it is not a symbol of a traced function."""
        return True

    def cache_token(self) -> Any:
        """Differs between any two backends."""
        return self.name, id(self)


class NumpyBackend(ArrayBackend):
    """NumPy arrays; the backend of all results here."""

    name = "numpy"

    def asarray(self, obj: Any, dtype: Any = None) -> Any:
        """A NumPy array; the object itself if it is one."""
        return np.asarray(obj, dtype=dtype)

    def to_numpy(self, x: Any) -> Any:
        """The array itself."""
        return np.asarray(x)

    def is_backend_array(self, x: Any) -> bool:
        """Whether an object is a NumPy array."""
        return isinstance(x, np.ndarray)
