"""An obstacle: a tracked cluster with a persistent id."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...geometry import Box, ConvexMesh, Sphere
from ...typing import Array
from ..shapes.cluster import Cluster


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A tracked obstacle in the base frame, at the time of its frame."""

    id: int
    """Persistent while the object is tracked, never reused."""
    cluster: Cluster
    """Its last detection."""
    velocity: Array
    """[m/s], shape (3,)."""
    position_sigma: float
    velocity_sigma: float
    """Standard deviations per axis [m, m/s]."""
    first_seen_ns: int
    last_seen_ns: int
    """Times of the first and last detection [ns]."""
    age: float
    """Time since the first detection [s]."""
    unseen: float
    """Time since the last detection [s]; 0: detected in this frame."""
    hits: int
    """Frames in which it was detected."""
    padding: float
    """Enlargement of `box`, `sphere` and `hull` on every side [m], see `PaddingSettings`."""
    confirmed: bool
    """Whether it was detected often enough to be reported."""
    label: str = ""
    """Label of the detector; empty without one."""
    score: float = 0.0
    """Score of the detector, 0 to 1."""

    @property
    def fresh(self) -> bool:
        """Whether it was detected in this frame."""
        return self.unseen == 0.0

    @property
    def name(self) -> str:
        """Name in the planner's world."""
        return f"obstacle_{self.id}"

    @property
    def centre(self) -> Array:
        """Centre of its box [m], shape (3,)."""
        return self.cluster.centre

    @property
    def size(self) -> Array:
        """Unpadded edge lengths of its box [m], shape (3,)."""
        return self.cluster.size

    def distance(self, point: Array) -> float:
        """Distance from a point of the base frame to the padded box [m]; 0 inside."""
        T = self.cluster.T_base_box
        local = T[:3, :3].T @ (np.asarray(point, dtype=np.float64) - T[:3, 3])
        beyond = np.maximum(np.abs(local) - 0.5 * self.size - self.padding, 0.0)
        return float(np.linalg.norm(beyond))

    @cached_property
    def box(self) -> Box:
        """Padded box at `cluster.T_base_box`, for display: parts of an object that is no box may lie outside."""
        return Box(self.size + 2.0 * self.padding)

    @cached_property
    def sphere(self) -> Sphere:
        """Padded ball about `centre`."""
        return Sphere(self.cluster.radius + self.padding)

    @cached_property
    def hull(self) -> ConvexMesh:
        """Padded convex hull in the base frame, of its points and the space hidden behind them; for planning.

        Raises:
            InputError: It has no volume; use the box.
        """
        return self.cluster.hull(self.padding)
