"""Cuts a chain out of a robot: re-roots the tree at any base link, frees some joints, locks and lumps the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from .. import lie
from ..errors import InputError, UnknownJoint, UnknownLink
from ..typing import Array
from .chain import Chain, ChainBody, JointLimits
from .elements import Joint

if TYPE_CHECKING:
    from .robot import Robot


def build_chain(robot: Robot, base: str, tip: str, fixed: Mapping[str, float] | None = None) -> Chain:
    """The joints on the way from base to tip move; all others are locked, their mass carried along."""
    _require_links(robot, base, tip)
    values = _locked_values(robot, fixed or {})
    way = _walk(robot, base)
    dofs = _drivers(_joints_on(way, base, tip), values)
    if not dofs:
        raise InputError(
            f"no joint moves between {base!r} and {tip!r}; choose links with a movable, unlocked joint between them"
        )
    return _assemble(robot, base, tip, way, dofs, values)


def build_tree(
    robot: Robot, base: str | None = None, tip: str | None = None, fixed: Mapping[str, float] | None = None
) -> Chain:
    """Every movable joint moves, branches included; the tip is the last link unless named."""
    base = robot.root if base is None else base
    values = _locked_values(robot, fixed or {})
    way = _walk(robot, base) if base in robot.links else {}
    tip = (list(way)[-1] if way else base) if tip is None else tip
    _require_links(robot, base, tip)
    dofs = _drivers((joint for _, joint in way.values()), values)
    if not dofs:
        raise InputError(f"robot {robot.name!r} has no joint that moves; there is nothing to compute")
    return _assemble(robot, base, tip, way, dofs, values)


def way_between(robot: Robot, base: str, tip: str) -> tuple[Joint, ...]:
    """Joints on the way from one link to another, fixed ones too.

    Raises:
        UnknownLink: The robot has no link of that name.
    """
    _require_links(robot, base, tip)
    return _joints_on(_walk(robot, base), base, tip)


def _joints_on(way: Mapping[str, tuple[str, Joint]], base: str, tip: str) -> tuple[Joint, ...]:
    joints: list[Joint] = []
    link = tip
    while link != base:
        link, joint = way[link]
        joints.append(joint)
    return tuple(reversed(joints))


def _require_links(robot: Robot, *names: str) -> None:
    for name in names:
        if name not in robot.links:
            raise UnknownLink(name, list(robot.links))


def _locked_values(robot: Robot, fixed: Mapping[str, float]) -> dict[str, float]:
    """Checked positions of the joints that the user locks."""
    values = {}
    for name, value in fixed.items():
        joint = robot.joints.get(name)
        if joint is None or not joint.type.moves:
            raise UnknownJoint(name, [j.name for j in robot.joints.values() if j.type.moves])
        if joint.mimic is not None:
            raise InputError(f"joint {name!r} follows {joint.mimic.joint!r}; lock {joint.mimic.joint!r} instead")
        value = float(value)
        if not (math.isfinite(value) and joint.lower <= value <= joint.upper):
            raise InputError(
                f"joint {name!r} cannot be locked at {value}; its limits are [{joint.lower}, {joint.upper}]"
            )
        values[name] = value
    return values


def _walk(robot: Robot, base: str) -> dict[str, tuple[str, Joint]]:
    """For every link but the base, in depth-first order: the link before it and the joint between them."""
    neighbours: dict[str, list[tuple[str, Joint]]] = {name: [] for name in robot.links}
    for joint in robot.joints.values():
        neighbours[joint.parent].append((joint.child, joint))
        neighbours[joint.child].append((joint.parent, joint))
    way: dict[str, tuple[str, Joint]] = {}
    pending = [(other, base, joint) for other, joint in reversed(neighbours[base])]
    while pending:
        link, before, joint = pending.pop()
        way[link] = (before, joint)
        pending += [(other, link, j) for other, j in reversed(neighbours[link]) if other != before]
    return way


def _drivers(joints: Iterable[Joint], values: Mapping[str, float]) -> tuple[str, ...]:
    """Names of the elements of q that move these joints, without repeats."""
    names = (joint.mimic.joint if joint.mimic else joint.name for joint in joints if joint.type.moves)
    return tuple(dict.fromkeys(name for name in names if name not in values))


def _assemble(
    robot: Robot,
    base: str,
    tip: str,
    way: Mapping[str, tuple[str, Joint]],
    dofs: tuple[str, ...],
    values: Mapping[str, float],
) -> Chain:
    bodies: list[_Body] = []
    locked: dict[str, float] = {}
    placement: dict[str, tuple[int, Array]] = {base: (-1, np.eye(4))}
    for link, (before, joint) in way.items():
        body, T_body_before = placement[before]
        forward = joint.parent == before
        driver, ratio, offset = joint.name, 1.0, 0.0
        if joint.mimic is not None:
            driver, ratio, offset = joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset
        if joint.type.moves and driver in dofs:
            # A joint walked from child to parent turns the other way about an axis through the child's origin.
            start = T_body_before @ joint.T_parent_child if forward else T_body_before
            axis = joint.axis if forward else -joint.axis
            zero = _motion(joint, axis, offset)
            T_body_link = np.eye(4) if forward else lie.inverse(joint.T_parent_child)
            bodies.append(_Body(joint, link, body, start @ zero, axis, dofs.index(driver), ratio, T_body_link))
            placement[link] = (len(bodies) - 1, T_body_link)
            continue
        position = 0.0
        if joint.type.moves:
            position = locked[joint.name] = ratio * values.get(driver, 0.0) + offset
        T = joint.T_parent_child @ _motion(joint, joint.axis, position)
        placement[link] = (body, T_body_before @ (T if forward else lie.inverse(T)))

    for name, (index, T) in placement.items():
        if index >= 0:
            bodies[index].carry(robot, name, T)
    tip_body, T_body_tip = placement[tip]
    ordered = [name for name in robot.links if name in placement]
    return Chain(
        robot_name=robot.name,
        base=base,
        tip=tip,
        joint_names=dofs,
        bodies=tuple(body.freeze() for body in bodies),
        tip_body=tip_body,
        T_body_tip=T_body_tip,
        link_names=tuple(ordered),
        link_placements=tuple(placement[name] for name in ordered),
        limits=_limits(robot, dofs, [body.joint for body in bodies]),
        damping=_per_dof(dofs, bodies, "damping"),
        friction=_per_dof(dofs, bodies, "friction"),
        locked=tuple(locked.items()),
    )


class _Body:
    """A body under construction, collecting the links that are locked to it."""

    def __init__(
        self,
        joint: Joint,
        link: str,
        parent: int,
        T_parent_body: Array,
        axis: Array,
        dof: int,
        ratio: float,
        T_body_link: Array,
    ):
        self.joint, self.link, self.parent, self.T_parent_body = joint, link, parent, T_parent_body
        self.axis, self.dof, self.ratio, self.T_body_link = axis, dof, ratio, T_body_link
        self.mass, self.moment, self.inertia = 0.0, np.zeros(3), np.zeros((3, 3))

    def carry(self, robot: Robot, link: str, T_body_link: Array) -> None:
        """Adds a link's inertia, moved to this body's frame."""
        inertial = robot.links[link].inertial
        if inertial is None:
            return
        R = T_body_link[:3, :3]
        com = R @ inertial.com + T_body_link[:3, 3]
        self.mass += inertial.mass
        self.moment = self.moment + inertial.mass * com
        self.inertia = self.inertia + R @ inertial.inertia @ R.T - inertial.mass * lie.hat(com) @ lie.hat(com)

    def freeze(self) -> ChainBody:
        return ChainBody(
            joint=self.joint.name,
            link=self.link,
            parent=self.parent,
            T_parent_body=self.T_parent_body,
            axis=self.axis,
            revolute=self.joint.type.rotates,
            dof=self.dof,
            ratio=self.ratio,
            T_body_link=self.T_body_link,
            mass=self.mass,
            moment=self.moment,
            inertia=self.inertia,
        )


def _motion(joint: Joint, axis: Array, position: float) -> Array:
    """Pose after moving the joint, relative to before."""
    if not joint.type.moves or position == 0.0:
        return np.eye(4)
    if joint.type.rotates:
        return lie.pose(lie.exp_so3(axis * position))
    return lie.pose(translation=axis * position)


def _limits(robot: Robot, dofs: tuple[str, ...], moving: list[Joint]) -> JointLimits:
    """Each element of q keeps within the limits of every joint that it moves."""
    n = len(dofs)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    rates = {name: np.full(n, np.inf) for name in ("velocity", "acceleration", "jerk")}
    effort = np.full(n, np.inf)
    for joint in moving:
        mimic = joint.mimic
        dof = dofs.index(mimic.joint if mimic else joint.name)
        ratio, offset = (mimic.multiplier, mimic.offset) if mimic else (1.0, 0.0)
        if ratio == 0.0:
            continue
        ends = sorted(((joint.lower - offset) / ratio, (joint.upper - offset) / ratio))
        lower[dof], upper[dof] = max(lower[dof], ends[0]), min(upper[dof], ends[1])
        motion = robot.motion_limits.get(joint.name)
        found = {
            "velocity": joint.velocity,
            "acceleration": motion.acceleration if motion else np.inf,
            "jerk": motion.jerk if motion else np.inf,
        }
        for name, value in found.items():
            rates[name][dof] = min(rates[name][dof], value / abs(ratio))
        if mimic is None:
            effort[dof] = joint.effort
    assumed = frozenset((name, quantity) for name in dofs for quantity in robot.assumed_of(name))
    return JointLimits(lower=lower, upper=upper, effort=effort, **rates, assumed=assumed)


def _per_dof(dofs: tuple[str, ...], bodies: list[_Body], name: str) -> Array:
    """Damping or friction felt by each element of q; a mimic joint's counts by its ratio squared (or its size)."""
    total = np.zeros(len(dofs))
    for body in bodies:
        weight = body.ratio**2 if name == "damping" else abs(body.ratio)
        total[body.dof] += weight * getattr(body.joint, name)
    return total
