"""MoveIt's interface message by message: what RViz's panel and MoveGroupInterface send, and bad input of all kinds."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from geometry_msgs.msg import Pose
from moveit_msgs.action import ExecuteTrajectory, MoveGroup
from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    Constraints,
    DisplayTrajectory,
    MotionPlanRequest,
    PlanningScene,
)
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import (
    ApplyPlanningScene,
    GetCartesianPath,
    GetMotionPlan,
    GetPlannerParams,
    GetPlanningScene,
    GetPositionFK,
    GetPositionIK,
    GetStateValidity,
    QueryPlannerInterfaces,
    SetPlannerParams,
)
from rcl_interfaces.srv import GetParameters
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import String
from std_srvs.srv import Empty

from manipapy_core import Robot, kinematics, lie
from manipapy_core.model import read_srdf
from manipapy_ros.common import qos
from manipapy_ros.common.conversions import pose_from_matrix
from ros_arm import HOME, JOINTS, SUCCEEDED, bring_up
from ros_moveit import box, end_of, joint_goal, orientation, pose_goal, position, refused

NAMESPACE = "/moveit"
SIDE = HOME + np.array([0.8, 0.0, 0.0, 0.0, 0.0, 0.0])
CHAIN = Robot.from_urdf("ur5").chain("base_link", "tool0")
NAN = float("nan")


class Client:
    """Speaks to the planner of a resting UR5 as MoveIt's programs do, and publishes the joint states of the arm."""

    def __init__(self, peer, planner):
        self.peer, self.planner, self.clients = peer, planner, {}
        publisher = peer.node.create_publisher(JointState, f"{NAMESPACE}/joint_states", qos.STATE)
        state = JointState(name=list(JOINTS), position=HOME.tolist())
        self._timer = peer.node.create_timer(0.01, lambda: publisher.publish(state))
        self.actions = {
            kind: ActionClient(peer.node, kind, f"{NAMESPACE}/{name}")
            for kind, name in ((MoveGroup, "move_action"), (ExecuteTrajectory, "execute_trajectory"))
        }

    def call(self, kind, name: str, request):
        client = self.clients.get(name) or self.peer.node.create_client(kind, f"{NAMESPACE}/{name}")
        self.clients[name] = client
        self.peer.wait_for(client.service_is_ready, name)
        answer = client.call_async(request)
        self.peer.wait_for(answer.done, f"an answer of {name}")
        return answer.result()

    def goal(self, goal):
        """Status and result of an action."""
        action = self.actions[MoveGroup if isinstance(goal, MoveGroup.Goal) else ExecuteTrajectory]
        self.peer.wait_for(action.server_is_ready, "the action")
        sent = action.send_goal_async(goal)
        self.peer.wait_for(sent.done, "an answer to the goal")
        ended = sent.result().get_result_async()
        self.peer.wait_for(ended.done, "the result")
        return ended.result().status, ended.result().result

    def plan(self, *goals: Constraints, **fields):
        request = MotionPlanRequest(**{"group_name": "ur_manipulator", "goal_constraints": list(goals), **fields})
        return self.call(
            GetMotionPlan, "plan_kinematic_path", GetMotionPlan.Request(motion_plan_request=request)
        ).motion_plan_response

    def scene(self, components: int = 0) -> PlanningScene:
        request = GetPlanningScene.Request()
        request.components.components = components
        return self.call(GetPlanningScene, "get_planning_scene", request).scene

    def apply(self, **fields) -> bool:
        scene = PlanningScene(**{"is_diff": True, **fields})
        request = ApplyPlanningScene.Request(scene=scene)
        return self.call(ApplyPlanningScene, "apply_planning_scene", request).success

    def add(self, *objects: CollisionObject) -> bool:
        scene = PlanningScene(is_diff=True)
        scene.world.collision_objects = list(objects)
        return self.call(ApplyPlanningScene, "apply_planning_scene", ApplyPlanningScene.Request(scene=scene)).success

    def attach(self, *items: AttachedCollisionObject) -> bool:
        scene = PlanningScene(is_diff=True)
        scene.robot_state.is_diff = True
        scene.robot_state.attached_collision_objects = list(items)
        return self.call(ApplyPlanningScene, "apply_planning_scene", ApplyPlanningScene.Request(scene=scene)).success


