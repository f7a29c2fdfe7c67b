"""Planning space: joint limits, a snapshot of the world, and how finely motions are checked."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..geometry import Checker, RawChecker, RobotBody, WorldSnapshot
from ..geometry.body import Group, GroupPair
from ..geometry.levers import levers
from ..geometry.levers import reaches as reaches_to
from ..geometry.table_builder import carried_group, groups_and_pairs
from ..geometry.tables import LOSS, SAFETY, SELF_SAFETY
from ..typing import Array
from .planners import certain, edges

RANGE = 1.0
"""Longest edge of a tree [rad or m]."""
STEP = 1.0 / 32.0
"""Joint distance of samples while searching [rad or m]."""
MARGIN = 0.5 * np.pi
"""How far beyond start and goals a search draws its first samples, within the limits, and half as far as it draws the
others [rad or m]."""
PADDING = 5e-4
"""Added to the robot during the search [m], so that the finished motion passes without it; to links towards each other
at most this much, because those of some arms are never farther apart than a few millimetres."""
THICKER = 2e-3
"""Added to the robot in a first, coarse check [m]; with more, neighbouring links of some arms always touch."""


@dataclass(eq=False)
class PlanningSpace:
    """One robot in one snapshot of the world. Thread-safe."""

    checker: Checker
    original: Checker
    """Without the padding of this space."""
    raw: RawChecker
    snapshot: WorldSnapshot
    lower: Array
    """Where samples are drawn [rad or m], shape (n,)."""
    upper: Array
    corners: Array
    """Smallest and largest joint positions of start and goals [rad or m], shape (2, n)."""
    reaches: Array
    """Upper bound of the motion of any point of the arm per joint motion [m/rad or 1], shape (n,)."""
    approaches: Array
    """Upper bound of the motion of a point of one link against another, per joint motion [m/rad or 1], shape (n,)."""
    code: NDArray[np.int64]
    """Addresses for compiled code, in the order of `edges`."""
    no_weights: Array
    counters: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    """Motions and samples checked."""
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
        held: NDArray[np.bool_] | None = None,
    ) -> PlanningSpace:
        """The space for a motion from a start to any of the goals (goals, n).

        Args:
            original: The checker without the padding of this space; itself if not given.
            held: Which elements of q stay at the start, shape (n,).
        """
        snapshot = checker.world.snapshot() if snapshot is None else snapshot
        limits, raw = checker.body.chain.limits, checker.raw(snapshot)
        ends = np.vstack([start, goals])
        corners = np.stack([ends.min(axis=0), ends.max(axis=0)])
        lower = np.maximum(limits.lower, corners[0] - 2.0 * MARGIN)
        upper = np.minimum(limits.upper, corners[1] + 2.0 * MARGIN)
        if held is not None:
            lower, upper = np.where(held, start, lower), np.where(held, start, upper)
        return cls(
            checker,
            checker if original is None else original,
            raw,
            snapshot,
            lower,
            upper,
            corners,
            reaches_of(checker.body, snapshot),
            approaches_of(checker.body, snapshot),
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
    def bounds(self) -> Array:
        """Where a search draws its first samples, and then the others: lower and upper [rad or m], shape (2, 2, n)."""
        near = np.clip(self.corners + np.array([[-MARGIN], [MARGIN]]), self.lower, self.upper)
        return np.stack([near, [self.lower, self.upper]])

    @cached_property
    def certifying_weights(self) -> Array:
        """For `edges.is_free`: samples so dense that what is free at them is free in between, shape (n,).

        Every point of the arm is then nearer to where it was at a sample than the robot is thickened here. Where there
        is padding, motions found free keep the safety margin of a checker without it.
        """
        return self._weights(self.checker)

    def _weights(self, checker: Checker) -> Array:
        to_world, to_each_other = self._slack(checker)
        # Between two samples the arm is at most half an interval away from one of them.
        return np.maximum(self.reaches / (2.0 * to_world), self.approaches / (2.0 * to_each_other))

    @cached_property
    def slack(self) -> Array:
        """How far points may be from where they were at a sample, towards the world and two links together [m]."""
        return np.array(self._slack(self.checker))

    def _slack(self, checker: Checker) -> tuple[float, float]:
        """Two links that approach each other close at most the way that points of the arm move, and both are padded."""
        world, own = checker.padding - self.original.padding, checker.self_padding - self.original.self_padding
        to_world = world if world > 0.0 else SAFETY
        to_itself = own if own > 0.0 else SELF_SAFETY
        return to_world - LOSS, 2.0 * (to_itself - LOSS)

    @property
    def padding(self) -> float:
        """Distance to objects that is added to that of the original checker [m]."""
        return self.checker.padding - self.original.padding

    @cached_property
    def unpadded(self) -> PlanningSpace:
        """The same with the original robot."""
        return self if self.original is self.checker else self._with(self.original)

    @cached_property
    def thicker(self) -> PlanningSpace:
        """The same with a thicker robot, which needs fewer samples for the same certainty."""
        original, own = self.original, self.checker
        checker = original.padded(
            max(original.padding + THICKER, own.padding),
            self_padding=max(original.self_padding + THICKER, own.self_padding),
        )
        return self._with(checker)

    def within(self, lower: Array, upper: Array) -> PlanningSpace:
        """The same with samples drawn within narrower bounds [rad or m], shape (n,)."""
        return replace(self, lower=np.clip(self.lower, lower, upper), upper=np.clip(self.upper, lower, upper))

    def _with(self, checker: Checker) -> PlanningSpace:
        raw = checker.raw(self.snapshot)
        return replace(self, checker=checker, raw=raw, code=_code_of(raw), _scratch=threading.local())

    def is_free(self, a: Array, b: Array) -> bool:
        """Whether the straight motion from a to b, shape (n,) each, is certainly free."""
        return self.first_blocked(np.stack([a, b])) < 0

    def is_free_at_samples(self, a: Array, b: Array) -> bool:
        """Whether the motion is free at samples a `STEP` apart; fast, and not certain between them."""
        return bool(edges.is_free(self.code, a, b, STEP, self.no_weights, self.work(), self.counters))

    def first_blocked(self, rows: Array) -> int:
        """First piece of a polyline (points, n) that is not certainly free; -1 if all are."""
        blocked = certain.first_uncertain(
            self.code, np.ascontiguousarray(rows), self.certifying_weights, self.reaches, self.slack, self.work(),
            self.counters,
        )  # fmt: skip
        return int(blocked)

    def collides(self, q: Array) -> NDArray[np.bool_]:
        """Whether configurations (N, n) collide in the snapshot of this space, shape (N,)."""
        rows = np.ascontiguousarray(q, dtype=np.float64)
        out = np.empty(len(rows), dtype=np.bool_)
        from ..geometry.codegen.engine import checker_code

        check = checker_code().calls["check"]
        check(self.raw.scene, rows.ctypes.data, len(rows), self.work().ctypes.data, out.ctypes.data)
        return out


def _code_of(raw: RawChecker) -> NDArray[np.int64]:
    addresses = raw.edge, raw.check, raw.scene, raw.lanes, raw.edge_onwards, raw.check_boxes, raw.nearest_point
    return np.array(addresses, dtype=np.int64)


def reaches_of(body: RobotBody, snapshot: WorldSnapshot) -> Array:
    """Upper bound of the motion of any point of the arm and its load, per motion of each joint."""
    reaches = np.array(_own_reaches(body))
    for item in snapshot.attached.values():
        reaches = np.maximum(reaches, reaches_to(body.chain, carried_group(body, item)))
    return reaches


def approaches_of(body: RobotBody, snapshot: WorldSnapshot) -> Array:
    """Upper bound of the motion of any point of a link or load against another that it may collide with, per joint."""
    if not snapshot.attached:
        return np.array(_own_approaches(body))
    groups, pairs = groups_and_pairs(body, snapshot)
    loads = [pair for pair in pairs if {groups[pair.first].name, groups[pair.second].name} & set(snapshot.attached)]
    return np.maximum(_own_approaches(body), _approaches(body, groups, loads))


@functools.lru_cache(maxsize=16)
def _own_approaches(body: RobotBody) -> tuple[float, ...]:
    return tuple(_approaches(body, body.groups, body.pairs).tolist())


def _approaches(body: RobotBody, groups: Sequence[Group], pairs: Sequence[GroupPair]) -> Array:
    approaches = np.zeros(body.chain.n)
    for pair in pairs:
        for joint, lever in levers(body.chain, groups[pair.first], groups[pair.second]).items():
            approaches[joint] = max(approaches[joint], lever)
    return approaches


@functools.lru_cache(maxsize=16)
def _own_reaches(body: RobotBody) -> tuple[float, ...]:
    reaches = np.zeros(body.chain.n)
    for group in body.groups:
        reaches = np.maximum(reaches, reaches_to(body.chain, group))
    return tuple(reaches.tolist())
