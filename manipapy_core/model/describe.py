"""A chain in words and numbers, for people."""

from __future__ import annotations

import numpy as np

from .chain import Chain
from .elements import Array


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
        "units: rad, m, s, kg, N; '-' where the description gives no limit",
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
    numbers = (limits.lower, limits.upper, limits.velocity, limits.effort, limits.acceleration)
    return (str(dof), name, kind, *(_number(array[dof]) for array in numbers), f"{body.mass:.3f}", body.link)


def _number(value: float) -> str:
    return "-" if np.isinf(value) else f"{value:.4g}"


def _vector(values: Array) -> str:
    return "(" + ", ".join(f"{value + 0.0:.4f}" for value in np.round(values, 4)) + ")"