@pytest.fixture(scope="module")
def client(start_for_module, peer):
    planner = start_for_module("planner", "-p", f"initial_positions:={HOME.tolist()}", namespace=NAMESPACE)
    bring_up(peer, planner)
    return Client(peer, planner)


@pytest.fixture(autouse=True)
def empty_scene(client):
    assert client.apply(is_diff=False)


def test_rviz_panel_connects_plans_and_shows(client):
    """Message by message: description, planners, scene, then Plan."""
    request = GetParameters.Request(names=["robot_description", "robot_description_semantic"])
    values = client.call(GetParameters, "move_group/get_parameters", request).values
    robot = Robot.from_urdf(values[0].string_value)
    semantics = read_srdf(values[1].string_value, robot)
    assert semantics.joints_of("arm", robot) == JOINTS
    assert semantics.disabled and not semantics.warnings
    topic = []
    client.peer.node.create_subscription(
        String, f"{NAMESPACE}/robot_description_semantic", topic.append, qos.ROBOT_DESCRIPTION
    )
    client.peer.wait_for(lambda: bool(topic), "the latched SRDF")
    assert topic[0].data == values[1].string_value

    described = client.call(QueryPlannerInterfaces, "query_planner_interface", QueryPlannerInterfaces.Request())
    assert "rrt_connect" in described.planner_interfaces[0].planner_ids
    assert client.call(GetPlannerParams, "get_planner_params", GetPlannerParams.Request()).params.keys
    client.call(SetPlannerParams, "set_planner_params", SetPlannerParams.Request())

    shown, scenes = [], []
    client.peer.node.create_subscription(DisplayTrajectory, f"{NAMESPACE}/display_planned_path", shown.append, 10)
    client.peer.node.create_subscription(PlanningScene, f"{NAMESPACE}/monitored_planning_scene", scenes.append, 10)
    client.peer.wait_for(lambda: any(not scene.is_diff for scene in scenes), "the whole scene")
    whole = next(scene for scene in scenes if not scene.is_diff)
    assert whole.robot_model_name == "ur5" and whole.allowed_collision_matrix.entry_names
    client.peer.wait_for(
        lambda: any(scene.is_diff and list(scene.robot_state.joint_state.name) == list(JOINTS) for scene in scenes),
        "joint states",
    )

    goal = MoveGroup.Goal()
    goal.request = MotionPlanRequest(group_name="arm", num_planning_attempts=10, allowed_planning_time=5.0)
    goal.request.goal_constraints = [joint_goal(SIDE, tolerance=1e-4)]
    goal.request.start_state.is_diff = True
    goal.planning_options.plan_only = True
    goal.planning_options.planning_scene_diff.is_diff = True
    goal.planning_options.planning_scene_diff.robot_state.is_diff = True
    status, result = client.goal(goal)
    assert status == SUCCEEDED and result.error_code.val == Code.SUCCESS and result.planning_time > 0.0
    np.testing.assert_allclose(result.planned_trajectory.joint_trajectory.points[-1].positions, SIDE, atol=1e-6)
    np.testing.assert_allclose(result.trajectory_start.joint_state.position, HOME, atol=1e-6)
    client.peer.wait_for(lambda: bool(shown), "the path on display")


def test_alternatives_regions_and_other_links_are_goals(client):
    T = kinematics.forward(CHAIN, SIDE)
    far = lie.pose(translation=[3.0, 0.0, 0.0])
    reached = end_of(client.plan(pose_goal(far), pose_goal(T)))
    np.testing.assert_allclose(kinematics.forward(CHAIN, reached), T, atol=1e-4)

    # Position alone, then within a ball; orientation alone.
    reached = end_of(client.plan(Constraints(position_constraints=[position(T[:3, 3], 0.03)])))
    assert np.linalg.norm(kinematics.forward(CHAIN, reached)[:3, 3] - T[:3, 3]) < 0.03
    reached = end_of(client.plan(Constraints(orientation_constraints=[orientation(T[:3, :3], (0.2, 0.2, 0.2))])))
    turn = lie.log_so3(T[:3, :3].T @ kinematics.forward(CHAIN, reached)[:3, :3])
    assert np.linalg.norm(turn) < 0.2 * np.sqrt(3.0) + 0.05

    # A link in the middle of the arm, and the tip in the frame of a link that moves.
    names = CHAIN.link_names
    T_wrist = kinematics.link_poses(CHAIN, SIDE)[names.index("wrist_1_link")]
    reached = end_of(client.plan(pose_goal(T_wrist, link="wrist_1_link")))
    np.testing.assert_allclose(kinematics.link_poses(CHAIN, reached)[names.index("wrist_1_link")], T_wrist, atol=1e-4)
    ahead = Constraints(position_constraints=[position([0.0, 0.0, 0.05], frame="tool0")])
    ahead.orientation_constraints = [orientation(kinematics.forward(CHAIN, HOME)[:3, :3])]
    reached = end_of(client.plan(ahead))
    expected = kinematics.forward(CHAIN, HOME) @ [0.0, 0.0, 0.05, 1.0]
    np.testing.assert_allclose(kinematics.forward(CHAIN, reached)[:3, 3], expected[:3], atol=1e-4)


