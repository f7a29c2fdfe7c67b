"""Where the tip can be: points of random configurations, their hull and a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..ik.bounds import search_bounds
from ..model.chain import Chain

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Workspace:
    """Positions that the tip takes over evenly random configurations."""

    q: Array
    """Configurations [rad or m], shape (samples, n)."""
    points: Array
    """Tip positions in the base frame [m], shape (samples, 3)."""
    manipulability: Array
    """Of each configuration, shape (samples,)."""

    @cached_property
    def hull(self) -> tuple[Array, NDArray[np.int64]]:
        """Corners [m], shape (corners, 3), and triangles (facets, 3) of the convex hull; needs scipy.

        A planar arm has a flat workspace and no hull of this kind: triangles are then none.
        """
        hull = self._qhull()
        if hull is None:
            return self.points[:0], np.zeros((0, 3), dtype=np.int64)
        number = np.full(len(self.points), -1)
        number[hull.vertices] = np.arange(len(hull.vertices))
        return self.points[hull.vertices], number[hull.simplices]

    @cached_property
    def hull_volume(self) -> float:
        """Of the convex hull [m³]: more than the workspace, which has dents and holes. 0 for a planar arm."""
        hull = self._qhull()
        return 0.0 if hull is None else float(hull.volume)

    def voxel_volume(self, cell: float) -> float:
        """Of all cubes with this edge [m] that hold a point [m³]: grows towards the truth with more samples."""
        if not cell > 0.0:
            raise InputError(f"cell is {cell}; give an edge above zero [m]")
        return float(len(np.unique(np.floor(self.points / cell).astype(np.int64), axis=0)) * cell**3)

    def _qhull(self) -> Any:
        try:
            from scipy.spatial import ConvexHull, QhullError
        except ImportError as error:
            raise ImportError("a hull needs scipy; install it with: pip install 'manipapy[perception]'") from error
        try:
            return ConvexHull(self.points)
        except QhullError:
            if np.linalg.matrix_rank(self.points - self.points[0], tol=1e-9) < 3:
                return None  # flat: an answer, not a failure
            raise

    def draw(self, axes: Any, *, size: float = 1.0) -> Any:
        """Scatters the points into 3-D axes of matplotlib, coloured by manipulability; returns the collection."""
        return axes.scatter(*self.points.T, c=self.manipulability, s=size, cmap="viridis", linewidths=0)


def sample_workspace(chain: Chain, samples: int = 10_000, *, seed: int = 0) -> Workspace:
    """Tip positions of random configurations inside the limits, the same ones for the same seed."""
    from ..singularity import manipulability

    if samples < 4:
        raise InputError(f"samples is {samples}; give at least 4")
    bounds = search_bounds(chain, True)
    q = np.random.default_rng(seed).uniform(bounds.lower, bounds.upper, (samples, chain.n))
    return Workspace(q, chain.kernels.forward.run(q)[:, :3, 3].copy(), manipulability(chain, q))
