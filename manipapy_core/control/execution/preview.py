"""Samples of the active trajectory that lie ahead, for threads other than the loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...model.chain import Chain
from ...trajectory.bounds import BrakingLimits
from ...typing import Array
from ..state import Reference
from .active_trajectory import ActiveTrajectory
from .execution import Execution, GoalPhase
from .goal import ExecutionSettings, GoalRefused


@dataclass(frozen=True, eq=False)
class PathAhead:
    """The part of the active trajectory that lies ahead."""

    trajectory: int
    """Number of the trajectory, counted from 1."""
    positions: Array
    """Joint positions [rad or m], the present reference first, shape (count, n)."""
    spacing: float
    """Trajectory time between two rows [s]."""
    rate: float
    """Trajectory seconds per second now."""


MOVING = (GoalPhase.RUNNING, GoalPhase.CANCELLING)


class TrajectoryPreview:
    """A second copy of the active trajectory, so that sampling it does not disturb the loop. For one thread.

    Args:
        chain: The arm.
        settings: Of the execution.
        bounds: Likewise.
    """

    def __init__(self, chain: Chain, settings: ExecutionSettings, bounds: BrakingLimits):
        self._active = ActiveTrajectory(chain, settings, bounds)
        self._of: object = None
        self._block = np.zeros((3, chain.n))

    def ahead(self, execution: Execution, count: int, spacing: float) -> PathAhead | None:
        """Samples from the present trajectory time on.

        Args:
            execution: Of the loop; only read.
            spacing: Trajectory time between two rows [s].

        Returns:
            None if no trajectory is being executed.
        """
        begun, number, time, rate = execution.begun, execution.number, execution.clock_time, execution.rate
        if begun is None or execution.phase not in MOVING:
            return None
        if begun is not self._of:
            goal, block, now = begun
            try:
                self._active.begin(goal, Reference.of_block(block), now)
            except GoalRefused:  # not by the same reference; a race with a goal that is just being replaced
                return None
            self._of = begun
        rows = np.empty((count, self._block.shape[1]))
        for row in range(count):
            self._active.sample(time + row * spacing, self._block)
            rows[row] = self._block[0]
        # The loop may have started another goal meanwhile.
        return PathAhead(number, rows, spacing, rate) if execution.begun is begun else None
