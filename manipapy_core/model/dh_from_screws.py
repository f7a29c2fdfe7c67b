"""DH parameters from screw axes: the common normals between neighbouring axes carry the x axes.

The z axis of the base, the joint axes and the z axis of the tip are one sequence of lines L_0, L_1 … L_n, L_{n+1}.
From one to the next leads Tx(a) Rx(α) along their common normal; from one normal to the next leads Rz(θ) Tz(d) along
the line that both meet. Both conventions read their rows off this one sequence. A z axis of base or tip that is almost
parallel to the joint beside it has its common normal far away: such a frame is turned onto the joint's axis instead,
and the table's base or tool takes up the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from .. import lie
from ..errors import InputError, ShapeError
from ..typing import Array
from .dh import Convention, DHRow, DHTable, along_x, along_z
from .elements import JointType

COINCIDENT = 1e-13
"""Distance [m] below which two parallel axes are one line; above it the direction between them still has digits."""
SNAP = 1e-13
"""Parameters this close to 0, or to a quarter turn, are rounding errors of it [m or rad]."""
FAR = 1e3
"""An origin this far out [m] comes from axes that are almost parallel; the next normal is sought nearer to the arm."""
ALMOST_PARALLEL = 0.02
"""Angle [rad] below which the z axis of base or tip gives way to the axis of the joint beside it."""
_UNIT_TOLERANCE = 1e-9
_SAME_SIDE = -1e-9
"""Cosine of the angle between two x axes above which they count as pointing to the same side."""


@dataclass(frozen=True)
class _Line:
    direction: Array
    """Unit vector, shape (3,)."""
    point: Array | None
    """A point of the line [m], shape (3,); None for a prismatic axis, which may be put anywhere."""


@dataclass(frozen=True)
class _Normal:
    x: Array
    start: Array
    """Where it leaves the line before [m]."""
    end: Array
    """Where it meets the line after [m]."""


def table_from_screws(S: ArrayLike, M: Array, convention: Convention, parallel: float) -> DHTable:
    """See `dh.from_screws`."""
    joints = [_axis(screw, index) for index, screw in enumerate(_screws(S), start=1)]
    first = _aligned(np.eye(4), joints[0], parallel)
    last = _aligned(M, joints[-1], parallel)
    lines = [_Line(first[:3, 2], first[:3, 3]), *joints, _Line(last[:3, 2], last[:3, 3])]

    across: list[tuple[float, float]] = []
    along: list[tuple[float, float]] = []
    here, x = first[:3, 3], first[:3, 0]
    for index, (line, after) in enumerate(pairwise(lines)):
        z = line.direction
        tip_x = last[:3, 0] if index == len(joints) else None
        normal = _common_normal(here, z, x, after, parallel, tip_x)
        along.append((_length(z, normal.start - here), _angle(x, normal.x, z)))
        across.append((_length(normal.x, normal.end - normal.start), _turn(z, after.direction, normal.x, parallel)))
        here, x = normal.end, normal.x
    along.append((_length(last[:3, 2], last[:3, 3] - here), _angle(x, last[:3, 0], last[:3, 2])))

    types = [JointType.PRISMATIC if joint.point is None else JointType.REVOLUTE for joint in joints]
    T_base, T_tool = along_z(*along[0]), along_z(*along[-1])
    if convention is Convention.STANDARD:
        T_base = T_base @ along_x(*across[0])
        beside = across[1:]
    else:
        T_tool = along_x(*across[-1]) @ T_tool
        beside = across[:-1]
    rows = tuple(DHRow(a, alpha, d, theta, kind) for (a, alpha), (d, theta), kind in zip(beside, along[1:-1], types))
    return DHTable(rows, convention, first @ T_base, T_tool if last is M else T_tool @ lie.inverse(last) @ M)


def _aligned(T: Array, joint: _Line, parallel: float) -> Array:
    """The frame with its z axis on the joint's axis if the two are almost parallel, else the frame as it is."""
    sine = float(np.linalg.norm(np.cross(T[:3, 2], joint.direction)))
    if not parallel < sine < ALMOST_PARALLEL:
        return T
    aligned = np.eye(4)
    z = joint.direction
    x = _across(z, T[:3, 0])
    aligned[:3, :3] = np.column_stack((x, np.cross(z, x), z))
    point = T[:3, 3] if joint.point is None else joint.point
    aligned[:3, 3] = point + z * (z @ (T[:3, 3] - point))
    return aligned


