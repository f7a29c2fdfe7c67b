"""An obstacle: a cluster that was followed over frames, with a name that stays the same."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import InputError
from ...geometry import Box, ConvexMesh, Sphere
from ...typing import Array
from ..shapes.clusters import Cluster


@dataclass(frozen=True, eq=False)
class Obstacle:
    """Something in the way, in the base frame at the time of its frame."""

    id: int
    """Stays the same as long as the thing is followed, and is never used again."""
    cluster: Cluster
    """What was last seen of it, moved along with the track."""
    velocity: Array
    """[m/s], shape (3,)."""
    position_sigma: float
    velocity_sigma: float
    """Standard deviations per axis [m, m/s]."""
    first_seen_ns: int
    last_seen_ns: int
    """Times of pictures [ns]."""
    age: float
    """Since it was first seen [s]."""
    unseen: float
    """Since it was last seen [s]; 0: in this very frame."""
    hits: int
    """Frames that it was seen in."""
    confirmed: bool
    """Whether it was seen often enough to be believed."""
    label: str = ""
    """What a detector called it; empty without one."""
    score: float = 0.0
    """How sure the detector was, 0 to 1."""

    @property
    def fresh(self) -> bool:
        """Whether this frame shows it; otherwise it is remembered."""
        return self.unseen == 0.0

    @property
    def name(self) -> str:
        """For the planner's world."""
        return f"obstacle_{self.id}"

    @property
    def centre(self) -> Array:
        """Middle of its box [m], shape (3,)."""
        return self.cluster.centre

    @property
    def size(self) -> Array:
        """Of its box as seen [m], shape (3,)."""
        return self.cluster.size

    @property
    def padding(self) -> float:
        """What to add on every side to be sure [m]: depth noise, and where it may have gone while unseen."""
        drift = min(self.velocity_sigma + float(np.linalg.norm(self.velocity)), 0.5) * min(self.unseen, 1.0)
        return self.cluster.padding + drift

    def distance(self, point: Array) -> float:
        """From a point of the base frame to the padded box [m]; 0 inside."""
        T = self.cluster.T_base_box
        local = T[:3, :3].T @ (np.asarray(point, dtype=np.float64) - T[:3, 3])
        beyond = np.maximum(np.abs(local) - 0.5 * self.size - self.padding, 0.0)
        return float(np.linalg.norm(beyond))

    @cached_property
    def box(self) -> Box:
        """Padded, at `cluster.T_base_box`."""
        return Box(self.size + 2.0 * self.padding)

    @cached_property
    def sphere(self) -> Sphere:
        """Padded, about `centre`."""
        return Sphere(self.cluster.radius + self.padding)

    @cached_property
    def hull(self) -> ConvexMesh:
        """Padded, in the base frame: the hull of its points, each grown to a small cube."""
        points = self.cluster.points.astype(np.float64)
        if self.cluster.standing:
            R, p = self.cluster.T_base_box[:3, :3], self.cluster.T_base_box[:3, 3]
            below = (points - p) @ R
            below[:, 2] = -0.5 * self.size[2]
            points = np.concatenate([points, below @ R.T + p])
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
        # Only points of the inner hull can make corners of the outer one; without a volume all are taken.
        with contextlib.suppress(InputError):
            points = ConvexMesh(points).vertices
        return ConvexMesh((points[:, None] + self.padding * corners).reshape(-1, 3))
