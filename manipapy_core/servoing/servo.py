"""Servo: a stream of twists, joint velocities or pose targets becomes smooth joint motion inside all limits.

One cycle has three parts. The constrained step finds the joint velocity nearest to the command that velocity limits,
position limits and near obstacles allow. The velocity then changes towards it with bounded acceleration and jerk, all
joints in proportion. At last the stop from the new state is checked: positions, velocities, and collisions at
configurations so close that nothing is missed between them (`way_to_rest`). If it fails the arm takes the stop of the
cycle before, which was checked then. So at every moment there is a checked way to rest, and a lost command, or one that
cannot be followed, ends in it.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compile_notice import compiling
from ..compiler import kernels_of
from ..errors import InputError, ShapeError
from ..geometry import Checker, WorldSnapshot
from ..model.assumptions import TIME_TO_ACCELERATION, completed_limits
from ..polytopes.joint_set import NotSolved
from ..typing import Array
from . import stops
from .constrained_step import SOLVED, minimise
from .near_rows import NearRows, NearRowSearch
from .servo_types import JointJog, PoseTarget, ServoCommand, ServoSettings, ServoStatus, ServoStep, TwistCommand
from .step_bounds import at_limit, bounded, candidate, free_velocity, most_missing
from .tip_task import TipTask, TipTasks, move_path, rotation_log, scaled_twist
from .way_to_rest import MOST_SAMPLES

AT_REST = 1e-9
ROUNDING = 1e-7
"""Position limits are kept with this margin [rad or m]."""
LIMIT_SHARE = 0.8
"""Share of the speed from which a joint could still stop before its position limit."""
SELF_PADDING = 1.8e-3
"""What links are padded by towards each other, each of two, where a way to rest is checked [m]."""
RESERVE = 1e-3
"""What a way to rest leaves of the padding everywhere, per link [m]: simulators make shapes thicker by about this."""
STOP_POINTS = np.array([0.1, 0.25, 0.45, 0.7, 1.0])
"""Shares of a stop at which a trajectory has points."""
SHORTEST_TRAJECTORY = 0.1
"""A trajectory ends no sooner than this after its cycle [s]: it must not be over when it arrives."""
MANY_SAMPLES = MOST_SAMPLES // 2
"""Configurations of a way to rest from which on the arm becomes no faster."""
NEARLY_AT_REST = 0.04
"""Share of the velocity limits below which an arm that is next to an obstacle may set out to leave it."""
SLOW = 1e-3
"""Joint speed below which all joints stop at once [rad/s or m/s]."""
HELD_AFTER = 0.1
"""Rest despite a command for this long is reported [s]."""
REACHED = 1e-4, 1e-3
"""Distances to a pose target that count as reached [m, rad]."""


class ArmServo:
    """Follows commands with one arm, cycle by cycle. For one thread.

    Args:
        checker: The arm's body in its world.
        settings: Speeds, distances and gains.
        q: Initial configuration, at rest [rad or m], shape (n,); zeros if not given.
    """

    def __init__(self, checker: Checker, settings: ServoSettings | None = None, q: ArrayLike | None = None):
        self.settings = settings or ServoSettings()
        self.chain, self._body = checker.body.chain, checker.body
        self._bare, self._padded = checker, checker.padded(self.settings.padding, self_padding=SELF_PADDING)
        limits = completed_limits(self.chain)
        share = self.settings.acceleration_scaling
        self.speed: Array = self.settings.velocity_scaling * limits.velocity
        """Limits that are kept [rad/s or m/s], shape (n,)."""
        self.acceleration: Array = share * limits.acceleration
        """[rad/s² or m/s²], shape (n,)."""
        unknown = self.acceleration / TIME_TO_ACCELERATION
        self.jerk: Array = np.where(np.isfinite(limits.jerk), share * limits.jerk, unknown)
        """[rad/s³ or m/s³], shape (n,); where unknown, full acceleration after 0.1 s."""
        self._lower, self._upper = limits.lower + ROUNDING, limits.upper - ROUNDING
        self._tasks = TipTasks(self.chain, self.settings, self.speed, self.acceleration)
        self._forward = kernels_of(self.chain).forward
        n = self.chain.n
        self._state: Array = np.zeros((3, n))
        self._next: Array = np.zeros((3, n))
        self._low, self._high, self._path = np.zeros(n), np.zeros(n), np.zeros((MOST_SAMPLES, n))
        self._still, self._samples = np.zeros(n), 0
        self._free, self._wanted = np.zeros(n), np.zeros(6)
        s = self.settings
        self._pull_gains = np.array([s.posture_gain, s.clearance_gain, s.posture_speed, s.influence, s.self_influence])
        world, own = self.settings.padding - RESERVE, 2.0 * (SELF_PADDING - RESERVE)
        self._allowed = np.array([RESERVE, 2.0 * world, 2.0 * RESERVE, 2.0 * own])
        self._snapshot = checker.world.snapshot()
        self._search = self._new_search(self._snapshot)
        middle = 0.5 * (limits.lower + limits.upper)
        self.posture: Array = np.where(np.isfinite(middle), middle, 0.0)
        """Configuration that joints tend to which the tip leaves free [rad or m], shape (n,)."""
        self._reference: Array | None = None
        self._backing = False
        self._held_for = 0.0
        self.reset(np.zeros(n) if q is None else q)

    @property
    def q(self) -> Array:
        """Commanded positions [rad or m], shape (n,)."""
        return self._state[0].copy()

    @property
    def qd(self) -> Array:
        """Commanded velocities [rad/s or m/s], shape (n,)."""
        return self._state[1].copy()

    @property
    def at_rest(self) -> bool:
        """Whether the commanded motion has ended."""
        return not (np.abs(self._state[1:]) > AT_REST).any()

    @property
    def stop_time(self) -> float:
        """Duration of the stop from the commanded state [s]."""
        return float(stops.stop_time(self._state, self.acceleration, self.jerk))

    def stop_path(self, times: ArrayLike) -> Array:
        """Positions, velocities and accelerations of that stop at times since now, shape (times, 3, n)."""
        at = np.asarray(times, dtype=np.float64)
        out = np.empty((len(at), 3, self.chain.n))
        stops.sample_stop(self._state, self.acceleration, self.jerk, at, out)
        return out

    def trajectory(self) -> tuple[Array, Array]:
        """The last cycle and the stop after it, for a trajectory controller: a sender that dies leaves the arm at rest.

        Returns:
            Times since the beginning of that cycle [s], shape (k,), the first one 0; positions, velocities and
            accelerations, shape (k, 3, n), the last at rest.
        """
        duration = self.stop_time
        at = STOP_POINTS * max(duration, SHORTEST_TRAJECTORY)
        states = np.concatenate([self._before[None], self._state[None], self.stop_path(at)])
        states[-1, 1:] = 0.0
        return np.concatenate([[0.0, self._dt], self._dt + at]), states

    def reset(self, q: ArrayLike, qd: ArrayLike | None = None) -> None:
        """Starts at a measured state, without acceleration.

        Args:
            q: Joint positions [rad or m], shape (n,).
            qd: Joint velocities [rad/s or m/s], shape (n,); at rest if not given.
        """
        here = _finite(q, "q", (self.chain.n,))
        moving = np.zeros(self.chain.n) if qd is None else _finite(qd, "qd", (self.chain.n,))
        self._state[0], self._state[1], self._state[2] = here, np.clip(moving, -self.speed, self.speed), 0.0
        self._before, self._dt = self._state.copy(), 0.004
        self._reference, self._held_for, self._backing, self._samples = None, 0.0, False, 0

    def warm_up(self) -> None:
        """Compiles every part of a cycle ahead of the first command, which may take ten seconds once; then resets."""
        q = np.clip(np.zeros(self.chain.n), self.chain.limits.lower, self.chain.limits.upper)
        with compiling("the servo", 10.0):
            self.reset(q)
            twist, pose = TwistCommand([0.1, 0.0, 0.0, 0.1, 0.0, 0.0]), PoseTarget(self._forward.run(q))
            for command in (twist, JointJog(np.full(self.chain.n, 0.1)), pose, None):
                self.step(command, 0.004)
                self.trajectory()
            self.reset(q)

    def see(self, snapshot: WorldSnapshot) -> None:
        """Uses another snapshot of the world from the next cycle on; takes milliseconds if it is a new one."""
        if snapshot is self._snapshot:
            return
        self._bare.scene(snapshot)
        self._padded.scene(snapshot)
        self._search, self._snapshot = self._new_search(snapshot), snapshot

    def step(self, command: ServoCommand | None, dt: float) -> ServoStep:
        """One cycle.

        Args:
            command: None to come to rest.
            dt: Time until the new state is to be reached [s].

        Raises:
            InputError: A joint jog of the wrong number of joints, or a time that is out of range.
        """
        if not 0.0 < dt < 0.1:
            raise InputError(f"dt is {dt}; give a time above 0 and below 0.1 s")
        if isinstance(command, JointJog) and np.shape(command.velocities) != (self.chain.n,):
            raise ShapeError("velocities", f"({self.chain.n},)", np.shape(command.velocities))
        self._before, self._dt = self._state.copy(), dt
        if command is None or command.is_zero:
            return self._rest(dt, ServoStatus.IDLE if self.at_rest else ServoStatus.STOPPING)
        q, pose = self._state[0], self._forward.run(self._state[0])
        if isinstance(command, PoseTarget):
            twist, reached = self._towards(command, pose)
            if reached:
                return self._rest(dt, ServoStatus.REACHED)
        elif isinstance(command, TwistCommand):
            twist = command.in_base(pose[:3, :3])
        near = self._search.rows(q)
        stops.speeds_towards_limits(
            q, self._lower, self._upper, self.speed, self.acceleration, self.jerk, LIMIT_SHARE, self._low, self._high
        )
        task: TipTask | None = None
        if isinstance(command, JointJog):
            qd, scale, active = self._jog(np.asarray(command.velocities, dtype=np.float64), near)
        else:
            holds_path = isinstance(command, TwistCommand)
            qd, scale, active, task = self._move_tip(twist, pose, near, holds_path, dt)
        worst = self._too_near(near)
        if worst is not None:
            # Each joint by itself leads away, also while the joints stop one after the other.
            row = near.rows[worst]
            qd, active = -self.settings.retreat_speed * row / max(float(row @ row), 1e-4), np.array([worst])
        step = self._advance(qd, not isinstance(command, JointJog), near, dt)
        step.scale = scale
        return self._explained(step, near, active, task, isinstance(command, PoseTarget), dt)

    # Parts of a cycle.

    def _rest(self, dt: float, status: ServoStatus) -> ServoStep:
        self._reference, self._held_for = None, 0.0
        if np.abs(self._state[1]).max() < SLOW or not self._slow_down(dt):
            self._take_stop(dt)
        return ServoStep(status, *(row.copy() for row in self._state))

    def _slow_down(self, dt: float) -> bool:
        """Slows all joints down in proportion, so that the tip goes on in its direction; False if that is not free."""
        near = self._search.rows(self._state[0])
        if self._candidate(self._still, True, dt) >= 0 or not self._stop_is_free(near):
            return False
        self._state, self._next = self._next, self._state
        return True

    def _jog(self, wanted: Array, near: NearRows) -> tuple[Array, float, NDArray[np.int64]]:
        scale = min(1.0, 1.0 / float(np.max(np.abs(wanted) / self.speed)))
        self._reference = None
        qd, active = self._nearest_velocity(np.eye(self.chain.n), -scale * wanted, near)
        return qd, scale, active

    def _move_tip(
        self, twist: Array, pose: Array, near: NearRows, holds_path: bool, dt: float
    ) -> tuple[Array, float, NDArray[np.int64], TipTask]:
        """Velocity for a twist in base axes, share of it that is within limits, active rows, and the task."""
        too_fast = scaled_twist(twist, self.settings.angular_speed, self.settings.linear_speed, self._wanted)
        if not holds_path:
            self._reference = None
        elif self._reference is None:
            self._reference = pose.copy()
        reference = pose if self._reference is None else self._reference
        task = self._tasks.task(self._state[0], self._state[1], pose, self._wanted, reference, self._pull(near))
        qd, active = self._nearest_velocity(task.H, task.f, near)
        if self._reference is not None:
            if len(active) or at_limit(qd, self._low, self._high, self.speed) >= 0:
                self._reference = None  # what stands in the way decides on the path
            else:
                move_path(pose, self._reference, self._wanted, task.J, qd, self._tasks.gains, dt)
        return qd, task.fit / too_fast, active, task

    def _nearest_velocity(self, H: Array, f: Array, near: NearRows) -> tuple[Array, NDArray[np.int64]]:
        """Minimises ½ vᵀ H v + fᵀ v over the allowed velocities; with the active rows."""
        s, n = self.settings, self.chain.n
        # Nearer than the security distance the arm backs off, unless that is impossible: between two obstacles, say.
        for retreat in (s.retreat_speed, 0.0):
            A, lower, upper, qd, free = bounded(
                H, f, near.rows, near.distance, near.own, self._low, self._high,
                s.approach_rate, s.security, s.self_security, retreat,
            )  # fmt: skip
            if free:
                return qd, np.zeros(0, np.int64)
            if not np.isfinite(qd).all():
                raise NotSolved("a servo cycle has numbers that are not finite", "report the configuration")
            qd, multipliers, flag = minimise(H, f, A, upper, lower)
            if flag == SOLVED:
                return np.clip(qd, self._low, self._high), np.flatnonzero(multipliers[n:] > 1e-9)
        raise NotSolved("the quadratic program of a servo cycle did not converge", "report the configuration")

    def _too_near(self, near: NearRows) -> int | None:
        """The pair from which the arm must back off before it follows commands again; None if there is none."""
        if not len(near.distance):
            return None
        worst, missing = most_missing(near.distance, near.own, self.settings.security, self.settings.self_security)
        self._backing = missing > 0.0 and (self._backing or self._held_for > HELD_AFTER)
        return int(worst) if self._backing else None

    def _towards(self, command: PoseTarget, pose: Array) -> tuple[Array, bool]:
        """Twist along the straight way to a pose, slower near its end; and whether it is reached."""
        settings, turn = self.settings, np.empty(3)
        target, moving = np.asarray(command.pose, dtype=np.float64), np.asarray(command.twist, dtype=np.float64)
        offset = target[:3, 3] - pose[:3, 3]
        rotation_log(target[:3, :3] @ pose[:3, :3].T, turn)
        distance, angle = max(float(np.linalg.norm(offset)), 1e-9), max(float(np.linalg.norm(turn)), 1e-9)
        reached = distance < REACHED[0] and angle < REACHED[1] and not moving.any()
        # The slower of the two parts decides, so that both end together.
        rate = min(
            settings.pose_gain,
            settings.linear_speed / distance,
            settings.angular_speed / angle,
            (2.0 * settings.pose_deceleration / max(distance, settings.length * angle)) ** 0.5,
        )
        return np.concatenate([rate * turn, rate * offset]) + moving, reached

    def _pull(self, near: NearRows) -> Array:
        """Velocity towards the posture and away from obstacles, for joints that the tip leaves free."""
        if self.chain.n > 6:
            free_velocity(
                self._state[0], self.posture, near.rows, near.distance, near.own, self.speed, self._pull_gains,
                self._free,
            )  # fmt: skip
        return self._free

    def _advance(self, qd: Array, together: bool, near: NearRows, dt: float) -> ServoStep:
        """Changes the velocity towards the given one, checks the stop from there, and takes it or stops."""
        if self._samples > MANY_SAMPLES:
            # Their number grows with the square of the speed: the arm becomes no faster than can be checked.
            fastest = float(np.linalg.norm(self._state[1])) * (MANY_SAMPLES / self._samples) ** 0.5
            qd = qd * min(fastest / max(float(np.linalg.norm(qd)), 1e-9), 1.0)
        joint = self._candidate(qd, together, dt)
        status = ServoStatus.MOVING
        if joint < 0 and self._stop_is_free(near):
            self._state, self._next = self._next, self._state
        else:
            self._take_stop(dt)
            status = ServoStatus.OBSTACLE if joint < 0 else ServoStatus.JOINT_LIMIT
        step = ServoStep(status, *(row.copy() for row in self._state))
        if joint < 0:
            joint = at_limit(qd, self._low, self._high, self.speed)
        if joint >= 0 and status is not ServoStatus.OBSTACLE:
            step.status, step.joint = ServoStatus.JOINT_LIMIT, self.chain.joint_names[joint]
        return step

    def _candidate(self, qd: Array, together: bool, dt: float) -> int:
        """Computes the next state and the stop from there; the first joint whose limits they break, or -1."""
        joint, self._samples = candidate(
            self._state, qd, together, self._lower, self._upper, self.speed, self.acceleration, self.jerk, dt,
            self._search.gaps, self._allowed, self._next, self._path,
        )  # fmt: skip
        return int(joint)

    def _stop_is_free(self, near: NearRows) -> bool:
        path = self._path[: self._samples]
        if not self._samples:
            return False
        if not self._padded.check(path, snapshot=self._snapshot).any():
            return True
        here, last = self._state[0], path[-1].copy()
        if np.abs(self._state[1]).max() > NEARLY_AT_REST * self.speed.max():
            return False
        # The arm is next to something, or touches it: it may leave, not come nearer.
        touches = bool(self._bare.check(here, snapshot=self._snapshot))
        if not touches and self._bare.check(path, snapshot=self._snapshot).any():
            return False
        least = min(float(near.distance.min()), self.settings.security) if len(near.distance) else 0.0
        after = self._search.rows(last).distance
        free = not len(after) or bool(after.min() >= least - 1e-7)
        self._search.rows(here)  # `near` is a view of its buffers
        return free

    def _take_stop(self, dt: float) -> None:
        stops.advance_stop(self._state, self.acceleration, self.jerk, dt, self._next)
        self._state, self._next = self._next, self._state

    def _explained(
        self, step: ServoStep, near: NearRows, active: NDArray[np.int64], task: TipTask | None, to_pose: bool, dt: float
    ) -> ServoStep:
        """The step with its status and reason."""
        self._held_for = 0.0 if np.abs(step.qd).max() > 1e-4 else self._held_for + dt
        held = self._held_for > HELD_AFTER
        if len(near.distance):
            row = int((near.distance if not len(active) else near.distance[active]).argmin())
            row = int(active[row]) if len(active) else row
            step.nearest, step.near = (
                float(near.distance[row]),
                functools.partial(self._search.names, int(near.pair[row])),
            )
        if len(active) or step.status is ServoStatus.OBSTACLE:
            step.status = ServoStatus.BLOCKED if held else ServoStatus.OBSTACLE
        elif step.status is ServoStatus.MOVING:
            if task is not None and task.is_lost:
                step.status = ServoStatus.DIRECTION_LOST if held else ServoStatus.SINGULAR
            elif step.scale < 0.99:
                step.status = ServoStatus.SCALED
        if held and to_pose and step.status in (ServoStatus.DIRECTION_LOST, ServoStatus.MOVING):
            step.status = ServoStatus.OUT_OF_REACH
        if task is not None and task.is_lost:
            step.lost = task.lost
        return step

    def _new_search(self, snapshot: WorldSnapshot) -> NearRowSearch:
        return NearRowSearch(self._body, snapshot, self.settings.influence, self.settings.self_influence)


def _finite(values: ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ShapeError(name, str(shape), array.shape)
    if not np.isfinite(array).all():
        raise InputError(f"{name} has numbers that are not finite: {array.tolist()}; give a measured state")
    return array
