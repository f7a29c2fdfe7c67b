"""One iteration of inverse kinematics: Levenberg–Marquardt on the pose error, with hard joint limits.

The damping follows the squared error (Sugihara 2011), so steps are careful far away and Newton-like near the goal.
A joint that stands at its limit and is pushed outward is left out of the step; a joint that may turn all the way
round is wrapped instead of stopped. The iteration also counts iterations and stalls itself, so that many run in lanes.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..mechanism import Mechanism, joint_motions
from ..scalar import less, maximum, minimum, select, sqrt
from ..spatial import Matrix, Vector, add, column, cross, dot, matmul, matvec, scale, subtract
from ..trace import Input, Signature
from . import ldl

AT_LIMIT = 1e-9
"""A joint this close to its limit [rad or m] stands at it."""
DAMPING_FLOOR = 1e-10
"""Keeps the factorisation alive at singular poses; far below what slows down convergence."""
TURN = 2.0 * math.pi

STATE = ("iterations", "error", "stalls", "position", "rotation")
"""State of a lane: squared weighted error, and the squared errors of position [m²] and rotation [rad², 4 tan(θ/4)]."""
SETTINGS = ("damping", "iterations", "position", "rotation", "stalls", "progress", "step")
"""λ; iterations allowed; one over the squared tolerances; stalls allowed; an iteration that leaves more than this share
of the error is a stall; longest step of a joint [rad or m]."""


class Task(enum.Enum):
    """Which part of the pose is to be reached."""

    POSE = "pose"
    POSITION = "position"
    """Any orientation."""
    AXIS = "axis"
    """Position, and one axis of the tip; turning about that axis is free."""
    WEIGHTED = "weighted"
    """The six rows of the error (rotation, position, base axes) count by weights; zero leaves a row out."""


@dataclass(frozen=True)
class Variant:
    """What the code of an iteration is specialised for, besides the mechanism; all numbers are inputs."""

    task: Task
    stops: tuple[bool, ...]
    """Per element of q: stopped by its limits; otherwise it is wrapped by whole turns."""

    def signature(self) -> Signature:
        n = len(self.stops)
        inputs = [Input("q", (n,), angle=True), Input("target", (12,)), Input("state", (len(STATE),))]
        shared = [("lower", n), ("upper", n), ("settings", len(SETTINGS)), ("weights", 6)]
        inputs += [Input(name, (width,), shared=True) for name, width in shared]
        return Signature(f"ik_{self.task.value}", tuple(inputs), (n + len(STATE) + 2,))

    def formula(self, mechanism: Mechanism) -> Callable[..., list[Any]]:
        """The iteration for one mechanism. Outputs: q, the state, and two masks: solved, given up."""
        return functools.partial(iteration, mechanism, self)


def iteration(
    mechanism: Mechanism,
    variant: Variant,
    q: Any,
    target: Any,
    state: Any,
    lower: Any,
    upper: Any,
    settings: Any,
    weights: Any,
) -> list[Any]:
    """The next q and state, and whether this start is solved or given up; then q stays as it is.

    Args:
        target: Upper three rows of T_base_tip, row by row.
        weights: Six row weights (`Task.WEIGHTED`), or the axis in the tip frame and three unused (`Task.AXIS`).
    """
    count, old_error, stalls = state[:3]
    damping, most_iterations, per_position, per_rotation, most_stalls, progress, longest = settings
    R, p, columns = tip_motion(mechanism, q)
    R_target = [target[4 * r + c] for r in range(3) for c in range(3)]
    position = subtract([target[3], target[7], target[11]], p)

    if variant.task is Task.POSITION:
        rotation, rotation_square = [0.0] * 3, 0.0
        columns = [[0.0] * 3 + col[3:] for col in columns]
    elif variant.task is Task.AXIS:
        axis = matvec(R, weights[:3])
        rotation, rotation_square = axis_error(axis, matvec(R_target, weights[:3]))
        columns = [subtract(col[:3], scale(dot(axis, col[:3]), axis)) + col[3:] for col in columns]
    else:
        rotation, rotation_square = rotation_error(R, R_target)
    error = [*rotation, *position]
    position_square = dot(position, position)
    if variant.task is Task.WEIGHTED:
        counted = [select(less(0.0, weight), 1.0, 0.0) for weight in weights]
        rotation_square = dot(scale_each(counted[:3], rotation), rotation)
        position_square = dot(scale_each(counted[3:], position), position)
        error = scale_each(weights, error)
        columns = [scale_each(weights, col) for col in columns]
        size = dot(error[:3], error[:3]) + dot(error[3:], error[3:])
    else:
        size = position_square + rotation_square
    solved = less(maximum(position_square * per_position, rotation_square * per_rotation), 1.0)

    for i, stop in enumerate(variant.stops):
        if stop:
            push = ldl.dot(columns[i], error)
            below = less(q[i], lower[i] + AT_LIMIT) & less(push, 0.0)
            above = less(upper[i] - AT_LIMIT, q[i]) & less(0.0, push)
            columns[i] = scale(select(below | above, 0.0, 1.0), columns[i])

    step = damped_step(columns, error, damping * size + DAMPING_FLOOR)
    stalls = select(less(old_error * progress, size), stalls + 1.0, stalls)
    given_up = less(most_iterations, count + 1.5) | less(most_stalls, stalls)
    ended = solved | given_up
    moved = []
    for i, stop in enumerate(variant.stops):
        z = q[i] + maximum(minimum(step[i], longest), -longest)
        if stop:
            z = minimum(maximum(z, lower[i]), upper[i])
        else:
            z = select(less(upper[i], z), z - TURN, select(less(z, lower[i]), z + TURN, z))
        moved.append(select(ended, q[i], z))
    return [*moved, count + 1.0, size, stalls, position_square, rotation_square, solved, given_up]


def tip_motion(mechanism: Mechanism, q: Any) -> tuple[Matrix, Vector, list[list[Any]]]:
    """Rotation and place of the tip, and its twist per element of q at the tip in base axes (angular first)."""
    path, index = [], mechanism.tip.body
    while index >= 0:
        path.append(index)
        index = mechanism.bodies[index].parent
    motions = joint_motions(mechanism, q)
    R: Matrix = ()
    p: Vector = ()
    axes = []
    for index in reversed(path):
        motion = motions[index]
        first = mechanism.bodies[index].parent < 0
        p = motion.translation if first else add(p, matvec(R, motion.translation))
        R = motion.rotation if first else matmul(R, motion.rotation)
        axes.append((mechanism.bodies[index], column(R, 2), p))
    tip = add(p, matvec(R, mechanism.tip.translation))
    columns: list[list[Any]] = [[0.0] * 6 for _ in range(mechanism.n)]
    for body, z, origin in axes:
        twist = [*z, *cross(z, subtract(tip, origin))] if body.revolute else [0.0, 0.0, 0.0, *z]
        columns[body.dof] = add(columns[body.dof], scale(body.ratio, twist))
    return matmul(R, mechanism.tip.rotation), tip, columns


def rotation_error(R: Matrix, R_target: Matrix) -> tuple[list[Any], Any]:
    """The turn from R to R_target in base axes, as axis times 4 tan(θ/4), and its square.

    Unlike sin θ it grows all the way to half a turn, and unlike θ it needs no arctangent.
    """
    sine: list[Any] = [0.0] * 3
    trace_sum: Any = 0.0
    for k in range(3):
        sine = add(sine, cross(column(R, k), column(R_target, k)))
        trace_sum = trace_sum + dot(column(R, k), column(R_target, k))
    return _quarter_tangent(scale(0.5, sine), 0.5 * trace_sum - 0.5)


def axis_error(axis: Vector, axis_target: Vector) -> tuple[list[Any], Any]:
    """As `rotation_error`, for the shortest turn from one unit vector to another."""
    return _quarter_tangent(cross(axis, axis_target), dot(axis, axis_target))


def _quarter_tangent(sine: Vector, cosine: Any) -> tuple[list[Any], Any]:
    """From axis times sin θ, and cos θ."""
    half = sqrt(maximum(0.5 * cosine + 0.5, 1e-14))  # cos(θ/2)
    error = scale(2.0 / (half * (half + 1.0)), sine)
    # at half a turn the sine vanishes: without the second term that would be taken for the goal
    return error, maximum(dot(error, error), -cosine)


def damped_step(columns: Sequence[Vector], error: Vector, damping: Any) -> list[Any]:
    """J^T (J J^T + damping)⁻¹ error, without the rows of J that are zero."""
    rows = [r for r in range(6) if any(not _is_zero(col[r]) for col in columns)]
    A = ldl.gram([[col[r] for col in columns] for r in rows])
    for row in A:
        row[-1] = row[-1] + damping
    y = ldl.solve(A, [error[r] for r in rows])
    return [ldl.dot([col[r] for r in rows], y) for col in columns]


def scale_each(factors: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    return [factor * value for factor, value in zip(factors, values)]


def _is_zero(value: Any) -> bool:
    return isinstance(value, float) and value == 0.0
