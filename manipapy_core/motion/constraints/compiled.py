"""`PathConstraints`: the constraints of one request as tables for compiled code, with texts for people."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import lie
from ...errors import InputError, ShapeError, UnknownJoint
from ...geometry import Box, Cylinder, Sphere
from ...ik.inputs import checked_poses
from ...model.chain import Chain
from ...typing import Array
from . import errors, projection
from .description import Constraint, JointConstraint, OrientationConstraint, OrientationError, PositionConstraint
from .tables import body_tables, link_placement

SMALLEST_ANGLE, SMALLEST_LENGTH = 1e-4, 1e-5
"""Tolerances below these cannot be kept between the samples of a trajectory [rad] and [m]."""
ACCEPT = 0.97
"""Ratio to the tolerance that projected configurations keep."""
AIM = 0.85
"""Ratio that projections lead back to, so that the line between two of them stays inside too."""
LIMIT = 0.99
"""Ratio that paths keep before they get their times."""
LONGEST_STEP, SHORTEST_STEP = 0.25, 0.01
"""Bounds of the step along the constraints [rad or m]."""
COARSE, FINE = 0.06, 0.008
"""Joint distance of the samples of a straight motion while searching, and of a finished path [rad or m]."""
BAND = 1e-6
"""Narrowing of joint bands, for the rounding of the time law [rad or m]."""


@dataclass(frozen=True, eq=False)
class PathConstraints:
    """Constraints on the poses of links, and bands of joints; made by `of`."""

    chain: Chain
    constraints: tuple[Constraint, ...]
    kinds: NDArray[np.int64]
    """Of the constraints on poses, shape (rows, 4)."""
    rows: Array
    """Their numbers, shape (rows, 36)."""
    owners: tuple[int, ...]
    """Constraint that each row belongs to."""
    lower: Array
    """Bands of the joints within their limits [rad or m], shape (n,)."""
    upper: Array
    step: float
    """Joint distance in which configurations follow the constraints [rad or m]."""

    @classmethod
    def of(cls, chain: Chain, constraints: Sequence[Constraint]) -> PathConstraints:
        """Checks the constraints.

        Raises:
            InputError: A constraint names an unknown link, joint or frame, has a tolerance that cannot be kept, or
                contradicts another.
        """
        lower, upper = chain.limits.lower.copy(), chain.limits.upper.copy()
        kinds: list[list[int]] = []
        rows: list[Array] = []
        owners: list[int] = []
        for index, one in enumerate(constraints):
            if isinstance(one, JointConstraint):
                _narrow(chain, one, lower, upper)
                continue
            if isinstance(one, OrientationConstraint):
                parts = [_orientation_row(chain, one)]
            elif isinstance(one, PositionConstraint):
                parts = _position_rows(chain, one)
            else:
                raise InputError(
                    f"a path constraint is a {type(one).__name__}; give OrientationConstraint, PositionConstraint or "
                    "JointConstraint"
                )
            for kind, link, frame, row in parts:
                kinds.append([kind, link, frame, index])
                rows.append(row)
                owners.append(index)
        tightest = min((float(row[errors.TOLERANCE : errors.TOLERANCE + 3].min()) for row in rows), default=math.inf)
        # A straight motion of this length leaves a constraint with a curvature of 1 by its square over 8.
        step = min(max(math.sqrt(8.0 * (LIMIT - ACCEPT) * 4.0 * tightest), SHORTEST_STEP), LONGEST_STEP)
        return cls(
            chain,
            tuple(constraints),
            np.array(kinds, dtype=np.int64).reshape(len(kinds), 4),
            np.array(rows, dtype=np.float64).reshape(len(rows), errors.C_WIDTH),
            tuple(owners),
            lower,
            upper,
            step,
        )

    @property
    def on_poses(self) -> bool:
        """Whether there is any constraint besides joint bands."""
        return len(self.rows) > 0

    @functools.cached_property
    def tables(self) -> tuple[NDArray[np.int64], Array, NDArray[np.int64], Array]:
        """First arguments of the compiled functions."""
        return (*body_tables(self.chain), self.kinds, self.rows)

    def ratios(self, q: Array) -> Array:
        """Error of each constraint relative to its tolerance at configurations (N, n), shape (N, constraints)."""
        q = np.ascontiguousarray(q, dtype=np.float64)
        by_row = np.empty((len(q), len(self.rows)))
        errors.ratios(*self.tables, q, by_row, np.empty((len(self.rows), 3)))
        found = np.zeros((len(q), len(self.constraints)))
        for index, one in enumerate(self.constraints):
            if isinstance(one, JointConstraint):
                offset = q[:, self.chain.joint_names.index(one.joint)] - one.position
                width = np.where(offset < 0.0, one.below, one.above)
                # A band may have no width on one side; rounding is no violation.
                found[:, index] = np.maximum(np.abs(offset) - BAND, 0.0) / np.maximum(width, BAND)
            else:
                found[:, index] = by_row[:, [k for k, owner in enumerate(self.owners) if owner == index]].min(axis=1)
        return found

    def worst(self, q: Array) -> Array:
        """Largest ratio at configurations (N, n), shape (N,); 0 without constraints."""
        return self.ratios(q).max(axis=1, initial=0.0)

    def project(self, q: Array, lower: Array, upper: Array) -> Array | None:
        """The configuration led onto the constraints within bounds, or None if that fails; all of shape (n,)."""
        moved = np.clip(np.array(q, dtype=np.float64), np.maximum(lower, self.lower), np.minimum(upper, self.upper))
        if not self.on_poses or projection.project(*self.tables, moved, lower, upper, ACCEPT, AIM):
            return moved
        return None

    def line_holds(self, a: Array, b: Array, spacing: float = FINE) -> bool:
        """Whether the straight joint motion keeps the constraints on poses at samples of a spacing."""
        return not self.on_poses or bool(projection.holds(*self.tables, a, b, spacing, LIMIT))

    def violation(self, q: Array) -> str:
        """What a configuration (n,) violates most and by how much; empty if nothing."""
        ratios = self.ratios(q[None])[0]
        if not len(ratios) or not ratios.max() > 1.0:
            return ""
        one = self.constraints[int(np.argmax(ratios))]
        if isinstance(one, JointConstraint):
            value = q[self.chain.joint_names.index(one.joint)]
            low, high = one.position - one.below, one.position + one.above
            return f"joint {one.joint!r} is at {value:.4g}, outside its band {low:.4g} to {high:.4g}"
        by_row, offsets = np.empty((1, len(self.rows))), np.empty((len(self.rows), 3))
        errors.ratios(*self.tables, q[None], by_row, offsets)
        row = min((k for k, owner in enumerate(self.owners) if self.constraints[owner] is one), key=by_row[0].item)
        error = offsets[row]
        tolerance = self.rows[row, errors.TOLERANCE : errors.TOLERANCE + 3]
        if isinstance(one, OrientationConstraint):
            k = int(np.argmax(np.abs(error) / tolerance))
            return (
                f"the orientation of {one.link!r} is off by {np.rad2deg(abs(error[k])):.3g}° about {'xyz'[k]}, "
                f"{np.rad2deg(tolerance[k]):.3g}° are allowed"
            )
        outside = 1e3 * _outside(int(self.kinds[row, errors.KIND]), error, tolerance)
        return f"{one.link!r} is {outside:.3g} mm outside its region"


def _outside(kind: int, error: Array, tolerance: Array) -> float:
    """Distance of a point to a region [m]."""
    if kind == errors.SPHERE:
        return float(np.linalg.norm(error) - tolerance[0])
    if kind == errors.CYLINDER:
        gaps = [np.hypot(error[0], error[1]) - tolerance[0], abs(error[2]) - tolerance[2]]
        return float(np.linalg.norm(np.maximum(gaps, 0.0)))
    return float(np.linalg.norm(np.maximum(np.abs(error) - tolerance, 0.0)))


def _ends(chain: Chain, link: str, frame: str) -> tuple[int, Array, int, Array]:
    body, T_body_link = link_placement(chain, link)
    frame_body, T_body_frame = link_placement(chain, frame or chain.base)
    if body == frame_body:
        still = "stands still" if body < 0 else f"moves together with {frame!r}"
        raise InputError(f"the path constraint on {link!r} has no effect: it {still}; name a link that moves")
    return body, T_body_link, frame_body, T_body_frame


def _orientation_row(chain: Chain, one: OrientationConstraint) -> tuple[int, int, int, Array]:
    what = f"orientation constraint on {one.link!r}"
    body, T_body_link, frame_body, T_body_frame = _ends(chain, one.link, one.frame)
    R = _vector(one.R_frame_link, (3, 3), f"R_frame_link of the {what}")
    R = checked_poses(lie.pose(R), f"R_frame_link of the {what}", batch=False)[:3, :3]
    tolerance = _vector(one.tolerance, (3,), f"tolerance of the {what}")
    if not np.all(tolerance >= SMALLEST_ANGLE):
        raise InputError(f"tolerance of the {what} is {tolerance.tolist()}; give at least {SMALLEST_ANGLE:g} rad each")
    vector = OrientationError(one.error) is OrientationError.ROTATION_VECTOR
    free = np.array([np.pi, np.pi if vector else 0.5 * np.pi, np.pi])
    tolerance = np.where(tolerance >= free, errors.FREE, tolerance)
    if np.all(tolerance >= errors.FREE):
        raise InputError(f"the {what} frees all three components; leave it out, or narrow a tolerance")
    row = np.zeros(errors.C_WIDTH)
    row[errors.R_LINK : errors.P_LINK] = T_body_link[:3, :3].ravel()
    row[errors.R_FRAME : errors.P_FRAME] = (T_body_frame[:3, :3] @ (np.eye(3) if vector else R)).ravel()
    row[errors.R_TARGET : errors.TOLERANCE] = R.ravel()
    row[errors.TOLERANCE :] = tolerance
    return (errors.ROTATION_VECTOR if vector else errors.EULER), body, frame_body, row


def _position_rows(chain: Chain, one: PositionConstraint) -> list[tuple[int, int, int, Array]]:
    what = f"position constraint on {one.link!r}"
    body, T_body_link, frame_body, T_body_frame = _ends(chain, one.link, one.frame)
    point = _vector(one.point, (3,), f"point of the {what}")
    if not len(one.regions):
        raise InputError(f"the {what} has no region; give at least one shape with its pose")
    found = []
    for shape, pose in one.regions:
        T = checked_poses(pose, f"pose of a region of the {what}", batch=False)
        if isinstance(shape, Box):
            kind, half = errors.BOX, 0.5 * np.asarray(shape.size, dtype=np.float64)
        elif isinstance(shape, Sphere):
            kind, half = errors.SPHERE, np.full(3, float(shape.radius))
        elif isinstance(shape, Cylinder):
            kind, half = errors.CYLINDER, np.array([shape.radius, shape.radius, 0.5 * shape.length])
        else:
            raise InputError(f"a region of the {what} is a {type(shape).__name__}; give Box, Sphere or Cylinder")
        if half.min() < SMALLEST_LENGTH:
            raise InputError(f"a region of the {what} is {2 * half.min():g} m thin; {2 * SMALLEST_LENGTH:g} m at least")
        row = np.zeros(errors.C_WIDTH)
        row[errors.R_LINK : errors.P_LINK] = T_body_link[:3, :3].ravel()
        row[errors.P_LINK : errors.R_FRAME] = T_body_link[:3, :3] @ point + T_body_link[:3, 3]
        T_body_region = T_body_frame @ T
        row[errors.R_FRAME : errors.P_FRAME] = T_body_region[:3, :3].ravel()
        row[errors.P_FRAME : errors.R_TARGET] = T_body_region[:3, 3]
        row[errors.TOLERANCE :] = half
        found.append((kind, body, frame_body, row))
    return found


def _narrow(chain: Chain, one: JointConstraint, lower: Array, upper: Array) -> None:
    if one.joint not in chain.joint_names:
        raise UnknownJoint(one.joint, chain.joint_names)
    values = np.array([one.position, one.below, one.above], dtype=np.float64)
    if not (np.all(np.abs(values) <= 1e4) and one.below >= 0.0 and one.above >= 0.0):
        raise InputError(
            f"the band of joint {one.joint!r} is {one.position!r} - {one.below!r} + {one.above!r}; give finite "
            "numbers, tolerances not below 0"
        )
    j = chain.joint_names.index(one.joint)
    inner = min(BAND, 0.25 * (one.below + one.above))
    low, high = one.position - one.below + inner, one.position + one.above - inner
    if max(low, lower[j]) > min(high, upper[j]):
        raise InputError(
            f"the band {low:.4g} to {high:.4g} of joint {one.joint!r} leaves nothing of its limits or of another band, "
            f"{lower[j]:.4g} to {upper[j]:.4g}; widen it"
        )
    lower[j], upper[j] = max(low, lower[j]), min(high, upper[j])


def _vector(values: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is not an array of numbers") from None
    if array.shape != shape:
        raise ShapeError(name, str(shape), array.shape)
    if not np.all(np.abs(array) <= 1e4):
        raise InputError(f"{name} is {array.tolist()}; every number must be finite and at most 1e4 in size")
    return array
