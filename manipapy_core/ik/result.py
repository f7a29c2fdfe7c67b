"""Results of inverse kinematics: a status, joint positions and errors."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..typing import Array


class IKStatus(enum.Enum):
    """Outcome of a search."""

    SOLVED = "solved"
    """Within the tolerances; inside the limits and free of collision where that was requested."""
    LEAST_SQUARES = "least squares"
    """No start came within the tolerances; q is the closest that was found. Not a proof that there is no solution."""
    LIMIT_BLOCKED = "limit blocked"
    """Solvable, but only outside the joint limits. q is the closest inside them."""
    IN_COLLISION = "in collision"
    """Solvable inside the limits, but every solution that was found collides. q is one of those."""
    UNREACHABLE = "unreachable"
    """Proved: beyond the sum of the links, or refuted by the closed form. q is the closest that was found."""


@dataclass(frozen=True)
class IKResult:
    """Result for one pose."""

    q: Array
    """Joint positions [rad or m], shape (n,); the best candidate even when not solved."""
    status: IKStatus
    position_error: float
    """[m]"""
    orientation_error: float
    """[rad]"""
    iterations: int
    """Of the start that gave q."""
    starts: int
    """Starts of the search, all together."""
    timed_out: bool = False
    """The time limit ended the search: more time might find a solution, or a better one."""

    @property
    def solved(self) -> bool:
        return self.status is IKStatus.SOLVED


@dataclass(frozen=True)
class IKBatch:
    """Results for N poses."""

    q: Array
    """Joint positions [rad or m], shape (N, n)."""
    status: NDArray[np.object_]
    """`IKStatus` per pose, shape (N,)."""
    position_error: Array
    """[m], shape (N,)."""
    orientation_error: Array
    """[rad], shape (N,)."""
    iterations: NDArray[np.int64]
    """All starts together, shape (N,)."""
    starts: NDArray[np.int64]
    """Shape (N,)."""

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, index: int) -> IKResult:
        return IKResult(
            self.q[index],
            self.status[index],
            float(self.position_error[index]),
            float(self.orientation_error[index]),
            int(self.iterations[index]),
            int(self.starts[index]),
        )

    def __iter__(self) -> Iterator[IKResult]:
        return (self[index] for index in range(len(self)))

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Shape (N,)."""
        return np.array([status is IKStatus.SOLVED for status in self.status], dtype=bool)


@dataclass(frozen=True)
class IKSolutions:
    """All solutions of one pose, best first."""

    q: Array
    """Joint positions [rad or m], shape (count, n); empty unless solved or in collision."""
    status: IKStatus
    position_error: Array
    """[m], shape (count,)."""
    orientation_error: Array
    """[rad], shape (count,)."""
    method: str
    """How they were found, for example "closed form (6R-THREE_PARALLEL)" or "numeric enumeration"."""
    complete: bool
    """True if the method finds every solution (of every requested redundancy value); False if it may miss some."""
    closest: IKResult | None
    """The best candidate where there is no solution."""
    timed_out: bool = False
    """The time limit ended the search: more time might find more solutions."""

    def __len__(self) -> int:
        return len(self.q)

    def __iter__(self) -> Iterator[Array]:
        return iter(self.q)

    @property
    def solved(self) -> bool:
        return self.status is IKStatus.SOLVED
