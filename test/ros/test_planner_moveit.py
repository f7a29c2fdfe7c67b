"""Objects of MoveIt in the planner's world, over DDS."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import Point, Point32, Pose, TransformStamped
from manipapy_msgs.action import PlanMotion
from moveit_msgs.msg import CollisionObject as Message
from shape_msgs.msg import Mesh, Plane
from shape_msgs.msg import SolidPrimitive as Primitive
from tf2_msgs.msg import TFMessage

from manipapy_core import kinematics, lie
from manipapy_ros.common import qos
from manipapy_ros.common.conversions import matrix_from_pose, pose_from_matrix
from ros_arm import SUCCEEDED
from ros_planner import LEFT, PILLAR_AT, PILLAR_SIZE, RIGHT, PlannedArm, Request, joints, to

TILTED = lie.pose(lie.exp_so3(np.array([0.3, -0.2, 0.5])), [0.2, 0.5, 0.4])


def pose(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Pose:
    return pose_from_matrix(lie.pose(translation=[x, y, z]))


class Publisher:
    """A program for MoveIt."""

    def __init__(self, planned: PlannedArm):
        self._planned = planned
        self._publisher = planned.peer.node.create_publisher(Message, "collision_object", 10)
        planned.peer.wait_for(lambda: self._publisher.get_subscription_count() > 0, "the planner to listen")

    def publish(self, operation: bytes, id_: str = "crate", frame: str = "base_link", **fields) -> dict:
        """Objects in the planner's world afterwards, by id."""
        message = Message(id=id_, operation=operation, **fields)
        message.header.frame_id = frame
        before = self._planned.listed().version
        self._publisher.publish(message)
        self._planned.peer.wait_for(lambda: self._planned.listed().version > before, "the world to change")
        # Several shapes are several changes; an answer comes between two messages, never within one.
        return {crate.id: crate for crate in self._planned.listed().objects}

    def refused(self, **fields) -> None:
        """Nothing changes by a message; the next one shows that it has been looked at."""
        before = self._planned.listed().version
        message = Message(**fields)
        self._publisher.publish(message)
        marker = Message(id="marker", operation=Message.ADD, primitives=[box(0.01, 0.01, 0.01)], pose=pose(z=3.0))
        self._publisher.publish(marker)
        self._planned.peer.wait_for(lambda: self._planned.listed().version > before, "the marker")
        assert self._planned.listed().version == before + 1
        assert self._planned.change(Request.REMOVE, id="marker").success


def box(*size: float) -> Primitive:
    return Primitive(type=Primitive.BOX, dimensions=list(size))


@pytest.fixture(scope="module")
def planned(start_for_module, peer):
    return PlannedArm(peer, start_for_module)


@pytest.fixture
def program(planned):
    assert planned.change(Request.CLEAR).success
    return Publisher(planned)


def assert_at(message, T: np.ndarray) -> None:
    got, wanted = message.pose, pose_from_matrix(T)
    for part in ("position", "orientation"):
        a, b = ([getattr(getattr(p, part), axis) for axis in "xyz"] for p in (got, wanted))
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_primitives_are_where_pose_and_shape_pose_put_them(program):
    solids = [
        box(0.1, 0.2, 0.3),
        Primitive(type=Primitive.SPHERE, dimensions=[0.05]),
        Primitive(type=Primitive.CYLINDER, dimensions=[0.4, 0.06]),
    ]
    offsets = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.3], [0.2, 0.0, 0.0]]
    world = program.publish(
        Message.ADD,
        pose=pose_from_matrix(TILTED),
        primitives=solids,
        primitive_poses=[pose(*offset) for offset in offsets],
    )
    wanted = [("crate", "box", [0.1, 0.2, 0.3]), ("crate/1", "sphere", [0.05]), ("crate/2", "cylinder", [0.06, 0.4])]
    assert [(name, world[name].type, list(world[name].dimensions)) for name, _, _ in wanted] == wanted
    for (name, _, _), offset in zip(wanted, offsets, strict=True):
        assert_at(world[name], TILTED @ lie.pose(translation=offset))


def test_cones_prisms_and_meshes_are_their_hulls(program):
    cone = Primitive(type=Primitive.CONE, dimensions=[0.2, 0.1])
    prism = Primitive(type=Primitive.PRISM, dimensions=[0.4])
    prism.polygon.points = [Point32(x=x, y=y) for x, y in ((0.0, 0.0), (0.3, 0.0), (0.0, 0.3))]
    corners = np.random.default_rng(0).uniform(-0.1, 0.1, (30, 3))
    mesh = Mesh(vertices=[Point(x=x, y=y, z=z) for x, y, z in corners.tolist()])
    world = program.publish(Message.ADD, primitives=[cone, prism], meshes=[mesh])
    assert {world[name].type for name in ("crate", "crate/1", "crate/2")} == {"convex"}
    top = max(world["crate"].points, key=lambda point: point.z)
    assert (top.x, top.y, top.z) == pytest.approx((0.0, 0.0, 0.1), abs=1e-6)
    ring = [np.hypot(point.x, point.y) for point in world["crate"].points if point.z < 0.0]
    assert min(ring) >= 0.1 and max(ring) < 0.102
    assert sorted({round(point.z, 6) for point in world["crate/1"].points}) == [-0.2, 0.2]
    assert np.max([point.x for point in world["crate/2"].points]) == pytest.approx(corners[:, 0].max(), abs=1e-6)


