"""Links that pass each other so closely that their convex parts meet where their exact shapes do not.

Links with one link between them are often built to pass each other at a millimetre, in places where one is concave;
parts that reach a few millimetres into free space call that a collision. Random configurations find such pairs, and
their meshes are cut finer. Other pairs rarely come so close: a few millimetres more hardly show among their contacts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model.chain import Chain
from .body import Group, GroupPair
from .codegen.engine import checker_code, frames_code, workspace
from .levers import levers
from .pairs import Touch, candidate_pairs
from .shapes import ConvexMesh
from .tables import robot_tables, scene_tables

SAMPLES = 1 << 11
"""Random configurations."""
EXACT_SAMPLES = 64
"""Of those in which parts meet, so many are compared by the exact shapes."""
FALSE_CONTACTS = 0.005
"""A pair whose parts meet falsely in a larger share of the samples is cut finer."""
MOST_JOINTS = 2
"""Between two links, to be looked at."""


def falsely_touching(chain: Chain, groups: Sequence[Group], touch: Touch) -> set[str]:
    """Links with meshes whose parts meet others where the exact shapes do not."""
    lower, upper = chain.limits.sampling_range
    q = np.random.default_rng(4).uniform(lower, upper, (SAMPLES, chain.n))
    code, frames = checker_code(), frames_code(chain)
    found: set[str] = set()
    for pair in candidate_pairs(chain, groups)[0]:
        both = [groups[pair.first], groups[pair.second]]
        meshes = {group.name for group in both if any(isinstance(part.shape, ConvexMesh) for part in group.parts)}
        if not meshes - found or len(levers(chain, *both)) > MOST_JOINTS:
            continue
        alone = [GroupPair(0, 1, pair.part_pairs)]
        scene = scene_tables(robot_tables(frames.address, chain.n, len(chain.bodies), both, alone, keep_alive=frames))
        out, work = np.empty(len(q), dtype=np.bool_), workspace(scene.work_vectors)
        code.calls["check"](scene.address, q.ctypes.data, len(q), work.ctypes.data, out.ctypes.data)
        contacts = np.flatnonzero(out)
        some = contacts[:EXACT_SAMPLES]
        false = sum(not touch(both[0].name, both[1].name, q[row]) for row in some)
        # One of many may be chance.
        if false > 1 and false * len(contacts) > FALSE_CONTACTS * SAMPLES * len(some):
            found |= meshes
    return found
