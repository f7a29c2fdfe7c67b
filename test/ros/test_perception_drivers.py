"""The node perception with topics as camera drivers publish them: names, compression, poses by parameter, x forward."""

from __future__ import annotations

import array
import struct
import time

import numpy as np
import pytest
from manipapy_msgs.msg import ObstacleArray
from octomap_msgs.msg import Octomap
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2
from tf2_msgs.msg import TFMessage

from manipapy_core import Robot, lie
from manipapy_core.errors import InputError
from manipapy_core.geometry.octree import binary_stream
from manipapy_core.perception import BadImage, Points, SpaceMap, SpaceState, UnknownSpace
from manipapy_ros.bringup.description import BringupMode, Options, describe
from manipapy_ros.common import qos
from manipapy_ros.common.object_messages import octomap_leaves
from manipapy_ros.common.robot_loader import ROBOT_PARAMETERS, LoadedRobot
from manipapy_ros.perception.camera_topics import CAMERA_PARAMETERS, CameraTopics
from manipapy_ros.perception.compressed import decompressed
from manipapy_ros.perception.image_messages import points_message
from manipapy_ros.planner.world import PlannerWorld
from manipapy_ros.planner.world_inputs import unknown_policy
from perception.depth_scenes import CAMERA, DepthScene, box, camera_at
from ros_arm import bring_up

cv2 = pytest.importorskip("cv2")
AT = [0.05, -0.1, 0.06]
"""Centre of the box in the base [m]."""
SCENE = DepthScene([box([0.1, 0.14, 0.12], AT[:2])])
T_BASE_OPTICAL = camera_at(0.9, 1.0)
DEFAULTS = {row.name: row.default for row in CAMERA_PARAMETERS}


def pose_text(T: np.ndarray) -> str:
    return " ".join(f"{value:.9f}" for value in [*T[:3, 3], *lie.rotation_to_quaternion(T[:3, :3])])


def millimetres(seed: int) -> np.ndarray:
    depth = np.asarray(SCENE.frame(T_BASE_OPTICAL, seed)[0].depth)
    if depth.dtype == np.uint16:
        return depth
    return np.rint(1e3 * np.nan_to_num(depth, posinf=0.0, neginf=0.0)).astype(np.uint16)


def compressed_depth(image: np.ndarray) -> CompressedImage:
    png = cv2.imencode(".png", image)[1].tobytes()
    message = CompressedImage(format="16UC1; compressedDepth png")
    message.data = array.array("B", struct.pack("<iff", 0, 0.0, 0.0) + png)
    return message


def stamped(message, frame: str):
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
    return message


def calibration() -> CameraInfo:
    info = CameraInfo(width=CAMERA.width, height=CAMERA.height, distortion_model="plumb_bob")
    info.k, info.r, info.p = (part.ravel().tolist() for part in (CAMERA.K, CAMERA.R, CAMERA.projection))
    return info


def is_box(message: ObstacleArray) -> bool:
    places = [[o.pose.position.x, o.pose.position.y, o.pose.position.z] for o in message.obstacles]
    return any(np.linalg.norm(np.array(place) - AT) < 0.03 for place in places)


def test_compressed_depth_with_pose_by_parameter(start, peer):
    node = start(
        "perception", "-p", "disable_self_filter:=true", "-p", "input:=depth", "-p", "camera.name:=/eye/depth",
        "-p", "camera.transport:=compressedDepth", "-p", "space.enabled:=true",
        "-p", f"camera.pose:=base_link {pose_text(T_BASE_OPTICAL)}",
    )  # fmt: skip
    bring_up(peer, node)
    images = peer.node.create_publisher(CompressedImage, "/eye/depth/image_rect/compressedDepth", 5)
    infos = peer.node.create_publisher(CameraInfo, "/eye/depth/camera_info", 5)
    obstacles: list[ObstacleArray] = []
    frames: list[TFMessage] = []
    unknown: list[Octomap] = []
    peer.node.create_subscription(Octomap, "unknown_space", unknown.append, qos.LATCHED)
    peer.node.create_subscription(ObstacleArray, "obstacles", obstacles.append, 10)
    peer.node.create_subscription(TFMessage, "tf_static", frames.append, qos.LATCHED)
    prepared = [compressed_depth(millimetres(seed)) for seed in range(3)]

    def found() -> bool:
        infos.publish(stamped(calibration(), "eye_depth_optical_frame"))
        images.publish(stamped(prepared[len(obstacles) % 3], "eye_depth_optical_frame"))
        peer.spin_for(0.1)
        return any(map(is_box, obstacles))

    peer.wait_for(found, "the box in compressed depth images")
    peer.wait_for(lambda: any(t.child_frame_id == "eye_depth_optical_frame" for m in frames for t in m.transforms),
                  "the static transform")  # fmt: skip
    (transform,) = [t for m in frames for t in m.transforms if t.child_frame_id == "eye_depth_optical_frame"]
    assert transform.header.frame_id == "base_link"
    assert transform.transform.translation.z == pytest.approx(T_BASE_OPTICAL[2, 3])

    # Unknown space: not above the box, where the camera looks through; inside the table and beside the image.
    peer.wait_for(lambda: bool(unknown), "unknown space")
    centres, sizes = octomap_leaves(unknown[-1])

    def is_unknown(place) -> bool:
        return bool(np.any(np.all(np.abs(centres - place) <= 0.5 * sizes[:, None] + 1e-9, axis=1)))

    assert [is_unknown(np.add(AT, [0.0, 0.0, z])) for z in (0.15, -0.2)] == [False, True]
    assert is_unknown([0.8, 0.5, 0.5])


