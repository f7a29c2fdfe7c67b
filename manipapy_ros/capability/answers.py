"""Answers of the node `capability`: polytopes by name, reachability, base placement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import Polygon as PolygonMessage
from manipapy_msgs.srv import CheckReachable, PlaceBase
from sensor_msgs.msg import JointState

from manipapy_core import lie, polytopes, reachability
from manipapy_core.errors import InputError
from manipapy_core.geometry import RobotBody, WorldSnapshot
from manipapy_core.model import Chain
from manipapy_core.polytopes import Axes, Motion, NearPoints, Polytope
from manipapy_core.reachability import ReachMap
from manipapy_core.typing import Array

from ..common.conversions import matrix_from_pose, pose_from_matrix

UNITS = {
    "velocity": ("m/s", "rad/s"),
    "motion": ("m", "rad"),
    "force": ("N", "N m"),
    "acceleration": ("m/s2", "rad/s2"),
    "reach": ("m", "rad"),
}
"""Of translation and of rotation, by name."""
BOUNDED_BY_OBSTACLES = ("velocity", "motion", "reach")
"""Polytopes that obstacles and self-collision reduce."""
SCORES = {"": reachability.Combine.MINIMUM, "min": reachability.Combine.MINIMUM, "mean": reachability.Combine.MEAN,
          "product": reachability.Combine.PRODUCT}  # fmt: skip


@dataclass(frozen=True)
class PolytopeQuery:
    """Options of a polytope."""

    constrained: bool = True
    """Include obstacles, position limits and the arm itself."""
    rotation: bool = False
    tip_frame: bool = False
    linearisation: float = 0.1
    """Largest joint step of small motions [rad or m]."""
    horizon: float = 0.25
    """Of the reachable polytope [s]."""
    influence: float = 0.3
    """Obstacles farther away are ignored [m]."""


@dataclass(frozen=True, eq=False)
class ArmCapability:
    """Answers about one arm; thread-safe."""

    chain: Chain
    body: RobotBody

    def polytopes(
        self, names: Sequence[str], q: Array, qd: Array, world: WorldSnapshot, query: PolytopeQuery
    ) -> dict[str, Polytope]:
        """Polytopes at a configuration, by name; near points are found once for all of them, which takes longest.

        Args:
            q: Joint positions [rad or m], shape (n,).
            qd: Joint velocities [rad/s or m/s], shape (n,).

        Raises:
            InputError: No polytope of that name, or the robot lacks a limit that it needs.
        """
        unknown = [name for name in names if name not in UNITS]
        if unknown:
            raise InputError(f"no polytope {unknown[0]!r}; there are: {', '.join(UNITS)}")
        near = None
        if query.constrained and any(name in BOUNDED_BY_OBSTACLES for name in names):
            near = polytopes.near_points(self.body, world, q, influence=query.influence)
        return {name: self._polytope(name, q, qd, near, query) for name in names}

    def _polytope(self, name: str, q: Array, qd: Array, near: NearPoints | None, query: PolytopeQuery) -> Polytope:
        motion = Motion.ROTATION if query.rotation else Motion.TRANSLATION
        axes = Axes.TIP if query.tip_frame else Axes.BASE
        common: dict[str, Any] = {"motion": motion, "axes": axes}
        if name == "force":
            return polytopes.force_polytope(self.chain, q, **common)
        if name == "acceleration":
            return polytopes.acceleration_polytope(self.chain, q, qd, **common)
        if name == "velocity":
            return polytopes.velocity_polytope(self.chain, q, damping=query.constrained, near=near, **common)
        if name == "motion":
            return polytopes.motion_polytope(
                self.chain,
                q,
                linearisation=query.linearisation,
                position_limits=query.constrained,
                near=near,
                **common,
            )
        return polytopes.reachable_polytope(self.chain, q, qd, horizon=query.horizon, near=near, **common)


def check_reachable(reach: ReachMap, request: CheckReachable.Request, response: CheckReachable.Response) -> None:
    """Fill in which poses can be reached, by inverse kinematics where the map is not certain."""
    if not request.poses:
        raise InputError("no poses are given; fill in at least one")
    T = np.stack([matrix_from_pose(pose) for pose in request.poses])
    response.reachable = reach.reachable(T, exact=True).tolist()
    response.quality = reach.quality(T).astype(float).tolist()


def place_base(reach: ReachMap, request: PlaceBase.Request, response: PlaceBase.Response) -> None:
    """Fill in where the base may stand."""
    if not request.grasps:
        raise InputError("no grasps are given; fill in at least one")
    if request.score not in SCORES:
        raise InputError(f"score is {request.score!r}; choose min, mean or product")
    floor = reachability.Floor(
        T_world_floor=lie.pose(translation=[0.0, 0.0, request.floor_height]),
        keep_in=() if not request.keep_in.points else (_polygon(request.keep_in),),
        keep_out=tuple(_polygon(polygon) for polygon in request.keep_out),
        footprint=reachability.Polygon.disc(request.footprint) if request.footprint > 0.0 else None,
    )
    grasps = np.stack([matrix_from_pose(pose) for pose in request.grasps])
    places = reachability.place_base(reach, grasps, floor, count=max(1, request.count), combine=SCORES[request.score])
    response.success = bool(places)
    response.message = f"{len(places)} places" if places else "no place on this floor reaches every grasp"
    response.bases = [pose_from_matrix(place.T_world_base) for place in places]
    response.scores = [place.score for place in places]
    names = list(reach.chain.joint_names)
    response.configurations = [JointState(name=names, position=q.tolist()) for place in places for q in place.q]


def _polygon(message: PolygonMessage) -> reachability.Polygon:
    return reachability.Polygon(np.array([[point.x, point.y] for point in message.points], dtype=np.float64))
