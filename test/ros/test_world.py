"""One world for all nodes, over DDS: the planner owns it; capability, viewer and collision monitor follow it."""

from __future__ import annotations

import re
import signal
import time
import zlib

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from manipapy_msgs.msg import CollisionForecast, CollisionObject, PolytopeArray, WorldEdit
from manipapy_msgs.srv import ChangeWorld
from octomap_msgs.msg import Octomap
from sensor_msgs.msg import JointState, PointCloud2, PointField
from visualization_msgs.msg import Marker, MarkerArray

from draw.page_socket import PageSocket
from manipapy_core import Robot, kinematics, lie
from manipapy_core.geometry import RobotBody
from manipapy_core.geometry.octree import binary_stream
from manipapy_core.polytopes import near_points, velocity_polytope
from manipapy_ros.common import qos
from manipapy_ros.common.conversions import pose_from_matrix
from manipapy_ros.common.world_follower import WorldFollower
from ros_arm import HOME, JOINTS, bring_up

NAMESPACE = "/one_world"
ROBOT = Robot.from_urdf("ur5")
CHAIN = ROBOT.chain("base_link", "tool0")
TIP = kinematics.forward(CHAIN, HOME)[:3, 3]
WALL_AT = TIP + np.array([0.12, 0.0, 0.0])
WALL_SIZE = [0.02, 0.6, 0.6]
RATE = 50.0
"""Of joint states [Hz]."""
Request = ChangeWorld.Request


def when_drawn(page: PageSocket, name: str, link: str = "base_link") -> float | None:
    """When an object of the world was first drawn in the frame of a link."""
    node = re.compile(rf"/arm/{link}/[^/]+/[^/]*_world_{zlib.crc32(name.encode()) & 0x7FFFFFFF}".encode())
    return next((when for when, text in page.messages() if node.search(text)), None)