def test_bad_requests_get_a_code_and_a_sentence(client):
    T = kinematics.forward(CHAIN, SIDE)
    refused(client.plan(joint_goal(SIDE), group_name="legs").error_code, Code.INVALID_GROUP_NAME, "legs", "arm")
    refused(client.plan(joint_goal(SIDE), group_name="").error_code, Code.INVALID_GROUP_NAME)
    refused(client.plan().error_code, Code.INVALID_GOAL_CONSTRAINTS, "no constraints")
    refused(client.plan(Constraints()).error_code, Code.INVALID_GOAL_CONSTRAINTS, "no constraints")
    refused(client.plan(pose_goal(T, link="nose")).error_code, Code.INVALID_LINK_NAME, "nose", "tool0")
    elsewhere = Constraints(position_constraints=[position(T[:3, 3], frame="mars")])
    refused(client.plan(elsewhere).error_code, Code.FRAME_TRANSFORM_FAILURE, "mars")
    refused(client.plan(joint_goal([NAN] * 6)).error_code, Code.INVALID_GOAL_CONSTRAINTS, "finite")
    bad = pose_goal(T)
    bad.position_constraints[0].constraint_region.primitive_poses[0].position.x = NAN
    refused(client.plan(bad).error_code, Code.INVALID_GOAL_CONSTRAINTS)
    refused(client.plan(joint_goal([0.0], ["knee"])).error_code, Code.INVALID_GOAL_CONSTRAINTS, "knee")
    twice = Constraints(joint_constraints=[*joint_goal(SIDE).joint_constraints, *joint_goal(HOME).joint_constraints])
    refused(client.plan(twice).error_code, Code.INVALID_GOAL_CONSTRAINTS, "contradict")
    apart = Constraints(position_constraints=[position(T[:3, 3]), position(T[:3, 3] + 0.1)])
    refused(client.plan(apart).error_code, Code.INVALID_GOAL_CONSTRAINTS, "contradict")
    both = joint_goal(HOME)
    both.position_constraints = [position(T[:3, 3])]
    refused(client.plan(both).error_code, Code.INVALID_GOAL_CONSTRAINTS, "contradict")
    refused(client.plan(pose_goal(lie.pose(translation=[3.0, 0.0, 0.0]))).error_code, Code.NO_IK_SOLUTION)
    refused(client.plan(joint_goal([9.0] * 6)).error_code, Code.GOAL_STATE_INVALID, "limits")
    request = MotionPlanRequest(group_name="arm", goal_constraints=[joint_goal(SIDE)])
    request.start_state.joint_state = JointState(name=["knee"], position=[0.0])
    answer = client.call(GetMotionPlan, "plan_kinematic_path", GetMotionPlan.Request(motion_plan_request=request))
    refused(answer.motion_plan_response.error_code, Code.INVALID_ROBOT_STATE, "knee")
    request.start_state.joint_state = JointState(name=list(JOINTS), position=[NAN] * 6)
    answer = client.call(GetMotionPlan, "plan_kinematic_path", GetMotionPlan.Request(motion_plan_request=request))
    refused(answer.motion_plan_response.error_code, Code.INVALID_ROBOT_STATE, "finite")
    assert client.add(box("wall", [0.3, 0.3, 0.3], T[:3, 3]))
    refused(client.plan(joint_goal(SIDE)).error_code, Code.GOAL_IN_COLLISION, "wall")
    assert client.add(box("cage", [0.3, 0.3, 0.3], kinematics.forward(CHAIN, HOME)[:3, 3]))
    refused(client.plan(joint_goal(SIDE)).error_code, Code.START_STATE_IN_COLLISION, "cage")

    empty = client.goal(ExecuteTrajectory.Goal())[1]
    refused(empty.error_code, Code.INVALID_MOTION_PLAN, "shoulder_pan_joint")


