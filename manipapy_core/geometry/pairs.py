"""Which pairs of links are checked for self-collision, and which part pairs of them.

A pair is left out only for a reason that holds everywhere: the links are adjacent, the exact shapes are in contact in
every sampled configuration, or the parts are proved never to meet. The proof is a grid over the joints between two
links, fine enough that no configuration between its points can close the clearance that was found at them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..model.chain import Chain
from ..typing import Array
from .body import Group, GroupPair
from .codegen.engine import checker_code, frames_code, workspace
from .levers import levers
from .tables import Padding, robot_tables, scene_tables

SAMPLES = 1 << 12
"""Random configurations: they decide in which order pairs are checked, and which might always be in contact."""
EXACT_SAMPLES = 256
"""Of these, at which the exact shapes tell whether a pair is always in contact."""
CLEARANCE = 0.01
"""Added to each part on the grid of a proof [m]."""
MOST_GRID = 1 << 17
"""Configurations of a proof; pairs that need more are checked instead."""
ADJACENT, ALWAYS_TOUCHING, NEVER_TOUCHING = "adjacent", "always in contact", "never in contact"

Touch = Callable[[str, str, Array], bool]
"""Whether the exact shapes of two links are in contact at q; links by name."""


def choose_pairs(
    chain: Chain, groups: Sequence[Group], touch: Touch | None
) -> tuple[list[GroupPair], dict[frozenset[str], str]]:
    """Pairs to check, the most frequent contacts first, and those left out with the reason.

    Args:
        touch: Without it no pair counts as always in contact.
    """
    candidates, adjacent = candidate_pairs(chain, groups)
    ignored = {frozenset({groups[a].name, groups[b].name}): ADJACENT for a, b in adjacent}
    lower, upper = chain.limits.sampling_range
    q = np.random.default_rng(0).uniform(lower, upper, (SAMPLES, chain.n))
    near = _contacts(chain, groups, candidates, q, CLEARANCE)
    touching = _contacts_among(chain, groups, candidates, q, [counts > 0 for counts in near])
    possible = _possible_contacts(chain, groups, candidates)
    chosen = []
    for pair, contacts, approaches, may_touch in zip(candidates, touching, near, possible):
        names = (groups[pair.first].name, groups[pair.second].name)
        if touch and contacts.max() == SAMPLES and all(touch(*names, row) for row in q[:EXACT_SAMPLES]):
            ignored[frozenset(names)] = ALWAYS_TOUCHING
        elif not may_touch.any():
            ignored[frozenset(names)] = NEVER_TOUCHING
        else:
            order = [i for i in np.argsort(-contacts, kind="stable") if may_touch[i]]
            parts = tuple(pair.part_pairs[i] for i in order)
            chosen.append((contacts.max(), GroupPair(pair.first, pair.second, parts, bool(approaches.any()))))
    chosen.sort(key=lambda item: -item[0])
    return [pair for _, pair in chosen], ignored


def candidate_pairs(chain: Chain, groups: Sequence[Group]) -> tuple[list[GroupPair], list[tuple[int, int]]]:
    """All pairs that a joint can bring together with all their parts, and the pairs of adjacent links."""
    solid = {group.frame for group in groups}
    pairs, adjacent = [], []
    for a, first in enumerate(groups):
        for b, second in enumerate(groups[a + 1 :], a + 1):
            if first.frame == second.frame:
                continue
            if joined(chain, first.frame, second.frame, solid):
                adjacent.append((a, b))
            else:
                parts = tuple((i, j) for i in range(len(first.parts)) for j in range(len(second.parts)))
                pairs.append(GroupPair(a, b, parts))
    return pairs, adjacent


def joined(chain: Chain, first: int, second: int, solid: set[int]) -> bool:
    """True if one frame carries the other by one joint, or through bodies without shapes only."""
    return first == _carrier(chain, second, solid) or second == _carrier(chain, first, solid)


def _carrier(chain: Chain, frame: int, solid: set[int]) -> int:
    while frame > 0:
        frame = chain.bodies[frame - 1].parent + 1
        if frame in solid:
            return frame
    return -1


def _contacts(
    chain: Chain, groups: Sequence[Group], pairs: Sequence[GroupPair], q: Array, pad: float
) -> list[NDArray[np.int64]]:
    """Number of configurations in which each part pair touches, per pair."""
    if not pairs:
        return []
    code, frames = checker_code(), frames_code(chain)
    padding = Padding(own=pad)
    scene = scene_tables(
        robot_tables(frames.address, chain.n, len(chain.bodies), groups, pairs, padding=padding, keep_alive=frames)
    )
    ends = np.cumsum([len(pair.part_pairs) for pair in pairs])
    counts = np.zeros(ends[-1], dtype=np.int64)
    work = workspace(scene.work_vectors)
    q = np.ascontiguousarray(q)
    code.calls["sample"](scene.address, q.ctypes.data, len(q), work.ctypes.data, counts.ctypes.data)
    return np.split(counts, ends[:-1])


def _contacts_among(
    chain: Chain,
    groups: Sequence[Group],
    pairs: Sequence[GroupPair],
    q: Array,
    possible: Sequence[NDArray[np.bool_]],
) -> list[NDArray[np.int64]]:
    """The same without a clearance, where the part pairs that can touch at all are known."""
    kept = [
        GroupPair(pair.first, pair.second, tuple(itertools.compress(pair.part_pairs, may_touch.tolist())))
        for pair, may_touch in zip(pairs, possible)
        if may_touch.any()
    ]
    found = iter(_contacts(chain, groups, kept, q, 0.0))
    counts = [np.zeros(len(pair.part_pairs), dtype=np.int64) for pair in pairs]
    for every, may_touch in zip(counts, possible):
        if may_touch.any():
            every[may_touch] = next(found)
    return counts


def _possible_contacts(chain: Chain, groups: Sequence[Group], pairs: Sequence[GroupPair]) -> list[NDArray[np.bool_]]:
    """Which part pairs are not proved to stay apart, per pair."""
    possible = [np.ones(len(pair.part_pairs), dtype=np.bool_) for pair in pairs]
    by_joints: dict[tuple[int, ...], list[int]] = {}
    all_levers = [levers(chain, groups[pair.first], groups[pair.second]) for pair in pairs]
    for index, lever in enumerate(all_levers):
        by_joints.setdefault(tuple(sorted(lever)), []).append(index)
    for joints, members in by_joints.items():
        longest = {joint: max(all_levers[index][joint] for index in members) for joint in joints}
        grid = _grid(chain, longest)
        if grid is None:
            continue
        for index, counts in zip(members, _contacts(chain, groups, [pairs[i] for i in members], grid, CLEARANCE)):
            possible[index] = counts > 0
    return possible


def _grid(chain: Chain, longest: dict[int, float]) -> Array | None:
    """Centres of cells over the joints, so small that nothing inside one moves farther than two clearances."""
    lower, upper = chain.limits.sampling_range
    turns = {
        body.dof: all(b.revolute and b.ratio == 1.0 for b in chain.bodies if b.dof == body.dof) for body in chain.bodies
    }
    axes = []
    for joint, lever in longest.items():
        width = float(upper[joint] - lower[joint])
        if turns[joint]:
            width = min(width, 2.0 * math.pi)
        if not (math.isfinite(width) and math.isfinite(lever)):
            return None
        # Each joint may use its share of the clearance on either side of a cell's centre.
        cells = max(1, math.ceil(width * lever * len(longest) / (4.0 * CLEARANCE)))
        axes.append(lower[joint] + width * (np.arange(cells) + 0.5) / cells)
    if math.prod(len(axis) for axis in axes) > MOST_GRID:
        return None
    values = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    grid = np.tile(np.clip(0.0, lower, upper), (len(values), 1))
    grid[:, list(longest)] = values
    return grid