class Followed:
    """A planner, and nodes that follow its world; joint states come from here."""

    def __init__(self, peer, start):
        self.peer, self._start, self.q, self.qd = peer, start, HOME.copy(), np.zeros(6)
        self._states = peer.node.create_publisher(JointState, f"{NAMESPACE}/joint_states", qos.STATE)
        peer.node.create_timer(1.0 / RATE, self._publish)
        self.planner = self.start("planner")
        self.capability = self.start("capability", "-p", "rate:=50.0", "-p", "world_stale_after:=1.5")
        self.volumes: list[tuple[float, float]] = []
        peer.node.create_subscription(PolytopeArray, f"{NAMESPACE}/capability/polytopes", self._on_polytopes, 1)
        self.warnings: dict[str, str] = {}
        peer.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnosis, 20)
        self._computed: tuple = ()
        self.own = WorldFollower(peer.node, f"{NAMESPACE}/planner/world", "base_link")

    def start(self, name: str, *arguments: str):
        node = self._start(name, "-p", "robot:=ur5", *arguments, namespace=NAMESPACE)
        bring_up(self.peer, node)
        return node

    def _publish(self) -> None:
        state = JointState(name=list(JOINTS), position=self.q.tolist(), velocity=self.qd.tolist())
        state.header.stamp = self.peer.node.get_clock().now().to_msg()
        self._states.publish(state)

    def _on_polytopes(self, message: PolytopeArray) -> None:
        self.volumes.append((time.monotonic(), message.polytopes[0].volume))

    def _on_diagnosis(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.warnings[status.name.rsplit("/", 1)[-1]] = status.message

    def change(self, operation: int, at=WALL_AT, **fields) -> None:
        request = Request(operation=operation, touch_links=fields.pop("touch_links", []))
        request.object.header.frame_id = fields.pop("frame", "")
        for name, value in {"id": "wall", "pose": pose_from_matrix(lie.pose(translation=at)), **fields}.items():
            setattr(request.object, name, value)
        answer = self.peer.call(ChangeWorld, self.planner, "change_world", request)
        assert answer.success, answer.message

    def volume(self, condition, what: str) -> tuple[float, float]:
        """Arrival and volume of the first velocity polytope from now on that fulfils a condition."""
        self.volumes.clear()
        self.peer.wait_for(lambda: any(condition(volume) for _, volume in self.volumes), what)
        return next((when, volume) for when, volume in self.volumes if condition(volume))

    def expected(self) -> float:
        """Volume by the library itself, in the world that this process follows, at the current configuration."""
        world = self.own.snapshot()
        if (world, *self.q) != self._computed[:-1]:
            near = near_points(BODY, world, self.q)
            volume = velocity_polytope(CHAIN, self.q, damping=True, near=near).volume
            self._computed = (world, *self.q, volume)
        return self._computed[-1]

    def agrees(self, what: str) -> float:
        """Wait until capability publishes the volume of the library."""
        self.volumes.clear()
        self.peer.wait_for(
            lambda: bool(self.volumes) and self.volumes[-1][1] == pytest.approx(self.expected(), rel=1e-3, abs=1e-6),
            what,
        )
        return self.volumes[-1][1]


BODY = RobotBody.build(ROBOT, CHAIN)


@pytest.fixture(scope="module")
def nodes(start_for_module, peer):
    return Followed(peer, start_for_module)


@pytest.fixture
def followed(nodes):
    nodes.q, nodes.qd = HOME.copy(), np.zeros(6)
    nodes.change(Request.CLEAR)
    nodes.peer.wait_for(lambda: nodes.own.received and not nodes.own.snapshot().objects, "an empty world")
    return nodes


def test_a_box_added_through_the_planner_changes_polytopes_and_page(followed, start, peer):
    pytest.importorskip("viser", reason="the extra viewer is not installed")
    viewer = followed.start("viewer", "-p", "port:=18120", "-p", "rate:=30.0")
    peer.wait_for(lambda: "http://" in viewer.printed, "the address of the page")
    page = PageSocket(re.findall(r"http://127\.0\.0\.1:\d+/\?token=\S+", viewer.printed)[0])
    free = followed.agrees("the volume in an empty world")
    began = time.monotonic()
    followed.change(Request.ADD, type="box", dimensions=WALL_SIZE)
    answered = time.monotonic()
    when, volume = followed.volume(lambda volume: volume < 0.95 * free, "a smaller polytope")
    peer.wait_for(lambda: when_drawn(page, "wall") is not None, "the box on the page")
    drawn = when_drawn(page, "wall")
    print(
        f"box: answer {1e3 * (answered - began):.0f} ms, polytope {1e3 * (when - began):.0f} ms, "
        f"page {1e3 * (drawn - began):.0f} ms after the request; volume {free:.2f} to {volume:.2f}"
    )
    assert volume == pytest.approx(followed.expected(), rel=1e-3)
    cup = {"id": "cup", "type": "cylinder", "dimensions": [0.03, 0.1], "frame": "tool0"}
    followed.change(Request.ATTACH, at=[0.0, 0.0, 0.06], **cup)
    peer.wait_for(lambda: when_drawn(page, "cup", "tool0") is not None, "the cup in the frame of its link")
    followed.change(Request.REMOVE, id="cup")
    # Once the simulation has the wall as well, it has a layer of its own, which does not hide the scene.
    truth = peer.node.create_publisher(MarkerArray, f"{NAMESPACE}/sim_bridge/ground_truth", qos.STATE)
    marker = Marker(ns="wall", type=Marker.CUBE, action=Marker.ADD)
    marker.header.frame_id, marker.pose.orientation.w = "base_link", 1.0
    marker.scale.x, marker.scale.y, marker.scale.z, marker.color.a = 0.1, 0.1, 0.1, 1.0

    def is_apart() -> bool:
        truth.publish(MarkerArray(markers=[marker]))
        return any(b"/arm/base_link/known_objects_of_the_scene/" in text for _, text in page.messages())

    peer.wait_for(is_apart, "the wall in the layer of known objects of the scene")
    page.close()
    assert viewer.stop() == 0


def test_an_attached_object_moves_with_the_arm_in_every_follower(followed, peer):
    forecasts: list[CollisionForecast] = []
    peer.node.create_subscription(
        CollisionForecast, f"{NAMESPACE}/collision_monitor/forecast", forecasts.append, qos.NEWEST
    )
    away = HOME + np.array([1.2, 0.0, 0.0, 0.0, 0.0, 0.0])
    bare = followed.agrees("the volume of the bare arm")
    rod = {"id": "rod", "type": "cylinder", "dimensions": [0.02, 0.3], "frame": "tool0"}
    followed.change(Request.ATTACH, at=[0.0, 0.0, 0.16], touch_links=["wrist_3_link"], **rod)
    end = (kinematics.forward(CHAIN, HOME) @ lie.pose(translation=[0.0, 0.0, 0.31]))[:3, 3]
    followed.change(
        Request.ADD, at=end + np.array([0.0, 0.0, -0.04]), id="floor", type="box", dimensions=[0.3, 0.3, 0.06]
    )
    followed.qd[1] = 0.3  # downwards
    monitor = followed.start("collision_monitor")  # later than the edits: it gets the world whole
    near = followed.agrees("the volume with the rod above the floor")
    peer.wait_for(lambda: any({f.link, f.object} == {"rod", "floor"} for f in forecasts[-5:]), "a forecast of the rod")
    version = followed.own.snapshot().version
    peer.wait_for(lambda: forecasts[-1].world_version == version, "the same version in the monitor")
    followed.q = away
    peer.wait_for(lambda: "floor" not in (forecasts[-1].link, forecasts[-1].object), "the rod to be away")
    far = followed.agrees("the volume with the rod elsewhere")
    print(f"velocity volume: {bare:.2f} bare, {near:.2f} with the rod above the floor, {far:.2f} elsewhere")
    assert near < 0.9 * far
    followed.change(Request.DETACH, id="rod")
    expected = kinematics.forward(CHAIN, away) @ lie.pose(translation=[0.0, 0.0, 0.16])
    peer.wait_for(lambda: "rod" in followed.own.snapshot().objects, "the rod in the world")
    np.testing.assert_allclose(followed.own.snapshot().objects["rod"].T_base_object, expected, atol=1e-6)
    assert monitor.stop() == 0


def sheet() -> np.ndarray:
    """Centres of cells of 2 cm on a wall beside the tip, in the octree's grid [m], shape (cells, 3)."""
    y, z = np.meshgrid(np.arange(-10, 10), np.arange(-10, 10))
    cells = np.column_stack([np.full(y.size, 6), y.ravel(), z.ravel()])
    return 0.02 * (np.floor(TIP / 0.02) + cells + 0.5)


def octomap(points: np.ndarray) -> Octomap:
    stream, resolution = binary_stream(points, np.full(len(points), 0.02))
    message = Octomap(binary=True, id="OcTree", resolution=resolution)
    message.header.frame_id = "base_link"
    message.data.frombytes(stream)
    return message


def test_octomaps_and_clouds_enter_by_topic_and_service(followed, peer):
    free = followed.agrees("the volume in an empty world")
    maps = peer.node.create_publisher(Octomap, f"{NAMESPACE}/octomap_binary", qos.LATCHED)
    maps.publish(octomap(sheet()))
    _, by_topic = followed.volume(lambda volume: volume < 0.95 * free, "the octomap in the polytopes")
    followed.agrees("the volume beside the octomap")
    shape = followed.own.snapshot().objects["octomap"].shape
    assert {tuple(row) for row in np.round(shape.centres, 6)} == {tuple(row) for row in np.round(sheet(), 6)}
    empty = octomap(sheet())
    empty.data = []
    maps.publish(empty)
    followed.volume(lambda volume: volume > 0.99 * free, "the octomap to be gone")
    volatile = peer.node.create_publisher(Octomap, f"{NAMESPACE}/octomap_binary", 1)  # as octomap_server with latch off
    peer.wait_for(lambda: volatile.get_subscription_count() > 0, "the planner to subscribe")
    for message in (octomap(sheet()), empty):
        volatile.publish(message)
        followed.volume(lambda volume, full=bool(message.data): (volume < 0.95 * free) == full, "the volatile octomap")
    assert "incompatible QoS" not in followed.planner.printed
    followed.change(Request.ADD, at=[0.0] * 3, id="map", type="octomap", dimensions=[0.02], data=octomap(sheet()).data)
    _, by_service = followed.volume(lambda volume: volume < 0.95 * free, "the octomap by service")
    assert by_service == pytest.approx(by_topic, rel=1e-3)
    followed.change(Request.REMOVE, id="map")
    cloud = PointCloud2(height=1, width=len(sheet()), point_step=12, row_step=12 * len(sheet()))
    cloud.header.frame_id = "base_link"
    cloud.fields = [PointField(name=n, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, n in enumerate("xyz")]
    cloud.data.frombytes(sheet().astype(np.float32).tobytes())
    clouds = peer.node.create_publisher(PointCloud2, f"{NAMESPACE}/planner/point_cloud", 1)
    peer.wait_for(lambda: clouds.get_subscription_count() > 0, "the planner to subscribe")
    clouds.publish(cloud)
    followed.volume(lambda volume: volume < 0.95 * free, "the cloud in the polytopes")
    edits = peer.node.create_publisher(WorldEdit, f"{NAMESPACE}/planner/edit_world", 10)
    peer.wait_for(lambda: edits.get_subscription_count() > 0, "the planner to subscribe")
    edits.publish(WorldEdit(operation=WorldEdit.REMOVE, object=CollisionObject(id="nothing")))  # refused, and no harm
    edits.publish(WorldEdit(operation=WorldEdit.REMOVE, object=CollisionObject(id="point_cloud")))
    followed.agrees("the cloud to be gone")
    assert not followed.own.snapshot().objects


def test_followers_keep_the_world_of_a_dead_planner_and_take_that_of_its_successor(followed, peer):
    free = followed.agrees("the volume in an empty world")
    followed.change(Request.ADD, type="box", dimensions=WALL_SIZE)
    followed.volume(lambda volume: volume < 0.95 * free, "the wall to count")
    followed.planner.stop(signal.SIGKILL)
    peer.wait_for(lambda: "last world is kept" in followed.warnings.get("capability", ""), "a warning of capability")
    assert followed.volume(lambda _: True, "polytopes without a planner")[1] < 0.95 * free
    followed.planner = followed.start("planner")
    followed.volume(lambda volume: volume > 0.99 * free, "the empty world of the new planner")
    followed.change(Request.ADD, type="box", dimensions=WALL_SIZE)
    followed.volume(lambda volume: volume < 0.95 * free, "the wall of the new planner")
    peer.wait_for(lambda: "last world" not in followed.warnings["capability"], "the warning to be gone")
