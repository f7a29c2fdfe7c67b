"""The node perception over DDS: obstacles of a simulated table, and diagnostics of unusable input."""

from __future__ import annotations

import array
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from manipapy_msgs.msg import ObstacleArray
from manipapy_msgs.srv import RemoveObject, SpawnObject
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from sensor_msgs.msg import CameraInfo, Image, JointState, PointCloud2
from stereo_msgs.msg import DisparityImage
from visualization_msgs.msg import MarkerArray

from manipapy_core import lie
from manipapy_ros.common.conversions import pose_from_matrix
from manipapy_ros.common.point_clouds import points_of
from ros_arm import HOME, JOINTS, bring_up

BOX_SIZE, BOX_AT = [0.1, 0.14, 0.2], [0.75, -0.38, 0.1]
"""[m]"""
CAMERA = (
    *("-p", "camera.enabled:=true", "-p", "camera.width:=320", "-p", "camera.height:=240", "-p", "camera.rate:=4.0"),
    *("-p", "scene:=table", "-p", f"initial_positions:={HOME.tolist()}"),
)


class PerceptionOutput:
    """Messages of a perception node."""

    def __init__(self, peer, node):
        self.peer, self.node = peer, node
        namespace = node.full_name.rsplit("/", 1)[0]
        self.obstacles: list[ObstacleArray] = []
        self.markers: list[MarkerArray] = []
        self.diagnoses: list[str] = []
        peer.node.create_subscription(ObstacleArray, f"{namespace}/obstacles", self.obstacles.append, 10)
        peer.node.create_subscription(MarkerArray, f"{node.full_name}/obstacle_markers", self.markers.append, 10)
        peer.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnosis, 10)

    def _on_diagnosis(self, message: DiagnosticArray) -> None:
        self.diagnoses += [s.message for s in message.status if s.name == self.node.full_name.lstrip("/")]

    def until(self, condition, what: str) -> ObstacleArray:
        """The next message that fulfils a condition."""
        self.obstacles.clear()
        self.peer.wait_for(lambda: any(map(condition, self.obstacles)), what)
        return next(filter(condition, self.obstacles))

    def near(self, message: ObstacleArray, place, within: float = 0.04):
        """Obstacles whose centre is near a position [m]."""
        return [
            obstacle
            for obstacle in message.obstacles
            if np.linalg.norm([getattr(obstacle.pose.position, axis) for axis in "xyz"] - np.array(place)) < within
        ]

    def set(self, **parameters):
        request = SetParametersAtomically.Request(
            parameters=[Parameter(k.replace("__", "."), value=v).to_parameter_msg() for k, v in parameters.items()]
        )
        return self.peer.call(SetParametersAtomically, self.node, "set_parameters_atomically", request).result


@pytest.fixture(scope="module")
def bridge(start_for_module, peer):
    node = start_for_module("sim_bridge", *CAMERA)
    bring_up(peer, node)
    return node


@pytest.fixture(scope="module")
def output(start_for_module, peer, bridge):
    model = start_for_module("model_server", "-p", "use_sim_time:=true")
    node = start_for_module("perception", "-p", "use_sim_time:=true")
    bring_up(peer, model)
    bring_up(peer, node)
    return PerceptionOutput(peer, node)


def spawn(peer, bridge, name: str, at, size=BOX_SIZE) -> None:
    request = SpawnObject.Request(name=name, type="box", dimensions=list(size), texture="speckle")
    request.pose = pose_from_matrix(lie.pose(translation=at))
    answer = peer.call(SpawnObject, bridge, "spawn", request)
    assert answer.success, answer.message


def remove(peer, bridge, name: str) -> None:
    assert peer.call(RemoveObject, bridge, "remove", RemoveObject.Request(name=name)).success


def test_box_is_found_keeps_its_id_and_is_removed(output, bridge, peer):
    spawn(peer, bridge, "box", BOX_AT)
    message = output.until(lambda m: output.near(m, BOX_AT), "the box to be detected")
    (found,) = output.near(message, BOX_AT)
    sizes = sorted([found.size.x, found.size.y, found.size.z])
    assert sizes == pytest.approx(sorted(BOX_SIZE), abs=0.03)
    assert message.header.frame_id == "base_link"
    later = [output.until(lambda m: bool(m.obstacles), "another image") for _ in range(3)]
    assert all(any(obstacle.id == found.id for obstacle in each.obstacles) for each in later)
    assert any(marker.id == found.id and marker.ns == "boxes" for marker in output.markers[-1].markers)
    remove(peer, bridge, "box")
    output.until(lambda m: not output.near(m, BOX_AT), "the box to be removed")


def test_the_robot_and_the_table_are_no_obstacles(output):
    message = output.until(lambda m: True, "an image")
    assert not output.near(message, [0.0, 0.0, 0.3], within=0.3), "the robot was detected as an obstacle"
    for obstacle in message.obstacles:
        assert obstacle.size.x < 0.5 and obstacle.size.y < 0.5, "the table was detected as an obstacle"


def test_disparity_and_points_are_published_with_subscribers(output, peer):
    disparities: list[DisparityImage] = []
    clouds: list[PointCloud2] = []
    subscriptions = [
        peer.node.create_subscription(DisparityImage, "disparity", disparities.append, 1),
        peer.node.create_subscription(PointCloud2, "points2", clouds.append, 1),
    ]
    peer.wait_for(lambda: bool(disparities) and bool(clouds), "disparity and points")
    disparity, xyz = disparities[0], points_of(clouds[0])
    assert (disparity.image.width, disparity.image.height) == (320, 240)
    values = np.frombuffer(disparity.image.data, np.float32)
    depth = disparity.f * disparity.t / values[values > 1.0]
    assert 0.5 < np.median(depth) < 2.5
    assert xyz.shape == (240, 320, 3)
    table = np.abs(xyz[..., 2]) < 0.03
    assert table.mean() > 0.1, "at least a tenth of the image shows the table top at z = 0 of the base"
    for subscription in subscriptions:
        peer.node.destroy_subscription(subscription)