def test_bad_paths_constraints_and_trajectories_get_a_code_and_a_sentence(client):
    T = kinematics.forward(CHAIN, HOME)

    def line(frame: str = "base_link", **fields):
        request = GetCartesianPath.Request(**{"group_name": "arm", "waypoints": [pose_from_matrix(T)], **fields})
        request.header.frame_id = frame
        return client.call(GetCartesianPath, "compute_cartesian_path", request).error_code

    nowhere = Pose()
    nowhere.position.x = NAN
    refused(line(waypoints=[nowhere]), Code.INVALID_GOAL_CONSTRAINTS)
    refused(line(group_name="legs"), Code.INVALID_GROUP_NAME, "legs")
    refused(line(link_name="nose"), Code.INVALID_LINK_NAME, "nose")
    refused(line(link_name="forearm_link"), Code.INVALID_LINK_NAME, "tool0")
    refused(line(max_step=-1.0), Code.INVALID_MOTION_PLAN, "max_step")
    refused(line(max_cartesian_speed=0.1), Code.INVALID_MOTION_PLAN, "max_cartesian_speed")
    refused(line("mars"), Code.FRAME_TRANSFORM_FAILURE, "mars")

    goal = pose_goal(T)
    goal.orientation_constraints[0].orientation.w = goal.orientation_constraints[0].orientation.x = 5.0
    refused(client.plan(goal).error_code, Code.INVALID_GOAL_CONSTRAINTS, "length 1")
    refused(client.plan(pose_goal(T, radius=-1.0)).error_code, Code.INVALID_GOAL_CONSTRAINTS, "dimensions")
    turned = Constraints(orientation_constraints=[orientation(T[:3, :3]), orientation(lie.exp_so3([1.0, 0.0, 0.0]))])
    refused(client.plan(turned).error_code, Code.INVALID_GOAL_CONSTRAINTS, "contradict")
    path = Constraints(orientation_constraints=[orientation(T[:3, :3], link="nose")])
    refused(client.plan(joint_goal(SIDE), path_constraints=path).error_code, Code.INVALID_LINK_NAME, "nose")
    fast = client.plan(joint_goal(SIDE), max_velocity_scaling_factor=-0.5).error_code
    refused(fast, Code.INVALID_MOTION_PLAN, "velocity scaling")
    refused(
        client.plan(joint_goal(SIDE), allowed_planning_time=NAN).error_code, Code.INVALID_MOTION_PLAN, "planning_time"
    )

    planned = client.plan(joint_goal(SIDE)).trajectory

    def execute(change):
        sent = ExecuteTrajectory.Goal(trajectory=copy.deepcopy(planned))
        change(sent.trajectory.joint_trajectory)
        return client.goal(sent)[1].error_code

    refused(execute(lambda t: t.points.clear()), Code.INVALID_MOTION_PLAN, "no points")
    refused(execute(lambda t: t.points.reverse()), Code.INVALID_MOTION_PLAN, "increase")
    refused(execute(lambda t: t.joint_names.pop()), Code.INVALID_MOTION_PLAN, "wrist_3_joint")
    refused(execute(lambda t: t.points[1].positions.__setitem__(0, NAN)), Code.INVALID_MOTION_PLAN, "finite")
    refused(execute(lambda t: t.points[1].positions.pop()), Code.INVALID_MOTION_PLAN, "some joints")
    refused(execute(_elsewhere), Code.INVALID_MOTION_PLAN, "begins")


def _elsewhere(trajectory) -> None:
    for point in trajectory.points:
        point.positions[0] += 0.5


