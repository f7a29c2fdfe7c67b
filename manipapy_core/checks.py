"""Checks of user input that several parts of the library share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .errors import InputError, NotFiniteError, ShapeError
from .model.chain import Chain
from .typing import Array


def joint_vector(values: ArrayLike, chain: Chain, name: str) -> Array:
    """A checked copy of one number per joint.

    Raises:
        ShapeError: Not as many numbers as joints.
        NotFiniteError: NaN or infinity among them.
    """
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (chain.n,):
        raise ShapeError(name, f"({chain.n},): one number per joint, in the order {', '.join(chain.joint_names)}",
                         vector.shape)  # fmt: skip
    bad = np.flatnonzero(~np.isfinite(vector))
    if bad.size:
        raise NotFiniteError(name, (int(bad[0]),), float(vector[bad[0]]), np.finfo(np.float64).max)
    return vector


def positive(value: float, name: str, unit: str) -> float:
    """A setting that must be finite and above zero.

    Raises:
        InputError: It is not.
    """
    if not (0.0 < value < float("inf")):
        raise InputError(f"{name} is {value!r}; give a finite number above zero [{unit}]")
    return float(value)


def not_negative(value: float, name: str, unit: str) -> float:
    """A setting that must be finite and zero or more.

    Raises:
        InputError: It is not.
    """
    if not (0.0 <= value < float("inf")):
        raise InputError(f"{name} is {value!r}; give a finite number, zero or more [{unit}]")
    return float(value)


def joint_units(chain: Chain) -> tuple[str, ...]:
    """`rad` or `m` for each joint, for messages to people."""
    units = ["rad"] * chain.n
    for body in chain.bodies:
        if not body.revolute:
            units[body.dof] = "m"
    return tuple(units)
