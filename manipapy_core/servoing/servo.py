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
from ..geometry.warm_up import every_shape
from ..model.assumptions import TIME_TO_ACCELERATION, completed_limits
from ..polytopes.joint_set import NotSolved
from ..typing import Array
from . import stops
from .constrained_step import SOLVED, minimise
from .cycle import CHECKED_AT_ONCE, StepOutcome, advance, bound_again, jog_velocity, take_stop, tip_velocity
from .near_rows import NearRows, NearRowSearch
from .servo_types import JointJog, PoseTarget, ServoCommand, ServoSettings, ServoStatus, ServoStep, TwistCommand
from .tip_task import PROBE, rotation_log
from .way_to_rest import MOST_SAMPLES

AT_REST = 1e-9
ROUNDING = 1e-7
"""Position limits are kept with this margin [rad or m]."""
SELF_PADDING = 1.8e-3
"""What links are padded by towards each other, each of two, where a way to rest is checked [m]."""
RESERVE = 1e-3
"""What a way to rest leaves of the padding everywhere, per link [m]: simulators make shapes thicker by about this."""
STOP_POINTS = np.array([0.1, 0.25, 0.45, 0.7, 1.0])
"""Shares of a stop at which a trajectory has points."""
SHORTEST_TRAJECTORY = 0.1
"""A trajectory ends no sooner than this after its cycle [s]: it must not be over when it arrives."""
SLOW = 1e-3
"""Joint speed below which all joints stop at once [rad/s or m/s]."""
HELD_AFTER = 0.1
"""Rest despite a command for this long is reported [s]."""
REACHED = 1e-4, 1e-3
"""Distances to a pose target that count as reached [m, rad]."""
NO_ROWS = np.zeros(0, np.int64)


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
        self._limits = (
            limits.lower + ROUNDING, limits.upper - ROUNDING, self.speed, self.acceleration, self.jerk,
        )  # fmt: skip
        n, s, kernels = self.chain.n, self.settings, kernels_of(self.chain)
        self._forward, self._jacobians_at = kernels.forward, kernels.body_jacobian.entries(np.dtype(np.float64)).batch
        # The configuration itself, then one beside it for every joint.
        self._probe_steps = PROBE * np.concatenate([np.zeros((1, n)), np.eye(n)])
        self._probes, self._jacobians = np.empty((n + 1, n)), np.empty((n + 1, 6, n))
        self._state: Array = np.zeros((3, n))
        self._next: Array = np.zeros((3, n))
        self._path, self._hits = np.zeros((MOST_SAMPLES, n)), np.zeros(CHECKED_AT_ONCE, np.bool_)
        self._still, self._samples = np.zeros(n), 0
        # As `cycle.tip_velocity` describes them.
        self._memory = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(6), np.zeros(6)
        self._programs: dict[int, tuple[Array, ...]] = {}
        self._speeds = np.array([s.angular_speed, s.linear_speed])
        self._gains = (
            np.array([s.length, s.singular_threshold, s.path_gain, s.path_tolerance, s.path_leash]),
            np.array([s.posture_gain, s.clearance_gain, s.posture_speed, s.influence, s.self_influence]),
            np.array([s.approach_rate, s.security, s.self_security, s.retreat_speed]),
        )
        world, own = s.padding - RESERVE, 2.0 * (SELF_PADDING - RESERVE)
        self._allowed = np.array([RESERVE, 2.0 * world, 2.0 * RESERVE, 2.0 * own])
        self._use(checker.world.snapshot())
        middle = 0.5 * (limits.lower + limits.upper)
        self.posture: Array = np.where(np.isfinite(middle), middle, 0.0)
        """Configuration that joints tend to which the tip leaves free [rad or m], shape (n,)."""
        self._reference, self._has_reference = np.eye(4), False
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
        self._has_reference, self._held_for, self._backing, self._samples = False, 0.0, False, 0

    def warm_up(self) -> None:
        """Compiles every part of a cycle ahead of the first command, which may take ten seconds once; then resets."""
        q = np.clip(np.zeros(self.chain.n), self.chain.limits.lower, self.chain.limits.upper)
        with compiling("the servo", 10.0):
            before = self._snapshot
            self.set_world(every_shape(self._body, q).snapshot())
            self.reset(q)
            twist, pose = TwistCommand([0.1, 0.0, 0.0, 0.1, 0.0, 0.0]), PoseTarget(self._forward.run(q))
            for command in (twist, JointJog(np.full(self.chain.n, 0.1)), pose, None):
                self.step(command, 0.004)
                self.trajectory()
            self.set_world(before)
            self.reset(q)

    def set_world(self, snapshot: WorldSnapshot) -> None:
        """Uses another snapshot of the world from the next cycle on; takes milliseconds if it is a new one."""
        if snapshot is not self._snapshot:
            self._use(snapshot)

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
        self._before[...], self._dt = self._state, dt
        if command is None or command.is_zero:
            return self._rest(dt, ServoStatus.IDLE if self.at_rest else ServoStatus.STOPPING)
        q, pose = self._state[0], self._forward.run(self._state[0])
        if isinstance(command, PoseTarget):
            twist, reached = self._towards(command, pose)
            if reached:
                return self._rest(dt, ServoStatus.REACHED)
        elif isinstance(command, TwistCommand):
            twist = command.in_base(pose[:3, :3])
        near, jogs = self._search.rows(q), isinstance(command, JointJog)
        arrays, program = (near.rows, near.distance, near.own), self._program_for(near)
        if isinstance(command, JointJog):
            velocities = np.asarray(command.velocities, dtype=np.float64)
            scale, kept, worst, missing = jog_velocity(
                self._state, velocities, arrays, self._limits, self._gains, self._memory, program
            )
            is_lost = False
        else:
            np.add(q, self._probe_steps, out=self._probes)
            self._jacobians_at(self._probes, self._jacobians)
            scale, is_lost, kept, worst, missing = tip_velocity(
                self._state, pose, self._jacobians, twist, self._speeds, self._reference, self._has_reference, arrays,
                self._limits, self.posture, self._gains, self._memory, program,
            )  # fmt: skip
        qd = program[-1]
        qd, active = (qd, NO_ROWS) if kept else self._nearest_velocity(program, arrays)
        self._backing = missing > 0.0 and (self._backing or self._held_for > HELD_AFTER)
        if self._backing:
            # Each joint by itself leads away, also while the joints stop one after the other.
            row = near.rows[worst]
            qd, active = -self.settings.retreat_speed * row / max(float(row @ row), 1e-4), np.array([worst])
        self._has_reference = isinstance(command, TwistCommand) and not len(active)
        step = self._advance(qd, not jogs, near, dt, pose)
        step.scale = scale
        return self._explained(step, near, active, is_lost, isinstance(command, PoseTarget), dt)

    # Parts of a cycle.

    def _rest(self, dt: float, status: ServoStatus) -> ServoStep:
        self._has_reference, self._held_for = False, 0.0
        if np.abs(self._state[1]).max() < SLOW:
            take_stop(self._state, self.acceleration, self.jerk, dt, self._next)
        else:
            # All joints slow down in proportion, so that the tip continues in its direction.
            self._advance(self._still.copy(), True, self._search.rows(self._state[0]), dt, self._reference)
        state = self._state.copy()
        return ServoStep(status, state[0], state[1], state[2])

    def _program_for(self, near: NearRows) -> tuple[Array, ...]:
        """Memory for the quadratic program of a cycle: H, f, rows, their bounds, and the minimum."""
        n, count = self.chain.n, len(near.rows)
        if count not in self._programs:
            self._programs[count] = (
                np.empty((n, n)), np.empty(n), np.empty((count, n)), np.empty(n + count), np.empty(n + count),
                np.empty(n),
            )  # fmt: skip
        return self._programs[count]

    def _nearest_velocity(
        self, program: tuple[Array, ...], near: tuple[Array, Array, NDArray[np.bool_]]
    ) -> tuple[Array, NDArray[np.int64]]:
        """Minimises ½ vᵀ H v + fᵀ v over the allowed velocities; with the active rows."""
        H, f, A, lower, upper, qd = program
        low, high, _, _, _ = self._memory
        if not np.isfinite(qd).all():
            raise NotSolved("a servo cycle has numbers that are not finite", "report the configuration")
        qd, multipliers, flag = minimise(H, f, A, upper, lower)
        if flag != SOLVED:
            # To back off from one obstacle is impossible between two, say: then the arm comes no nearer.
            bound_again(near, low, high, self._gains[2], program)
            qd, multipliers, flag = minimise(H, f, A, upper, lower)
        if flag != SOLVED:
            raise NotSolved("the quadratic program of a servo cycle did not converge", "report the configuration")
        return np.minimum(np.maximum(qd, low), high), np.flatnonzero(multipliers[self.chain.n :] > 1e-9)

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

    def _advance(self, qd: Array, together: bool, near: NearRows, dt: float, pose: Array) -> ServoStep:
        """Changes the velocity towards the given one, checks the stop from there, and takes it or stops."""
        outcome, joint, self._samples, self._has_reference, self._fastest = advance(
            self._state, self._next, self._path, qd, together, dt, self._limits, self._search.gaps, self._allowed,
            self._samples, self._code, self._work, self._hits, self._memory,
            (self._has_reference, pose, self._reference, self._jacobians, self._gains[0]),
        )  # fmt: skip
        if outcome == StepOutcome.NEXT_TO:
            if self._may_leave(near):
                self._state[...], outcome = self._next, StepOutcome.TAKEN
            else:
                take_stop(self._state, self.acceleration, self.jerk, dt, self._next)
            self._fastest = float(np.abs(self._state[1]).max())
        state = self._state.copy()
        step = ServoStep(ServoStatus.MOVING, state[0], state[1], state[2])
        if outcome in (StepOutcome.COLLIDES, StepOutcome.NEXT_TO):
            step.status = ServoStatus.OBSTACLE
        elif joint >= 0:
            step.status, step.joint = ServoStatus.JOINT_LIMIT, self.chain.joint_names[joint]
        return step

    def _may_leave(self, near: NearRows) -> bool:
        """Whether an arm that is next to something, or touches it, only leaves it on the way to rest."""
        path = self._path[: self._samples]
        here, last = self._state[0], path[-1].copy()
        touches = bool(self._bare.check(here, snapshot=self._snapshot))
        if not touches and self._bare.check(path, snapshot=self._snapshot).any():
            return False
        least = min(float(near.distance.min()), self.settings.security) if len(near.distance) else 0.0
        after = self._search.rows(last).distance
        free = not len(after) or bool(after.min() >= least - 1e-7)
        self._search.rows(here)  # `near` is a view of its buffers
        return free

    def _explained(
        self, step: ServoStep, near: NearRows, active: NDArray[np.int64], is_lost: bool, to_pose: bool, dt: float
    ) -> ServoStep:
        """The step with its status and reason."""
        self._held_for = 0.0 if self._fastest > 1e-4 else self._held_for + dt
        held = self._held_for > HELD_AFTER
        if len(near.distance):
            row = int(active[near.distance[active].argmin()]) if len(active) else int(near.distance.argmin())
            step.nearest = float(near.distance[row])
            step.near = functools.partial(self._search.names, int(near.pair[row]))
        if len(active) or step.status is ServoStatus.OBSTACLE:
            step.status = ServoStatus.BLOCKED if held else ServoStatus.OBSTACLE
        elif step.status is ServoStatus.MOVING:
            if is_lost:
                step.status = ServoStatus.DIRECTION_LOST if held else ServoStatus.SINGULAR
            elif step.scale < 0.99:
                step.status = ServoStatus.SCALED
        if held and to_pose and step.status in (ServoStatus.DIRECTION_LOST, ServoStatus.MOVING):
            step.status = ServoStatus.OUT_OF_REACH
        if is_lost:
            step.lost = self._memory[-1].copy()
        return step

    def _use(self, snapshot: WorldSnapshot) -> None:
        """Tables and machine code for a snapshot of the world."""
        self._bare.scene(snapshot)
        raw = self._padded.raw(snapshot)
        self._raw, self._code = raw, np.array([raw.check, raw.scene], dtype=np.int64)
        self._work = np.empty(raw.work_floats, dtype=np.float32)
        self._search = NearRowSearch(self._body, snapshot, self.settings.influence, self.settings.self_influence)
        self._snapshot = snapshot


def _finite(values: ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ShapeError(name, str(shape), array.shape)
    if not np.isfinite(array).all():
        raise InputError(f"{name} has numbers that are not finite: {array.tolist()}; give a measured state")
    return array
