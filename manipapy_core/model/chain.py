"""`Chain`: the part of a robot between two links, as a fixed-base mechanism with one tip."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import lie
from ..errors import InputError, UnknownLink
from ..typing import Array


def describe_chain(chain: Chain) -> str:
    """A table of the joints with limits and moved mass, the home pose of the tip, and what is locked."""
    header = ("#", "joint", "type", "lower", "upper", "velocity", "effort", "accel.", "mass", "leads to")
    rows = [_joint_row(chain, dof) for dof in range(chain.n)]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def line(row: tuple[str, ...]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()

    mass = sum(body.mass for body in chain.bodies)
    parts = [
        f"{chain.robot_name}: {chain.base} → {chain.tip}, {chain.n} joints, {mass:.3f} kg moving",
        "",
        line(header),
        line(tuple("-" * width for width in widths)),
        *(line(row) for row in rows),
        "",
        "units: rad, m, s, kg, N; '-' where the description gives no limit"
        + (", '*' where it is assumed" if chain.limits.assumed else ""),
        f"tip at q = 0: position {_vector(chain.M[:3, 3])} m, rotation rows "
        + ", ".join(_vector(row) for row in chain.M[:3, :3]),
    ]
    if chain.locked:
        parts.append("locked: " + ", ".join(f"{name} at {value:g}" for name, value in chain.locked))
    followers = [body for body in chain.bodies if body.joint != chain.joint_names[body.dof]]
    parts += [f"{body.joint} follows {chain.joint_names[body.dof]} × {body.ratio:g}" for body in followers]
    return "\n".join(parts)


def _joint_row(chain: Chain, dof: int) -> tuple[str, ...]:
    name, limits = chain.joint_names[dof], chain.limits
    body = next((body for body in chain.bodies if body.joint == name), chain.bodies[0])
    endless = np.isinf(limits.lower[dof]) and np.isinf(limits.upper[dof])
    kind = "prismatic" if not body.revolute else "continuous" if endless else "revolute"
    numbers = [_number(array[dof]) for array in (limits.lower, limits.upper)]
    for quantity in ("velocity", "effort", "acceleration"):
        mark = "*" if (name, quantity) in limits.assumed else ""
        numbers.append(_number(getattr(limits, quantity)[dof]) + mark)
    return (str(dof), name, kind, *numbers, f"{body.mass:.3f}", body.link)


LARGEST_POSITION = 64.0
"""Positions beyond are refused by collision checks, which place links in single precision [rad or m]."""


def _number(value: float) -> str:
    return "-" if np.isinf(value) else f"{value:.4g}"


def _vector(values: Array) -> str:
    return "(" + ", ".join(f"{value + 0.0:.4f}" for value in np.round(values, 4)) + ")"


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits per element of q; infinite where the description gives none."""

    lower: Array
    """[rad or m], shape (n,)."""
    upper: Array
    """[rad or m], shape (n,)."""
    velocity: Array
    """[rad/s or m/s], shape (n,)."""
    effort: Array
    """[N m or N], shape (n,)."""
    acceleration: Array
    """[rad/s² or m/s²], shape (n,)."""
    jerk: Array
    """[rad/s³ or m/s³], shape (n,)."""
    assumed: frozenset[tuple[str, str]] = frozenset()
    """Joint and quantity (velocity, effort, acceleration or jerk) of limits that no description gives; see
    `assumptions`."""

    @property
    def sampling_range(self) -> tuple[Array, Array]:
        """Bounds of random positions [rad or m], shape (n,) each: π to either side of 0 where there is no limit.

        Limits beyond `LARGEST_POSITION` are taken for none, as ±999999 of a mobile base is meant.
        """
        low, high = (np.abs(bound) <= LARGEST_POSITION for bound in (self.lower, self.upper))
        lower, upper = np.where(low, self.lower, -np.pi), np.where(high, self.upper, np.pi)
        # One side alone may lie beyond π.
        return np.where(low, lower, np.minimum(lower, upper - np.pi)), np.where(
            high, upper, np.maximum(upper, lower + np.pi)
        )


@dataclass(frozen=True, eq=False)
class ChainBody:
    """Everything that moves with one joint: its links and what is locked to them, lumped into one rigid body.

    Its frame is the joint frame after the motion, so the joint axis passes through the origin.
    """

    joint: str
    link: str
    """The link that the joint leads to when walking away from the base."""
    parent: int
    """Index of the body that carries the joint; -1 for the base."""
    T_parent_body: Array
    """Pose in the parent's frame at q = 0, shape (4, 4)."""
    axis: Array
    """Unit joint axis in the body's frame, shape (3,)."""
    revolute: bool
    dof: int
    """Which element of q moves the joint."""
    ratio: float
    """Joint motion per unit of that element: 1, or a mimic joint's multiplier."""
    T_body_link: Array
    """Pose of `link` in the body's frame, shape (4, 4)."""
    mass: float
    """[kg]"""
    moment: Array
    """Mass times centre of mass [kg m], shape (3,)."""
    inertia: Array
    """About the origin of the body's frame [kg m²], shape (3, 3)."""

    @property
    def com(self) -> Array:
        """Centre of mass [m]; the origin for a massless body."""
        return self.moment / self.mass if self.mass > 0.0 else np.zeros(3)


