"""Images of cv_bridge and ours agree byte for byte; skipped where cv_bridge with its compiled part is not installed."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest
from builtin_interfaces.msg import Time

from manipapy_ros.perception.image_messages import CHANNELS, pixels_of
from manipapy_ros.sim_bridge.camera_worker import _image

cv_bridge = pytest.importorskip("cv_bridge", reason="cv_bridge comes with a ROS distribution")
if any(found.version.startswith("1.") for found in importlib.metadata.distributions(name="cv_bridge")):
    pytest.skip("this cv_bridge is the wheel of ROS 1, which does not survive NumPy 2", allow_module_level=True)


def random_image(encoding: str) -> np.ndarray:
    kind, channels = CHANNELS[encoding]
    shape = (37, 53) if channels == 1 else (37, 53, channels)
    return (np.random.default_rng(len(encoding)).random(shape) * 250).astype(kind)


@pytest.mark.parametrize("encoding", sorted(CHANNELS))
def test_pixels_are_those_of_cv_bridge(encoding):
    pixels = random_image(encoding)
    theirs = cv_bridge.CvBridge().cv2_to_imgmsg(pixels, encoding)
    np.testing.assert_array_equal(pixels_of(theirs), pixels)
    ours = _image(pixels, encoding, "camera", Time())
    np.testing.assert_array_equal(cv_bridge.CvBridge().imgmsg_to_cv2(ours, "passthrough"), pixels)


@pytest.mark.parametrize("encoding", sorted(CHANNELS))
def test_messages_are_those_of_cv_bridge(encoding):
    pixels = random_image(encoding)
    theirs, ours = cv_bridge.CvBridge().cv2_to_imgmsg(pixels, encoding), _image(pixels, encoding, "camera", Time())
    assert bytes(ours.data) == bytes(theirs.data)
    for field in ("height", "width", "encoding", "step", "is_bigendian"):
        assert getattr(ours, field) == getattr(theirs, field), field
