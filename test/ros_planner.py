"""A simulated arm with a planner, as real processes, and the requests that tests send to it."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PoseStamped
from manipapy_msgs.action import Move, PlanMotion
from manipapy_msgs.msg import MotionRequest, Obstacle, ObstacleArray
from manipapy_msgs.srv import ChangeWorld, ListObjects
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState

from manipapy_core import Robot, lie
from manipapy_core.geometry import Box, Checker, RobotBody, World
from manipapy_ros.common.conversions import pose_from_matrix
from ros_arm import HOME, JOINTS, Arm, bring_up

LEFT = HOME + np.array([0.9, 0.0, 0.0, 0.0, 0.0, 0.0])
RIGHT = HOME - np.array([0.9, 0.0, 0.0, 0.0, 0.0, 0.0])
PILLAR_SIZE, PILLAR_AT = [0.1, 0.1, 0.9], [0.55, 0.11, 0.45]
"""Stands in the straight way between LEFT and RIGHT [m]."""
Request = ChangeWorld.Request


class PlannedArm:
    """A UR5 in the bridge, its controller and its planner, all active.

    Args:
        arm: One that is there already, for a second planner in a namespace of its own.
        scene: File of the planner's world.
    """

    def __init__(self, peer, start, *, arm=None, namespace="", scene=""):
        self.arm = Arm(peer, start) if arm is None else arm
        self.peer, self.states = peer, self.arm.states
        parameters = ["-p", "use_sim_time:=true", "-p", f"initial_positions:={HOME.tolist()}"]
        if scene:
            parameters += ["-p", f"scene:={scene}"]
        if namespace:
            parameters += ["-r", "joint_states:=/joint_states"]
        self.planner = start("planner", *parameters, namespace=namespace)
        bring_up(peer, self.planner)
        self.actions = {
            kind: ActionClient(peer.node, kind, f"{self.planner.full_name}/{name}")
            for kind, name in ((PlanMotion, "plan_motion"), (Move, "move"))
        }
        self.chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
        self.body = RobotBody.build(Robot.from_urdf("ur5"), self.chain)

    def send(self, goal, feedback=None):
        action = self.actions[PlanMotion if isinstance(goal, PlanMotion.Goal) else Move]
        self.peer.wait_for(action.server_is_ready, "the planner")
        answer = action.send_goal_async(goal, feedback_callback=feedback)
        self.peer.wait_for(answer.done, "an answer to the goal")
        assert answer.result().accepted
        return answer.result()

    def execute(self, goal, feedback=None):
        return self.arm.outcome(self.send(goal, feedback))

    def change(self, operation: int, **fields) -> ChangeWorld.Response:
        request = Request(operation=operation)
        request.object.id = fields.pop("id", "crate")
        request.object.header.frame_id = fields.pop("frame", "")
        request.touch_links = fields.pop("touch_links", [])
        for name, value in fields.items():
            setattr(request.object, name, value)
        return self.peer.call(ChangeWorld, self.planner, "change_world", request)

    def add_pillar(self, at=PILLAR_AT, name: str = "pillar") -> None:
        pose = pose_from_matrix(lie.pose(translation=at))
        answer = self.change(Request.ADD, id=name, type="box", dimensions=PILLAR_SIZE, pose=pose)
        assert answer.success, answer.message

    def checker(self, *pillars) -> Checker:
        """The same world, seen by the library itself."""
        world = World()
        for number, at in enumerate(pillars):
            world.add(f"pillar {number}", Box(PILLAR_SIZE), lie.pose(translation=at))
        return Checker(self.body, world)

    def listed(self) -> ListObjects.Response:
        return self.peer.call(ListObjects, self.planner, "list_objects", ListObjects.Request())


def joints(q, names=JOINTS) -> JointState:
    return JointState(name=list(names), position=[float(value) for value in q])


def to(q, **fields) -> MotionRequest:
    return MotionRequest(kind=MotionRequest.JOINTS, joints=joints(q), **fields)


def move(q, **fields) -> Move.Goal:
    return Move.Goal(request=to(q, **fields))


def to_links(poses, **fields) -> MotionRequest:
    """All of these poses, by name of the link, at once."""
    stamped = [PoseStamped(pose=pose_from_matrix(T)) for T in poses.values()]
    return MotionRequest(kind=MotionRequest.POSE, links=list(poses), poses=stamped, **fields)


def to_pose(T, **fields) -> MotionRequest:
    request = MotionRequest(kind=MotionRequest.POSE, **fields)
    request.pose.pose = pose_from_matrix(T)
    return request


class Perception:
    """Publishes obstacles in the place of the node perception."""

    def __init__(self, planned):
        self._planned = planned
        self._publisher = planned.peer.node.create_publisher(ObstacleArray, "obstacles", 1)

    def show(self, *boxes) -> None:
        """Until the planner's world has exactly these boxes: centre and size [m]."""
        message = ObstacleArray()
        for number, (centre, size) in enumerate(boxes, start=7):
            obstacle = Obstacle(id=number, pose=pose_from_matrix(lie.pose(translation=centre)))
            obstacle.size.x, obstacle.size.y, obstacle.size.z = size
            message.obstacles.append(obstacle)
        names = [f"perceived_{obstacle.id}" for obstacle in message.obstacles]

        def taken_over() -> bool:
            self._publisher.publish(message)
            return [item.id for item in self._planned.listed().objects] == names

        self._planned.peer.wait_for(taken_over, "the obstacles in the planner's world")


def with_fields(**changes) -> MotionRequest:
    request = to(LEFT)
    for name, value in changes.items():
        setattr(request, name, value)
    return request


def _far_away() -> MotionRequest:
    return to_pose(lie.pose(translation=[3.0, 0.0, 0.5]))


def _skewed_quaternion() -> MotionRequest:
    request = to_pose(np.eye(4))
    request.pose.pose.orientation.w = 0.5
    return request


BAD_REQUESTS = [
    (_far_away(), -31, "the tip comes within"),
    (_skewed_quaternion(), None, "length"),
    (with_fields(joints=joints([np.nan, 0, 0, 0, 0, 0])), None, "finite"),
    (with_fields(joints=joints([0.0], ["knee_joint"])), None, "knee_joint"),
    (with_fields(joints=JointState()), None, "names no joints"),
    (with_fields(joints=joints([9.0], ["elbow_joint"])), -27, "elbow_joint"),
    (with_fields(start=joints([6.4], ["elbow_joint"])), -26, "elbow_joint"),
    (with_fields(start=joints([3.1], ["elbow_joint"])), -10, "collides"),
    (with_fields(planner="magic"), None, "rrt_connect"),
    (with_fields(time_law="magic"), None, "toppra"),
    (with_fields(kind=9), None, "kind 9"),
    (with_fields(velocity_scaling=3.0), None, "scaling"),
    (with_fields(timeout=-1.0), None, "timeout"),
    (with_fields(may_touch=["nothing"]), None, "nothing"),
    (MotionRequest(kind=MotionRequest.NAMED, named="nowhere"), None, "home"),
    (MotionRequest(kind=MotionRequest.POSE, links=["tool0"]), None, "one pose per link"),
    (to_links({"moon": np.eye(4)}), None, "moon"),
    (to_links({"base_link": np.eye(4)}), None, "not moved by any joint"),
    (to_links({"forearm_link": np.eye(4), "tool0": np.eye(4)}), -31, "together"),
]
"""Request, error code if it matters, and what the text must say."""
