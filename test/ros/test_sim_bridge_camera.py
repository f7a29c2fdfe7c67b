"""The stereo camera of the bridge: two images and depth of one instant, consistent with their calibration."""

from __future__ import annotations

import numpy as np
import pytest
from sensor_msgs.msg import CameraInfo, Image
from tf2_msgs.msg import TFMessage

from manipapy_ros.common import qos
from ros_arm import HOME, StateWatch, bring_up, stamp_of

WIDTH, HEIGHT, BASELINE = 160, 120, 0.12
TOPICS = {
    "left/image_rect": Image,
    "right/image_rect": Image,
    "left/depth": Image,
    "left/camera_info": CameraInfo,
    "right/camera_info": CameraInfo,
}


@pytest.fixture(scope="module")
def bridge(start_for_module, peer):
    settings = {
        "initial_positions": HOME.tolist(),
        "scene": "table",
        "camera.enabled": "true",
        "camera.width": WIDTH,
        "camera.height": HEIGHT,
        "camera.baseline": BASELINE,
    }
    arguments = [word for name, value in settings.items() for word in ("-p", f"{name}:={value}")]
    node = start_for_module("sim_bridge", *arguments, namespace="/camera_test")
    bring_up(peer, node)
    return node


@pytest.fixture(scope="module")
def frames(bridge, peer):
    """Messages of one instant by topic."""
    by_stamp: dict[float, dict[str, Image | CameraInfo]] = {}

    def keep(name: str):
        def on_message(message) -> None:
            by_stamp.setdefault(stamp_of(message), {})[name] = message

        return on_message

    subscriptions = [
        peer.node.create_subscription(kind, f"/camera_test/{name}", keep(name), 10) for name, kind in TOPICS.items()
    ]
    peer.wait_for(lambda: any(len(found) == len(TOPICS) for found in by_stamp.values()), "a complete stereo frame")
    for subscription in subscriptions:
        peer.node.destroy_subscription(subscription)
    return next(found for found in by_stamp.values() if len(found) == len(TOPICS))


def pixels(image: Image) -> np.ndarray:
    if image.encoding == "rgb8":
        return np.frombuffer(image.data, dtype=np.uint8).reshape(image.height, image.width, 3)
    assert image.encoding == "32FC1"
    return np.frombuffer(image.data, dtype=np.float32).reshape(image.height, image.width)


def test_images_have_size_and_frame(frames):
    for side in ("left", "right"):
        image = frames[f"{side}/image_rect"]
        assert (image.width, image.height, image.step) == (WIDTH, HEIGHT, 3 * WIDTH)
        assert image.header.frame_id == f"stereo_{side}_optical_frame"
        assert pixels(image).std() > 5.0


def test_baseline_in_right_projection(frames):
    left, right = frames["left/camera_info"], frames["right/camera_info"]
    assert left.p[3] == 0.0
    assert right.p[3] == pytest.approx(-right.p[0] * BASELINE)
    assert list(left.k) == list(right.k)
    assert list(left.r) == np.eye(3).ravel().tolist()


def test_depth_and_baseline_predict_the_right_image(frames):
    left, right = (pixels(frames[f"{side}/image_rect"]).astype(float) for side in ("left", "right"))
    depth, info = pixels(frames["left/depth"]), frames["right/camera_info"]
    v, u = np.nonzero(np.isfinite(depth))
    moved = np.rint(u + info.p[3] / depth[v, u]).astype(int)
    inside = moved >= 0
    matching = np.abs(left[v[inside], u[inside]] - right[v[inside], moved[inside]]).mean(axis=1) < 20.0
    assert inside.sum() > 5000
    assert matching.mean() > 0.8


def test_camera_frames_are_in_tf(bridge, peer):
    found: list[TFMessage] = []
    subscription = peer.node.create_subscription(TFMessage, "/camera_test/tf_static", found.append, qos.LATCHED)
    peer.wait_for(lambda: bool(found), "static frames")
    frames = {t.child_frame_id: t for t in found[0].transforms}
    assert frames["stereo_left_optical_frame"].header.frame_id == "world"
    right = frames["stereo_right_optical_frame"]
    assert right.header.frame_id == "stereo_left_optical_frame"
    assert right.transform.translation.x == pytest.approx(BASELINE)
    peer.node.destroy_subscription(subscription)


def test_physics_continues_while_rendering(bridge, peer, frames):
    states = StateWatch(peer, "/camera_test")
    first = stamp_of(states.next())
    assert stamp_of(states.after(first + 0.3)) > first


def test_rendering_process_ends_with_the_node(bridge, peer):
    # Last in this file: the camera is gone afterwards.
    assert bridge.stop() == 0
    assert "Traceback" not in bridge.close()