def _screws(S: ArrayLike) -> Array:
    array = np.asarray(S, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != 6 or array.shape[1] == 0:
        raise ShapeError("S", "(6, n) with n ≥ 1", array.shape)
    if not np.all(np.isfinite(array)):
        raise InputError("S holds NaN or infinity; give finite screw axes")
    return array.T


def _axis(screw: Array, index: int) -> _Line:
    """The line of a revolute screw, the direction of a prismatic one."""
    w, v = screw[:3], screw[3:]
    turning, sliding = float(np.linalg.norm(w)), float(np.linalg.norm(v))
    if turning == 0.0 and abs(sliding - 1.0) < _UNIT_TOLERANCE:
        return _Line(v / sliding, None)
    if abs(turning - 1.0) < _UNIT_TOLERANCE and abs(w @ v) < _UNIT_TOLERANCE * max(1.0, sliding):
        w = w / turning
        return _Line(w, np.cross(w, v / turning))
    raise InputError(
        f"column {index} of S is {screw}; a DH joint has either a unit axis with no pitch, or zero rotation and a "
        "unit direction"
    )


def _common_normal(here: Array, z: Array, x: Array, after: _Line, parallel: float, tip_x: Array | None) -> _Normal:
    """From the line through `here` along z to the line after.

    Args:
        x: The normal before, which this one does not turn away from by more than 90°.
        tip_x: x axis of the tip, if the line after is its z axis: then the last joint takes up what it can.
    """
    z_after, point = after.direction, after.point
    cross = np.cross(z, z_after)
    sine = float(np.linalg.norm(cross))
    if sine > parallel:
        normal = _same_side(cross / sine, x)
        if point is None:
            return _Normal(normal, here, here)
        start = here + z * (np.cross(point - here, z_after) @ cross / sine**2)
        return _Normal(normal, start, point + z_after * (z_after @ (start - point)))
    if point is None:
        return _Normal(_across(z, x), here, here)
    ahead = float(z @ (point - here))
    start = here + z * ahead if tip_x is not None or abs(ahead) > FAR else here
    sideways = (point - start) - z * (z @ (point - start))
    distance = float(np.linalg.norm(sideways))
    if distance < COINCIDENT:
        return _Normal(_across(z, x if tip_x is None else tip_x), start, start)
    return _Normal(_same_side(sideways / distance, x), start, start + sideways)


def _same_side(normal: Array, x: Array) -> Array:
    return -normal if normal @ x < _SAME_SIDE else normal


def _across(z: Array, preferred: Array) -> Array:
    """The unit vector perpendicular to z next to the preferred one, which is so but for rounding."""
    x = preferred - z * (z @ preferred)
    return x / np.linalg.norm(x)


def _turn(z: Array, z_after: Array, x: Array, parallel: float) -> float:
    """α; exactly 0 or π for axes that are taken as parallel."""
    if float(np.linalg.norm(np.cross(z, z_after))) > parallel:
        return _angle(z, z_after, x)
    return 0.0 if z @ z_after > 0.0 else math.pi


def _angle(before: Array, after: Array, about: Array) -> float:
    """From one unit vector to another, both across the third, in (-π, π] [rad]."""
    angle = math.atan2(about @ np.cross(before, after), before @ after)
    quarters = round(angle / (0.5 * math.pi))
    if abs(angle - quarters * 0.5 * math.pi) < SNAP:
        return math.pi if abs(quarters) == 2 else quarters * 0.5 * math.pi
    return angle


def _length(along: Array, way: Array) -> float:
    """The part of a way [m] along a unit vector."""
    length = float(along @ way)
    return 0.0 if abs(length) < SNAP else length
