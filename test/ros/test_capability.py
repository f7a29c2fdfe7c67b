"""The node capability over DDS: polytopes that agree with the library, live and on request, and maps."""

from __future__ import annotations

import numpy as np
import pytest
from manipapy_msgs.msg import Obstacle, ObstacleArray, PolytopeArray
from manipapy_msgs.srv import CheckReachable, GetPolytopes, GetSlicedPolytope, PlaceBase
from sensor_msgs.msg import JointState, PointCloud2
from std_msgs.msg import Float64
from visualization_msgs.msg import Marker, MarkerArray

from manipapy_core import Robot, kinematics, lie, polytopes, reachability
from manipapy_ros.common import qos
from manipapy_ros.common.conversions import pose_from_matrix
from ros_arm import HOME, JOINTS, bring_up

CHAIN = Robot.from_urdf("ur5").chain("base_link", "tool0")


@pytest.fixture(scope="module")
def map_file(tmp_path_factory):
    """A coarse map, built in a moment."""
    file = tmp_path_factory.mktemp("maps") / "ur5.npz"
    plan = reachability.MapSpec(
        Robot.from_urdf("ur5"), "base_link", "tool0", samples=400_000, resolution=0.15, tilts=12
    )
    reachability.build_map(plan, file)
    return file


@pytest.fixture(scope="module")
def node(start_for_module, peer, map_file):
    names = "['velocity','motion','force']"
    node = start_for_module("capability", "-p", f"polytopes:={names}", "-p", f"map:={map_file}", "-p", "rate:=20.0")
    bring_up(peer, node)
    return node


@pytest.fixture(scope="module")
def states(peer):
    return peer.node.create_publisher(JointState, "joint_states", 1)


def state(q=HOME) -> JointState:
    return JointState(name=list(JOINTS), position=list(map(float, q)), velocity=[0.0] * 6)


def test_live_polytopes_agree_with_the_library(node, peer, states):
    seen: list[PolytopeArray] = []
    drawn: list[MarkerArray] = []
    peer.node.create_subscription(PolytopeArray, f"{node.full_name}/polytopes", seen.append, 5)
    peer.node.create_subscription(MarkerArray, f"{node.full_name}/polytope_markers", drawn.append, 5)
    peer.wait_for(lambda: states.publish(state()) or bool(seen and drawn), "polytopes")
    by_name = {polytope.name: polytope for polytope in seen[-1].polytopes}
    assert list(by_name) == ["velocity", "motion", "force"]
    assert by_name["force"].volume == pytest.approx(polytopes.force_polytope(CHAIN, HOME).volume, rel=1e-6)
    velocity = by_name["velocity"]
    assert velocity.status == "solid" and velocity.unit == "m/s"
    # Nothing is near the arm but its own links, which do not hinder it at its start pose.
    assert velocity.volume == pytest.approx(polytopes.velocity_polytope(CHAIN, HOME, damping=True).volume, rel=0.02)
    assert by_name["motion"].status == "solid"
    assert by_name["motion"].volume == pytest.approx(polytopes.motion_polytope(CHAIN, HOME).volume, rel=0.02)
    corners = np.array([[p.x, p.y, p.z] for p in velocity.vertices])
    normals = np.array(velocity.half_spaces_a).reshape(-1, 3)
    assert (corners @ normals.T <= np.array(velocity.half_spaces_b) + 1e-9).all()
    kinds = {(marker.ns, marker.type) for marker in drawn[-1].markers}
    assert ("velocity", Marker.TRIANGLE_LIST) in kinds and ("velocity", Marker.SPHERE_LIST) in kinds


def test_asked_for_without_constraints(node, peer):
    request = GetPolytopes.Request(names=["velocity"], joints=state(), constrained=False)
    answer = peer.call(GetPolytopes, node, "get_polytopes", request)
    assert answer.success, answer.message
    (polytope,) = answer.result.polytopes
    assert polytope.volume == pytest.approx(polytopes.velocity_polytope(CHAIN, HOME).volume, rel=1e-9)
    cut = GetSlicedPolytope.Request(name="velocity", joints=state(), constrained=False)
    cut.normal.z = 1.0
    answer = peer.call(GetSlicedPolytope, node, "get_sliced_polytope", cut)
    assert answer.success, answer.message
    assert answer.result.polytopes[0].status == "flat"
    assert all(abs(point.z) < 1e-9 for point in answer.result.polytopes[0].vertices)


