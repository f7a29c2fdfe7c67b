"""What an arm does and what it should do: the two small objects that every part of control passes on.

Their arrays are buffers: whoever owns them writes into them a thousand times a second, nobody keeps them. Take a
copy of what must outlive the tick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, NotFiniteError, ShapeError
from ..model.chain import Chain

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Where the arm is and how fast it moves."""

    q: Array
    """Joint positions [rad or m], shape (n,)."""
    qd: Array
    """Joint velocities [rad/s or m/s], shape (n,)."""

    @classmethod
    def at_rest(cls, q: ArrayLike) -> State:
        """Copies q; the velocities are zero."""
        q = np.array(q, dtype=np.float64)
        return cls(q, np.zeros_like(q))

    @classmethod
    def of_block(cls, block: Array) -> State:
        """Views of the rows of an array of shape (2 or more, n), which is copied in one go."""
        return cls(block[0], block[1])

    def take(self, q: Array, qd: Array) -> None:
        """Copies numbers into the buffers."""
        self.q[:] = q
        self.qd[:] = qd


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Where the arm should be now, how fast, and with which acceleration."""

    q: Array
    """Joint positions [rad or m], shape (n,)."""
    qd: Array
    """Joint velocities [rad/s or m/s], shape (n,)."""
    qdd: Array
    """Joint accelerations [rad/s² or m/s²], shape (n,)."""

    @classmethod
    def at_rest(cls, q: ArrayLike) -> Reference:
        """Copies q; velocities and accelerations are zero."""
        q = np.array(q, dtype=np.float64)
        return cls(q, np.zeros_like(q), np.zeros_like(q))

    @classmethod
    def of_block(cls, block: Array) -> Reference:
        """Views of the rows of an array of shape (3, n), which samplers write in one go."""
        return cls(block[0], block[1], block[2])

    def rest_at(self, q: Array) -> None:
        """Becomes a standstill at q."""
        self.q[:] = q
        self.qd.fill(0.0)
        self.qdd.fill(0.0)


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


def joint_units(chain: Chain) -> tuple[str, ...]:
    """`rad` or `m` for each joint, for messages to people."""
    units = ["rad"] * chain.n
    for body in chain.bodies:
        if not body.revolute:
            units[body.dof] = "m"
    return tuple(units)
