"""The node `move_group` in the process of the planner: MoveIt's services, actions, topics and parameters.

| name | type | like |
|---|---|---|
| `move_action`, `execute_trajectory` | MoveGroup, ExecuteTrajectory | `~/move` |
| `plan_kinematic_path`, `compute_cartesian_path` | GetMotionPlan, GetCartesianPath | `~/plan_motion` |
| `compute_ik`, `compute_fk`, `check_state_validity` | GetPositionIK, GetPositionFK, GetStateValidity | |
| `get_planning_scene`, `apply_planning_scene`, `clear_octomap` | GetPlanningScene, ApplyPlanningScene, Empty | |
| `planning_scene`, `planning_scene_world`, `collision_object`, `attached_collision_object` | topics in | |
| `monitored_planning_scene`, `display_planned_path`, `robot_description_semantic` | topics out | |
| `query_planner_interface`, `get_planner_params`, `set_planner_params` | | |
| `trajectory_execution_event` | String, "stop" | `~/hold` |
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from moveit_msgs.msg import (
    AttachedCollisionObject,
    CollisionObject,
    DisplayTrajectory,
    MotionPlanResponse,
    PlannerInterfaceDescription,
    PlannerParams,
    PlanningScene,
    PlanningSceneWorld,
)
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
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Empty

from manipapy_core.errors import ManipapyError
from manipapy_core.motion import Planner, PlanResult
from manipapy_core.typing import Array

from ...client.session import NoAnswer
from ...common import qos
from ...common.bounds import check_size
from ...common.deferred_service import DeferredService
from ...common.node import ManagedNode
from ..execution import PlannedMotion
from ..requests import Requests
from ..world import PlannerWorld
from . import kinematics
from .actions import MoveGroupActions
from .error_codes import code_of_error
from .grippers import GripperGroups
from .group import PlanningGroup, PlanningGroups
from .planning import MotionRequests
from .scene_edits import SceneEdits
from .scene_messages import EVERYTHING, scene_message

NAME = "move_group"
EDITS = QoSProfile(depth=100)
"""Reliable: every edit counts."""
RELIABLE = QoSProfile(depth=10)
"""As MoveIt's displays subscribe."""
THREADS = 4
"""Requests that are answered at the same time."""
STATE_TIMEOUT = 0.05
"""For joint states of the scene, which the executor waits for [s]."""
STATE_PERIOD = 0.1
"""Between two states of the joints on monitored_planning_scene [s]."""
WARN_EVERY = 5.0
"""[s]"""