def test_kinematics_services_refuse_what_makes_no_sense(client):
    request = GetPositionFK.Request(fk_link_names=["nose"])
    refused(client.call(GetPositionFK, "compute_fk", request).error_code, Code.INVALID_LINK_NAME, "nose")
    refused(client.call(GetPositionFK, "compute_fk", GetPositionFK.Request()).error_code, Code.INVALID_LINK_NAME)
    request = GetPositionIK.Request()
    request.ik_request.group_name = "legs"
    refused(client.call(GetPositionIK, "compute_ik", request).error_code, Code.INVALID_GROUP_NAME)
    request.ik_request.group_name = "arm"
    request.ik_request.pose_stamped.pose = Pose()
    request.ik_request.pose_stamped.pose.position.x = NAN
    answer = client.call(GetPositionIK, "compute_ik", request)
    assert answer.error_code.val != Code.SUCCESS and answer.error_code.message

    state = GetStateValidity.Request(group_name="arm")
    assert client.call(GetStateValidity, "check_state_validity", state).valid
    assert client.add(box("cage", [0.3, 0.3, 0.3], kinematics.forward(CHAIN, HOME)[:3, 3]))
    answer = client.call(GetStateValidity, "check_state_validity", state)
    assert not answer.valid and {contact.contact_body_2 for contact in answer.contacts} == {"cage"}


def test_cartesian_path_ends_where_it_is_blocked(client):
    T = kinematics.forward(CHAIN, HOME)
    there = T.copy()
    there[:3, 3] += [0.0, 0.3, 0.0]
    request = GetCartesianPath.Request(group_name="arm", max_step=0.005, avoid_collisions=True)
    request.header.frame_id = "base_link"
    request.waypoints = [pose_from_matrix(there)]
    whole = client.call(GetCartesianPath, "compute_cartesian_path", request)
    assert whole.error_code.val == Code.SUCCESS and whole.fraction == 1.0
    assert client.add(box("wall", [0.2, 0.02, 0.2], there[:3, 3]))
    part = client.call(GetCartesianPath, "compute_cartesian_path", request)
    assert part.error_code.val == Code.SUCCESS and 0.2 < part.fraction < 0.95, part.error_code.message
    assert "wall" in part.error_code.message
    last = kinematics.forward(CHAIN, np.array(part.solution.joint_trajectory.points[-1].positions))[:3, 3]
    np.testing.assert_allclose(last, T[:3, 3] + [0.0, 0.3 * part.fraction, 0.0], atol=0.01)
    request.waypoints = []
    answer = client.call(GetCartesianPath, "compute_cartesian_path", request)
    refused(answer.error_code, Code.INVALID_GOAL_CONSTRAINTS, "waypoints")


def test_scene_goes_out_as_it_came_in(client):
    prism = box("prism", [0.1, 0.2, 0.3], [0.6, -0.5, 0.2])
    prism.primitives.append(SolidPrimitive(type=SolidPrimitive.CYLINDER, dimensions=[0.2, 0.05]))
    prism.primitive_poses = [Pose(), pose_from_matrix(lie.pose(translation=[0.0, 0.0, 0.25]))]
    assert client.add(prism)
    held = AttachedCollisionObject(link_name="tool0", object=box("held", [0.05, 0.05, 0.05], [0.0, 0.0, 0.0]))
    held.object.header.frame_id = "tool0"
    assert client.attach(held)
    scene = client.scene()
    (found,) = scene.world.collision_objects
    assert found.id == "prism" and [item.type for item in found.primitives] == [1, 3]
    assert list(found.primitives[1].dimensions) == [0.2, 0.05]
    assert found.primitive_poses[1].position.z == pytest.approx(0.25)
    (carried,) = scene.robot_state.attached_collision_objects
    assert (carried.object.id, carried.link_name, carried.object.header.frame_id) == ("held", "tool0", "tool0")
    # Replaced by what was read, it is the same again.
    assert client.call(ApplyPlanningScene, "apply_planning_scene", ApplyPlanningScene.Request(scene=scene)).success
    again = client.scene()
    assert again.world.collision_objects == scene.world.collision_objects
    assert again.allowed_collision_matrix == scene.allowed_collision_matrix

    assert not client.add(box("flat", [0.1, 0.0, 0.1], [0.5, 0.5, 0.5]))
    assert not client.add(CollisionObject(id="nothing", operation=CollisionObject.REMOVE))
    detach = AttachedCollisionObject(object=CollisionObject(id="nothing", operation=CollisionObject.REMOVE))
    assert not client.attach(detach)
    detach.object.id = ""
    assert client.attach(detach)
    assert not client.attach(detach)
    assert {item.id for item in client.scene(8).world.collision_objects} == {"prism", "held"}
    client.call(Empty, "clear_octomap", Empty.Request())
