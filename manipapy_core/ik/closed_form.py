"""Closed forms for arms of revolute joints, by subproblem decomposition (EAIK, an optional package).

Six joints are solved where three axes in a row meet or are parallel. Seven are solved by holding one of them, which
leaves such a six-joint arm; the held joint's position is the redundancy parameter.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import lie
from ..model.chain import Chain
from ..typing import Array

EXACT = 1e-4
"""Candidates may be this far off [m, rad] before they are polished; least-squares results are refused."""


@dataclass(frozen=True)
class ClosedForm:
    """Closed-form solution of a chain."""

    family: str
    """Geometry class, for example "6R-THREE_INNER_PARALLEL"."""
    held: int | None
    """Joint that is held at given positions, for seven joints."""
    S: Array
    """Space screw axes, shape (6, n)."""
    M: Array
    """Home pose, shape (4, 4)."""

    def candidates(self, T: Array, held_at: float = 0.0) -> Array:
        """Every solution of one pose, unpolished, each angle within a turn, shape (count, n)."""
        solver, M_rotation = self._solver(held_at)
        # EAIK's tip frame has the base's axes at home: the calibration is one constant rotation
        shifted = T.copy()
        shifted[:3, :3] = T[:3, :3] @ M_rotation.T
        result = solver.IK(shifted)
        exact = ~np.asarray(result.is_LS, dtype=bool)
        found = np.asarray(result.Q, dtype=np.float64).reshape(-1, solver_width(self.S, self.held))[exact]
        if self.held is None:
            return found
        return np.insert(found, self.held, held_at, axis=1)

    def _solver(self, held_at: float) -> tuple[Any, Array]:
        if self.held is None:
            return self._whole, self.M[:3, :3]
        S, M = hold(self.S, self.M, self.held, held_at)
        return subproblem_solver(S, M), M[:3, :3]

    @functools.cached_property
    def _whole(self) -> Any:
        return subproblem_solver(self.S, self.M)


def solver_width(S: Array, held: int | None) -> int:
    return S.shape[1] - (held is not None)


def subproblem_solver(S: Array, M: Array) -> Any:
    """EAIK's robot from screw axes: a direction and a point of every axis, at home."""
    directions = np.ascontiguousarray(S[:3].T)
    points = np.cross(directions, S[3:].T)  # of each axis, the one nearest to the origin
    steps = np.vstack([points[:1], np.diff(points, axis=0), M[:3, 3] - points[-1]])
    return importlib.import_module("eaik.IK_HP").HPRobot(directions, steps)


def hold(S: Array, M: Array, joint: int, position: float) -> tuple[Array, Array]:
    """Screw axes and home pose of the arm that is left when one joint is held."""
    moved = lie.exp_se3(S[:, joint] * position)
    rest = lie.adjoint(moved) @ S[:, joint + 1 :]
    return np.concatenate([S[:, :joint], rest], axis=1), moved @ M


@functools.lru_cache(maxsize=64)
def closed_form(chain: Chain) -> ClosedForm | None:
    """The closed form of a chain's geometry, or None if it has none or EAIK is not installed."""
    serial = len(chain.bodies) == chain.n and all(b.parent == i - 1 for i, b in enumerate(chain.bodies))
    revolute = all(body.revolute and body.ratio == 1.0 for body in chain.bodies)
    if not (serial and revolute and chain.tip_body == chain.n - 1 and chain.n in (6, 7)) or not available():
        return None
    if chain.n == 6:
        solver = subproblem_solver(chain.S, chain.M)
        known = solver.hasKnownDecomposition()
        return ClosedForm(solver.getKinematicFamily(), None, chain.S, chain.M) if known else None
    for joint in (6, 2, 0, 4, 3, 5, 1):
        # a special position could have a special geometry, so two ordinary ones are examined
        solvers = [subproblem_solver(*hold(chain.S, chain.M, joint, position)) for position in (0.37, -1.13)]
        if all(solver.hasKnownDecomposition() for solver in solvers):
            family = solvers[0].getKinematicFamily()
            return ClosedForm(f"7R, joint {chain.joint_names[joint]} held: {family}", joint, chain.S, chain.M)
    return None


def available() -> bool:
    return importlib.util.find_spec("eaik") is not None
