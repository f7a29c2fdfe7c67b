"""Selection of an array backend under ManipulaPy's names; there is one, NumPy.

A backend that a program registers can be selected, and its own functions called; results of this library are NumPy
arrays all the same. Large batches run on a GPU through `manipapy_core.compiler.cuda` (docs/gpu.md).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..errors import InputError
from .array_backend import ArrayBackend, NumpyBackend

NOT_HERE = ("cupy", "jax", "torch")
"""Backends of ManipulaPy that this library does not have."""

_active: ArrayBackend = NumpyBackend()
_REGISTRY: dict[str, ArrayBackend] = {_active.name: _active}


class UnsupportedBackend(InputError, ImportError):
    """A backend of ManipulaPy that this library does not have; programs for ManipulaPy expect an ImportError."""


def available_backends() -> list[str]:
    """Names of the backends."""
    return list(_REGISTRY)


def register(name: str, backend: ArrayBackend) -> None:
    """Adds a backend.

    Raises:
        InputError: There is one of this name.
    """
    if name in _REGISTRY:
        raise InputError(f"there is a backend {name!r} already; choose another name")
    _REGISTRY[name] = backend


def get_registered(name: str) -> ArrayBackend:
    """The backend of this name."""
    if name in _REGISTRY:
        return _REGISTRY[name]
    if name in NOT_HERE:
        raise UnsupportedBackend(
            f"there is no {name} backend here: results are NumPy arrays; set_backend('numpy'), and see docs/gpu.md for "
            "batches on a GPU"
        )
    raise InputError(f"no backend {name!r}; there are: {', '.join(available_backends())}")


def get_backend() -> ArrayBackend:
    """The backend in use."""
    return _active


def set_backend(name: str) -> ArrayBackend:
    """Selects a backend by name."""
    global _active
    _active = get_registered(name)
    return _active


@contextlib.contextmanager
def use_backend(name: str) -> Iterator[ArrayBackend]:
    """`set_backend` for the length of a `with` statement."""
    global _active
    before = _active
    try:
        yield set_backend(name)
    finally:
        _active = before
