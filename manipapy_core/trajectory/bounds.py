"""How fast joints may move: limits of the description, scaled, and a refusal where one is missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array


class MissingLimit(InputError):
    """A limit that a time law needs and that no file gives."""

    def __init__(self, robot: str, joint: str, kind: str):
        super().__init__(
            f"joint {joint!r} of {robot} has no {kind} limit; write max_{kind} for it in a joint_limits.yaml and give "
            "that file to Robot.from_urdf(..., limits='joint_limits.yaml'); bundled robots bring theirs, such as "
            "ur5.limits.yaml"
        )
        self.robot, self.joint, self.kind = robot, joint, kind


@dataclass(frozen=True, eq=False)
class MotionBounds:
    """What every moment of a trajectory obeys, per joint, shape (n,) each."""

    lower: Array
    """[rad or m]"""
    upper: Array
    velocity: Array
    """[rad/s or m/s]"""
    acceleration: Array
    """[rad/s² or m/s²]"""
    jerk: Array
    """[rad/s³ or m/s³]; infinite where nothing is known."""
    effort: Array
    """[N m or N]; infinite where nothing is known or efforts are not asked for."""


def motion_bounds(
    chain: Chain,
    *,
    velocity_scaling: float = 1.0,
    acceleration_scaling: float = 1.0,
    effort: bool = False,
) -> MotionBounds:
    """The limits of a chain, scaled.

    Args:
        velocity_scaling: Share of the velocity limits, above 0 and at most 1.
        acceleration_scaling: Share of the acceleration and jerk limits.
        effort: Also keep to the efforts that the motors can give.

    Raises:
        MissingLimit: A velocity or acceleration limit is not known.
    """
    for name, value in (("velocity_scaling", velocity_scaling), ("acceleration_scaling", acceleration_scaling)):
        if not 0.0 < value <= 1.0:
            raise InputError(f"{name} is {value!r}; give a number above 0 and at most 1")
    limits = chain.limits
    for kind in ("velocity", "acceleration"):
        missing = np.flatnonzero(~np.isfinite(getattr(limits, kind)))
        if len(missing):
            raise MissingLimit(chain.robot_name, chain.joint_names[missing[0]], kind)
    return MotionBounds(
        limits.lower,
        limits.upper,
        velocity_scaling * limits.velocity,
        acceleration_scaling * limits.acceleration,
        acceleration_scaling * limits.jerk,
        limits.effort if effort else np.full(chain.n, np.inf),
    )
