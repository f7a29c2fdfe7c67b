"""What MoveGroupInterface and RViz's panel send, in their order, with their QoS and defaults; two arms over DDS.

Two mocked UR5e, so that trajectories are also executed. The messages follow the sources of MoveIt 2.12, with the values
that those programs set when their users set none.
"""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import Pose
from moveit_msgs.action import ExecuteTrajectory, MoveGroup
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    Constraints,
    DisplayTrajectory,
    JointConstraint,
    OrientationConstraint,
    PlanningScene,
    PositionConstraint,
    RobotState,
)
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import (
    ApplyPlanningScene,
    GetCartesianPath,
    GetPlannerParams,
    GetPlanningScene,
    GetPositionIK,
    QueryPlannerInterfaces,
)
from rclpy.action import ActionClient
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import String
from std_srvs.srv import Empty

from manipapy_core import Robot, kinematics, lie
from manipapy_core.model import group_chain, read_srdf
from manipapy_ros.common.conversions import pose_from_matrix
from ros.suites import suite
from ros_arm import SUCCEEDED
from ros_moveit import refused

NAMESPACE = "/two"
ROBOT = Robot.from_urdf("dual_ur5e")
CHAIN = group_chain(ROBOT, "arms", "station", "left_tool0")
JOINTS = {side: tuple(name for name in CHAIN.joint_names if name.startswith(side)) for side in ("left", "right")}
JOINTS["arms"] = CHAIN.joint_names
HOME = np.tile([0.0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0.0], 2)
DEFAULTS_QOS = QoSProfile(depth=10)
"""System defaults: reliable, volatile."""
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class MoveItProgram:
    """The entities that the constructors of MoveGroupInterface and of the panel's displays make, in their order."""

    def __init__(self, peer):
        self.peer, node = peer, peer.node
        self.semantic, self.scenes, self.shown, self._clients = [], [], [], {}
        self.positions: dict[str, float] = {}
        node.create_subscription(String, f"{NAMESPACE}/robot_description_semantic", self.semantic.append, LATCHED)
        self.actions = {
            kind: ActionClient(node, kind, f"{NAMESPACE}/{name}")
            for kind, name in ((MoveGroup, "move_action"), (ExecuteTrajectory, "execute_trajectory"))
        }
        self.attach = node.create_publisher(AttachedCollisionObject, f"{NAMESPACE}/attached_collision_object", 1)
        self.event = node.create_publisher(String, f"{NAMESPACE}/trajectory_execution_event", 1)
        self.scene = node.create_publisher(PlanningScene, f"{NAMESPACE}/planning_scene", 1)
        for kind, topic, seen in (
            (PlanningScene, "monitored_planning_scene", self.scenes.append),
            (DisplayTrajectory, "display_planned_path", self.shown.append),
        ):
            node.create_subscription(kind, f"{NAMESPACE}/{topic}", seen, DEFAULTS_QOS)
        states = f"{NAMESPACE}/joint_states"
        node.create_subscription(JointState, states, self._on_state, qos_profile_sensor_data)
        for action in self.actions.values():
            peer.wait_for(action.server_is_ready, "the actions of move_group")

    def _on_state(self, message: JointState) -> None:
        self.positions = dict(zip(message.name, message.position))

    @property
    def q(self) -> np.ndarray:
        """Of both arms, newest [rad]."""
        self.positions = {}
        self.peer.wait_for(lambda: set(self.positions) >= set(CHAIN.joint_names), "joint states of both arms")
        return np.array([self.positions[name] for name in CHAIN.joint_names])

    def call(self, kind, name: str, request=None):
        client = self._clients.get(name) or self.peer.node.create_client(kind, f"{NAMESPACE}/{name}")
        self._clients[name] = client
        self.peer.wait_for(client.service_is_ready, name)
        answer = client.call_async(kind.Request() if request is None else request)
        self.peer.wait_for(answer.done, f"an answer of {name}")
        return answer.result()

    def send(self, goal):
        """Handle of a goal that was accepted."""
        kind = MoveGroup if isinstance(goal, MoveGroup.Goal) else ExecuteTrajectory
        sent = self.actions[kind].send_goal_async(goal)
        self.peer.wait_for(sent.done, "an answer to the goal")
        return sent.result()

    def result(self, handle):
        ended = handle.get_result_async()
        self.peer.wait_for(ended.done, "the result")
        return ended.result().status, ended.result().result

    def goal(self, group: str, *goals: Constraints, plan_only: bool = True, attempts: int = 1) -> MoveGroup.Goal:
        """As MoveGroupInterface fills it in."""
        goal = MoveGroup.Goal()
        request, options = goal.request, goal.planning_options
        request.group_name, request.num_planning_attempts, request.allowed_planning_time = group, attempts, 5.0
        request.max_velocity_scaling_factor = request.max_acceleration_scaling_factor = 0.1
        request.goal_constraints = list(goals)
        request.start_state.is_diff = True
        options.plan_only, options.look_around, options.replan, options.replan_delay = plan_only, False, False, 2.0
        options.planning_scene_diff.is_diff = options.planning_scene_diff.robot_state.is_diff = True
        return goal


