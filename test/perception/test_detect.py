"""Obstacle labels from a detector, and ONNX models through OpenCV."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.errors import InputError
from manipapy_core.model import BoxGeometry, CylinderGeometry
from manipapy_core.perception import Detection, OnnxDetector, PerceptionPipeline, PerceptionSettings
from perception.scenes import COLOURS, FRAME_NS, PINHOLE, STEREO, as_pair, looking_at, render, scene_object, table
from perception.tiny_onnx import constant_detector

ON_THE_TABLE = PerceptionSettings(lower=(-0.75, -0.65, -0.3), upper=(0.75, 0.65, 1.0))
T_WORLD_CAMERA = looking_at([0.0, 0.0, 0.03], 1.0)
OBJECTS = {
    "cup": scene_object("cup", CylinderGeometry(0.04, 0.10), [-0.05, -0.12, 0.05], 0.0, COLOURS[2]),
    "box": scene_object("box", BoxGeometry([0.08, 0.08, 0.10]), [0.08, 0.12, 0.05], 0.0, COLOURS[0]),
}


class SceneDetector:
    """Detects objects at their projected positions."""

    def __init__(self, *names: str):
        self.names = names
        self.shapes = []

    def detect(self, image):
        self.shapes.append(image.shape)
        found = []
        for name in self.names:
            T = np.linalg.inv(T_WORLD_CAMERA)
            u, v = PINHOLE.project((T @ OBJECTS[name].T_world_object)[:3, 3])
            found.append(Detection(name, 0.9, (u - 45, v - 45, u + 45, v + 45)))
        return found


def test_obstacles_get_detector_labels():
    frame = render([table(), *OBJECTS.values()], T_WORLD_CAMERA)
    detector = SceneDetector("cup", "box")
    pipeline = PerceptionPipeline(STEREO, settings=ON_THE_TABLE, detector=detector)
    pipeline.feed(as_pair(frame))
    result = pipeline.feed(as_pair(frame, FRAME_NS))
    assert detector.shapes == [(480, 640)] * 2
    assert len(result.obstacles) == 2
    for obstacle in result.obstacles:
        nearest = min(OBJECTS, key=lambda name: np.linalg.norm(OBJECTS[name].T_world_object[:3, 3] - obstacle.centre))
        assert obstacle.label == nearest and obstacle.score == 0.9
        assert nearest in result.describe()
    # Missing detections do not remove labels.
    pipeline.detector = SceneDetector()
    later = pipeline.feed(as_pair(frame, 2 * FRAME_NS))
    assert sorted(obstacle.label for obstacle in later.obstacles) == ["box", "cup"]
    assert "detect" in later.stage_times


# Centre, width and height of boxes in an image of 32 pixels, then the scores of two classes.
ANSWER = np.array(
    [
        [16.0, 8.0, 8.0, 8.0, 0.9, 0.1],
        [16.5, 8.0, 8.0, 8.0, 0.7, 0.1],  # the same object with a lower score
        [24.0, 8.0, 4.0, 4.0, 0.2, 0.8],
        [4.0, 4.0, 4.0, 4.0, 0.1, 0.2],  # below the minimum score
    ],
    np.float32,
)


@pytest.mark.parametrize("transposed", [False, True])
def test_onnx_model_is_run(tmp_path, transposed):
    path = tmp_path / "tiny.onnx"
    path.write_bytes(constant_detector(ANSWER.T if transposed else ANSWER, 32))
    detector = OnnxDetector(path, ["cup", "box"], size=32)
    for image in (np.zeros((48, 64, 3), np.uint8), np.full((48, 64), 99, np.uint8)):
        found = sorted(detector.detect(image), key=lambda detection: -detection.score)
        assert [detection.label for detection in found] == ["cup", "box"]
        assert [detection.score for detection in found] == pytest.approx([0.9, 0.8])
        # 64 pixels wide became 32: everything is twice as large here.
        assert found[0].box == pytest.approx((24.0, 8.0, 40.0, 24.0))
        assert found[1].box == pytest.approx((44.0, 12.0, 52.0, 20.0))


def test_invalid_models_are_rejected(tmp_path):
    with pytest.raises(InputError, match="no model file"):
        OnnxDetector(tmp_path / "none.onnx", ["cup"])
    (tmp_path / "bad.onnx").write_bytes(b"this is no model")
    with pytest.raises(InputError, match="no ONNX model"):
        OnnxDetector(tmp_path / "bad.onnx", ["cup"])
    (tmp_path / "tiny.onnx").write_bytes(constant_detector(ANSWER, 32))
    with pytest.raises(InputError, match="labels"):
        OnnxDetector(tmp_path / "tiny.onnx", ["cup"], size=32).detect(np.zeros((32, 32, 3), np.uint8))
