"""The seed table of a chain: a million sampled poses sorted into cells, kept on disk like compiled kernels."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import lie
from ..compiler import cache
from ..compiler.mechanism import Mechanism, from_chain
from ..model.chain import Chain
from ..model.elements import Array
from .bounds import TURN, Bounds, search_bounds

SAMPLES = 1_000_000
CANDIDATES = 8
VERSION = "1"
"""Of the layout and of how the table is filled; a change makes new files."""


@dataclass(frozen=True)
class SeedTable:
    """Candidates by cell (`cells.locate`); without candidates where the chain does not allow a table."""

    frame: Array
    """Where the cells lie, shape (`cells.FRAME`,)."""
    candidates: NDArray[np.float32]
    """Shape (cells, candidates, n)."""


def empty_table(n: int) -> SeedTable:
    from .cells import FRAME

    return SeedTable(np.zeros(FRAME), np.zeros((1, 0, n), dtype=np.float32))


def suits(mechanism: Mechanism) -> bool:
    """A table needs one path of joints, of which the first and the last turn, and something between them."""
    bodies = mechanism.bodies
    serial = all(body.parent == index - 1 and body.dof == index for index, body in enumerate(bodies))
    if mechanism.coupled or not serial or mechanism.tip.body != len(bodies) - 1 or len(bodies) < 3:
        return False
    return all(body.revolute and body.ratio == 1.0 for body in (bodies[0], bodies[-1]))


@functools.lru_cache(maxsize=16)
def table_for(chain: Chain) -> SeedTable:
    """From the cache, or built, which takes about a second. Filled within the limits, it serves all tasks."""
    from .cells import CELLS, FRAME, GRID

    mechanism, bounds = from_chain(chain), search_bounds(chain, True)
    if not suits(mechanism):
        return empty_table(chain.n)
    limits = np.concatenate([bounds.lower, bounds.upper]).tobytes().hex()
    name = cache.name_for("ik_seeds", VERSION, repr((GRID, CANDIDATES, SAMPLES)), mechanism.digest(), limits)
    head = FRAME * 8
    kept = cache.read(name)
    if kept is not None and len(kept) == head + CELLS * CANDIDATES * chain.n * 4:
        # copies, because Numba compiles anew for arrays that may not be written to
        candidates = np.frombuffer(kept, np.float32, offset=head).reshape(CELLS, CANDIDATES, chain.n).copy()
        return SeedTable(np.frombuffer(kept[:head]).copy(), candidates)
    table = build_table(chain, mechanism, bounds)
    cache.write(name, table.frame.tobytes() + table.candidates.tobytes())
    return table


def build_table(chain: Chain, mechanism: Mechanism, bounds: Bounds) -> SeedTable:
    from .cells import CELLS, GRID, fill

    q = np.random.default_rng(1).uniform(bounds.lower, bounds.upper, (SAMPLES, chain.n))
    T = chain.kernels.forward.run(q)
    first, tip = mechanism.bodies[0], mechanism.tip
    A_inverse = lie.inverse(lie.pose(np.reshape(first.rotation, (3, 3)), first.translation))
    B_inverse = lie.inverse(lie.pose(np.reshape(tip.rotation, (3, 3)), tip.translation))
    places = (A_inverse @ T[::10] @ B_inverse)[:, :3, 3]
    radius, height = np.hypot(places[:, 0], places[:, 1]), places[:, 2]
    low = np.array([radius.min(), height.min()])
    size = np.maximum(np.array([np.ptp(radius), np.ptp(height)]) / GRID[:2], 1e-6)
    frame = np.concatenate([A_inverse[:3].ravel(), B_inverse[:3].ravel(), low, 1.0 / size])
    candidates = np.zeros((CELLS, CANDIDATES, chain.n), dtype=np.float32)
    score = np.full((CELLS, CANDIDATES), np.inf)
    fill(T, q, bounds.lower, bounds.upper, frame, candidates, score)
    return SeedTable(frame, _arranged(candidates, score, bounds))


def _arranged(candidates: NDArray[np.float32], score: Array, bounds: Bounds) -> NDArray[np.float32]:
    """Best candidates first; the outer joints within half a turn of their middle; NaN where there is none."""
    order = np.argsort(score, axis=1)
    ordered = np.take_along_axis(candidates, order[..., None], axis=1)
    for j in (0, -1):
        middle = 0.5 * (bounds.lower[j] + bounds.upper[j])
        ordered[..., j] -= TURN * np.round((ordered[..., j] - middle) / TURN)
    ordered[np.isinf(np.take_along_axis(score, order, axis=1)), 0] = np.nan
    return ordered
