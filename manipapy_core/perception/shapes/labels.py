"""Labels for clusters from a 2-D object detector; `OnnxDetector` runs ONNX models through OpenCV."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ... import lie
from ...errors import InputError
from ...typing import Array
from ..stereo.camera import Camera
from ..stereo.images import opencv
from .cluster import Cluster


@dataclass(frozen=True)
class Detection:
    """One detected object in an image."""

    label: str
    score: float
    """0 to 1."""
    box: tuple[float, float, float, float]
    """Left, top, right, bottom [pixels of the image]."""


class Detector(Protocol):
    """Interface of a 2-D object detector."""

    def detect(self, image: NDArray[np.uint8]) -> Sequence[Detection]:
        """Detections in an image, grey (height, width) or RGB (height, width, 3)."""


def label_clusters(
    clusters: Sequence[Cluster],
    detections: Sequence[Detection],
    camera: Camera,
    T_base_optical: Array,
    *,
    min_share: float = 0.5,
) -> list[tuple[str, float]]:
    """Label and score of the best detection for each cluster; ("", 0) if there is none.

    Args:
        camera: Camera of the image; its P projects points to pixels.
        min_share: Share of a cluster's points that must lie in a detection's box, 0 to 1.
    """
    names = []
    T = lie.inverse(T_base_optical)
    P = camera.projection
    for cluster in clusters:
        optical = cluster.points.astype(np.float64) @ T[:3, :3].T + T[:3, 3]
        z = np.maximum(optical[:, 2], 1e-6)
        u = P[0, 0] * optical[:, 0] / z + P[0, 2]
        v = P[1, 1] * optical[:, 1] / z + P[1, 2]
        best = ("", 0.0)
        for found in detections:
            left, top, right, bottom = found.box
            inside = np.mean((u >= left) & (u <= right) & (v >= top) & (v <= bottom) & (optical[:, 2] > 0.0))
            if inside >= min_share and found.score > best[1]:
                best = (found.label, found.score)
        names.append(best)
    return names


class OnnxDetector:
    """Runs a detector from an ONNX file of the user; nothing is downloaded.

    The model takes images (1, 3, size, size) with values 0 to 1 and returns (1, 4 + classes, boxes) or its transpose:
    centre, width and height of each box in pixels of its input, then the score of each class.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        labels: Sequence[str],
        *,
        size: int = 640,
        min_score: float = 0.4,
        overlap: float = 0.5,
    ):
        """Load the model.

        Args:
            labels: Names of its classes, in their order.
            size: Edge of its input [pixels].
            min_score: Detections with a lower score are dropped, 0 to 1.
            overlap: Threshold of non-maximum suppression: intersection over union, 0 to 1.
        """
        path = Path(model)
        if not path.is_file():
            raise InputError(f"no model file {str(path)!r}; give the path of an ONNX file")
        cv2 = opencv()
        try:
            self._net = cv2.dnn.readNetFromONNX(str(path))
        except cv2.error as error:
            raise InputError(f"{str(path)!r} is no ONNX model that OpenCV can run: {error.err}") from error
        self.labels, self.size = tuple(labels), int(size)
        self.min_score, self.overlap = float(min_score), float(overlap)

    def detect(self, image: NDArray[np.uint8]) -> list[Detection]:
        """Detections in an image."""
        cv2 = opencv()
        colour = np.repeat(image[..., None], 3, axis=2) if image.ndim == 2 else image
        height, width = colour.shape[:2]
        # The image keeps its aspect ratio; the rest of the square is grey.
        scale = self.size / max(height, width)
        square = np.full((self.size, self.size, 3), 114, np.uint8)
        small = cv2.resize(np.ascontiguousarray(colour), (max(1, round(width * scale)), max(1, round(height * scale))))
        square[: small.shape[0], : small.shape[1]] = small
        self._net.setInput(cv2.dnn.blobFromImage(square, 1.0 / 255.0))
        rows = self._rows(np.asarray(self._net.forward()))
        scores = rows[:, 4:]
        best = scores.argmax(axis=1)
        strength = scores[np.arange(len(rows)), best]
        strong = np.flatnonzero(strength >= self.min_score)
        corners = np.column_stack([rows[:, :2] - 0.5 * rows[:, 2:4], rows[:, 2:4]])[strong] / scale
        kept = cv2.dnn.NMSBoxes(corners.tolist(), strength[strong].tolist(), self.min_score, self.overlap)
        found = []
        for index in np.asarray(kept, dtype=int).ravel():
            x, y, w, h = (float(value) for value in corners[index])
            row = strong[index]
            found.append(Detection(self.labels[int(best[row])], float(strength[row]), (x, y, x + w, y + h)))
        return found

    def _rows(self, output: NDArray[np.float32]) -> NDArray[np.float32]:
        """One box per row."""
        columns = 4 + len(self.labels)
        table = output.reshape(output.shape[-2:]) if output.ndim > 2 else output
        if table.ndim == 2 and table.shape[1] == columns:
            return table
        if table.ndim == 2 and table.shape[0] == columns:
            return table.T
        raise InputError(
            f"the model returns {output.shape}; {len(self.labels)} labels need an axis of length {columns}"
        )
