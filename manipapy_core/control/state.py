"""State and reference of an arm, passed between all parts of control.

Their arrays are buffers that their owner overwrites in every tick. Copy what must outlive the tick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..typing import Array


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Positions and velocities of the joints."""

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
        """Views of the first two rows of an array of shape (2 or more, n)."""
        return cls(block[0], block[1])

    def take(self, q: Array, qd: Array) -> None:
        """Copies positions and velocities into the buffers."""
        self.q[:] = q
        self.qd[:] = qd


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Desired positions, velocities and accelerations of the joints at one time."""

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
        """Views of the rows of an array of shape (3, n)."""
        return cls(block[0], block[1], block[2])

    def rest_at(self, q: Array) -> None:
        """Sets the reference to rest at q."""
        self.q[:] = q
        self.qd.fill(0.0)
        self.qdd.fill(0.0)