@pytest.fixture(scope="module")
def program(domain, peer):
    arguments = ("--robot", "dual_ur5e_arms", "--mode", "mock", "--namespace", NAMESPACE)
    with suite(*arguments, domain=domain) as running:
        running.wait_until_up()
        yield MoveItProgram(peer)


def joint_goal(group: str, q: np.ndarray) -> Constraints:
    """constructGoalConstraints of joint values: tolerance 1e-4, weight 1."""
    names = JOINTS[group]
    values = [q[CHAIN.joint_names.index(name)] for name in names]
    rows = [
        JointConstraint(joint_name=name, position=float(value), tolerance_above=1e-4, tolerance_below=1e-4, weight=1.0)
        for name, value in zip(names, values)
    ]
    return Constraints(joint_constraints=rows)


def pose_goal(*targets: tuple[str, np.ndarray]) -> Constraints:
    """constructGoalConstraints of poses: a ball of 0.1 mm, and 1 mrad about each axis."""
    goal = Constraints()
    for link, T in targets:
        place = PositionConstraint(link_name=link, weight=1.0)
        place.header.frame_id = "station"
        place.constraint_region.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[1e-4])]
        centre = Pose()
        centre.position = pose_from_matrix(T).position
        place.constraint_region.primitive_poses = [centre]
        turn = OrientationConstraint(link_name=link, orientation=pose_from_matrix(T).orientation, weight=1.0)
        turn.header.frame_id = "station"
        turn.absolute_x_axis_tolerance = turn.absolute_y_axis_tolerance = turn.absolute_z_axis_tolerance = 1e-3
        goal.position_constraints.append(place)
        goal.orientation_constraints.append(turn)
    return goal


def moved(side: str, *deltas: float) -> np.ndarray:
    """Home with the first joints of an arm, or of both, moved [rad]."""
    q = HOME.copy()
    for name in ("left", "right") if side == "arms" else (side,):
        first = CHAIN.joint_names.index(JOINTS[name][0])
        q[first : first + len(deltas)] += deltas
    return q


def pose(q: np.ndarray, link: str) -> np.ndarray:
    return kinematics.link_poses(CHAIN, q)[CHAIN.link_names.index(link)]


def succeeded(status, result) -> None:
    assert (status, result.error_code.val) == (SUCCEEDED, Code.SUCCESS), result.error_code.message


