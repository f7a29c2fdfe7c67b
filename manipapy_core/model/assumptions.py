"""Values that a description leaves open, filled in by stated rules and listed as assumed.

A limit that is missing, 0 or negative is unknown. The rules, per joint:

- velocity: `VELOCITY`.
- acceleration: full velocity after `TIME_TO_SPEED`, but no more than `EFFORT_SHARE` of the effort that gravity leaves
  can give to the largest inertia of the sampled configurations; not below full velocity after `SLOWEST_START`.
- jerk: full acceleration after `TIME_TO_ACCELERATION`; only where the acceleration is assumed, too.
- effort: `EFFORT_RESERVE` times what gravity and the assumed acceleration need at most.

Links that a joint moves without any mass get that of their bounding box (`assumed_masses`), so that they can be
simulated.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..typing import Array
from .chain import Chain, JointLimits
from .joint_loads import joint_loads

if TYPE_CHECKING:
    from .robot import Robot

LOGGER = logging.getLogger("manipapy")
VELOCITY = {True: 1.0, False: 0.1}
"""Of a turning joint [rad/s] and of a sliding one [m/s]."""
TIME_TO_SPEED = 0.5
"""From rest to full velocity, at the quickest [s]."""
SLOWEST_START = 2.0
"""From rest to full velocity, at the slowest, also where the effort limit is below the weight of the arm [s]."""
TIME_TO_ACCELERATION = 0.1
"""From rest to full acceleration [s]."""
EFFORT_SHARE = 0.5
"""Share of the effort left by gravity that accelerates; the rest is for the coupling with other joints."""
EFFORT_RESERVE = 2.0
SMALLEST_EFFORT = 1.0
"""[N m or N]"""
LIMITS = ("velocity", "effort", "acceleration", "jerk")
UNITS = {
    "velocity": ("rad/s", "m/s"),
    "effort": ("N m", "N"),
    "acceleration": ("rad/s²", "m/s²"),
    "jerk": ("rad/s³", "m/s³"),
}
_said: set[str] = set()


@dataclass(frozen=True)
class Assumption:
    """One value that the description does not give."""

    subject: str
    """Name of the joint, or of the link for a mass."""
    quantity: str
    """velocity, effort, acceleration, jerk or mass."""
    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.quantity} of {self.subject}: {self.value:.4g} {self.unit}"


def completed_limits(chain: Chain) -> JointLimits:
    """The limits of a chain with all of velocity, effort and acceleration finite; see the rules of this module.

    A jerk limit is assumed where the acceleration is; elsewhere it may stay infinite.
    """
    limits = chain.limits
    missing = {kind: np.logical_not(_known(getattr(limits, kind))) for kind in LIMITS}
    missing["jerk"] = missing["jerk"] & missing["acceleration"]
    if not any(mask.any() for mask in missing.values()):
        return limits
    loads, turns = joint_loads(chain), revolute_joints(chain)
    velocity = np.where(missing["velocity"], np.where(turns, VELOCITY[True], VELOCITY[False]), limits.velocity)
    quickest = velocity / TIME_TO_SPEED
    spare = EFFORT_SHARE * np.maximum(np.where(missing["effort"], np.inf, limits.effort) - loads.gravity, 0.0)
    possible = np.divide(spare, loads.inertia, out=np.full(chain.n, np.inf), where=loads.inertia > 0.0)
    derived = np.clip(possible, velocity / SLOWEST_START, quickest)
    acceleration = np.where(missing["acceleration"], derived, limits.acceleration)
    needed = EFFORT_RESERVE * (loads.gravity + loads.inertia * acceleration + chain.friction + chain.damping * velocity)
    return replace(
        limits,
        velocity=velocity,
        acceleration=acceleration,
        jerk=np.where(missing["jerk"], acceleration / TIME_TO_ACCELERATION, limits.jerk),
        effort=np.where(missing["effort"], np.maximum(needed, SMALLEST_EFFORT), limits.effort),
        assumed=limits.assumed
        | {(name, kind) for kind, mask in missing.items() for name, gap in zip(chain.joint_names, mask) if gap},
    )


def completed(robot: Robot) -> Robot:
    """The robot with every joint's missing limits, and masses that motion needs, filled in.

    `Robot.assumptions` of the result lists what was assumed; nothing else is changed.
    """
    from .assumed_masses import with_assumed_masses

    if not robot.free_joints:
        return robot
    robot, found = with_assumed_masses(robot)
    chain = robot.tree()
    limits = completed_limits(chain)
    joints, motion = dict(robot.joints), dict(robot.motion_limits)
    turns = revolute_joints(chain)
    for dof, name in enumerate(chain.joint_names):
        values = {kind: float(getattr(limits, kind)[dof]) for kind in LIMITS if (name, kind) in limits.assumed}
        new = {kind: value for kind, value in values.items() if kind not in robot.assumed_of(name)}
        if not new:
            continue
        found += [Assumption(name, kind, value, UNITS[kind][not turns[dof]]) for kind, value in new.items()]
        joint, given = joints[name], motion[name]
        joints[name] = replace(
            joint, velocity=new.get("velocity", joint.velocity), effort=new.get("effort", joint.effort)
        )
        motion[name] = replace(
            given, acceleration=new.get("acceleration", given.acceleration), jerk=new.get("jerk", given.jerk)
        )
    if not found:
        return robot
    return replace(robot, joints=joints, motion_limits=motion, assumptions=(*robot.assumptions, *found))


def summary(assumptions: Sequence[Assumption]) -> str:
    """One sentence on what is assumed; empty when nothing is."""
    if not assumptions:
        return ""
    groups: dict[str, list[str]] = {}
    for assumption in assumptions:
        groups.setdefault(assumption.quantity, []).append(assumption.subject)
    parts = [f"{quantity} of {_listed(names)}" for quantity, names in groups.items()]
    return f"assumed, because the description does not give them: {'; '.join(parts)}"


def log_once(chain: Chain, limits: JointLimits) -> None:
    """Log, once per robot and process, which limits planning assumes that no description gives."""
    new = limits.assumed - chain.limits.assumed
    if not new or chain.robot_name in _said:
        return
    _said.add(chain.robot_name)
    kinds = [kind for kind in LIMITS if any(kind == found for _, found in new)]
    worst = ", ".join(f"{value:.3g}" for value in limits.acceleration)
    LOGGER.warning(
        f"the description of {chain.robot_name} lacks limits of {' and '.join(kinds)}: planning assumes them from "
        f"torque and inertia (acceleration {worst}); write real ones in a limits file, or see `manipapy new-robot`"
    )


def revolute_joints(chain: Chain) -> NDArray[np.bool_]:
    """Which elements of q are angles, shape (n,)."""
    turns = np.ones(chain.n, dtype=bool)
    for body in chain.bodies:
        if body.joint == chain.joint_names[body.dof]:
            turns[body.dof] = body.revolute
    return turns


def _known(values: Array) -> NDArray[np.bool_]:
    return np.isfinite(values) & (values > 0.0)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