def test_cloud_with_x_forward_is_converted_with_a_log_line(start, peer):
    forward = T_BASE_OPTICAL[:3, :3] @ np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    T_base_frame = lie.pose(forward, T_BASE_OPTICAL[:3, 3])
    node = start(
        "perception", "-p", "disable_self_filter:=true", "-p", "input:=points", "-p", "camera.topics:=/zed/cloud",
        "-p", f"camera.pose:=base_link {pose_text(T_base_frame)}", namespace="/clouds",
    )  # fmt: skip
    bring_up(peer, node)
    clouds = peer.node.create_publisher(PointCloud2, "/zed/cloud", 5)
    obstacles: list[ObstacleArray] = []
    peer.node.create_subscription(ObstacleArray, "/clouds/obstacles", obstacles.append, 10)
    z = millimetres(0).astype(np.float64) * 1e-3
    v, u = np.mgrid[0:480, 0:640]
    K = CAMERA.K
    xyz = np.dstack([z, -(u - K[0, 2]) / K[0, 0] * z, -(v - K[1, 2]) / K[1, 1] * z]).astype(np.float32)
    xyz[z == 0.0] = np.nan
    message = points_message(
        Points(xyz, np.zeros(z.shape, np.float32)), "zed_left_camera_frame", CameraInfo().header.stamp
    )

    def found() -> bool:
        clouds.publish(stamped(message, "zed_left_camera_frame"))
        peer.spin_for(0.1)
        return any(map(is_box, obstacles))

    peer.wait_for(found, "the box in a cloud with x forward")
    assert "x forward" in node.printed


def test_topics_of_a_driver_by_name_or_one_by_one():
    topics = CameraTopics.of({**DEFAULTS, "input": "depth", "camera.name": "/camera/camera/depth/"})
    assert topics.kind is Image and topics.images == ("/camera/camera/depth/image_rect",)
    assert topics.infos == ("/camera/camera/depth/camera_info",)
    topics = CameraTopics.of(
        {**DEFAULTS, "camera.topics": "/a/left/image, /a/right/image", "camera.transport": "compressed"}
    )
    assert topics.images == ("/a/left/image/compressed", "/a/right/image/compressed")
    assert topics.infos == ("/a/left/camera_info", "/a/right/camera_info")
    raw = CameraTopics.of({**DEFAULTS, "input": "depth", "camera.name": "depth", "rectify": True})
    assert raw.images == ("depth/image_raw",)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"input": "sonar"}, "choose one of"),
        ({"camera.transport": "compressedDepth"}, "does not go with"),
        ({"camera.topics": "only_one"}, "needs 2"),
        ({"camera.info_topics": "only_one"}, "needs 2"),
        ({"camera.axes": "up"}, "choose one of"),
    ],
)
def test_topics_that_do_not_fit_are_refused(changes, text):
    with pytest.raises(InputError, match=text):
        CameraTopics.of({**DEFAULTS, **changes})


