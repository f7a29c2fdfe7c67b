"""Requests to the planner over DDS, by its action and by MoveIt's service: from a pose to a verified trajectory.

The planner runs as a separate process; joint states come at 125 Hz, as from a UR5. Every problem (a full table, seeded)
has its own world, sent object by object beforehand, so that each request plans in a new world. Times are wall times
including ROS communication.
"""

from __future__ import annotations

import argparse
import platform
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from manipapy_msgs.action import PlanMotion
from manipapy_msgs.msg import MotionRequest
from manipapy_msgs.srv import ChangeWorld
from measure import machine, version_of
from moveit_msgs.msg import Constraints, MotionPlanResponse, OrientationConstraint, PositionConstraint
from moveit_msgs.srv import GetMotionPlan
from problems import ROOT
from rclpy.action import ActionClient
from report import Report
from ros_nodes import Peer, processes, ros
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive

from manipapy_ros.common import qos
from manipapy_ros.common.conversions import pose_from_matrix
from manipapy_ros.common.object_messages import message_of
from motion.scenes import Problem, problem

ROBOTS = ("panda", "ur5")
TIMEOUT = 120.0
"""[s]"""
STATE_PERIOD = 0.008
"""Between joint states [s]."""
PARTS = ("goals", "search", "smoothing", "law", "verification")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    parser.add_argument("--problems", type=int, default=50, help="per robot (50)")
    options = parser.parse_args()
    report = Report()
    report.heading("manipapy planning benchmark, through the action")
    report.note(machine())
    names = ("numpy", "numba", "llvmlite", "rclpy")
    report.note(f"Python {platform.python_version()}, {', '.join(f'{name} {version_of(name)}' for name in names)}")
    medians, rows, failed = {}, [], 0
    moveit_medians: dict[str, float] = {}
    moveit_rows = []
    for robot in ROBOTS:
        with ros(), planner(robot) as bench:
            bench.solve(problem(robot, "table", 0))  # warm-up, not counted: discovery
            answers, others = [], []
            for seed in range(options.problems):
                answers.append(bench.solve(problem(robot, "table", seed)))
                others.append(bench.solve_by_moveit(problem(robot, "table", seed)))
        failed += sum(response.error_code.val != 1 for _, response in others)
        through = 1e3 * np.array([seconds for seconds, _ in others])
        moveit_medians[robot] = float(np.median(through))
        numbers = [moveit_medians[robot], np.percentile(through, 95), through.max()]
        numbers.append(1e3 * np.median([response.planning_time for _, response in others]))
        moveit_rows.append([robot, f"{len(others)}", *(f"{number:.1f}" for number in numbers)])
        failed += sum(result.error_code != 1 for _, result in answers)
        wall = 1e3 * np.array([seconds for seconds, _ in answers])
        inside = 1e3 * np.array([result.time_total for _, result in answers])
        parts = [1e3 * np.median([getattr(result, f"time_{part}") for _, result in answers]) for part in PARTS]
        medians[robot] = float(np.median(wall))
        numbers = [medians[robot], np.percentile(wall, 95), wall.max(), np.median(inside), *parts]
        rows.append([robot, f"{len(answers)}", *(f"{number:.1f}" for number in numbers)])
        report.measurements[f"{robot} ms"] = {"request": wall.tolist(), "planning": inside.tolist()}
    report.heading("From sending the goal to receiving the result: ms; from `planning` on measured by the planner")
    report.table(["robot", "requests", "median", "95 %", "worst", "planning", *PARTS], rows)
    report.heading("plan_kinematic_path, as MoveIt's clients call it: ms")
    report.table(["robot", "requests", "median", "95 %", "worst", "planning"], moveit_rows)
    report.require("plan_kinematic_path, median", moveit_medians, 40.0, at_least=False, unit=" ms")
    report.require("requests that failed", {"all": float(failed)}, 0.0, at_least=False, unit="")
    report.require("whole request through the action, median", medians, 50.0, at_least=False, unit=" ms")
    report.print_bars()
    if options.json:
        report.save(options.json)
    return 0


