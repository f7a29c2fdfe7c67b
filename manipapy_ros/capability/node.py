"""The node `capability`: polytopes of the arm at its current configuration, and its reachability map.

Subscribes to `joint_states` and to the planner's world (without a planner, to `obstacles`); publishes `~/polytopes` and
`~/polytope_markers` while active. Offers `~/get_polytopes`, `~/get_sliced_polytope`, and, with a map (parameter map),
`~/reachable` and `~/place_base`; the map itself is on `~/map`, latched, as points coloured by quality. The topic
`~/linearisation_limit` sets the parameter linearisation.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from manipapy_msgs.msg import PolytopeArray
from manipapy_msgs.srv import CheckReachable, GetPolytopes, GetSlicedPolytope, PlaceBase
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState, PointCloud2
from std_msgs.msg import Float64
from visualization_msgs.msg import MarkerArray

from manipapy_core import kinematics, polytopes, reachability
from manipapy_core.compile_notice import compiling
from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.geometry import RobotBody, World
from manipapy_core.geometry.warm_up import every_shape
from manipapy_core.polytopes import Polytope
from manipapy_core.reachability import ReachMap
from manipapy_core.typing import Array

from ..common import qos
from ..common.conversions import optional_by_name, pose_from_matrix, positions_by_name
from ..common.diagnostics import DiagnosticReport, Level
from ..common.node import ManagedNode
from ..common.params import Param, Values
from ..common.process import end_process, run
from ..common.robot_loader import ROBOT_PARAMETERS, compile_kernels
from ..common.world_follower import WORLD_PARAMETERS, WorldOrObstacles
from ..realtime.polled_topics import PolledSubscription
from .answers import UNITS, ArmCapability, PolytopeQuery, check_reachable, place_base
from .messages import map_message, polytope_markers, polytope_message

PARAMETERS = (
    *ROBOT_PARAMETERS,
    *WORLD_PARAMETERS,
    Param("polytopes", ["velocity"], f"Polytopes published: {', '.join(UNITS)}", kind=Parameter.Type.STRING_ARRAY,
          live=True),
    Param("rate", 50.0, "Publications per second, at most [Hz]", minimum=0.1, maximum=500.0, live=True),
    Param("constrained", True, "Include obstacles, position limits and the arm itself", live=True),
    Param("linearisation", 0.1, "Largest joint step of small motions [rad or m]", minimum=1e-4, maximum=1.0,
          live=True),
    Param("horizon", 0.25, "Horizon of the reachable polytope [s]", minimum=1e-3, maximum=2.0, live=True),
    Param("marker_scale", 0.1, "Metres drawn per m/s, N/10, m/s2/10; motions are drawn in metres", minimum=1e-4,
          maximum=10.0, live=True),
    Param("map", "", "File of a reachability map, made by `manipapy reach build`"),
    Param("map_step", 0.1, "Distance between the points on `~/map` [m]", minimum=0.02, maximum=1.0),
)  # fmt: skip


class CapabilityNode(ManagedNode):
    """One arm."""

    def __init__(self) -> None:
        super().__init__("capability", PARAMETERS)

    def configure(self, values: Values) -> None:
        """Cover the robot with spheres, compile, read the map."""
        model = self.load_robot(values)
        model.require_collision_meshes()
        compile_kernels(model)
        self._chain = model.chain
        self._map: ReachMap | None = reachability.load_map(str(values["map"]), model.chain) if values["map"] else None
        self._body = RobotBody.build(model.robot, model.chain)
        self._abilities = ArmCapability(model.chain, self._body)
        self._latest: JointState | None = None
        self._world = self.own(WorldOrObstacles(self, values, model))
        self._compile(list(values["polytopes"]))
        self._states: PolledSubscription[JointState] = self.own(
            PolledSubscription(self, JointState, "joint_states", qos.NEWEST)
        )
        self.own(self.create_subscription(Float64, "~/linearisation_limit", self._on_limit, qos.STATE))
        self._polytopes = self.own(self.create_publisher(PolytopeArray, "~/polytopes", qos.STATE))
        self._markers = self.own(self.create_publisher(MarkerArray, "~/polytope_markers", qos.STATE))
        publisher = self.own(self.create_publisher(PointCloud2, "~/map", qos.LATCHED))
        if self._map is not None:
            voxels = reachability.voxels(self._map, step=float(values["map_step"]))
            publisher.publish(map_message(voxels, model.chain.base, self.get_clock().now().to_msg()))
        self.offer(GetPolytopes, "~/get_polytopes", self._get)
        self.offer(GetSlicedPolytope, "~/get_sliced_polytope", self._slice)
        self.offer(CheckReachable, "~/reachable", lambda asked, answer: check_reachable(self._reach(), asked, answer))
        self.offer(PlaceBase, "~/place_base", lambda asked, answer: place_base(self._reach(), asked, answer))
        self.get_logger().info(f"{model}; publishes {', '.join(values['polytopes']) or 'no polytopes'}")

    def activate(self) -> None:
        """Publish polytopes on a thread."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._publish_on, name="polytopes", daemon=True)
        self._thread.start()

    def deactivate(self) -> None:
        """Stop publishing."""
        self._stop.set()
        self.join(self._thread)

    def check_parameters(self, values: Values, changed: frozenset[str]) -> None:
        """Refuse polytopes that do not exist; compile new ones ahead of their use."""
        if {"polytopes", "constrained"} & changed:
            self._compile(list(values["polytopes"]))

    def _compile(self, names: list[str]) -> None:
        """Compile the polytopes, with an obstacle and without, ahead of the first joint state."""
        rest = np.zeros(self._chain.n)
        world = every_shape(self._body, rest)
        with compiling("polytopes", 10.0):
            for snapshot in (World().snapshot(), world.snapshot()):
                self._abilities.polytopes(names, rest, rest, snapshot, self._query())

    # Publishing, on a thread of its own.

    def _publish_on(self) -> None:
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            due = max(due + 1.0 / float(self.values["rate"]), time.monotonic())
            newest = self._states.newest()
            if newest is None:
                continue
            self._latest = newest
            try:
                self._publish(newest)
            except ManipapyError as error:
                self.get_logger().warning(f"no polytopes: {error}", throttle_duration_sec=5.0)
            except Exception:  # an error must not end the thread without a log line; the next state may succeed
                self.get_logger().error(f"no polytopes:\n{traceback.format_exc()}", throttle_duration_sec=5.0)

    def _publish(self, state: JointState) -> None:
        names, query = list(self.values["polytopes"]), self._query()
        q, qd = self._numbers(state)
        made = self._abilities.polytopes(names, q, qd, self._world.snapshot(), query)
        self._polytopes.publish(self._message(made, q, query, state))
        drawn = float(self.values["marker_scale"])
        scales = {"velocity": drawn, "force": 0.1 * drawn, "acceleration": 0.1 * drawn, "motion": 1.0, "reach": 1.0}
        tip = kinematics.forward(self._chain, q)[:3, 3]
        self._markers.publish(polytope_markers(made, scales, tip, self._chain.base, state.header.stamp))

    def _message(self, made: dict[str, Polytope], q: Array, query: PolytopeQuery, state: JointState) -> PolytopeArray:
        message = PolytopeArray(tip=pose_from_matrix(kinematics.forward(self._chain, q)))
        message.header.frame_id = self._chain.tip if query.tip_frame else self._chain.base
        message.header.stamp = state.header.stamp
        message.polytopes = [
            polytope_message(name, UNITS[name][query.rotation], query.constrained, polytope)
            for name, polytope in made.items()
        ]
        return message

    # Services.

    def _get(self, request: GetPolytopes.Request, response: GetPolytopes.Response) -> None:
        names = list(request.names) or list(self.values["polytopes"])
        response.result = self._answer(names, request, lambda polytope: polytope)
        response.success = True

    def _slice(self, request: GetSlicedPolytope.Request, response: GetSlicedPolytope.Response) -> None:
        normal = np.array([request.normal.x, request.normal.y, request.normal.z])
        response.result = self._answer(
            [request.name], request, lambda polytope: polytopes.slice_by_plane(polytope, normal, request.offset)
        )
        response.success = True

    def _answer(self, names: list[str], request: Any, shape: Callable[[Polytope], Polytope]) -> PolytopeArray:
        query = PolytopeQuery(
            constrained=request.constrained,
            rotation=request.rotation,
            tip_frame=request.tip_frame,
            linearisation=float(self.values["linearisation"]),
            horizon=float(self.values["horizon"]),
        )
        state = request.joints if request.joints.name else self._state()
        q, qd = self._numbers(state)
        made = self._abilities.polytopes(names, q, qd, self._world.snapshot(), query)
        return self._message({name: shape(polytope) for name, polytope in made.items()}, q, query, state)

    def _query(self) -> PolytopeQuery:
        return PolytopeQuery(
            constrained=bool(self.values["constrained"]),
            linearisation=float(self.values["linearisation"]),
            horizon=float(self.values["horizon"]),
        )

    def _numbers(self, state: JointState) -> tuple[Array, Array]:
        q = positions_by_name(state, self._chain.joint_names)
        return q, optional_by_name(state.name, state.velocity, self._chain.joint_names, "velocities")

    def _state(self) -> JointState:
        if self._latest is None:
            raise InputError(f"no joint state on {self._states.topic} yet; give joints, or start the arm")
        return self._latest

    def _reach(self) -> ReachMap:
        if self._map is None:
            raise InputError("this node has no map; build one with `manipapy reach build`, and set the parameter map")
        return self._map

    def diagnose(self) -> DiagnosticReport:
        """Whether the planner's world is up to date."""
        world = self._world.snapshot()
        values = {"world version": str(world.version), "objects": str(len(world.objects))}
        if self._world.follower.problem:
            return DiagnosticReport(Level.WARN, self._world.follower.problem, values)
        return DiagnosticReport(Level.OK, "active" if self.is_active else "inactive", values)

    def _on_limit(self, message: Float64) -> None:
        result = self.set_parameters([Parameter("linearisation", value=message.data)])[0]
        if not result.successful:
            self.get_logger().warning(f"linearisation limit {message.data!r} is ignored: {result.reason}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(CapabilityNode, argv)


if __name__ == "__main__":
    end_process(main())
