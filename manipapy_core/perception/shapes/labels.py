"""Names for obstacles: any 2-D detector can label clusters; one that runs ONNX models through OpenCV is here."""

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
from .clusters import Cluster


@dataclass(frozen=True)
class Detection:
    """Something that a detector sees in a picture."""

    label: str
    score: float
    """0 to 1."""
    box: tuple[float, float, float, float]
    """Left, top, right, bottom [pixels of the picture]."""


class Detector(Protocol):
    """What the pipeline wants of a detector."""

    def detect(self, image: NDArray[np.uint8]) -> Sequence[Detection]:
        """What is in a picture, grey (height, width) or red, green, blue (height, width, 3)."""


def label_clusters(
    clusters: Sequence[Cluster],
    detections: Sequence[Detection],
    camera: Camera,
    T_base_optical: Array,
    *,
    least_share: float = 0.5,
) -> list[tuple[str, float]]:
    """For each cluster the best detection that holds most of its points; ("", 0) if there is none.

    Args:
        camera: Of the picture that was looked at; its P says where points appear.
        least_share: How many of a cluster's points must lie in a detection's box, 0 to 1.
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
            if inside >= least_share and found.score > best[1]:
                best = (found.label, found.score)
        names.append(best)
    return names


class OnnxDetector:
    """Runs a detector that the user brings as an ONNX file; nothing is downloaded.

    The model takes pictures (1, 3, size, size) with values 0 to 1 and gives (1, 4 + classes, boxes) or its transpose:
    middle, width and height of each box in pixels of its input, then the score of each class.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        labels: Sequence[str],
        *,
        size: int = 640,
        least_score: float = 0.4,
        overlap: float = 0.5,
    ):
        """Load the model.

        Args:
            labels: Names of its classes, in their order.
            size: Edge of its input [pixels].
            least_score: Weaker detections are left out, 0 to 1.
            overlap: Of two boxes that share more than this of their area, the weaker one is left out.
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
        self.least_score, self.overlap = float(least_score), float(overlap)

    def detect(self, image: NDArray[np.uint8]) -> list[Detection]:
        """What is in a picture."""
        cv2 = opencv()
        colour = np.repeat(image[..., None], 3, axis=2) if image.ndim == 2 else image
        height, width = colour.shape[:2]
        # The picture keeps its proportions; the rest of the square is grey.
        scale = self.size / max(height, width)
        square = np.full((self.size, self.size, 3), 114, np.uint8)
        small = cv2.resize(np.ascontiguousarray(colour), (max(1, round(width * scale)), max(1, round(height * scale))))
        square[: small.shape[0], : small.shape[1]] = small
        self._net.setInput(cv2.dnn.blobFromImage(square, 1.0 / 255.0))
        rows = self._rows(np.asarray(self._net.forward()))
        scores = rows[:, 4:]
        best = scores.argmax(axis=1)
        strength = scores[np.arange(len(rows)), best]
        strong = np.flatnonzero(strength >= self.least_score)
        corners = np.column_stack([rows[:, :2] - 0.5 * rows[:, 2:4], rows[:, 2:4]])[strong] / scale
        kept = cv2.dnn.NMSBoxes(corners.tolist(), strength[strong].tolist(), self.least_score, self.overlap)
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
        raise InputError(f"the model gives {output.shape}; with {len(self.labels)} labels a side of {columns} is due")
