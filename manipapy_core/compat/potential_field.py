"""`PotentialField` and `CollisionChecker` with ManipulaPy's names.

A potential field bends a motion away from obstacles but stops in local minima; `motion.plan` finds a way around them.
Intended difference from ManipulaPy: `CollisionChecker` is this library's, which checks the exact convex parts of the
links, not the convex hull of each link.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import geometry
from ..errors import InputError
from ..typing import Array
from .arm import read_robot, serial_arm

_SCALE = 20.0
"""Factor of the repulsive potential in ManipulaPy."""
_AT_OBSTACLE = 1e-9
"""Distance below which the direction away from an obstacle is undefined."""


class PotentialField:
    """Attraction to a goal, ½ a |q − q_goal|², and repulsion from obstacles, 20 r (1/d − 1/d₀)² for d below d₀.

    Args:
        attractive_gain: a.
        repulsive_gain: r.
        influence_distance: d₀, in the unit of q.
    """

    def __init__(self, attractive_gain: float = 1.0, repulsive_gain: float = 100.0, influence_distance: float = 0.5):
        if not influence_distance > 0.0:
            raise InputError(f"influence_distance is {influence_distance!r}; give a positive number")
        self.attractive_gain, self.repulsive_gain = attractive_gain, repulsive_gain
        self.influence_distance = influence_distance

    def compute_attractive_potential(self, q: ArrayLike, q_goal: ArrayLike) -> float:
        """½ a |q − q_goal|²."""
        way = np.asarray(q, dtype=np.float64) - np.asarray(q_goal, dtype=np.float64)
        return float(0.5 * self.attractive_gain * (way @ way))

    def compute_repulsive_potential(self, q: ArrayLike, obstacles: Iterable[ArrayLike]) -> float:
        """Sum over the obstacles; finite at an obstacle too."""
        inverse = [1.0 / max(distance, 1e-6) for _, distance in self._near(q, obstacles)]
        rest = np.array(inverse) - 1.0 / self.influence_distance
        return float(_SCALE * self.repulsive_gain * (rest @ rest))

    def compute_gradient(self, q: ArrayLike, q_goal: ArrayLike, obstacles: Iterable[ArrayLike]) -> Array:
        """Gradient of both potentials, shape of q; at an obstacle the repulsive gain along the first axis."""
        here = np.asarray(q, dtype=np.float64)
        gradient = self.attractive_gain * (here - np.asarray(q_goal, dtype=np.float64))
        for offset, distance in self._near(here, obstacles):
            if distance < _AT_OBSTACLE:
                gradient = gradient + self.repulsive_gain * np.eye(len(here))[0]
                continue
            rest = 1.0 / distance - 1.0 / self.influence_distance
            gradient = gradient - 2.0 * _SCALE * self.repulsive_gain * rest / distance**3 * offset
        return gradient

    def _near(self, q: ArrayLike, obstacles: Iterable[ArrayLike]) -> list[tuple[Array, float]]:
        """Offset from each obstacle within reach, and its length."""
        here = np.asarray(q, dtype=np.float64)
        offsets = [here - np.asarray(obstacle, dtype=np.float64) for obstacle in obstacles]
        pairs = [(offset, float(np.linalg.norm(offset))) for offset in offsets]
        return [(offset, distance) for offset, distance in pairs if distance <= self.influence_distance]


class CollisionChecker:
    """Collisions of an arm with itself.

    Args:
        urdf_path: Path of the description, or the name of a bundled robot.
        backend: No effect, as `load_meshes`: the shapes are always read.
    """

    def __init__(self, urdf_path: str | os.PathLike[str], backend: str = "builtin", load_meshes: bool = True):
        robot = read_robot(urdf_path)
        self.chain = serial_arm(robot)
        self.checker = geometry.Checker(geometry.RobotBody.build(robot, self.chain))

    def check_collision(self, thetalist: ArrayLike | Mapping[str, float]) -> bool:
        """Whether the arm touches itself at joint positions [rad or m], shape (n,), or by joint name (others 0)."""
        if isinstance(thetalist, Mapping):
            thetalist = [float(thetalist.get(name, 0.0)) for name in self.chain.joint_names]
        return bool(self.checker.collides(np.asarray(thetalist, dtype=np.float64)))


def build_link_adjacency(urdf: Any, exclude_grandparents: bool = True) -> set[frozenset[str]]:
    """Pairs of links that a joint connects, which may touch.

    Args:
        urdf: Any object with `joints`, each with `parent` and `child`.
        exclude_grandparents: Also links with one link between them.
    """
    parents: dict[str, list[str]] = {}
    for joint in urdf.joints:
        parents.setdefault(joint.child, []).append(joint.parent)
    pairs = {frozenset((child, parent)) for child, found in parents.items() for parent in found}
    if exclude_grandparents:
        pairs |= {
            frozenset((child, grandparent))
            for child, found in parents.items()
            for parent in found
            for grandparent in parents.get(parent, ())
        }
    return pairs
