"""The node perception over DDS: what it sees of a simulated table, and what it says when it cannot see."""

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
from manipapy_ros.perception.image_messages import points_of
from ros_arm import HOME, JOINTS, bring_up

BOX_SIZE, BOX_AT = [0.1, 0.14, 0.2], [0.75, -0.38, 0.1]
"""[m]"""
CAMERA = (
    *("-p", "camera.enabled:=true", "-p", "camera.width:=320", "-p", "camera.height:=240", "-p", "camera.rate:=4.0"),
    *("-p", "scene:=table", "-p", f"initial_positions:={HOME.tolist()}"),
)


class Seen:
    """What a perception node says."""

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
        """The first message from now on that fulfils a condition."""
        self.obstacles.clear()
        self.peer.wait_for(lambda: any(map(condition, self.obstacles)), what)
        return next(filter(condition, self.obstacles))

    def near(self, message: ObstacleArray, place, within: float = 0.04):
        """Obstacles whose middle is near a place [m]."""
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
def seen(start_for_module, peer, bridge):
    model = start_for_module("model_server", "-p", "use_sim_time:=true")
    node = start_for_module("perception", "-p", "use_sim_time:=true")
    bring_up(peer, model)
    bring_up(peer, node)
    return Seen(peer, node)


def spawn(peer, bridge, name: str, at, size=BOX_SIZE) -> None:
    request = SpawnObject.Request(name=name, type="box", dimensions=list(size), texture="speckle")
    request.pose = pose_from_matrix(lie.pose(translation=at))
    answer = peer.call(SpawnObject, bridge, "spawn", request)
    assert answer.success, answer.message


def remove(peer, bridge, name: str) -> None:
    assert peer.call(RemoveObject, bridge, "remove", RemoveObject.Request(name=name)).success


def test_a_box_is_found_where_it_is_keeps_its_id_and_goes(seen, bridge, peer):
    spawn(peer, bridge, "box", BOX_AT)
    message = seen.until(lambda m: seen.near(m, BOX_AT), "the box to be seen")
    (found,) = seen.near(message, BOX_AT)
    sizes = sorted([found.size.x, found.size.y, found.size.z])
    assert sizes == pytest.approx(sorted(BOX_SIZE), abs=0.03)
    assert message.header.frame_id == "base_link"
    later = [seen.until(lambda m: bool(m.obstacles), "another picture") for _ in range(3)]
    assert all(any(obstacle.id == found.id for obstacle in each.obstacles) for each in later)
    assert any(marker.id == found.id and marker.ns == "boxes" for marker in seen.markers[-1].markers)
    remove(peer, bridge, "box")
    seen.until(lambda m: not seen.near(m, BOX_AT), "the box to be gone")


def test_the_robot_and_the_table_are_no_obstacles(seen):
    message = seen.until(lambda m: True, "a picture")
    assert not seen.near(message, [0.0, 0.0, 0.3], within=0.3), "the robot itself was taken for an obstacle"
    for obstacle in message.obstacles:
        assert obstacle.size.x < 0.5 and obstacle.size.y < 0.5, "the table was taken for an obstacle"


def test_disparity_and_points_are_published_for_those_who_look(seen, peer):
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
    assert table.mean() > 0.1, "a tenth of the picture should be table top, at z = 0 of the base"
    for subscription in subscriptions:
        peer.node.destroy_subscription(subscription)


def test_parameters_change_what_is_seen_and_nonsense_is_refused(seen):
    refused = seen.set(stereo__method="magic")
    assert not refused.successful and "sgbm" in refused.reason
    refused = seen.set(stereo__nearest=2.0, stereo__farthest=1.0)
    assert not refused.successful and "nearest" in refused.reason
    refused = seen.set(input="depth")
    assert not refused.successful and "configure" in refused.reason
    assert seen.set(crop__lower=[5.0, 5.0, 5.0], crop__upper=[6.0, 6.0, 6.0]).successful
    seen.diagnoses.clear()
    seen.peer.wait_for(lambda: any("crop box" in text for text in seen.diagnoses), "the diagnosis of an empty box")
    assert seen.set(crop__lower=[-2.0, -2.0, -2.0], crop__upper=[2.0, 2.0, 2.0]).successful
    seen.until(lambda m: bool(m.obstacles), "obstacles again")


EXPOSED_BEFORE = 20_000_000
"""Pictures are older than the joint states they come with [ns], as from a real camera: they may come first."""


class ByHand:
    """A stereo camera that a test holds in its hand."""

    def __init__(self, peer, namespace: str):
        self._peer = peer
        node = peer.node
        self._images = [node.create_publisher(Image, f"{namespace}/{side}/image_rect", 5) for side in ("left", "right")]
        self._infos = [
            node.create_publisher(CameraInfo, f"{namespace}/{side}/camera_info", 5) for side in ("left", "right")
        ]
        self._states = node.create_publisher(JointState, f"{namespace}/joint_states", 5)

    def show(self, grey: int = 0, sizes=((64, 48), (64, 48)), encoding: str = "mono8", frame: str = "base_link",
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
                stamp = now - EXPOSED_BEFORE - round(side * late * 1e9)
                message.header.frame_id = frame
                message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
            self._infos[side].publish(info)
            self._images[side].publish(image)


@pytest.fixture(scope="module")
def held(start_for_module, peer):
    node = start_for_module("perception", namespace="/hand")
    bring_up(peer, node)
    return Seen(peer, node), ByHand(peer, "/hand")


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
def test_a_camera_that_shows_nothing_useful_is_diagnosed(held, peer, bad, reason):
    seen, camera = held
    seen.diagnoses.clear()

    def diagnosed() -> bool:
        camera.show(**bad)
        return any(reason in text for text in seen.diagnoses)

    peer.wait_for(diagnosed, f"a diagnosis with {reason!r}")
    assert seen.node.is_running


def test_pictures_that_never_belong_together_give_nothing(held, peer):
    seen, camera = held
    camera.show(grey=128)
    seen.diagnoses.clear()
    peer.wait_for(
        lambda: camera.show(grey=128, late=0.5) or any("no picture for" in text for text in seen.diagnoses),
        "the diagnosis that no picture comes",
    )


def test_a_node_that_is_deactivated_sees_nothing(seen):
    assert seen.peer.transition(seen.node, Transition.TRANSITION_DEACTIVATE)
    time.sleep(0.5)
    seen.obstacles.clear()
    time.sleep(1.0)
    assert not seen.obstacles
    assert seen.peer.transition(seen.node, Transition.TRANSITION_ACTIVATE)
    seen.until(lambda m: True, "pictures again")
