"""Where a planner searches: limits, a fixed picture of the world, and how finely motions are looked at."""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..compiler.mechanism import from_chain
from ..geometry import Checker, RawChecker, RobotBody, WorldSnapshot
from ..geometry.body import Group
from ..geometry.table_builder import carried_group
from ..geometry.tables import SAFETY
from ..typing import Array
from .planners import edges

RANGE = 1.0
"""Longest edge of a tree [rad or m]."""
STEP = 1.0 / 32.0
"""Joint distance of samples while searching [rad or m]."""
MARGIN = 0.5 * np.pi
"""How far beyond start and goals a joint that could go farther is searched [rad or m]."""
LOSS = 1e-5
"""What single precision takes away from the checker's safety margin over an arm's length [m]."""
PADDING = 5e-4
"""How much thicker the robot is while a path is sought [m], so that the finished motion passes at its own size."""
THICKER = 2e-3
"""How thick the robot is at first sight [m]: more, and neighbouring links of some arms always touch."""


@dataclass(eq=False)
class PlanningSpace:
    """One robot in one world at one moment. Threads may share it."""

    checker: Checker
    original: Checker
    """Without the padding of this space."""
    raw: RawChecker
    snapshot: WorldSnapshot
    lower: Array
    """Where samples are drawn [rad or m], shape (n,)."""
    upper: Array
    reaches: Array
    """How far a point of the arm can move per joint motion [m/rad or 1], shape (n,); never too small."""
    code: NDArray[np.int64]
    """As `edges` numbers it."""
    no_weights: Array
    books: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    """Motions and samples looked at."""
    _scratch: threading.local = field(default_factory=threading.local)

    @classmethod
    def around(
        cls,
        checker: Checker,
        start: Array,
        goals: Array,
        *,
        snapshot: WorldSnapshot | None = None,
        original: Checker | None = None,
    ) -> PlanningSpace:
        """The space for a motion from a start to any of the goals (goals, n).

        Args:
            original: The checker without the padding of this space; itself if not given.
        """
        picture = checker.world.snapshot() if snapshot is None else snapshot
        limits, raw = checker.body.chain.limits, checker.raw(picture)
        corners = np.vstack([start, goals])
        lower = np.maximum(limits.lower, corners.min(axis=0) - 2.0 * MARGIN)
        upper = np.minimum(limits.upper, corners.max(axis=0) + 2.0 * MARGIN)
        return cls(
            checker,
            checker if original is None else original,
            raw,
            picture,
            lower,
            upper,
            reaches_of(checker.body, picture),
            _code_of(raw),
            np.zeros(start.size),
        )

    def work(self) -> NDArray[np.float32]:
        """Scratch memory of the calling thread."""
        memory: NDArray[np.float32] | None = getattr(self._scratch, "work", None)
        if memory is None:
            memory = self._scratch.work = np.empty(self.raw.work_floats, dtype=np.float32)
        return memory

    @cached_property
    def certifying_weights(self) -> Array:
        """For `edges.is_free`: samples so dense that they speak for all that is between them, shape (n,).

        Every point of the arm is then nearer to where it was at a sample than the robot is thickened here. Where there
        is padding, motions found free keep the safety margin of a checker without it.
        """
        return self.reaches / (2.0 * ((self.padding if self.padding > 0.0 else SAFETY) - LOSS))

    @property
    def padding(self) -> float:
        """How much thicker the robot is here than it was handed in [m]."""
        return self.checker.padding - self.original.padding

    @cached_property
    def unpadded(self) -> PlanningSpace:
        """The same with the robot as it was handed in."""
        return self if self.original is self.checker else self._with(self.original)

    @cached_property
    def thicker(self) -> PlanningSpace:
        """The same with a thicker robot, which needs fewer samples for the same certainty."""
        margin = 0.0 if self.padding > 0.0 else SAFETY
        checker = self.original.padded(max(self.original.padding + THICKER, self.checker.padding))
        space = self._with(checker)
        space.certifying_weights = self.reaches / (2.0 * (checker.padding - self.original.padding + margin - LOSS))
        return space

    def _with(self, checker: Checker) -> PlanningSpace:
        raw = checker.raw(self.snapshot)
        return replace(self, checker=checker, raw=raw, code=_code_of(raw), _scratch=threading.local())

    def is_free(self, a: Array, b: Array) -> bool:
        """Whether the straight motion from a to b, shape (n,) each, is free for certain."""
        return self.first_blocked(np.stack([a, b])) < 0

    def looks_free(self, a: Array, b: Array) -> bool:
        """Whether it is free at samples a `STEP` apart; quick, and nothing is certain between them."""
        return bool(edges.is_free(self.code, a, b, STEP, self.no_weights, self.work(), self.books))

    def first_blocked(self, rows: Array) -> int:
        """First piece of a polyline (points, n) that is not free for certain; -1 if all are."""
        thick, rows = self.thicker, np.ascontiguousarray(rows)
        blocked = edges.first_uncertain(
            thick.code, self.code, rows, STEP, thick.certifying_weights, self.certifying_weights, self.work(),
            self.books,
        )  # fmt: skip
        return int(blocked)

    def collides(self, q: Array) -> NDArray[np.bool_]:
        """Of configurations (N, n), in this space's own picture of the world."""
        rows = np.ascontiguousarray(q, dtype=np.float64)
        out = np.empty(len(rows), dtype=np.bool_)
        from ..geometry.codegen.engine import checker_code

        check = checker_code().calls["check"]
        check(self.raw.scene, rows.ctypes.data, len(rows), self.work().ctypes.data, out.ctypes.data)
        return out


def _code_of(raw: RawChecker) -> NDArray[np.int64]:
    return np.array([raw.edge, raw.check, raw.scene, raw.lanes], dtype=np.int64)


def reaches_of(body: RobotBody, snapshot: WorldSnapshot) -> Array:
    """A bound on the motion of every point of the arm, and of what it carries, per motion of each joint.

    By the triangle inequality over the frames of the bodies: a joint's axis passes through the origin of its body's
    frame, so a point turns about it at most at the sum of the distances in between.
    """
    reaches = np.array(_own_reaches(body))
    for item in snapshot.attached.values():
        reaches = np.maximum(reaches, _reaches_to(body, carried_group(body, item)))
    return reaches


@functools.lru_cache(maxsize=16)
def _own_reaches(body: RobotBody) -> tuple[float, ...]:
    reaches = np.zeros(body.chain.n)
    for group in body.groups:
        reaches = np.maximum(reaches, _reaches_to(body, group))
    return tuple(reaches.tolist())


def _reaches_to(body: RobotBody, group: Group) -> Array:
    """From the outermost body inwards: how far its points are from the origin of each frame before it."""
    bodies, limits = from_chain(body.chain).bodies, body.chain.limits
    origin = np.zeros(3)
    distance = max(float(np.linalg.norm(part.farthest_from(origin))) for part in group.parts)
    reaches, index = np.zeros(body.chain.n), group.frame - 1
    while index >= 0:
        moved = bodies[index]
        reaches[moved.dof] += abs(moved.ratio) * (distance if moved.revolute else 1.0)
        if not moved.revolute:
            travel = np.abs(moved.ratio * np.array([limits.lower[moved.dof], limits.upper[moved.dof]]))
            distance += float(travel.max())
        distance += float(np.linalg.norm(moved.translation))
        index = moved.parent
    return reaches
