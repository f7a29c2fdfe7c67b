"""MoveIt's constraints: read from messages, checked for a configuration, and turned into goals of planning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from geometry_msgs.msg import Quaternion
from moveit_msgs.msg import Constraints, JointConstraint, MoveItErrorCodes, OrientationConstraint, PositionConstraint
from numpy.typing import NDArray

from manipapy_core import lie
from manipapy_core.errors import InputError, UnknownLink
from manipapy_core.typing import Array

from ...common.conversions import to_nanoseconds
from ...common.object_messages import pose_of
from .error_codes import RequestRefused, refused_as
from .group import PlanningGroup

SLACK = 1e-6
"""Added to every tolerance when it is checked [m or rad]: solutions are exact to about 1e-9."""
SPHERE, BOX, CYLINDER = 2, 1, 3
"""Types of shape_msgs/SolidPrimitive that a region may have."""
DIMENSIONS = {SPHERE: 1, BOX: 3, CYLINDER: 2}


@dataclass(frozen=True, eq=False)
class Region:
    """A solid that a point has to be in."""

    kind: int
    sizes: Array
    T_base_region: Array

    def distance(self, point: Array) -> Array:
        """How far points are outside, 0 inside [m]; shape (...,) for points of shape (..., 3)."""
        local = (point - self.T_base_region[:3, 3]) @ self.T_base_region[:3, :3]
        if self.kind == SPHERE:
            outside = np.linalg.norm(local, axis=-1) - self.sizes[0]
        elif self.kind == BOX:
            outside = (np.abs(local) - 0.5 * self.sizes).max(axis=-1)
        else:
            radial = np.linalg.norm(local[..., :2], axis=-1) - self.sizes[1]
            outside = np.maximum(radial, np.abs(local[..., 2]) - 0.5 * self.sizes[0])
        return np.maximum(outside, 0.0)

    @property
    def radius(self) -> float:
        """Of the largest ball around the centre that is inside [m]."""
        if self.kind == CYLINDER:
            return float(min(0.5 * self.sizes[0], self.sizes[1]))
        return float(self.sizes[0] if self.kind == SPHERE else 0.5 * self.sizes.min())

    def samples(self, count: int, rng: np.random.Generator) -> Array:
        """The centre and points spread over the inside [m], shape (count, 3)."""
        shares = rng.uniform(-1.0, 1.0, (count, 3))
        if self.kind == SPHERE:
            half = np.full(3, self.sizes[0] / np.sqrt(3.0))
        elif self.kind == BOX:
            half = 0.5 * self.sizes
        else:
            half = np.array([self.sizes[1] / np.sqrt(2.0), self.sizes[1] / np.sqrt(2.0), 0.5 * self.sizes[0]])
        shares[0] = 0.0
        return (shares * half) @ self.T_base_region[:3, :3].T + self.T_base_region[:3, 3]


@dataclass(frozen=True, eq=False)
class PointInRegion:
    """A point of a link that has to be in one of several solids."""

    link: str
    offset: Array
    """The point in the frame of the link [m], shape (3,)."""
    regions: tuple[Region, ...]

    def distance(self, T_base_link: Array) -> Array:
        """How far the point is outside [m], shape (...,)."""
        point = T_base_link[..., :3, :3] @ self.offset + T_base_link[..., :3, 3]
        return np.min([region.distance(point) for region in self.regions], axis=0)


@dataclass(frozen=True, eq=False)
class NearRotation:
    """A link whose rotation has to be near a given one."""

    link: str
    R_base: Array
    """The rotation, shape (3, 3)."""
    tolerance: Array
    """Per axis [rad], shape (3,)."""
    axes: Array | None = None
    """Axes of the rotation vector that the tolerances are for, shape (3, 3); None: they are for Euler angles about x, y
    and z of the given rotation, one after the other."""

    def distance(self, T_base_link: Array) -> Array:
        """How far the rotation is beyond the tolerances [rad], shape (...,)."""
        R = self.R_base.T @ T_base_link[..., :3, :3]
        angles = euler_xyz(R) if self.axes is None else lie.log_so3(R) @ self.R_base.T @ self.axes
        return np.maximum((np.abs(angles) - self.tolerance).max(axis=-1), 0.0)

    def samples(self, count: int, rng: np.random.Generator) -> Array:
        """The rotation itself and others within the tolerances, shape (count, 3, 3)."""
        angles = rng.uniform(-1.0, 1.0, (count, 3)) * np.minimum(self.tolerance, np.pi)
        angles[0] = 0.0
        if self.axes is not None:
            return np.asarray(lie.exp_so3(angles @ self.axes.T) @ self.R_base)
        x, y, z = (lie.exp_so3(angles[:, [axis]] * np.eye(3)[axis]) for axis in range(3))
        return self.R_base @ x @ y @ z


@dataclass(frozen=True, eq=False)
class ConstraintSet:
    """Constraints that hold at the same time."""

    wanted: dict[str, float]
    """Positions of joints [rad or m]."""
    bands: dict[str, tuple[float, float]]
    """Least and largest positions of joints [rad or m]."""
    points: tuple[PointInRegion, ...]
    rotations: tuple[NearRotation, ...]

    @property
    def of_links(self) -> tuple[PointInRegion | NearRotation, ...]:
        """Constraints of links."""
        return (*self.points, *self.rotations)

    @property
    def links(self) -> tuple[str, ...]:
        """Links that are constrained."""
        return tuple(dict.fromkeys(item.link for item in self.of_links))

    @property
    def empty(self) -> bool:
        return not (self.bands or self.points or self.rotations)

    def distances(self, group: PlanningGroup, q: Array) -> Array:
        """How far configurations are from each constraint [rad or m], 0 where it is met.

        Args:
            q: Shape (rows, n).

        Returns:
            Shape (rows, constraints): joints, points, rotations.
        """
        names, columns = group.chain.joint_names, []
        for joint, (low, high) in self.bands.items():
            column = q[:, names.index(joint)]
            columns.append(np.maximum(np.maximum(low - column, column - high), 0.0))
        for item in self.of_links:
            columns.append(item.distance(group.link_pose(q, item.link)))
        return np.column_stack(columns) if columns else np.zeros((len(q), 0))

    def met(self, group: PlanningGroup, q: Array) -> NDArray[np.bool_]:
        """Which configurations meet all constraints, shape (rows,)."""
        return np.asarray((self.distances(group, q) <= SLACK).all(axis=1))


def read_constraints(message: Constraints, group: PlanningGroup, q: Array, code: int) -> ConstraintSet:
    """The constraints of a message.

    Args:
        q: Joint positions for frames that move with the arm [rad or m], shape (n,).
        code: MoveIt's code for input that cannot be used.

    Raises:
        RequestRefused: A constraint that is invalid, or two that contradict each other.
        UnknownLink: There is no such link.
    """
    if message.visibility_constraints:
        raise RequestRefused(code, "visibility constraints are not supported; leave them out")
    with refused_as(code):
        wanted, bands = _joints(message.joint_constraints, group)
        points = tuple(_point(item, group, q) for item in message.position_constraints)
        rotations = tuple(_rotation(item, group, q) for item in message.orientation_constraints)
        _check_points(points)
        _check_rotations(rotations)
    return ConstraintSet(wanted, bands, points, rotations)


def euler_xyz(R: Array) -> Array:
    """Angles a, b, c with R = Rx(a) Ry(b) Rz(c) [rad], shape (..., 3)."""
    b = np.arcsin(np.clip(R[..., 0, 2], -1.0, 1.0))
    return np.stack([np.arctan2(-R[..., 1, 2], R[..., 2, 2]), b, np.arctan2(-R[..., 0, 1], R[..., 0, 0])], axis=-1)


def _joints(
    messages: Sequence[JointConstraint], group: PlanningGroup
) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    names, model = group.joints, group.model
    wanted: dict[str, float] = {}
    bands: dict[str, tuple[float, float]] = {}
    for item in messages:
        name = item.joint_name
        numbers = (item.position, item.tolerance_below, item.tolerance_above)
        if not np.isfinite(numbers).all() or min(numbers[1:]) < 0.0:
            raise InputError(
                f"joint constraint of {name!r}: position and tolerances are {numbers}; give finite numbers"
            )
        if name not in names:
            known = name in model.robot.joints
            reason = f"which group {group.name!r} does not move" if known else "which the robot does not have"
            raise InputError(f"a constraint is for joint {name!r}, {reason}; it has {', '.join(names)}")
        low, high = item.position - item.tolerance_below, item.position + item.tolerance_above
        before = bands.get(name, (-np.inf, np.inf))
        bands[name] = max(low, before[0]), min(high, before[1])
        if bands[name][0] > bands[name][1] + SLACK:
            raise InputError(f"two constraints of joint {name!r} contradict each other; no position meets both")
        wanted[name] = float(np.clip(item.position, *bands[name]))
    return wanted, bands


def _point(message: PositionConstraint, group: PlanningGroup, q: Array) -> PointInRegion:
    link, offset, solid = message.link_name, message.target_point_offset, message.constraint_region
    _check_link(link, group)
    at = np.array([offset.x, offset.y, offset.z])
    if not np.isfinite(at).all():
        raise InputError(f"the target point of {link!r} is {at.tolist()}; give finite numbers")
    if solid.meshes:
        raise InputError(f"the region of {link!r} is a mesh; use boxes, spheres or cylinders")
    if not solid.primitives:
        raise InputError(f"the position constraint of {link!r} has no region; give it a primitive")
    if solid.primitive_poses and len(solid.primitive_poses) != len(solid.primitives):
        raise InputError(
            f"the region of {link!r} has {len(solid.primitives)} primitives and {len(solid.primitive_poses)} poses"
        )
    T = group.T_base_frame(message.header.frame_id, q, to_nanoseconds(message.header.stamp))
    poses = [pose_of(pose) for pose in solid.primitive_poses] or [np.eye(4)] * len(solid.primitives)
    regions = []
    for primitive, pose in zip(solid.primitives, poses, strict=True):
        count = DIMENSIONS.get(primitive.type)
        if count is None:
            raise InputError(f"the region of {link!r} is of type {primitive.type}; use a box, sphere or cylinder")
        sizes = np.array(primitive.dimensions[:count], dtype=np.float64)
        if len(sizes) < count or not np.isfinite(sizes).all() or sizes.min() < 0.0 or not np.isfinite(pose).all():
            raise InputError(f"the region of {link!r} has dimensions {sizes.tolist()} or a pose that is invalid")
        regions.append(Region(primitive.type, sizes, T @ pose))
    return PointInRegion(link, at, tuple(regions))


def _rotation(message: OrientationConstraint, group: PlanningGroup, q: Array) -> NearRotation:
    link = message.link_name
    _check_link(link, group)
    tolerance = np.array(
        [message.absolute_x_axis_tolerance, message.absolute_y_axis_tolerance, message.absolute_z_axis_tolerance]
    )
    if not np.isfinite(tolerance).all() or tolerance.min() < 0.0:
        raise InputError(f"the orientation tolerances of {link!r} are {tolerance.tolist()}; give numbers from 0 on")
    if message.parameterization not in (message.XYZ_EULER_ANGLES, message.ROTATION_VECTOR):
        raise InputError(f"orientation constraint of {link!r}: parameterization {message.parameterization} is unknown")
    T = group.T_base_frame(message.header.frame_id, q, to_nanoseconds(message.header.stamp))
    axes = T[:3, :3] if message.parameterization == message.ROTATION_VECTOR else None
    return NearRotation(link, T[:3, :3] @ rotation_of(message.orientation, link), tolerance, axes)


def rotation_of(quaternion: Quaternion, link: str) -> Array:
    """Rotation of a quaternion that the constraint of a link gives, shape (3, 3)."""
    numbers = np.array([quaternion.x, quaternion.y, quaternion.z, quaternion.w])
    length = float(np.linalg.norm(numbers))
    if not abs(length - 1.0) < 1e-3:
        raise InputError(f"the orientation of {link!r} has length {length:.6g}; give a quaternion of length 1")
    return lie.rotation_from_quaternion(numbers / length)


def _check_link(link: str, group: PlanningGroup) -> None:
    chain = group.chain
    if link not in chain.link_names:
        raise UnknownLink(link, chain.link_names)
    if link not in group.moved_links:
        raise InputError(f"{link!r} is not moved by group {group.name!r}; constrain a link that is")


def _check_points(points: Sequence[PointInRegion]) -> None:
    """Two regions of one point that have nothing in common, as balls around them show."""
    for number, first in enumerate(points):
        for second in points[:number]:
            if first.link != second.link or np.abs(first.offset - second.offset).max() > SLACK:
                continue
            if min(_gap(a, b) for a in first.regions for b in second.regions) > SLACK:
                raise InputError(f"two position constraints of {first.link!r} contradict each other; give one")


def _gap(first: Region, second: Region) -> float:
    """Distance between balls around two regions [m]; positive only if they have nothing in common."""
    apart = float(np.linalg.norm(first.T_base_region[:3, 3] - second.T_base_region[:3, 3]))
    return apart - _enclosing(first) - _enclosing(second)


def _enclosing(region: Region) -> float:
    if region.kind == SPHERE:
        return float(region.sizes[0])
    half = 0.5 * region.sizes if region.kind == BOX else np.array([region.sizes[1], 0.5 * region.sizes[0]])
    return float(np.linalg.norm(half))


def _check_rotations(rotations: Sequence[NearRotation]) -> None:
    for number, first in enumerate(rotations):
        for second in rotations[:number]:
            turn = float(np.linalg.norm(lie.log_so3(first.R_base.T @ second.R_base)))
            room = float(np.linalg.norm(first.tolerance) + np.linalg.norm(second.tolerance))
            if first.link == second.link and turn > room + SLACK:
                raise InputError(f"two orientation constraints of {first.link!r} contradict each other; give one")


def no_constraints() -> RequestRefused:
    """The refusal of a goal without constraints."""
    return RequestRefused(
        MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS,
        "the goal has no constraints; give joint positions, or a position or orientation of a link",
    )
