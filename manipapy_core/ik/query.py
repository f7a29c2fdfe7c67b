"""One question to inverse kinematics: everything the search needs, and the time it may take."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array
from .numeric import IKTolerances, NumericSolver, TaskWeights

STARTS_AT_A_TIME = 64
"""Starts between two checks of the clock: about a millisecond."""


class TimeLimit:
    """The time at which a search ends.

    Args:
        timeout: From now on [s]; None for a search that ends by itself.
    """

    def __init__(self, timeout: float | None):
        if timeout is not None and not timeout >= 0.0:
            raise InputError(f"timeout is {timeout!r}; give a number of seconds from 0 up, or None")
        self.limited = timeout is not None
        self._end = math.inf if timeout is None else time.perf_counter() + timeout

    @property
    def over(self) -> bool:
        return self.limited and time.perf_counter() >= self._end


NO_TIME_LIMIT = TimeLimit(None)


@dataclass(frozen=True, eq=False)
class Query:
    """A pose to reach, and how."""

    chain: Chain
    solver: NumericSolver
    """For this chain, task, tolerances and limits."""
    T: Array
    """T_base_tip, shape (4, 4)."""
    seed: Array | None
    """Joint positions to stay close to [rad or m], shape (n,)."""
    limits: bool
    """Keep to the joint limits."""
    task: TaskWeights
    tolerances: IKTolerances
    deadline: TimeLimit
