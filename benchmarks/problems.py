"""The three robots of the benchmark and their random states, shared with the tests."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
for folder in (ROOT, ROOT / "test"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from manipapy_core import Chain, Robot  # noqa: E402
from reference.random_robots import random_chain  # noqa: E402

Array = NDArray[np.float64]
BATCH = 10_000


@dataclass(frozen=True)
class Problem:
    """A robot and a batch of random states within its limits."""

    name: str
    text: str
    base: str
    tip: str

    @cached_property
    def chain(self) -> Chain:
        return Robot.from_urdf(self.text).chain(self.base, self.tip)

    def states(self, count: int) -> tuple[Array, Array, Array]:
        """q, qd and qdd (or tau), each (count, n)."""
        rng = np.random.default_rng(7)
        limits = self.chain.limits
        q = rng.uniform(np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi), (count, self.chain.n))
        qd, qdd = rng.uniform(-2.0, 2.0, (2, count, self.chain.n))
        return q, qd, qdd


def problems() -> list[Problem]:
    """ur5, panda, and a random chain without zeros to exploit."""
    robots = ROOT / "manipapy_core" / "model" / "robots"
    random = random_chain("RPRPRR", seed=3)
    return [
        Problem("ur5", (robots / "ur5.urdf").read_text(encoding="utf-8"), "base_link", "tool0"),
        Problem("panda", (robots / "panda.urdf").read_text(encoding="utf-8"), "panda_link0", "panda_hand"),
        Problem("random RPRPRR", random.text, random.base, random.tip),
    ]