def test_move_group_interface_plans_executes_and_moves_each_group(program):
    program.peer.wait_for(lambda: bool(program.semantic), "the latched SRDF")
    semantics = read_srdf(program.semantic[0].data, ROBOT)
    assert semantics.joints_of("arms", ROBOT) == JOINTS["arms"]

    # plan(), then execute() of what it returned, for one arm: the other one holds.
    status, planned = program.result(program.send(program.goal("left", joint_goal("left", moved("left", 0.3)))))
    succeeded(status, planned)
    trajectory = planned.planned_trajectory.joint_trajectory
    assert tuple(trajectory.joint_names) == JOINTS["left"] and planned.planning_time > 0.0
    assert set(planned.trajectory_start.joint_state.name) == set(JOINTS["arms"])
    succeeded(*program.result(program.send(ExecuteTrajectory.Goal(trajectory=planned.planned_trajectory))))
    np.testing.assert_allclose(program.q, moved("left", 0.3), atol=2e-3)

    # move() of both arms to poses of both hands.
    q = moved("arms", 0.2, 0.1)
    goal = pose_goal(*((link, pose(q, link)) for link in ("left_tool0", "right_tool0")))
    handle = program.send(program.goal("arms", goal, plan_only=False))
    succeeded(*program.result(handle))
    for link in ("left_tool0", "right_tool0"):
        np.testing.assert_allclose(pose(program.q, link)[:3, 3], pose(q, link)[:3, 3], atol=2e-3)

    # computeCartesianPath of the right hand, and back home.
    request = GetCartesianPath.Request(group_name="right", link_name="right_tool0", max_step=0.01)
    request.header.frame_id, request.header.stamp = "station", program.peer.node.get_clock().now().to_msg()
    request.start_state.is_diff = request.avoid_collisions = True
    up = pose(program.q, "right_tool0") @ lie.pose(translation=[0.0, 0.0, -0.05])
    request.waypoints = [pose_from_matrix(up)]
    line = program.call(GetCartesianPath, "compute_cartesian_path", request)
    assert line.fraction == 1.0 and tuple(line.solution.joint_trajectory.joint_names) == JOINTS["right"]
    succeeded(*program.result(program.send(ExecuteTrajectory.Goal(trajectory=line.solution))))
    np.testing.assert_allclose(pose(program.q, "right_tool0"), up, atol=2e-3)
    succeeded(*program.result(program.send(program.goal("arms", joint_goal("arms", HOME), plan_only=False))))


def test_arms_that_are_free_alone_do_not_get_together(program):
    """Both stretched inwards: each is free beside the other one at home, and both are not."""
    q = np.r_[-np.pi / 2, -1.1, 0.8, -1.57, -1.57, 0.0, np.pi / 2, -1.1, 0.8, -1.57, -1.57, 0.0]
    for side in ("left", "right"):
        succeeded(*program.result(program.send(program.goal(side, joint_goal(side, q)))))
    _, result = program.result(program.send(program.goal("arms", joint_goal("arms", q))))
    refused(result.error_code, Code.GOAL_IN_COLLISION)


def test_stop_event_ends_a_motion(program):
    before = program.q
    handle = program.send(program.goal("right", joint_goal("right", moved("right", 1.2)), plan_only=False))
    program.peer.wait_for(lambda: np.abs(program.q - before).max() > 0.05, "the arm to move")
    program.event.publish(String(data="stop"))
    _, result = program.result(handle)
    refused(result.error_code, Code.PREEMPTED)
    assert np.abs(program.q - moved("right", 1.2)).max() > 0.2
    succeeded(*program.result(program.send(program.goal("arms", joint_goal("arms", HOME), plan_only=False))))