def test_live_parameters_apply_and_invalid_ones_are_rejected(output):
    refused = output.set(stereo__method="magic")
    assert not refused.successful and "sgbm" in refused.reason
    refused = output.set(stereo__min_depth=2.0, stereo__max_depth=1.0)
    assert not refused.successful and "min_depth" in refused.reason
    refused = output.set(input="depth")
    assert not refused.successful and "configure" in refused.reason
    assert output.set(crop__lower=[5.0, 5.0, 5.0], crop__upper=[6.0, 6.0, 6.0]).successful
    output.diagnoses.clear()
    output.peer.wait_for(lambda: any("crop box" in text for text in output.diagnoses), "the diagnosis of an empty box")
    assert output.set(crop__lower=[-2.0, -2.0, -2.0], crop__upper=[2.0, 2.0, 2.0]).successful
    output.until(lambda m: bool(m.obstacles), "obstacles again")


EXPOSURE_DELAY = 20_000_000
"""Images are older than their joint states [ns], as from a real camera."""


class FakeCamera:
    """A stereo camera with images from the test."""

    def __init__(self, peer, namespace: str):
        self._peer = peer
        node = peer.node
        self._images = [node.create_publisher(Image, f"{namespace}/{side}/image_rect", 5) for side in ("left", "right")]
        self._infos = [
            node.create_publisher(CameraInfo, f"{namespace}/{side}/camera_info", 5) for side in ("left", "right")
        ]
        self._states = node.create_publisher(JointState, f"{namespace}/joint_states", 5)

    def publish(self, grey: int = 0, sizes=((64, 48), (64, 48)), encoding: str = "mono8", frame: str = "base_link",
             baseline: float = 0.1, nan: bool = False, late: float = 0.0) -> None:  # fmt: skip
        now = time.time_ns()
        state = JointState(name=list(JOINTS), position=HOME.tolist())
        state.header.stamp.sec, state.header.stamp.nanosec = divmod(now, 1_000_000_000)
        self._states.publish(state)
        for side, (width, height) in enumerate(sizes):
            f = float("nan") if nan else 60.0
            info = CameraInfo(width=width, height=height, distortion_model="plumb_bob")
            info.k = [f, 0.0, width / 2, 0.0, 60.0, height / 2, 0.0, 0.0, 1.0]
            info.r = np.eye(3).ravel().tolist()
            info.p = [f, 0.0, width / 2, -f * baseline * side, 0.0, 60.0, height / 2, 0.0, 0.0, 0.0, 1.0, 0.0]
            image = Image(width=width, height=height, encoding=encoding, step=width)
            image.data = array.array("B", bytes([grey]) * (width * height))
            for message in (info, image):
                stamp = now - EXPOSURE_DELAY - round(side * late * 1e9)
                message.header.frame_id = frame
                message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
            self._infos[side].publish(info)
            self._images[side].publish(image)


@pytest.fixture(scope="module")
def camera_and_output(start_for_module, peer):
    node = start_for_module("perception", namespace="/fake_camera")
    bring_up(peer, node)
    return PerceptionOutput(peer, node), FakeCamera(peer, "/fake_camera")


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"grey": 0}, "black"),
        ({"grey": 255}, "white"),
        ({"grey": 128}, "texture"),
        ({"sizes": ((64, 48), (32, 48))}, "one size"),
        ({"sizes": ((1, 1), (1, 1))}, "too small"),
        ({"encoding": "yuv422"}, "encoding"),
        ({"frame": "nowhere_optical_frame"}, "nowhere_optical_frame"),
        ({"baseline": 0.0}, "baseline"),
        ({"nan": True}, "finite"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_unusable_images_are_diagnosed(camera_and_output, peer, bad, reason):
    output, camera = camera_and_output
    output.diagnoses.clear()

    def diagnosed() -> bool:
        camera.publish(**bad)
        return any(reason in text for text in output.diagnoses)

    peer.wait_for(diagnosed, f"a diagnosis with {reason!r}")
    assert output.node.is_running


@pytest.mark.parametrize("grey", [0, 255, 128], ids=["black", "white", "flat"])
def test_images_that_show_nothing_publish_no_obstacles(camera_and_output, peer, grey):
    """An empty message would tell the planner that the way is free."""
    output, camera = camera_and_output
    output.diagnoses.clear()
    output.obstacles.clear()

    def diagnosed() -> bool:
        camera.publish(grey=grey)
        return any("no obstacles are published" in text for text in output.diagnoses)

    peer.wait_for(diagnosed, "the diagnosis")
    assert not output.obstacles


def test_unsynchronised_images_are_diagnosed(camera_and_output, peer):
    output, camera = camera_and_output
    camera.publish(grey=128)
    output.diagnoses.clear()
    peer.wait_for(
        lambda: camera.publish(grey=128, late=0.5) or any("no image for" in text for text in output.diagnoses),
        "the diagnosis of missing images",
    )


def test_deactivated_node_publishes_nothing(output):
    assert output.peer.transition(output.node, Transition.TRANSITION_DEACTIVATE)
    output.peer.spin_for(0.5)  # what was on its way
    output.obstacles.clear()
    output.peer.spin_for(1.0)
    assert not output.obstacles
    assert output.peer.transition(output.node, Transition.TRANSITION_ACTIVATE)
    output.until(lambda m: True, "images again")
