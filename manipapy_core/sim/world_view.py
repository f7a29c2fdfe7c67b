"""What a renderer needs to know of a world: what is in it, and where everything is at one instant.

Both are plain records that can be sent to another process.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model.robot import Robot
from ..typing import Array
from .scene import SceneObject


@dataclass(frozen=True, eq=False)
class WorldContent:
    """What is in a world; changes when something is spawned or removed."""

    version: int
    """Grows with every change."""
    robots: dict[str, tuple[Robot, Array]]
    """By name: the robot and T_world_base, shape (4, 4)."""
    objects: dict[str, SceneObject]
    """By name."""


@dataclass(frozen=True, eq=False)
class WorldView:
    """Where everything is at one instant."""

    time_ns: int
    """Simulated time [ns]."""
    version: int
    """The `WorldContent` that this view belongs to."""
    q: dict[str, Array]
    """Joint positions by robot [rad or m], in the order of `Robot.tree().joint_names`, shape (n,)."""
    T_world_object: dict[str, Array]
    """Pose by object [m], shape (4, 4)."""