class MoveGroupInterface:
    """MoveIt's interface to a planner, until it is destroyed.

    Args:
        planner: The node whose process and executor it shares.
        groups: Its arms.
        grippers: Its grippers.
        requests: Plans.
        motion: Executes plans.
        world: Its world.
        frame: T_base_frame of any frame at a time [ns], shape (4, 4).
        semantic: SRDF text.
        announce: Called after every edit of the world.
    """

    def __init__(
        self,
        planner: ManagedNode,
        groups: PlanningGroups,
        grippers: GripperGroups,
        requests: Requests,
        motion: PlannedMotion,
        world: PlannerWorld,
        frame: Callable[[str, int], Array],
        semantic: str,
        announce: Callable[[], None],
    ):
        group = groups.main
        self._planner, self._group, self._motion, self._world = planner, group, motion, world
        self._groups, self._grippers = groups, grippers
        self._announce, self._requests, self._last_state = announce, requests, JointState()
        # Without the arguments of the process, which may rename its node.
        self.node = Node(
            NAME,
            namespace=planner.get_namespace(),
            context=planner.context,
            use_global_arguments=False,
            cli_args=[],
        )
        self.node.declare_parameter("robot_description", group.model.robot.urdf)
        self.node.declare_parameter("robot_description_semantic", semantic)
        ignored: Mapping[frozenset[str], str] = requests.checker.body.ignored
        self._ignored = ignored
        self._edits = SceneEdits(group, world, frame, lambda pair: pair in ignored)
        self._plans = MotionRequests(groups, requests)
        self._pool = ThreadPoolExecutor(THREADS, "move_group")
        self._actions = MoveGroupActions(
            self.node,
            groups,
            grippers,
            self._plans,
            motion,
            planner.require_active,
            self._show,
            planner.get_logger().warning,
        )
        self._services = [
            DeferredService(self.node, kind, name, self._answering(kind, answer), self._pool)
            for kind, name, answer in (
                (GetMotionPlan, "plan_kinematic_path", self._plan),
                (GetCartesianPath, "compute_cartesian_path", self._cartesian),
                (GetPositionFK, "compute_fk", self._forward),
                (GetPositionIK, "compute_ik", self._inverse),
                (GetStateValidity, "check_state_validity", self._validity),
            )
        ]
        self.node.create_service(GetPlanningScene, "get_planning_scene", self._on_get_scene)
        self.node.create_service(ApplyPlanningScene, "apply_planning_scene", self._on_apply)
        self.node.create_service(Empty, "clear_octomap", self._on_clear_octomap)
        self.node.create_service(QueryPlannerInterfaces, "query_planner_interface", self._on_query)
        self.node.create_service(GetPlannerParams, "get_planner_params", self._on_get_params)
        self.node.create_service(SetPlannerParams, "set_planner_params", lambda _, response: response)
        for kind, topic, edit in (
            (CollisionObject, "collision_object", self._edits.edit_object),
            (AttachedCollisionObject, "attached_collision_object", self._edits.edit_attached),
            (PlanningScene, "planning_scene", self._edits.apply),
            (PlanningSceneWorld, "planning_scene_world", self._apply_world),
        ):
            self._subscribe(kind, topic, edit)
        self.node.create_subscription(String, "trajectory_execution_event", self._on_event, EDITS)
        self._semantic = self.node.create_publisher(String, "robot_description_semantic", qos.LATCHED)
        self._semantic.publish(String(data=semantic))
        self._scenes = self.node.create_publisher(PlanningScene, "monitored_planning_scene", RELIABLE)
        self._paths = self.node.create_publisher(DisplayTrajectory, "display_planned_path", RELIABLE)
        self._published_version, self._listeners, self._state_time = -1, 0, 0.0
        planner.executor.add_node(self.node)

    def destroy(self) -> None:
        """End all goals and remove the node."""
        self._actions.destroy()
        for service in self._services:
            service.destroy()
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._planner.executor is not None:
            self._planner.executor.remove_node(self.node)
        self.node.destroy_node()

    def stop(self) -> None:
        """Bring the arm to rest and end all goals."""
        self._actions.stop(wait=True)

    def update(self) -> None:
        """Publish the scene if it has changed or has a new subscriber, and periodically the state of the joints."""
        listeners, world, now = self._scenes.get_subscription_count(), self._world.snapshot(), time.monotonic()
        newcomer, self._listeners = listeners > self._listeners, listeners
        if not listeners:
            return
        if newcomer or world.version != self._published_version:
            self._published_version = world.version
            self._scenes.publish(self._scene(EVERYTHING))
            self._state_time = now
        elif now - self._state_time >= STATE_PERIOD:
            self._state_time = now
            message = PlanningScene(is_diff=True, robot_model_name=self._group.model.robot.name)
            message.robot_state.is_diff, message.robot_state.joint_state = True, self._joint_state()
            self._scenes.publish(message)

    # On the executor.

    def _subscribe(self, kind: type, topic: str, edit: Callable[[Any], str]) -> None:
        """A subscription whose edits are logged if they are refused."""

        def on_message(message: Any) -> None:
            if not self._planner.is_active:
                return
            try:
                check_size(message)
                done = edit(message)
            except ManipapyError as error:
                text = f"{topic} ignored: {error}"
                self._planner.get_logger().warning(text, throttle_duration_sec=WARN_EVERY)
                return
            self._planner.get_logger().debug(f"{topic}: {done}")
            self._announce()

        self.node.create_subscription(kind, topic, on_message, EDITS)

    def _apply_world(self, world: PlanningSceneWorld) -> str:
        return self._edits.apply(PlanningScene(world=world, is_diff=True))

    def _on_apply(
        self, request: ApplyPlanningScene.Request, response: ApplyPlanningScene.Response
    ) -> ApplyPlanningScene.Response:
        try:
            self._planner.require_active()
            check_size(request)
            self._edits.apply(request.scene)
            response.success = True
        except ManipapyError as error:
            self._planner.get_logger().warning(f"apply_planning_scene: {error}")
        self._announce()
        return response

    def _on_get_scene(
        self, request: GetPlanningScene.Request, response: GetPlanningScene.Response
    ) -> GetPlanningScene.Response:
        response.scene = self._scene(int(request.components.components))
        return response

    def _on_clear_octomap(self, _: Empty.Request, response: Empty.Response) -> Empty.Response:
        self._edits.clear_octomap()
        self._announce()
        return response

    def _on_query(
        self, _: QueryPlannerInterfaces.Request, response: QueryPlannerInterfaces.Response
    ) -> QueryPlannerInterfaces.Response:
        names = [*(member.name.lower() for member in Planner), "LIN"]
        described = PlannerInterfaceDescription(name="manipapy", pipeline_id="manipapy", planner_ids=names)
        response.planner_interfaces = [described]
        return response

    def _on_get_params(
        self, _: GetPlannerParams.Request, response: GetPlannerParams.Response
    ) -> GetPlannerParams.Response:
        values = vars(self._requests.defaults)
        response.params = PlannerParams(keys=list(values), values=[f"{value:g}" for value in values.values()])
        response.params.descriptions = ["parameter of the node planner"] * len(values)
        return response

    def _on_event(self, message: String) -> None:
        if message.data == "stop":
            self._actions.stop()

    # On threads.

    def _answering(self, kind: Any, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The answer to a request; errors become its code."""

        def respond(request: Any) -> Any:
            try:
                self._planner.require_active()
                check_size(request)
                return answer(request)
            except ManipapyError as error:
                self._planner.get_logger().warning(str(error))
                response = kind.Response()
                if kind is GetMotionPlan:
                    response.motion_plan_response = MotionPlanResponse(error_code=code_of_error(error))
                elif kind is not GetStateValidity:
                    response.error_code = code_of_error(error)
                return response

        return respond

    def _plan(self, request: GetMotionPlan.Request) -> GetMotionPlan.Response:
        wanted, world = request.motion_plan_request, self._motion.snapshot()
        gripper = self._grippers.of(wanted.group_name)
        if gripper is not None:
            response = gripper.plan(wanted, self._motion.state(), self._plans.scalings(wanted)[0])
            return GetMotionPlan.Response(motion_plan_response=response)
        group = self._groups.of(wanted.group_name)
        start = group.positions(wanted.start_state, self._motion.positions, world)
        result = self._plans.bound(wanted, start).plan(start, world, lambda: False, lambda *_: None)
        if result.success:
            self._show(result, start, group)
        return GetMotionPlan.Response(motion_plan_response=self._plans.answer(result, start, wanted))

    def _cartesian(self, request: GetCartesianPath.Request) -> GetCartesianPath.Response:
        world = self._motion.snapshot()
        start = self._group.positions(request.start_state, self._motion.positions, world)
        return self._plans.cartesian(request, start, world, lambda: False)

    def _forward(self, request: GetPositionFK.Request) -> GetPositionFK.Response:
        return kinematics.forward(request, self._group, self._motion.positions)

    def _inverse(self, request: GetPositionIK.Request) -> GetPositionIK.Response:
        return kinematics.inverse(request, self._groups, self._motion.snapshot(), self._motion.positions)

    def _validity(self, request: GetStateValidity.Request) -> GetStateValidity.Response:
        return kinematics.validity(request, self._groups, self._motion.snapshot(), self._motion.positions)

    def _show(self, result: PlanResult, start: Array, group: PlanningGroup) -> None:
        if not self._paths.get_subscription_count():
            return
        message = DisplayTrajectory(model_id=self._group.model.robot.name)
        message.trajectory, message.trajectory_start = [self._plans.trajectory(result, group)], group.state(start)
        self._paths.publish(message)

    def _scene(self, components: int) -> PlanningScene:
        return scene_message(
            components,
            self._group,
            self._world.objects,
            self._world.snapshot(),
            self._ignored,
            self._joint_state(),
        )

    def _joint_state(self) -> JointState:
        """The newest one that has arrived."""
        with contextlib.suppress(NoAnswer):
            self._last_state = self._motion.state(seconds=STATE_TIMEOUT)
        return self._last_state
