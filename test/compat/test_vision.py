"""ManipulaPy's `Vision` and `Perception` with PyBullet and with files."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from manipapy_core.compat.perception import Perception
from manipapy_core.compat.vision import Vision
from manipapy_core.errors import InputError
from manipapy_core.perception import Detection

cv2 = pytest.importorskip("cv2", reason="vision needs OpenCV: pip install 'manipapy[perception]'")

DOWN = {"translation": [0.0, 0.0, 1.5], "rotation": [180.0, 0.0, 0.0], "fov": 60.0, "near": 0.1, "far": 5.0}
"""A camera that looks down from above the origin."""


@pytest.fixture
def two_boxes():
    """A server with two boxes on the floor, centres 0.6 m apart."""
    bullet = pytest.importorskip("pybullet", reason="the simulation needs PyBullet: pip install 'manipapy[sim]'")
    client = bullet.connect(bullet.DIRECT)
    for x in (-0.3, 0.3):
        shape = bullet.createVisualShape(bullet.GEOM_BOX, halfExtents=[0.08, 0.08, 0.1], physicsClientId=client)
        bullet.createMultiBody(0, -1, shape, [x, 0.1, 0.1], physicsClientId=client)
    yield client
    bullet.disconnect(physicsClientId=client)


def test_pybullet_images_have_colour_and_metric_depth(two_boxes):
    vision = Vision([DOWN], physics_client=two_boxes)
    rgb, depth = vision.capture_image()
    assert rgb.shape == (480, 640, 3) and rgb.dtype == np.uint8
    hit = np.isfinite(depth)
    assert depth[hit].min() == pytest.approx(1.3, abs=1e-3)
    points, yaw = vision.detect_obstacles(depth, rgb, depth_threshold=2.0, step=4)
    top = points[np.abs(points[:, 2] - 0.2) < 1e-3]
    assert top[:, 0].min() == pytest.approx(-0.38, abs=0.01) and top[:, 0].max() == pytest.approx(0.38, abs=0.01)
    assert top[:, 1].mean() == pytest.approx(0.1, abs=0.01)
    assert yaw == pytest.approx(np.degrees(np.arctan2(points[:, 1], points[:, 0])), abs=1e-3)


def test_obstacles_are_clustered(two_boxes):
    perception = Perception(Vision([DOWN], physics_client=two_boxes))
    points, labels = perception.detect_and_cluster_obstacles(depth_threshold=1.32, step=4, eps=0.05, min_samples=5)
    assert set(labels) >= {0, 1} and labels.max() == 1
    middles = sorted(points[labels == number, 0].mean() for number in (0, 1))
    assert middles == pytest.approx([-0.3, 0.3], abs=0.02)
    found, count = perception.cluster_obstacles(points, eps=0.05, min_samples=5)
    np.testing.assert_array_equal(found, labels)
    assert count == 2
    cluster = pytest.importorskip("sklearn.cluster", reason="the reference is scikit-learn: 'manipapy[test]'")
    reference = cluster.DBSCAN(eps=0.05, min_samples=5).fit_predict(points)
    np.testing.assert_array_equal(found, reference)
    perception.release()


class OtherVision:
    """Cameras of another class: no obstacle, no stereo."""

    stereo_enabled = False

    def capture_image(self, camera_index):
        return np.zeros((4, 4, 3), np.uint8), np.ones((4, 4), np.float32)

    def detect_obstacles(self, depth_image, rgb_image, depth_threshold, camera_index, step):
        return None, None

    def release(self):
        pass


def test_cameras_of_other_classes_are_taken():
    perception = Perception(OtherVision())
    points, labels = perception.detect_and_cluster_obstacles()
    assert points.shape == (0, 3) and labels.shape == (0,)
    with pytest.raises(RuntimeError, match="stereo_configs"):
        perception.compute_stereo_disparity(np.zeros((4, 4), np.uint8), np.zeros((4, 4), np.uint8))


def test_detector_gives_one_point_per_object(two_boxes):
    class Boxes:
        def detect(self, image):
            # Where the right one must be: f = 240 / tan 30°, 1.3 m away.
            focal = 240 / np.tan(np.radians(30))
            u, v = 319.5 + focal * 0.3 / 1.3, 239.5 - focal * 0.1 / 1.3
            return [Detection("box", 0.9, (u - 30, v - 30, u + 30, v + 30)), Detection("air", 0.9, (0, 0, 5, 5))]

    vision = Vision([DOWN], physics_client=two_boxes)
    vision.detector = Boxes()
    points, _ = vision.detect_obstacles(vision.capture_image()[1], vision.capture_image()[0], depth_threshold=2.0)
    assert points == pytest.approx(np.array([[0.3, 0.1, 0.2]]), abs=0.01)


def stereo_configs():
    K = np.array([[300.0, 0, 159.5], [0, 300.0, 119.5], [0, 0, 1]])
    camera = {"intrinsic_matrix": K, "distortion_coeffs": np.zeros(5), "rotation": [0.0, 0.0, 0.0]}
    return {**camera, "translation": [0.0, 0.0, 0.0]}, {**camera, "translation": [0.1, 0.0, 0.0]}


def wall_at_two_metres():
    rng = np.random.default_rng(0)
    wide = cv2.GaussianBlur(rng.integers(0, 255, (240, 360)).astype(np.uint8), (0, 0), 1.0)
    return wide[:, 10:330].copy(), wide[:, 25:345].copy()  # 300 · 0.1 / 2 = 15 pixels


def test_stereo_from_two_configurations():
    vision = Vision(stereo_configs=stereo_configs())
    perception = Perception(vision)
    left, right = wall_at_two_metres()
    disparity = perception.compute_stereo_disparity(left, right)
    assert disparity.shape == (240, 320) and disparity.dtype == np.float32
    assert np.median(disparity[disparity >= 0]) == pytest.approx(15.0, abs=0.1)
    points = perception.get_stereo_point_cloud(left, right)
    assert np.median(points[:, 2]) == pytest.approx(2.0, abs=0.02)
    assert len(points) == np.count_nonzero(disparity > 0)
    assert np.quantile(np.abs(points[:, 0]), 0.99) < 2.0 * 160 / 300 + 0.1


def test_images_from_files(tmp_path):
    image = np.zeros((20, 30, 3), np.uint8)
    image[..., 0] = 200  # blue, as OpenCV writes
    cv2.imwrite(str(tmp_path / "a.png"), image)
    cv2.imwrite(str(tmp_path / "d.png"), np.full((20, 30), 1250, np.uint16))
    files = {"image_path": tmp_path / "a.png", "depth_path": tmp_path / "d.png", "width": 30, "height": 20}
    rgb, depth = Vision([files]).capture_image()
    assert rgb[0, 0].tolist() == [0, 0, 200]
    assert depth == pytest.approx(np.full((20, 30), 1.25))
    with pytest.raises(InputError, match="not a readable image"):
        Vision([{"image_path": tmp_path / "none.png"}]).capture_image()


def test_missing_source_and_unknown_camera_are_reported(caplog):
    with caplog.at_level(logging.WARNING):
        assert Vision().capture_image() == (None, None)
        points, labels = Perception(Vision()).detect_and_cluster_obstacles()
    assert "no source" in caplog.text and len(points) == len(labels) == 0
    with pytest.raises(InputError, match="no camera 7"):
        Vision().capture_image(7)
    with pytest.raises(InputError, match="intrinsic_matrix"):
        Vision(stereo_configs=({}, {}))
    with pytest.raises(RuntimeError, match="stereo_configs"):
        Vision().get_stereo_point_cloud(np.zeros((9, 9), np.uint8), np.zeros((9, 9), np.uint8))
    with pytest.raises(ValueError, match="vision_instance"):
        Perception()
