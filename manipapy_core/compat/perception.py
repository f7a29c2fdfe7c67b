"""`Perception`: obstacle points and their clusters, with ManipulaPy's API.

The labels equal those of scikit-learn's DBSCAN. For tracked obstacles, with the robot and the table removed, use
`manipapy_core.perception.PerceptionPipeline`.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..perception import dbscan
from .vision import Vision


class Perception:
    """Obstacles from the cameras of a `Vision`.

    Args:
        vision_instance: Required: a `Vision`, or any object with its methods.
        logger_name: Name of the logger.

    Raises:
        ValueError: No `Vision` was given.
    """

    def __init__(self, vision_instance: Vision | Any = None, logger_name: str = "PerceptionLogger"):
        if vision_instance is None:
            raise ValueError("Perception needs a Vision; give vision_instance")
        self.vision = vision_instance
        self.logger = logging.getLogger(logger_name)

    def detect_and_cluster_obstacles(
        self,
        camera_index: int = 0,
        depth_threshold: float = 5.0,
        step: int = 2,
        eps: float = 0.1,
        min_samples: int = 3,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Obstacle points in the world [m], shape (N, 3), and the cluster of each, −1 for noise, shape (N,).

        Args:
            depth_threshold: Points farther away are ignored [m].
            step: Take every step-th pixel.
            eps: Neighbourhood radius of DBSCAN [m].
            min_samples: Neighbours that make a core point.
        """
        rgb, depth = self.vision.capture_image(camera_index=camera_index)
        if depth is None:
            self.logger.warning("camera %d has no depth image", camera_index)
            return np.empty((0, 3), np.float32), np.empty(0, np.int64)
        points, _ = self.vision.detect_obstacles(
            depth_image=depth, rgb_image=rgb, depth_threshold=depth_threshold, camera_index=camera_index, step=step
        )
        if points is None:  # of a Vision of another class
            return np.empty((0, 3), np.float32), np.empty(0, np.int64)
        labels, _ = self.cluster_obstacles(points, eps, min_samples)
        return points, labels

    def compute_stereo_disparity(
        self, left_img: NDArray[np.uint8], right_img: NDArray[np.uint8]
    ) -> NDArray[np.float32]:
        """Disparity of raw images [pixels], shape (height, width); −1 where unknown.

        Raises:
            RuntimeError: There are no stereo cameras.
        """
        if not self.vision.stereo_enabled:
            raise RuntimeError("no stereo cameras; give the Vision stereo_configs")
        return self.vision.compute_disparity(*self.vision.rectify_stereo_images(left_img, right_img))

    def get_stereo_point_cloud(self, left_img: NDArray[np.uint8], right_img: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Points in the world [m], shape (N, 3)."""
        return self.vision.get_stereo_point_cloud(left_img, right_img)

    def cluster_obstacles(
        self, points: ArrayLike, eps: float = 0.1, min_samples: int = 3
    ) -> tuple[NDArray[np.int64], int]:
        """The cluster of each point, −1 for noise, shape (N,), and the number of clusters."""
        labels = dbscan(np.asarray(points, dtype=np.float64).reshape(-1, 3), eps, min_samples)
        return labels, int(labels.max(initial=-1)) + 1

    def release(self) -> None:
        """Release the cameras."""
        self.vision.release()

    def __del__(self) -> None:
        if hasattr(self, "vision"):
            self.release()