class Bench(Peer):
    """A client of the planner that also publishes the joint states of an arm at rest."""

    def __init__(self, robot: str):
        super().__init__(f"bench_planning_{robot}", TIMEOUT)
        self._action = ActionClient(self.node, PlanMotion, "planner/plan_motion")
        self._service = self.node.create_client(GetMotionPlan, "plan_kinematic_path")
        self._states = self.node.create_publisher(JointState, "joint_states", qos.STATE)
        self._names = list(problem(robot, "table", 0).checker.body.chain.joint_names)
        self._q = np.zeros(len(self._names))
        self._ended = threading.Event()
        self._arm = threading.Thread(target=self._play_the_arm, daemon=True)
        self._arm.start()

    def close(self) -> None:
        self._ended.set()
        self._arm.join()
        super().close()

    def ready(self) -> bool:
        """Whether the planner takes goals."""
        return bool(self._action.server_is_ready() and self._service.service_is_ready())

    def solve(self, one: Problem) -> tuple[float, PlanMotion.Result]:
        """Seconds that a request took, and its result."""
        self._edit(ChangeWorld.Request(operation=ChangeWorld.Request.CLEAR))
        for crate in one.checker.world.snapshot().objects.values():
            request = ChangeWorld.Request(operation=ChangeWorld.Request.ADD)
            request.object = message_of(crate.name, crate.shape, crate.T_base_object, "")
            self._edit(request)
        self._q = one.start
        self.spin(4.0 * STATE_PERIOD)
        goal = PlanMotion.Goal(request=MotionRequest(kind=MotionRequest.POSE, velocity_scaling=1.0))
        goal.request.acceleration_scaling = 1.0
        goal.request.pose.pose = pose_from_matrix(one.T_goal)
        began = time.perf_counter()
        sent = self._action.send_goal_async(goal, feedback_callback=lambda _: None)
        self.wait_for(sent.done)
        answer = sent.result().get_result_async()
        self.wait_for(answer.done)
        return time.perf_counter() - began, answer.result().result

    def solve_by_moveit(self, one: Problem) -> tuple[float, MotionPlanResponse]:
        """The same by plan_kinematic_path, in the world of the last request: seconds and response."""
        request = GetMotionPlan.Request()
        wanted = request.motion_plan_request
        wanted.group_name, wanted.allowed_planning_time = "arm", 5.0
        wanted.max_velocity_scaling_factor = wanted.max_acceleration_scaling_factor = 1.0
        wanted.start_state.joint_state = JointState(name=self._names, position=one.start.tolist())
        chain, pose = one.checker.body.chain, pose_from_matrix(one.T_goal)
        place = PositionConstraint(link_name=chain.tip)
        place.constraint_region.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[1e-3])]
        place.constraint_region.primitive_poses = [pose]
        turn = OrientationConstraint(link_name=chain.tip, orientation=pose.orientation)
        turn.absolute_x_axis_tolerance = turn.absolute_y_axis_tolerance = turn.absolute_z_axis_tolerance = 1e-3
        wanted.goal_constraints = [Constraints(position_constraints=[place], orientation_constraints=[turn])]
        began = time.perf_counter()
        answer = self._service.call_async(request)
        self.wait_for(answer.done)
        return time.perf_counter() - began, answer.result().motion_plan_response

    def _edit(self, request: ChangeWorld.Request) -> None:
        answer = self.call(ChangeWorld, "planner/change_world", request)
        if not answer.success:
            raise RuntimeError(answer.message)

    def _play_the_arm(self) -> None:
        message = JointState(name=self._names)
        while not self._ended.wait(STATE_PERIOD):
            message.position = self._q.tolist()
            message.velocity = [0.0] * len(self._names)
            message.header.stamp = self.node.get_clock().now().to_msg()
            self._states.publish(message)


@contextmanager
def planner(robot: str) -> Iterator[Bench]:
    """The process of the planner, active; ended when done."""
    arguments = ["--params-file", str(ROOT / "config" / f"{robot}.yaml"), "--log-level", "warn"]
    with processes({"planner": arguments}, TIMEOUT), Bench(robot) as bench:
        bench.bring_up("planner")
        bench.wait_for(bench.ready)
        yield bench


if __name__ == "__main__":
    sys.exit(main())