@dataclass(frozen=True, eq=False)
class Chain:
    """A fixed-base mechanism cut out of a robot: q moves it, the tip is its end.

    Made by `Robot.chain` (the joints between two links) or `Robot.tree` (every joint). The base link is taken as
    fixed to the world; gravity is expressed in its frame.
    """

    robot_name: str
    base: str
    tip: str
    joint_names: tuple[str, ...]
    """One name per element of q, in order."""
    bodies: tuple[ChainBody, ...]
    """Parents before children."""
    tip_body: int
    T_body_tip: Array
    """Pose of the tip in the frame of its body, shape (4, 4)."""
    link_names: tuple[str, ...]
    """Every link of the robot, in the order of `kinematics.link_poses`."""
    link_placements: tuple[tuple[int, Array], ...]
    """Per link: its body (-1 for the base) and its pose in that body's frame."""
    limits: JointLimits
    damping: Array
    """Viscous, per element of q [N m s/rad or N s/m], shape (n,)."""
    friction: Array
    """Coulomb, per element of q [N m or N], shape (n,)."""
    locked: tuple[tuple[str, float], ...]
    """Joints that do not move, with the position they are locked at [rad or m]."""

    @property
    def n(self) -> int:
        """Length of q."""
        return len(self.joint_names)

    @cached_property
    def _home_poses(self) -> tuple[Array, ...]:
        poses: list[Array] = []
        for body in self.bodies:
            parent = poses[body.parent] if body.parent >= 0 else np.eye(4)
            poses.append(parent @ body.T_parent_body)
        return tuple(poses)

    @cached_property
    def M(self) -> Array:
        """Pose of the tip in the base frame at q = 0, shape (4, 4)."""
        return (self._home_poses[self.tip_body] if self.tip_body >= 0 else np.eye(4)) @ self.T_body_tip

    @cached_property
    def S(self) -> Array:
        """Space screw axes: T(q) = exp(S_1 q_1) … exp(S_n q_n) M for a serial chain, shape (6, n)."""
        if len(self.bodies) != self.n:
            raise InputError(
                f"chain {self.base!r} → {self.tip!r} has mimic joints: several joints move with one element of q, "
                "so it has no list of screw axes; use kinematics.forward and kinematics.space_jacobian"
            )
        screws = np.zeros((6, self.n))
        for body, T in zip(self.bodies, self._home_poses):
            local = np.r_[body.axis, np.zeros(3)] if body.revolute else np.r_[np.zeros(3), body.axis]
            screws[:, body.dof] = lie.adjoint(T) @ local
        return screws

    @cached_property
    def B(self) -> Array:
        """Body screw axes: T(q) = M exp(B_1 q_1) … exp(B_n q_n) for a serial chain, shape (6, n)."""
        return lie.adjoint(lie.inverse(self.M)) @ self.S

    @cached_property
    def G(self) -> Array:
        """Spatial inertia of each body in its CoM frame, angular first, shape (bodies, 6, 6)."""
        inertias = np.zeros((len(self.bodies), 6, 6))
        for G, body in zip(inertias, self.bodies):
            R = body.T_body_link[:3, :3]
            c = lie.hat(body.com)
            G[:3, :3] = R.T @ (body.inertia + body.mass * c @ c) @ R
            G[3:, 3:] = body.mass * np.eye(3)
        return inertias

    @cached_property
    def M_com(self) -> Array:
        """Pose of each body's CoM frame (axes of its link) in the base frame at q = 0, shape (bodies, 4, 4)."""
        poses = [T @ lie.pose(body.T_body_link[:3, :3], body.com) for body, T in zip(self.bodies, self._home_poses)]
        return np.array(poses)

    @cached_property
    def inertial_parameters(self) -> Array:
        """What `dynamics.regressor` multiplies, shape (10 · bodies,).

        Per body, in the frame of its link: mass, first moment (3), and inertia about that frame's origin as
        xx, xy, xz, yy, yz, zz.
        """
        parameters = []
        for body in self.bodies:
            T = lie.inverse(body.T_body_link)
            R, p = T[:3, :3], T[:3, 3]
            moment = R @ body.moment
            moved = moment + body.mass * p
            cross = lie.hat(p) @ lie.hat(moment) + lie.hat(moment) @ lie.hat(p)
            inertia = R @ body.inertia @ R.T - cross - body.mass * lie.hat(p) @ lie.hat(p)
            parameters += [body.mass, *moved, *inertia[np.triu_indices(3)]]
        return np.array(parameters)

    @cached_property
    def joints_without_inertia(self) -> tuple[str, ...]:
        """Joints whose motion moves no mass at all, so that no effort determines their acceleration."""
        moved: dict[int, bool] = dict.fromkeys(range(self.n), False)
        carries = [False] * len(self.bodies)
        for index in reversed(range(len(self.bodies))):
            body = self.bodies[index]
            children = [child for child, other in enumerate(self.bodies) if other.parent == index]
            own = body.axis @ body.inertia @ body.axis if body.revolute else body.mass
            # Mass on the axis of a last body stays there; mass further out leaves the axis as the joints between move.
            heavy = any(carries[child] for child in children)
            carries[index] = heavy or body.mass > 0.0 or bool(np.any(body.inertia))
            moved[body.dof] |= body.ratio != 0.0 and (heavy or bool(own > 0.0))
        return tuple(name for dof, name in enumerate(self.joint_names) if not moved[dof])

    def with_tip(self, link: str) -> Chain:
        """The same joints with another link as tip.

        Raises:
            UnknownLink: There is no such link.
        """
        if link not in self.link_names:
            raise UnknownLink(link, self.link_names)
        body, T_body_tip = self.link_placements[self.link_names.index(link)]
        return replace(self, tip=link, tip_body=body, T_body_tip=T_body_tip)

    def __repr__(self) -> str:
        return f"<Chain of {self.robot_name!r}: {self.base} → {self.tip}, {self.n} joints; see describe()>"

    def describe(self) -> str:
        """A summary: joints with limits, masses, the home pose, what is locked."""
        return describe_chain(self)
