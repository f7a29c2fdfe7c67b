"""Batched distances between the links of an arm, by their covering spheres."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import kernels_of
from ..errors import ShapeError
from ..geometry import RobotBody
from ..jit import njit

BATCH = 4096
"""Configurations at a time: what fits the processor's cache."""


@dataclass(frozen=True, eq=False)
class _Tables:
    """The spheres of all links one after the other, and which pairs of links count."""

    link: NDArray[np.int64]
    """Number of each link among all links of the robot, shape (links,)."""
    first: NDArray[np.int64]
    """Where the spheres of each link begin, shape (links + 1,)."""
    spheres: NDArray[np.float32]
    """Centre in the frame of the link, and radius [m], shape (spheres, 4)."""
    balls: NDArray[np.float32]
    """A ball around each link: centre and radius [m], shape (links, 4)."""
    pairs: NDArray[np.int64]
    """Shape (pairs, 2)."""


@functools.lru_cache(maxsize=8)
def _tables(body: RobotBody) -> _Tables:
    names = [group.name for group in body.groups]
    spheres = [body.link_spheres[name] for name in names]
    balls = np.zeros((len(names), 4), np.float32)
    for ball, rows in zip(balls, spheres):
        ball[:3] = 0.5 * (rows[:, :3].min(axis=0) + rows[:, :3].max(axis=0))
        # A little more than needed, for single precision.
        ball[3] = 1e-5 + (np.linalg.norm(rows[:, :3] - ball[:3], axis=1) + rows[:, 3]).max()
    return _Tables(
        np.array([body.chain.link_names.index(name) for name in names], dtype=np.int64),
        np.concatenate([[0], np.cumsum([len(rows) for rows in spheres])]).astype(np.int64),
        np.concatenate([np.zeros((0, 4)), *spheres]).astype(np.float32),
        balls,
        np.array([(pair.first, pair.second) for pair in body.pairs if pair.comes_near], dtype=np.int64).reshape(-1, 2),
    )


def self_distances(body: RobotBody, q: ArrayLike) -> NDArray[np.float32]:
    """Least distance between two links that can collide.

    Measured between the covering spheres: never more than the truth, and at most twice the overshoot less.

    Args:
        q: Joint positions [rad or m], shape (..., n).

    Returns:
        [m], negative where spheres overlap, infinite if no two links can collide; shape (...,).
    """
    rows = np.asarray(q, dtype=np.float64)
    if rows.ndim < 1 or rows.shape[-1] != body.chain.n:
        raise ShapeError("q", f"(..., {body.chain.n})", rows.shape)
    flat, tables = rows.reshape(-1, body.chain.n), _tables(body)
    least = np.full(len(flat), np.inf, np.float32)
    for start in range(0, len(flat) if len(tables.pairs) else 0, BATCH):
        T = kernels_of(body.chain).link_poses.run(flat[start : start + BATCH].astype(np.float32))
        gaps(T, tables.link, tables.first, tables.spheres, tables.balls, tables.pairs, least[start : start + BATCH])
    return least.reshape(rows.shape[:-1])


@njit(cache=True, nogil=True)
def place(T, i, link, local, placed, at):  # type: ignore[no-untyped-def]
    for r in range(3):
        total = T[i, link, r, 3]
        for k in range(3):
            total += T[i, link, r, k] * local[at, k]
        placed[at, r] = total


@njit(cache=True, nogil=True)
def gaps(T, link, first, spheres, balls, pairs, least):  # type: ignore[no-untyped-def]
    """Writes the least gap of each configuration; T are the poses of all links (N, links, 4, 4)."""
    centres, middles = np.empty((spheres.shape[0], 3), np.float32), np.empty((balls.shape[0], 3), np.float32)
    for i in range(T.shape[0]):
        for a in range(link.shape[0]):
            place(T, i, link[a], balls, middles, a)
            for s in range(first[a], first[a + 1]):
                place(T, i, link[a], spheres, centres, s)
        best = np.float32(np.inf)
        for p in range(pairs.shape[0]):
            a, b = pairs[p, 0], pairs[p, 1]
            total = np.float32(0.0)
            for r in range(3):
                total += (middles[a, r] - middles[b, r]) ** 2
            if np.sqrt(total) - balls[a, 3] - balls[b, 3] >= best:
                continue
            for s in range(first[a], first[a + 1]):
                for t in range(first[b], first[b + 1]):
                    # Compared as squares: a root only for a new minimum.
                    reach = best + spheres[s, 3] + spheres[t, 3]
                    total = np.float32(0.0)
                    for r in range(3):
                        total += (centres[s, r] - centres[t, r]) ** 2
                    if reach > 0.0 and total < reach * reach:
                        best = np.sqrt(total) - spheres[s, 3] - spheres[t, 3]
        least[i] = best
