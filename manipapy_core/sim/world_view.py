"""Content and poses of a world for a renderer, as records that can be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.robot import Robot
from ..typing import Array
from .scene import SceneObject


@dataclass(frozen=True, eq=False)
class WorldContent:
    """Robots and objects of a world; changes when one is added or removed."""

    version: int
    """Incremented with every change."""
    robots: dict[str, tuple[Robot, Array]]
    """By name: the robot and T_world_base, shape (4, 4)."""
    objects: dict[str, SceneObject]
    """By name."""


@dataclass(frozen=True, eq=False)
class WorldView:
    """Joint positions and object poses at one instant."""

    time_ns: int
    """Simulated time [ns]."""
    version: int
    """The `WorldContent` that this view belongs to."""
    q: dict[str, Array]
    """Joint positions by robot [rad or m], in the order of `Robot.tree().joint_names`, shape (n,)."""
    T_world_object: dict[str, Array]
    """Pose by object [m], shape (4, 4)."""
