"""One detected object: its points, bounding box, and convex hull with the space hidden behind it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...geometry import ConvexMesh
from ...typing import Array


@dataclass(frozen=True, eq=False)
class Cluster:
    """One detected object, in the base frame."""

    points: NDArray[np.float32]
    """Mean points of its voxels [m], shape (points, 3)."""
    T_base_box: Array
    """Pose of the bounding box: centre and axes, z up, shape (4, 4)."""
    size: Array
    """Edge lengths of the box that holds all but a few stray pixels, without padding [m], shape (3,)."""
    radius: float
    """Radius of the ball about the box centre that holds the same points, without padding [m]."""
    sigma: float
    """Mean standard deviation of its depth [m]."""
    padding: float
    """Padding on every side [m], see `PaddingSettings.at_detection`."""
    standing: bool
    """Whether it stands on a plane; its box is extended down to the plane."""
    spherical: bool
    """Whether a ball was fitted; the box then includes the far side."""
    hidden: Array = field(default_factory=lambda: np.empty((0, 3)))
    """Ends of the space behind its points that is not seen [m], part of its hull; see `hidden_space`."""
    min_height: float = 0.0
    """Objects on its plane that are lower than this [m] are within the noise of the plane."""

    @property
    def centre(self) -> Array:
        """Centre of the box [m], shape (3,)."""
        return self.T_base_box[:3, 3]

    @cached_property
    def _corners(self) -> Array:
        """Points whose convex hull is the unpadded object [m], shape (points, 3)."""
        points = self.points.astype(np.float64)
        if self.standing:
            R, p = self.T_base_box[:3, :3], self.centre
            below = (points - p) @ R
            below[:, 2] = -0.5 * self.size[2]
            points = np.concatenate([points, below @ R.T + p])
        points = np.concatenate([points, self.hidden])
        # Only vertices of the unpadded hull can make vertices of the padded one; without a volume all points are used.
        with contextlib.suppress(InputError):
            points = ConvexMesh(points).vertices
        return points

    @cached_property
    def _hulls(self) -> dict[float, ConvexMesh]:
        return {}

    def hull(self, padding: float) -> ConvexMesh:
        """Convex hull of its points and of the space hidden behind them, each point enlarged to a cube along its box.

        Args:
            padding: Half the edge of the cubes [m].

        Raises:
            InputError: It has no volume.
        """
        if padding not in self._hulls:
            self._hulls.clear()
            cube = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
            enlarged = self._corners[:, None] + padding * cube @ self.T_base_box[:3, :3].T
            self._hulls[padding] = ConvexMesh(enlarged.reshape(-1, 3))
        return self._hulls[padding]