def test_a_plane_is_solid_below(planned, program):
    """0.6 x + 0.8 z = 0.1 leans over; what is listed has its z axis along the normal, on the plane."""
    world = program.publish(Message.ADD, planes=[Plane(coef=[1.2, 0.0, 1.6, -0.2])])
    T = matrix_from_pose(world["crate"].pose)
    np.testing.assert_allclose(T[:3, 2], [0.6, 0.0, 0.8], atol=1e-9)
    assert T[:3, 2] @ T[:3, 3] == pytest.approx(0.1)


def test_objects_grow_move_and_go(program):
    program.publish(Message.ADD, pose=pose(x=0.5), primitives=[box(0.1, 0.1, 0.1)])
    world = program.publish(Message.APPEND, pose=pose(x=0.5, z=0.2), primitives=[box(0.2, 0.2, 0.2)])
    assert_at(world["crate/1"], lie.pose(translation=[0.5, 0.0, 0.2]))
    world = program.publish(Message.MOVE, pose=pose(y=-0.6))
    assert_at(world["crate"], lie.pose(translation=[0.0, -0.6, 0.0]))
    assert_at(world["crate/1"], lie.pose(translation=[0.0, -0.6, 0.2]))
    world = program.publish(Message.ADD, id_="other", primitives=[box(0.1, 0.1, 0.1)], pose=pose(z=1.5))
    assert set(world) == {"crate", "crate/1", "other"}
    assert set(program.publish(Message.REMOVE)) == {"other"}
    assert set(program.publish(Message.REMOVE, id_="")) == set()


def test_frames_of_the_robot_and_of_tf(planned, program):
    world = program.publish(Message.ADD, frame="tool0", pose=pose(z=0.3), primitives=[box(0.1, 0.1, 0.1)])
    T_tool = kinematics.forward(planned.chain, planned.states.q())
    np.testing.assert_allclose(
        [world["crate"].pose.position.x, world["crate"].pose.position.y, world["crate"].pose.position.z],
        (T_tool @ lie.pose(translation=[0.0, 0.0, 0.3]))[:3, 3],
        atol=2e-3,
    )
    latched = planned.peer.node.create_publisher(TFMessage, "tf_static", qos.LATCHED)
    transform = TransformStamped(child_frame_id="base_link")
    transform.header.frame_id = "room"
    transform.transform.translation.x, transform.transform.rotation.w = 2.0, 1.0
    latched.publish(TFMessage(transforms=[transform]))
    planned.peer.wait_for(lambda: latched.get_subscription_count() > 0, "the planner to listen to tf_static")
    world = program.publish(Message.ADD, frame="room", pose=pose(x=2.5), primitives=[box(0.1, 0.1, 0.1)])
    assert_at(world["crate"], lie.pose(translation=[0.5, 0.0, 0.0]))


def test_what_makes_no_sense_changes_nothing(program):
    cube = [box(0.1, 0.1, 0.1)]
    program.refused(id="a", operation=Message.ADD)
    program.refused(id="", operation=Message.ADD, primitives=cube)
    program.refused(id="perceived_1", operation=Message.ADD, primitives=cube)
    program.refused(id="a", operation=Message.ADD, primitives=[box(0.1, 0.1)])
    program.refused(id="a", operation=Message.ADD, primitives=[*cube, *cube], primitive_poses=[pose()])
    program.refused(id="a", operation=Message.MOVE, pose=pose(x=1.0))
    program.refused(id="a", operation=Message.REMOVE)
    program.refused(id="a", operation=bytes([9]), primitives=cube)
    moon = Message(id="a", operation=Message.ADD, primitives=cube)
    moon.header.frame_id = "moon"
    program.refused(id="a", operation=Message.ADD, primitives=cube, header=moon.header)


def test_the_planner_goes_around_them(planned, program):
    program.publish(Message.ADD, pose=pose(*PILLAR_AT), primitives=[box(*PILLAR_SIZE)])
    status, result = planned.execute(PlanMotion.Goal(request=to(LEFT, start=joints(RIGHT))))
    assert status == SUCCEEDED, result.text
    rows = np.array([point.positions for point in result.trajectory.points])
    assert not planned.checker(PILLAR_AT).check(rows).any()