def test_compressed_images_are_decoded():
    rng = np.random.default_rng(0)
    grey = cv2.GaussianBlur(rng.integers(0, 255, (40, 60), dtype=np.uint8), (0, 0), 3)
    message = CompressedImage(format="mono8; jpeg compressed ")
    message.data = array.array("B", cv2.imencode(".jpg", grey)[1].tobytes())
    pixels, encoding = decompressed(message)
    assert encoding == "mono8" and np.abs(pixels.astype(int) - grey).max() < 10
    message.data = array.array("B", cv2.imencode(".png", np.dstack([grey] * 3))[1].tobytes())
    assert decompressed(message)[1] == "bgr8"

    # 32FC1: the inverse depth in steps, as compressed_depth_image_transport writes it.
    depth = rng.uniform(0.4, 4.0, (40, 60))
    depth[0, 0] = np.nan
    scale, offset = 100.0 * 101.0, 1.0 - 100.0 * 101.0 / 10.0
    steps = np.where(np.isnan(depth), 0.0, scale / depth + offset)
    message = CompressedImage(format="32FC1; compressedDepth png")
    png = cv2.imencode(".png", np.rint(steps).astype(np.uint16))[1].tobytes()
    message.data = array.array("B", struct.pack("<iff", 0, scale, offset) + png)
    metres, encoding = decompressed(message)
    assert encoding == "32FC1" and np.isnan(metres[0, 0])
    assert np.nanmax(np.abs(metres - depth)) < 2e-3


@pytest.mark.parametrize(
    ("form", "data", "text"),
    [
        ("mono8; jpeg compressed", b"", "cannot be decoded"),
        ("mono8; jpeg compressed", b"nonsense", "cannot be decoded"),
        ("16UC1; compressedDepth rvl", b"0" * 40, "RVL"),
        ("16UC1; compressedDepth png", b"0", "cut off"),
        ("16UC1; compressedDepth png", b"0" * 40, "cannot be decoded"),
    ],
)
def test_data_that_cannot_be_decoded_is_refused(form, data, text):
    with pytest.raises(BadImage, match=text):
        decompressed(CompressedImage(format=form, data=array.array("B", data)))


def test_planner_takes_unknown_space_by_policy():
    robot = Robot.from_urdf("ur5").completed()
    model = LoadedRobot.of(robot, {row.name: row.default for row in ROBOT_PARAMETERS})
    world = PlannerWorld(model, lambda: np.zeros(6))
    space = SpaceMap([-0.6] * 3, [0.6] * 3, cell=0.1)
    centres = space.centres(SpaceState.UNKNOWN)
    stream, resolution = binary_stream(centres, np.full(len(centres), 0.1))
    message = Octomap(binary=True, id="OcTree", resolution=resolution, data=array.array("b", stream))
    spheres = np.array([[0.0, 0.0, 0.0, 0.1]])
    counts = {}
    for policy in UnknownSpace:
        world.set_unknown(message, np.eye(4), policy, spheres, 0.35)
        found = world.snapshot().objects.get("unknown_space")
        counts[policy] = 0 if found is None else len(found.shape.centres)
    assert counts[UnknownSpace.FREE] == 0
    assert 0 < counts[UnknownSpace.AUTO] < counts[UnknownSpace.BLOCKED] < len(centres)
    with pytest.raises(InputError, match="blocked, free, auto"):
        unknown_policy({"unknown_space.policy": "perhaps"})


def test_unknown_space_of_a_bringup():
    def parameters(**options):
        nodes = {spec.executable: spec.parameters for spec in describe(Options(perception=True, **options)).nodes}
        return nodes["planner"]["unknown_space.policy"], nodes["perception"].get("space.enabled", False)

    assert parameters() == ("free", False)  # the planner knows the simulated scene
    assert parameters(unknown="blocked") == ("blocked", True)
    assert parameters(mode=BringupMode.HARDWARE) == ("auto", True)
    assert parameters(mode=BringupMode.HARDWARE, unknown="free") == ("free", False)
    for wrong in ({"unknown": "perhaps", "perception": True}, {"unknown": "free"}):
        with pytest.raises(InputError, match="unknown"):
            describe(Options(**wrong))


def test_bringup_passes_the_camera_to_perception(tmp_path):
    path = tmp_path / "camera_pose.yaml"
    path.write_text("parent_frame: tool0\ntranslation: [0.0, 0.1, 0.0]\nrotation: [0.0, 0.0, 0.0, 1.0]\n")
    options = Options(
        mode=BringupMode.HARDWARE, perception=True, camera_input="depth", camera_name="/camera/depth",
        camera_transport="compressedDepth", camera_pose=str(path), camera_rectify=True,
    )  # fmt: skip
    (node,) = [spec for spec in describe(options).nodes if spec.executable == "perception"]
    assert node.parameters["input"] == "depth" and node.parameters["camera.pose"] == str(path)
    assert node.parameters["rectify"] is True and "camera.topics" not in node.parameters
    for wrong in (
        {"camera_input": "sonar"},
        {"camera_transport": "zip"},
        {"camera_pose": "missing.yaml"},
        {"perception": False},
    ):
        with pytest.raises(InputError):
            describe(Options(**{**vars(options), **wrong}))
