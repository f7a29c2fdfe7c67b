"""Frames for the bodies of a chain in which the algorithms have least to do.

A joint axis fixes z of its body's frame and nothing else: the origin may slide along the axis and x may point
anywhere across it. Put on the common normal to the next axis, as Denavit and Hartenberg did, the constant rotation
between two bodies has four numbers instead of nine. A prismatic axis has no place at all, only a direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import lie
from ..model.chain import Chain
from ..typing import Array

NEARLY_PARALLEL = 0.1
"""Sine of the angle below which two axes are taken as parallel: their common normal would lie far away."""
COINCIDENT = 1e-9
"""Distance [m] below which two parallel axes are one line."""


@dataclass(frozen=True)
class _Line:
    """An axis in the frame of some body; a free one may be moved sideways."""

    point: Array
    direction: Array
    free: bool


def choose_frames(chain: Chain) -> list[Array]:
    """Pose of the chosen frame in each body's own frame, z along the joint axis, shape (4, 4) each."""
    frames: list[Array] = []
    arrivals: dict[int, Array] = {}
    for index, body in enumerate(chain.bodies):
        parent = frames[body.parent] if body.parent >= 0 else np.eye(4)
        before = lie.inverse(body.T_parent_body) @ parent  # the parent's chosen frame in this body's frame
        start = arrivals.get(index, before[:3, 3])
        axis = _Line(np.zeros(3), body.axis, free=not body.revolute)
        if not axis.free:
            start = body.axis * (body.axis @ start)
        origin, x, reached = _place(start, axis, _target(chain, index), before[:3, 0])
        frame = np.eye(4)
        frame[:3, :3] = np.column_stack([x, np.cross(body.axis, x), body.axis])
        frame[:3, 3] = origin
        frames.append(frame)
        following = _next(chain, index)
        if following is not None:
            T = chain.bodies[following].T_parent_body
            arrivals[following] = T[:3, :3].T @ (reached - T[:3, 3])
    return frames


def _next(chain: Chain, index: int) -> int | None:
    """The body on the way to the tip, else the first one carried."""
    on_path = chain.tip_body
    while on_path >= 0 and chain.bodies[on_path].parent != index:
        on_path = chain.bodies[on_path].parent
    if on_path >= 0:
        return on_path
    return next((child for child, body in enumerate(chain.bodies) if body.parent == index), None)


def _target(chain: Chain, index: int) -> tuple[_Line, Array] | None:
    """What the body's frame should suit: the next axis, or the tip's z axis; and a preferred x."""
    following = _next(chain, index)
    if following is not None:
        child = chain.bodies[following]
        R = child.T_parent_body[:3, :3]
        return _Line(child.T_parent_body[:3, 3], R @ child.axis, free=not child.revolute), R[:, 0]
    if chain.tip_body == index:
        T = chain.T_body_tip
        return _Line(T[:3, 3], T[:3, 2], free=False), T[:3, 0]
    return None


def _place(start: Array, axis: _Line, target: tuple[_Line, Array] | None, old_x: Array) -> tuple[Array, Array, Array]:
    """Origin and x of a frame on the axis, and the point of the target line that is reached from there."""
    z = axis.direction
    if target is None:
        return start, _across(z, old_x), start
    line, preferred = target
    normal = np.cross(z, line.direction)
    sine = np.linalg.norm(normal)
    apart = line.point - start
    if sine > NEARLY_PARALLEL:
        x = normal / sine
        x = x if x @ old_x >= 0.0 else -x
        if line.free:
            return start, x, start
        origin = start + z * (np.cross(apart, line.direction) @ normal / sine**2)
        return origin, x, origin + x * (x @ (line.point - origin))
    sideways = apart - z * (z @ apart)
    distance = np.linalg.norm(sideways)
    if line.free or distance < COINCIDENT:
        return start, _across(z, preferred), start
    # Of lines that nearly coincide the direction has few digits: made perpendicular to z once more.
    return start, _across(z, sideways / distance), start + sideways


def _across(z: Array, preferred: Array) -> Array:
    """The unit vector perpendicular to z that is nearest to the preferred one."""
    for candidate in (preferred, *np.eye(3)):
        x = candidate - z * (z @ candidate)
        length = np.linalg.norm(x)
        if length > 0.5:
            return x / length
    raise AssertionError("one coordinate axis is always far from z")
