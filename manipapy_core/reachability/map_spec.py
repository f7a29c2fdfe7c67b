"""Specification of a reachability map: the arm, its cells, and which configurations count."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler import mechanism_of
from ..errors import InputError
from ..geometry import Checker, RobotBody
from ..ik.seed_table import suits
from ..model.chain import Chain
from ..model.robot import Robot
from .footprint import Polygon, statically_stable
from .samples import Measure

DEFAULTS = {"4d": (0.05, 36), "6d": (0.1, 12)}
"""Resolution [m] and tilts of each index: what ten million samples fill."""


@dataclass(frozen=True, eq=False)
class MapSpec:
    """Everything that determines the content of a map."""

    robot: Robot
    base: str
    tip: str
    samples: int = 10_000_000
    resolution: float = 0.0
    """Edge of a cell [m]; 0.05 with four dimensions and 0.1 with six if not given."""
    tilts: int = 0
    """Cells of the tip's tilt; 36 (5°) with four dimensions and 12 (15°) with six if not given."""
    seed: int = 0
    self_collision: bool = True
    """Leave out configurations in self-collision."""
    verify: int = 0
    """Poses per edge cell that are checked by inverse kinematics."""
    block: int = 500_000
    """Samples per block."""
    fixed: Mapping[str, float] = field(default_factory=dict)
    """Positions of joints that are held [rad or m]."""
    index: str = "auto"
    """"4d": compact, for serial arms whose first and last joint turn. "6d": place, direction and roll, for any arm;
    only visited cells take memory. "auto": the compact one where the arm allows it."""
    support: Polygon | None = None
    """Leave out configurations whose centre of mass is not above this, in x and y of the base frame, z up."""

    def __post_init__(self) -> None:
        if self.samples < 1 or self.block < 1 or self.verify < 0:
            raise InputError(f"samples {self.samples} and block {self.block} must be at least 1, verify 0 or more")
        if self.index not in ("auto", *DEFAULTS):
            raise InputError(f"index is {self.index!r}; choose auto, 4d or 6d")
        if self.index == "auto":
            object.__setattr__(self, "index", "4d" if suits(mechanism_of(self._cut())) else "6d")
        resolution, tilts = DEFAULTS[self.index]
        object.__setattr__(self, "resolution", self.resolution or resolution)
        object.__setattr__(self, "tilts", self.tilts or tilts)

    @cached_property
    def arm(self) -> str:
        """Digest of the arm, the same in every process."""
        parts = (self.robot.urdf, self.robot.joints, self.base, self.tip, sorted(self.fixed.items()))
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapSpec) and (self.arm, self.settings()) == (other.arm, other.settings())

    def __hash__(self) -> int:
        return hash(self.arm)

    @property
    def chain(self) -> Chain:
        return _chain(self)

    @property
    def checker(self) -> Checker:
        return _checker(self)

    @property
    def collides(self) -> Measure | None:
        """Which configurations are in self-collision; None if that does not count."""
        return self.checker.check if self.self_collision else None

    @property
    def accept(self) -> Measure | None:
        """Which configurations are statically stable; None if that does not count."""
        return None if self.support is None else partial(statically_stable, self.robot, self.chain, self.support)

    @property
    def blocks(self) -> int:
        return math.ceil(self.samples / self.block)

    def size_of(self, block: int) -> int:
        """Samples of one block; the last may be smaller."""
        return min(self.block, self.samples - block * self.block)

    def settings(self) -> dict[str, Any]:
        """What a file must agree with to be continued."""
        return {
            "samples": self.samples,
            "tilts": self.tilts,
            "sampling_seed": self.seed,
            "self_collision": self.self_collision,
            "block": self.block,
            "index": self.index,
            "support": None if self.support is None else self.support.corners.tolist(),
        }

    def _cut(self) -> Chain:
        return self.robot.chain(self.base, self.tip, fixed=self.fixed)


@lru_cache(maxsize=8)
def _chain(spec: MapSpec) -> Chain:
    return spec._cut()


@lru_cache(maxsize=8)
def _checker(spec: MapSpec) -> Checker:
    return Checker(RobotBody.build(spec.robot, _chain(spec)))


def both(first: Measure | None, second: Measure | None) -> Measure | None:
    """True where both are; None is left out."""
    if first is None or second is None:
        return second if first is None else first
    a, b = first, second

    def check(q: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray(a(q), dtype=np.bool_) & np.asarray(b(q), dtype=np.bool_)

    return check
