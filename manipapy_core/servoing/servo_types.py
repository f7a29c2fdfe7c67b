"""Commands, settings and results of a servo."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, ShapeError
from ..polytopes.ellipsoids import Axes
from ..typing import Array


@dataclass(frozen=True, eq=False)
class TwistCommand:
    """A twist of the tip about its origin."""

    twist: ArrayLike
    """Angular first [rad/s, m/s], shape (6,)."""
    axes: Axes | Array = Axes.BASE
    """Axes it is given in; or the rotation of any other frame in the base frame, shape (3, 3)."""

    def __post_init__(self) -> None:
        _require(self.twist, "twist", (6,))
        if not isinstance(self.axes, Axes):
            _require(self.axes, "axes", (3, 3))

    @property
    def is_zero(self) -> bool:
        return not any(np.asarray(self.twist).tolist())

    def in_base(self, R_base_tip: Array) -> Array:
        """In base axes, shape (6,)."""
        twist = np.asarray(self.twist, dtype=np.float64)
        if self.axes is Axes.BASE:
            return twist
        R = R_base_tip if isinstance(self.axes, Axes) else self.axes
        return np.concatenate([R @ twist[:3], R @ twist[3:]])


@dataclass(frozen=True, eq=False)
class JointJog:
    """Velocities of joints."""

    velocities: ArrayLike
    """[rad/s or m/s], shape (n,)."""

    def __post_init__(self) -> None:
        values = np.asarray(self.velocities, dtype=np.float64)
        _require(values, "velocities", (values.size,))

    @property
    def is_zero(self) -> bool:
        return not any(np.asarray(self.velocities).tolist())


@dataclass(frozen=True, eq=False)
class PoseTarget:
    """A pose that the tip moves to, and how fast it moves itself."""

    pose: ArrayLike
    """T_base_target, shape (4, 4)."""
    twist: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """Of a moving target, in base axes about its origin, angular first [rad/s, m/s], shape (6,)."""

    def __post_init__(self) -> None:
        _require(self.pose, "pose", (4, 4))
        _require(self.twist, "twist", (6,))
        R = np.asarray(self.pose, dtype=np.float64)[:3, :3]
        if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0:
            raise InputError("pose has no rotation in its upper left; give a homogeneous transform")

    @property
    def is_zero(self) -> bool:
        return False


ServoCommand = TwistCommand | JointJog | PoseTarget
"""What the servo follows."""


class ServoStatus(enum.Enum):
    """What a servo does with the command."""

    IDLE = "idle"
    """No command; the arm is at rest."""
    STOPPING = "stopping"
    """No command; the arm comes to rest."""
    MOVING = "moving"
    """The command is followed."""
    SCALED = "scaled"
    """Followed in its direction, slower: it is beyond a speed limit."""
    SINGULAR = "singular"
    """Followed without the directions that the arm has lost here."""
    DIRECTION_LOST = "direction lost"
    """The arm is at rest: the commanded direction is not possible here."""
    OBSTACLE = "obstacle"
    """Slowed down or diverted by an obstacle or by the arm itself."""
    BLOCKED = "blocked"
    """The arm is at rest in front of an obstacle or of itself."""
    JOINT_LIMIT = "joint limit"
    """A joint is slowed down or stopped by its position limit."""
    REACHED = "reached"
    """At the pose target."""
    OUT_OF_REACH = "out of reach"
    """The arm is at rest as near to the pose target as it comes."""


SMALLEST_PADDING = 0.002
"""[m]"""


@dataclass(frozen=True)
class ServoSettings:
    """Speeds, distances and gains of a servo."""

    linear_speed: float = 0.5
    """Highest commanded speed of the tip [m/s]; faster commands are scaled."""
    angular_speed: float = 1.5
    """[rad/s]"""
    velocity_scaling: float = 1.0
    """Share of the joints' velocity limits."""
    acceleration_scaling: float = 1.0
    """Share of the joints' acceleration and jerk limits."""
    influence: float = 0.12
    """Distance within which obstacles slow down an approach [m]."""
    security: float = 0.01
    """Distance that is kept to obstacles [m]."""
    padding: float = 0.004
    """Distance to obstacles below which a way to rest counts as a collision [m]; below `security`."""
    self_influence: float = 0.05
    """As `influence`, between two parts of the arm [m]."""
    self_security: float = 0.0045
    """As `security`, between two parts of the arm [m]."""
    approach_rate: float = 2.5
    """Highest speed of approach per distance beyond `security` [1/s]."""
    retreat_speed: float = 0.02
    """Highest speed at which a moving arm backs off from what is nearer than `security` [m/s]."""
    length: float = 0.15
    """Length that weights rotation against translation where both are not possible [m]."""
    singular_threshold: float = 0.04
    """Singular value of the weighted Jacobian below which directions count as being lost [m]."""
    path_gain: float = 10.0
    """Rate at which the tip returns to the path of the commanded twists [1/s]."""
    path_tolerance: float = 0.0015
    """Distance from that path at which the arm moves at half speed [m]."""
    path_leash: float = 0.02
    """Farther from the path than this, the path follows the arm [m]."""
    pose_gain: float = 5.0
    """Rate of approach of a pose target [1/s]."""
    pose_deceleration: float = 0.5
    """[m/s²]"""
    posture_gain: float = 0.5
    """Rate at which joints that the tip leaves free move to the posture [1/s]."""
    clearance_gain: float = 1.0
    """How much they move away from obstacles."""
    posture_speed: float = 0.2
    """Highest share of the velocity limits for that."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (np.isfinite(value) and value >= 0.0):
                raise InputError(f"{name} is {value!r}; give a finite number of at least 0")
        for name in ("linear_speed", "angular_speed", "length", "singular_threshold", "path_tolerance", "path_leash"):
            if getattr(self, name) == 0.0:
                raise InputError(f"{name} is 0; give a number above 0")
        for name in ("velocity_scaling", "acceleration_scaling"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise InputError(f"{name} is {getattr(self, name)!r}; give a number above 0 and at most 1")
        if self.padding < SMALLEST_PADDING:
            raise InputError(
                f"padding is {self.padding} m; give at least {SMALLEST_PADDING}: ways to rest are checked at"
                " configurations, and what lies between them is free only because of it"
            )
        if not self.padding < self.security < self.influence or not self.self_security < self.self_influence:
            raise InputError("give padding < security < influence, and self_security < self_influence [m]")


@dataclass(eq=False)
class ServoStep:
    """Result of one cycle: the state to be reached at its end, and what became of the command."""

    status: ServoStatus
    q: Array
    """Joint positions [rad or m], shape (n,)."""
    qd: Array
    """Joint velocities [rad/s or m/s], shape (n,)."""
    qdd: Array
    """Joint accelerations [rad/s² or m/s²], shape (n,)."""
    scale: float = 1.0
    """Share of the commanded speed that limits leave."""
    lost: Array = field(default_factory=lambda: np.zeros(6))
    """Part of the commanded twist that a singularity takes, base axes, angular first [rad/s, m/s], shape (6,)."""
    nearest: float = np.inf
    """Distance of the nearest pair, of those that hold the arm if any [m]; inf if none is within influence."""
    joint: str = ""
    """Joint at its limit."""
    near: Callable[[], tuple[str, str]] | None = None
    """Names of that pair."""

    @property
    def text(self) -> str:
        """The status and its reason, for people."""
        status = self.status
        if status in (ServoStatus.OBSTACLE, ServoStatus.BLOCKED):
            between = " and ".join(self.near()) if self.near is not None else "the arm and an obstacle"
            apart = f", {self.nearest * 1e3:.0f} mm" if np.isfinite(self.nearest) else ""
            return f"{status.value}: between {between}{apart}"
        if status is ServoStatus.JOINT_LIMIT:
            return f"{status.value}: {self.joint}"
        if status in (ServoStatus.SINGULAR, ServoStatus.DIRECTION_LOST):
            turn, move = (np.round(part, 3).tolist() for part in (self.lost[:3], self.lost[3:]))
            return f"{status.value}: lost of the command {move} m/s and {turn} rad/s in base axes"
        if status is ServoStatus.SCALED:
            return f"{status.value}: {100.0 * self.scale:.0f} % of the commanded speed is within limits"
        return str(status.value)


def _require(values: ArrayLike, name: str, shape: tuple[int, ...]) -> None:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ShapeError(name, str(shape), array.shape)
    if not all(map(math.isfinite, array.ravel().tolist())):  # of few numbers faster than NumPy
        raise InputError(f"{name} has numbers that are not finite: {array.tolist()}; the command is refused")
