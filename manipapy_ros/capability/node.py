"""The node `capability`: what the tip of the arm can do where it is, live, and where the arm can reach at all.

Takes `joint_states` and `obstacles`; publishes `~/polytopes` and `~/polytope_markers` while active. Offers
`~/get_polytopes`, `~/get_sliced_polytope`, and, with a map (parameter map), `~/reachable` and `~/place_base`; the map
itself is on `~/map`, latched, as points coloured by quality. The linearisation limit of small motions is a parameter
and the topic `~/linearisation_limit`.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from manipapy_msgs.msg import ObstacleArray, PolytopeArray
from manipapy_msgs.srv import CheckReachable, GetPolytopes, GetSlicedPolytope, PlaceBase
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState, PointCloud2
from std_msgs.msg import Float64
from visualization_msgs.msg import MarkerArray

from manipapy_core import kinematics, polytopes, reachability
from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.geometry import Box, RobotBody, World
from manipapy_core.polytopes import Polytope
from manipapy_core.reachability import ReachMap
from manipapy_core.typing import Array

from ..common import qos
from ..common.conversions import optional_by_name, pose_from_matrix, positions_by_name
from ..common.node import ManagedNode, NotActive, run
from ..common.params import Param, Value
from ..common.robot_loader import DESCRIPTION_PARAMETERS, NoDescription, compile_kernels, from_parameters
from ..planner.world import PlannerWorld
from ..realtime.polled_topics import PolledSubscription
from .answers import UNITS, ArmCapability, Question, check_reachable, place_base
from .messages import map_message, polytope_markers, polytope_message

PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    Param("polytopes", ["velocity"], f"Those published: {', '.join(UNITS)}", kind=Parameter.Type.STRING_ARRAY),
    Param("rate", 50.0, "Publications per second, as far as the machine can [Hz]", minimum=0.1, maximum=500.0),
    Param("constrained", True, "Count obstacles, position limits and the arm itself"),
    Param("linearisation", 0.1, "Largest joint step of small motions [rad or m]", minimum=1e-4, maximum=1.0),
    Param("horizon", 0.25, "Of what is in reach soon [s]", minimum=1e-3, maximum=2.0),
    Param("marker_scale", 0.1, "Metres drawn per m/s, N/10, m/s2/10; motions are drawn as they are", minimum=1e-4,
          maximum=10.0),
    Param("map", "", "File of a reachability map, made by `manipapy reach build`"),
    Param("map_step", 0.1, "Distance of the points in which the map is shown [m]", minimum=0.02, maximum=1.0),
)  # fmt: skip


class CapabilityNode(ManagedNode):
    """One arm, from configure to cleanup."""

    def __init__(self) -> None:
        super().__init__("capability", PARAMETERS)

    def configure(self, values: dict[str, Value]) -> None:
        """Cover the robot with spheres, compile, read the map."""
        model = from_parameters(values)
        if model is None:
            raise NoDescription("the parameter robot, which capability needs,")
        compile_kernels(model)
        self._chain, self._values = model.chain, values
        self._map: ReachMap | None = reachability.load_map(str(values["map"]), model.chain) if values["map"] else None
        self._abilities = ArmCapability(model.chain, RobotBody.build(model.robot, model.chain))
        self._latest: JointState | None = None
        self._world = PlannerWorld(model, lambda: positions_by_name(self._state(), self._chain.joint_names))
        self._compile(list(values["polytopes"]))
        self._states: PolledSubscription[JointState] = PolledSubscription(self, JointState, "joint_states", qos.NEWEST)
        self._seen = self.create_subscription(ObstacleArray, "obstacles", self._on_obstacles, qos.NEWEST)
        self._limit = self.create_subscription(Float64, "~/linearisation_limit", self._on_limit, qos.STATE)
        self._polytopes = self.create_publisher(PolytopeArray, "~/polytopes", qos.STATE)
        self._markers = self.create_publisher(MarkerArray, "~/polytope_markers", qos.STATE)
        self._shown = self.create_publisher(PointCloud2, "~/map", qos.LATCHED)
        if self._map is not None:
            places = reachability.voxels(self._map, step=float(values["map_step"]))
            self._shown.publish(map_message(places, model.chain.base, self.get_clock().now().to_msg()))
        offered = (
            (GetPolytopes, "~/get_polytopes", self._get),
            (GetSlicedPolytope, "~/get_sliced_polytope", self._slice),
            (CheckReachable, "~/reachable", lambda asked, answer: check_reachable(self._reach(), asked, answer)),
            (PlaceBase, "~/place_base", lambda asked, answer: place_base(self._reach(), asked, answer)),
        )
        self._offered = [self.create_service(kind, name, self._answering(answer)) for kind, name, answer in offered]
        self._thread: threading.Thread | None = None
        self.get_logger().info(f"{model.robot.name}: {', '.join(values['polytopes']) or 'nothing'} is published")

    def activate(self) -> None:
        """Publish from now on."""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._publish_on, name="polytopes", daemon=True)
        self._thread.start()

    def deactivate(self) -> None:
        """Be silent."""
        self._ending.set()
        assert self._thread is not None
        self._thread.join()

    def cleanup(self) -> None:
        """Give everything back."""
        self._states.destroy()
        for subscription in (self._seen, self._limit):
            self.destroy_subscription(subscription)
        for publisher in (self._polytopes, self._markers, self._shown):
            self.destroy_publisher(publisher)
        for service in self._offered:
            self.destroy_service(service)

    def _compile(self, names: list[str]) -> None:
        """Now, and not when the first state or the first obstacle comes."""
        rest, beside, world = np.zeros(self._chain.n), np.eye(4), World()
        beside[:3, 3] = kinematics.forward(self._chain, rest)[:3, 3] + np.array([0.0, 0.0, 0.4])
        world.add("something near", Box([0.1, 0.1, 0.1]), beside)
        for seen in (self._world.snapshot(), world.snapshot()):
            self._abilities.polytopes(names, rest, rest, seen, self._question())

    # What is published, on a thread of its own.

    def _publish_on(self) -> None:
        period = 1.0 / float(self._values["rate"])
        due = time.monotonic()
        while not self._ending.wait(max(0.0, due - time.monotonic())):
            due = max(due + period, time.monotonic())
            newest = self._states.newest()
            if newest is None:
                continue
            self._latest = newest
            try:
                self._publish(newest)
            except ManipapyError as error:
                self.get_logger().warning(f"no polytopes: {error}", throttle_duration_sec=5.0)
            except Exception:  # a thread that dies says nothing; the next state may do better
                self.get_logger().error(f"no polytopes:\n{traceback.format_exc()}", throttle_duration_sec=5.0)

    def _publish(self, state: JointState) -> None:
        names, question = list(self._values["polytopes"]), self._question()
        q, qd = self._numbers(state)
        made = self._abilities.polytopes(names, q, qd, self._world.snapshot(), question)
        self._polytopes.publish(self._message(made, q, question, state))
        drawn = float(self._values["marker_scale"])
        scales = {"velocity": drawn, "force": 0.1 * drawn, "acceleration": 0.1 * drawn, "motion": 1.0, "reach": 1.0}
        tip = kinematics.forward(self._chain, q)[:3, 3]
        self._markers.publish(polytope_markers(made, scales, tip, self._chain.base, state.header.stamp))

    def _message(self, made: dict[str, Polytope], q: Array, question: Question, state: JointState) -> PolytopeArray:
        message = PolytopeArray(tip=pose_from_matrix(kinematics.forward(self._chain, q)))
        message.header.frame_id = self._chain.tip if question.tip_frame else self._chain.base
        message.header.stamp = state.header.stamp
        message.polytopes = [
            polytope_message(name, UNITS[name][question.rotation], question.constrained, polytope)
            for name, polytope in made.items()
        ]
        return message

    # What is asked.

    def _get(self, request: GetPolytopes.Request, response: GetPolytopes.Response) -> None:
        names = list(request.names) or list(self._values["polytopes"])
        response.result = self._answer(names, request, lambda polytope: polytope)
        response.success = True

    def _slice(self, request: GetSlicedPolytope.Request, response: GetSlicedPolytope.Response) -> None:
        normal = np.array([request.normal.x, request.normal.y, request.normal.z])
        response.result = self._answer(
            [request.name], request, lambda polytope: polytopes.slice_by_plane(polytope, normal, request.offset)
        )
        response.success = True

    def _answer(self, names: list[str], request: Any, shape: Callable[[Polytope], Polytope]) -> PolytopeArray:
        question = Question(
            constrained=request.constrained,
            rotation=request.rotation,
            tip_frame=request.tip_frame,
            linearisation=float(self._values["linearisation"]),
            horizon=float(self._values["horizon"]),
        )
        state = request.joints if request.joints.name else self._state()
        q, qd = self._numbers(state)
        made = self._abilities.polytopes(names, q, qd, self._world.snapshot(), question)
        return self._message({name: shape(polytope) for name, polytope in made.items()}, q, question, state)

    def _question(self) -> Question:
        values = self._values
        return Question(
            constrained=bool(values["constrained"]),
            linearisation=float(values["linearisation"]),
            horizon=float(values["horizon"]),
        )

    def _numbers(self, state: JointState) -> tuple[Array, Array]:
        q = positions_by_name(state, self._chain.joint_names)
        return q, optional_by_name(state.name, state.velocity, self._chain.joint_names, "velocities")

    def _state(self) -> JointState:
        if self._latest is None:
            raise InputError(f"no joint state has come on {self._states.topic} yet; give joints, or start the arm")
        return self._latest

    def _reach(self) -> ReachMap:
        if self._map is None:
            raise InputError("this node has no map; build one with `manipapy reach build`, and set the parameter map")
        return self._map

    def _on_obstacles(self, message: ObstacleArray) -> None:
        try:
            self._world.see(message)
        except InputError as error:
            self.get_logger().warning(f"obstacles not taken over: {error}", throttle_duration_sec=5.0)

    def _on_limit(self, message: Float64) -> None:
        if not 1e-4 <= message.data <= 1.0:
            self.get_logger().warning(f"linearisation limit {message.data!r} is not between 0.0001 and 1; ignored")
            return
        self._values = {**self._values, "linearisation": message.data}

    def _answering(self, answer: Callable[[Any, Any], None]) -> Callable[[Any, Any], Any]:
        """A service callback that turns the user's mistakes into answers that say why."""

        def respond(request: Any, response: Any) -> Any:
            try:
                if not self.is_active:
                    raise NotActive(self.get_fully_qualified_name())
                answer(request, response)
            except ManipapyError as error:
                response = type(response)(success=False, message=str(error))
            return response

        return respond


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(CapabilityNode, argv)


if __name__ == "__main__":
    sys.exit(main())
