"""What drivers deliver: distorted depth images, and point clouds with x forward."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.calibration.boards import undistorted
from manipapy_core.errors import InputError
from manipapy_core.perception import BadImage, Camera, CloudAxes, DepthRectifier, to_optical
from perception.depth_scenes import CAMERA, DepthScene, box, camera_at

DISTORTED = Camera(
    640,
    480,
    np.array([[500.0, 0.0, 325.0], [0.0, 502.0, 236.0], [0.0, 0.0, 1.0]]),
    np.array([-0.25, 0.08, 0.002, -0.001, 0.0]),
    lie.exp_so3([0.01, -0.015, 0.02]),
    np.array([[480.0, 0.0, 320.0, 0.0], [0.0, 480.0, 240.0, 0.0], [0.0, 0.0, 1.0, 0.0]]),
)


def plane_depth(rays: np.ndarray, normal: np.ndarray, offset: float) -> np.ndarray:
    """z where rays with z = 1 meet the plane n · x = offset."""
    return (offset / (rays @ normal)).astype(np.float32)


def test_distorted_depth_of_a_plane_is_rectified():
    """By the closed form of the plane in both frames; a rotation of the rectified frame changes the depths too."""
    pytest.importorskip("cv2")
    normal_raw, offset = np.array([0.2, -0.1, 0.97]), 1.1
    u, v = np.meshgrid(np.arange(640.0), np.arange(480.0))
    flat = undistorted(np.stack([u, v], axis=-1), DISTORTED)
    raw = plane_depth(np.dstack([flat, np.ones(u.shape)]), normal_raw, offset)
    P = DISTORTED.projection
    rays = np.dstack([(u - P[0, 2]) / P[0, 0], (v - P[1, 2]) / P[1, 1], np.ones(u.shape)])
    expected = plane_depth(rays, DISTORTED.R @ normal_raw, offset)
    found = DepthRectifier(DISTORTED).image(raw)
    seen = np.isfinite(found)
    assert seen.mean() > 0.8
    # Half a pixel of a tilted plane.
    assert np.abs(found - expected)[seen].max() < 0.002
    naive = np.abs(raw - expected)[seen]
    assert naive.max() > 5 * np.abs(found - expected)[seen].max()


def test_depth_image_of_another_size_is_refused():
    pytest.importorskip("cv2")
    with pytest.raises(BadImage, match="640 × 480"):
        DepthRectifier(DISTORTED).image(np.ones((10, 10), np.float32))


def cloud() -> np.ndarray:
    frame, _ = DepthScene([box([0.1, 0.1, 0.1], [0.0, 0.0])]).frame(camera_at(0.9, 1.0), 0)
    z = np.asarray(frame.depth, dtype=np.float64)
    z = z * 1e-3 if z.max() > 100 else z
    v, u = np.mgrid[0:480, 0:640]
    K = CAMERA.K
    points = np.dstack([(u - K[0, 2]) / K[0, 0] * z, (v - K[1, 2]) / K[1, 1] * z, z])
    points[~(z > 0)] = np.nan
    return points


def test_axes_of_a_cloud_are_recognised_and_converted():
    optical = cloud()
    forward = np.stack([optical[..., 2], -optical[..., 0], -optical[..., 1]], axis=-1)
    assert CloudAxes.of(optical, "some_frame") is CloudAxes.OPTICAL
    assert CloudAxes.of(forward, "some_frame") is CloudAxes.FORWARD
    assert CloudAxes.of(forward, "camera_optical_frame") is CloudAxes.OPTICAL  # known by its name

    # The same places in the base by both routes.
    T_base_frame = lie.pose(lie.exp_so3([0.1, 0.2, 0.3]), [0.5, 0.0, 1.0])
    turned, T = to_optical(forward, T_base_frame)
    direct = forward @ T_base_frame[:3, :3].T + T_base_frame[:3, 3]
    assert np.allclose(turned, optical, equal_nan=True)
    assert np.allclose(turned @ T[:3, :3].T + T[:3, 3], direct, equal_nan=True)


@pytest.mark.parametrize("points", [np.empty((0, 3)), np.ones((50, 3)), -np.ones((50, 3))])
def test_clouds_that_fit_both_or_neither_are_refused(points):
    with pytest.raises(InputError, match=r"camera\.axes"):
        CloudAxes.of(points, "lidar")