def test_an_obstacle_makes_the_velocities_fewer(node, peer):
    request = GetPolytopes.Request(names=["velocity"], joints=state(), constrained=True)
    free = peer.call(GetPolytopes, node, "get_polytopes", request).result.polytopes[0].volume
    tip = kinematics.forward(CHAIN, HOME)[:3, 3]
    wall = Obstacle(id=1, pose=pose_from_matrix(lie.pose(translation=tip + np.array([0.12, 0.0, 0.0]))))
    wall.size.x, wall.size.y, wall.size.z = 0.02, 0.6, 0.6
    publisher = peer.node.create_publisher(ObstacleArray, "obstacles", 1)

    def smaller() -> bool:
        publisher.publish(ObstacleArray(obstacles=[wall]))
        return peer.call(GetPolytopes, node, "get_polytopes", request).result.polytopes[0].volume < 0.95 * free

    peer.wait_for(smaller, "the obstacle to count")
    peer.wait_for(
        lambda: (
            publisher.publish(ObstacleArray())
            or peer.call(GetPolytopes, node, "get_polytopes", request).result.polytopes[0].volume > 0.999 * free
        ),
        "the obstacle to be gone",
    )


def test_the_linearisation_limit_comes_by_topic(node, peer):
    limits = peer.node.create_publisher(Float64, f"{node.full_name}/linearisation_limit", 1)
    request = GetPolytopes.Request(names=["motion"], joints=state(), constrained=False)
    before = peer.call(GetPolytopes, node, "get_polytopes", request).result.polytopes[0].volume

    def halved() -> bool:
        limits.publish(Float64(data=0.05))
        now = peer.call(GetPolytopes, node, "get_polytopes", request).result.polytopes[0].volume
        return now == pytest.approx(before / 8.0, rel=1e-6)

    peer.wait_for(halved, "the new limit")


def test_reachable_poses_and_places_for_the_base(node, peer):
    near, far = kinematics.forward(CHAIN, HOME), lie.pose(translation=[3.0, 0.0, 0.0])
    request = CheckReachable.Request(poses=[pose_from_matrix(near), pose_from_matrix(far)])
    answer = peer.call(CheckReachable, node, "reachable", request)
    assert answer.success, answer.message
    assert list(answer.reachable) == [True, False]
    grasp = kinematics.forward(CHAIN, HOME)
    answer = peer.call(PlaceBase, node, "place_base", PlaceBase.Request(grasps=[pose_from_matrix(grasp)], count=2))
    assert answer.success, answer.message
    q = np.array(answer.configurations[0].position)
    T_world_base = lie.pose(translation=[getattr(answer.bases[0].position, axis) for axis in "xyz"])
    o = answer.bases[0].orientation
    T_world_base[:3, :3] = lie.rotation_from_quaternion(np.array([o.x, o.y, o.z, o.w]))
    np.testing.assert_allclose(T_world_base @ kinematics.forward(CHAIN, q), grasp, atol=1e-4)


def test_late_subscribers_receive_the_map(node, peer, map_file):
    """Published once, before this test began: it is latched."""
    seen: list[PointCloud2] = []
    peer.node.create_subscription(PointCloud2, f"{node.full_name}/map", seen.append, qos.LATCHED)
    peer.wait_for(lambda: bool(seen), "the map")
    assert seen[0].header.frame_id == "base_link"
    assert [field.name for field in seen[0].fields] == ["x", "y", "z", "rgb", "quality", "share"]
    rows = np.frombuffer(seen[0].data, np.float32).reshape(-1, 6)
    assert len(rows) == seen[0].width > 500
    reach = reachability.load_map(map_file, CHAIN)
    inner = rows[rows[:, 5] > 0.2]  # at the rim, another choice of directions may miss all of them
    for x, y, z, _, quality, share in inner[:: len(inner) // 20]:
        _, rolls, best = reach.directions([x, y, z], count=200)
        assert 0.0 < quality <= 1.2 * best.max() and abs((rolls > 0).mean() - share) < 0.25
    colours = rows[:, 3].copy().view(np.uint32)
    best, worst = colours[rows[:, 4].argmax()], colours[rows[:, 4].argmin()]
    assert best == (253 << 16 | 231 << 8 | 37) and (worst >> 16 & 255) < 100


@pytest.mark.parametrize(
    ("kind", "name", "request_", "text"),
    [
        (GetPolytopes, "get_polytopes", GetPolytopes.Request(names=["magic"], joints=state()), "velocity"),
        (GetPolytopes, "get_polytopes", GetPolytopes.Request(joints=state([np.nan] * 6)), "finite"),
        (CheckReachable, "reachable", CheckReachable.Request(), "no poses"),
        (PlaceBase, "place_base", PlaceBase.Request(), "no grasps"),
    ],
)
def test_bad_questions_are_answered(node, peer, kind, name, request_, text):
    answer = peer.call(kind, node, name, request_)
    assert not answer.success
    assert text in answer.message
