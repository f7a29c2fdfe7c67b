"""A straightforward pipeline with OpenCV, NumPy and scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from manipapy_core.perception import PerceptionSettings, StereoModel


class NaivePipeline:
    """SGBM, reprojection, a voxel grid by sorting, DBSCAN."""

    def __init__(self, stereo: StereoModel, settings: PerceptionSettings):
        import cv2

        self.settings = settings
        P = stereo.left.projection
        self.Q = np.array(
            [[1, 0, 0, -P[0, 2]], [0, 1, 0, -P[1, 2]], [0, 0, 0, P[0, 0]], [0, 0, 1 / stereo.baseline, 0.0]]
        )
        self.lowest = math.floor(stereo.disparity_of(settings.matcher.max_search_depth))
        span = stereo.disparity_of(settings.matcher.min_depth) + 1 - self.lowest
        self.matcher = cv2.StereoSGBM_create(
            minDisparity=self.lowest,
            numDisparities=16 * math.ceil(span / 16),
            blockSize=5,
            P1=8 * 25,
            P2=32 * 25,
            disp12MaxDiff=1,
            uniquenessRatio=10,
            speckleWindowSize=100,
            speckleRange=2,
        )

    def run(self, left: np.ndarray, right: np.ndarray, T_base_left: np.ndarray, above: float | None = None):
        """Labels of points; with `above`, only of those higher than this [m]."""
        import cv2
        from sklearn.cluster import DBSCAN

        gray = [cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) for image in (left, right)]
        disparity = self.matcher.compute(*gray).astype(np.float32) / 16.0
        points = cv2.reprojectImageTo3D(disparity, self.Q)
        points = points[disparity >= self.lowest]
        points = points @ T_base_left[:3, :3].T + T_base_left[:3, 3]
        inside = np.all((points >= self.settings.lower) & (points <= self.settings.upper), axis=1)
        cells = numpy_voxel_means(points[inside], self.settings.voxel_size)
        if above is not None:
            cells = cells[cells[:, 2] > above]
        chosen = self.settings.clusters
        return DBSCAN(eps=chosen.eps, min_samples=chosen.min_samples).fit_predict(cells)


def numpy_voxel_means(points: np.ndarray, cell: float) -> np.ndarray:
    """One mean per cell, by sorting the cell indices."""
    index = np.floor(points / cell).astype(np.int64)
    index -= index.min(axis=0)
    along = index.max(axis=0) + 1
    keys = (index[:, 0] * along[1] + index[:, 1]) * along[2] + index[:, 2]
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.stack([np.bincount(inverse, points[:, axis]) for axis in range(3)], axis=1) / counts[:, None]


def peer_dbscans() -> dict[str, Callable[[np.ndarray, float, int], np.ndarray]]:
    """By name; each takes points, eps and min_samples."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree
    from sklearn.cluster import DBSCAN

    def scikit_learn(points: np.ndarray, eps: float, min_samples: int) -> np.ndarray:
        return DBSCAN(eps=eps, min_samples=min_samples).fit_predict(points)

    def scipy_tree(points: np.ndarray, eps: float, min_samples: int) -> np.ndarray:
        """Pairs from a tree, components of the graph of core points, border points to the lowest cluster in range."""
        n = len(points)
        pairs = cKDTree(points).query_pairs(eps, output_type="ndarray")
        core = np.bincount(pairs.ravel(), minlength=n) + 1 >= min_samples
        both = pairs[core[pairs].all(axis=1)]
        graph = coo_array((np.ones(len(both), np.int8), (both[:, 0], both[:, 1])), shape=(n, n))
        _, component = connected_components(graph, directed=False)
        first, numbers = np.unique(component[core], return_index=True)
        rank = np.full(n, n, np.int64)
        rank[first[np.argsort(numbers)]] = np.arange(len(first))
        labels = np.where(core, rank[component], n)
        mixed = pairs[core[pairs].sum(axis=1) == 1]
        border = np.where(core[mixed[:, 0]], mixed[:, 1], mixed[:, 0])
        owner = np.where(core[mixed[:, 0]], mixed[:, 0], mixed[:, 1])
        np.minimum.at(labels, border, rank[component[owner]])
        return np.where(labels == n, -1, labels)

    return {"scikit-learn": scikit_learn, "scipy tree": scipy_tree}
