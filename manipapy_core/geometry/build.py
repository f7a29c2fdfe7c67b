"""Builds a `RobotBody`: covers the links by spheres, samples which pairs can collide, and caches the result on disk."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler import cache
from ..model.chain import Chain
from ..model.elements import Geometry, MeshGeometry
from ..model.robot import Robot
from ..typing import Array
from .body import Group, GroupPair, RobotBody, make_group, parts_by_link
from .codegen.engine import checker_code, frames_code, workspace
from .cover import cover
from .hulls import file_digest
from .tables import build_scene

SAMPLES = 1 << 17
"""Random configurations that decide which pairs are checked."""
CLEARANCE = 0.01
"""Padding of each link [m] with which a pair must touch in no sample to be left out as never in contact."""
ALWAYS_SHARE = 0.95
"""A pair that touches in this share of all samples is left out as always in contact."""
ADJACENT, ALWAYS_TOUCHING, NEVER_TOUCHING = "adjacent", "always in contact", "never in contact"


def build_body(robot: Robot, chain: Chain, overshoot: float, keep: bool) -> RobotBody:
    solids = parts_by_link(robot, chain)

    def groups_of(spheres: dict[str, Array]) -> tuple[Group, ...]:
        return tuple(make_group(link, frame, parts, spheres[link]) for link, (frame, parts) in solids.items())

    def build() -> bytes:
        spheres = {link: cover(parts, overshoot) for link, (_, parts) in solids.items()}
        return _packed(spheres, _sample(chain, groups_of(spheres)))

    if keep:
        inputs = [_inputs(robot, chain, overshoot)]
        content = cache.load_data("body", inputs, __name__, ("geometry/", "compiler/"), build, cache.BODY)
    else:
        content = build()
    spheres, counts = _unpacked(content, list(solids))
    groups = groups_of(spheres)
    pairs, ignored = _choose_pairs(chain, groups, *counts)
    return RobotBody(chain, overshoot, groups, pairs, ignored)


def candidate_pairs(chain: Chain, groups: Sequence[Group]) -> tuple[list[GroupPair], list[tuple[int, int]]]:
    """All pairs that a joint can bring together with all their parts, and the pairs of adjacent links."""
    solid = {group.frame for group in groups}
    pairs, adjacent = [], []
    for a, first in enumerate(groups):
        for b, second in enumerate(groups[a + 1 :], a + 1):
            if first.frame == second.frame:
                continue
            if _joined(chain, first.frame, second.frame, solid):
                adjacent.append((a, b))
            else:
                parts = tuple((i, j) for i in range(len(first.parts)) for j in range(len(second.parts)))
                pairs.append(GroupPair(a, b, parts))
    return pairs, adjacent


def _joined(chain: Chain, first: int, second: int, solid: set[int]) -> bool:
    """True if one frame carries the other by one joint, or through bodies without shapes only."""
    return first == _carrier(chain, second, solid) or second == _carrier(chain, first, solid)


def _carrier(chain: Chain, frame: int, solid: set[int]) -> int:
    while frame > 0:
        frame = chain.bodies[frame - 1].parent + 1
        if frame in solid:
            return frame
    return -1


def _sample(chain: Chain, groups: Sequence[Group]) -> tuple[NDArray[np.int64], ...]:
    """Number of samples in which each pair of parts touches: without and with clearance."""
    pairs, _ = candidate_pairs(chain, groups)
    rng = np.random.default_rng(0)
    lower, upper = sampling_limits(chain)
    q = rng.uniform(lower, upper, (SAMPLES, chain.n))
    code, frames = checker_code(), frames_code(chain)
    results = []
    for pad in (0.0, CLEARANCE):
        scene = build_scene(frames.address, chain.n, len(chain.bodies), groups, pairs, pad=pad, keep_alive=frames)
        counts = np.zeros(sum(len(pair.part_pairs) for pair in pairs), dtype=np.int64)
        work = workspace(scene.work_vectors)
        code.calls["sample"](scene.address, q.ctypes.data, len(q), work.ctypes.data, counts.ctypes.data)
        results.append(counts)
    return tuple(results)


def sampling_limits(chain: Chain) -> tuple[Array, Array]:
    """Finite bounds of q: continuous joints take one turn."""
    lower, upper = chain.limits.lower, chain.limits.upper
    return np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)


def _choose_pairs(
    chain: Chain, groups: Sequence[Group], touching: NDArray[np.int64], clear: NDArray[np.int64]
) -> tuple[tuple[GroupPair, ...], dict[frozenset[str], str]]:
    candidates, adjacent = candidate_pairs(chain, groups)
    ignored = {frozenset({groups[a].name, groups[b].name}): ADJACENT for a, b in adjacent}
    chosen, start = [], 0
    for pair in candidates:
        rows = slice(start, start + len(pair.part_pairs))
        start = rows.stop
        names = frozenset({groups[pair.first].name, groups[pair.second].name})
        parts = tuple(parts for parts, count in zip(pair.part_pairs, clear[rows]) if count)
        if touching[rows].max() >= ALWAYS_SHARE * SAMPLES:
            ignored[names] = ALWAYS_TOUCHING
        elif not parts:
            ignored[names] = NEVER_TOUCHING
        else:
            # Most frequent contacts first: a hit ends the check.
            order = np.argsort(-touching[rows][clear[rows] > 0], kind="stable")
            sorted_pair = GroupPair(pair.first, pair.second, tuple(parts[i] for i in order))
            chosen.append((int(touching[rows].max()), sorted_pair))
    chosen.sort(key=lambda item: -item[0])
    return tuple(pair for _, pair in chosen), ignored


def _inputs(robot: Robot, chain: Chain, overshoot: float) -> str:
    """Changes with the shapes, the chain and its limits."""
    meshes = {
        shape.geometry.filename: file_digest(shape.geometry.filename)
        for link in robot.links.values()
        for shape in link.collisions
        if isinstance(shape.geometry, MeshGeometry) and shape.geometry.filename
    }
    shapes = [
        (link.name, shape.T_link_shape.tobytes(), type(shape.geometry).__name__, _numbers_of(shape.geometry))
        for link in robot.links.values()
        for shape in link.collisions
    ]
    lower, upper = sampling_limits(chain)
    bodies = [
        (body.parent, body.T_parent_body.tobytes(), body.axis.tobytes(), body.revolute, body.dof, body.ratio)
        for body in chain.bodies
    ]
    placements = [(body, T.tobytes()) for body, T in chain.link_placements]
    return repr((shapes, meshes, bodies, placements, lower.tobytes(), upper.tobytes(), overshoot))


def _numbers_of(geometry: Geometry) -> list[str]:
    values = (getattr(geometry, entry.name) for entry in fields(geometry))
    return [value if isinstance(value, str) else np.asarray(value, np.float64).tobytes().hex() for value in values]


def _packed(spheres: dict[str, Array], counts: tuple[NDArray[np.int64], ...]) -> bytes:
    content = io.BytesIO()
    arrays: dict[str, Any] = {f"spheres/{link}": rows for link, rows in spheres.items()}
    np.savez_compressed(content, counts=np.array(counts), **arrays)
    return content.getvalue()


def _unpacked(content: bytes, links: list[str]) -> tuple[dict[str, Array], tuple[NDArray[np.int64], ...]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {link: arrays[f"spheres/{link}"] for link in links}, tuple(arrays["counts"])