def test_panel_reads_the_scene_publishes_its_own_and_plans(program):
    described = program.call(QueryPlannerInterfaces, "query_planner_interface").planner_interfaces
    assert described and described[0].planner_ids
    wanted = GetPlannerParams.Request(pipeline_id="", planner_config="", group="left")
    assert program.call(GetPlannerParams, "get_planner_params", wanted).params.keys
    request = GetPlanningScene.Request()
    request.components.components = 1023
    scene = program.call(GetPlanningScene, "get_planning_scene", request).scene
    program.peer.wait_for(lambda: any(not item.is_diff for item in program.scenes), "the whole scene on its topic")

    # "Publish": the whole scene as the panel knows it, with an object more; then it is attached and detached.
    box = CollisionObject(id="Box_0", operation=CollisionObject.ADD)
    box.header.frame_id = "station"
    box.pose = pose_from_matrix(pose(HOME, "left_tool0") @ lie.pose(translation=[0.0, 0.0, 0.25]))
    box.primitives, box.primitive_poses = [SolidPrimitive(type=1, dimensions=[0.04] * 3)], [Pose()]
    scene.world.collision_objects = [box]
    program.scene.publish(scene)
    program.peer.wait_for(
        lambda: any(item.id == "Box_0" for seen in program.scenes for item in seen.world.collision_objects), "the box"
    )
    held = AttachedCollisionObject(link_name="left_tool0", object=CollisionObject(id="Box_0"))
    held.object.operation = CollisionObject.ADD
    program.attach.publish(held)
    program.peer.wait_for(
        lambda: any(seen.robot_state.attached_collision_objects for seen in program.scenes), "the attached box"
    )
    state = program.call(GetPlanningScene, "get_planning_scene", request).scene.robot_state

    # "Plan" from a state that is set: whole, with what it carries, ten attempts, a workspace.
    goal = program.goal("left", joint_goal("left", moved("left", 0.2)), attempts=10)
    goal.request.start_state = RobotState(joint_state=state.joint_state, is_diff=False)
    goal.request.start_state.attached_collision_objects = state.attached_collision_objects
    goal.request.workspace_parameters.header.frame_id = "station"
    low, high = goal.request.workspace_parameters.min_corner, goal.request.workspace_parameters.max_corner
    low.x = low.y = low.z = -1.0
    high.x = high.y = high.z = 1.0
    program.shown.clear()
    succeeded(*program.result(program.send(goal)))
    program.peer.wait_for(lambda: bool(program.shown), "the path on display")
    assert tuple(program.shown[0].trajectory[0].joint_trajectory.joint_names) == JOINTS["left"]
    held.object.operation = CollisionObject.REMOVE
    program.attach.publish(held)
    program.call(Empty, "clear_octomap")
    empty = ApplyPlanningScene.Request(scene=PlanningScene(is_diff=False))
    assert program.call(ApplyPlanningScene, "apply_planning_scene", empty).success


def test_mistakes_with_groups_get_a_code_and_a_sentence(program):
    def code(group: str, goal: Constraints):
        return program.result(program.send(program.goal(group, goal)))[1].error_code

    refused(code("legs", joint_goal("left", HOME)), Code.INVALID_GROUP_NAME, "legs", "'left'")
    refused(code("left", joint_goal("right", HOME)), Code.INVALID_GOAL_CONSTRAINTS, "right_", "left")
    other = pose_goal(("right_tool0", pose(HOME, "right_tool0")))
    refused(code("left", other), Code.INVALID_GOAL_CONSTRAINTS, "right_tool0", "'left'")
    finger = Constraints(joint_constraints=[JointConstraint(joint_name="left_gripper_finger_joint", position=0.5)])
    refused(code("left_gripper", finger), Code.GOAL_STATE_INVALID, "limits")
    finger.joint_constraints[0].position = float("nan")
    refused(code("left_gripper", finger), Code.INVALID_GOAL_CONSTRAINTS, "finite")
    refused(code("left_gripper", Constraints()), Code.INVALID_GOAL_CONSTRAINTS, "no constraints")
    request = GetPositionIK.Request()
    request.ik_request.group_name = "arms"
    answer = program.call(GetPositionIK, "compute_ik", request)
    refused(answer.error_code, Code.INVALID_LINK_NAME, "left_tool0", "right_tool0")
    trajectory = ExecuteTrajectory.Goal()
    trajectory.trajectory.joint_trajectory.joint_names = list(JOINTS["left"][:3])
    refused(program.result(program.send(trajectory))[1].error_code, Code.INVALID_MOTION_PLAN, "left_elbow_joint")
