"""Two objects close to each other: random pairs for `eyes.py`, and whether a pipeline separates them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

from perception.depth_scenes import Solid

STEP = 0.001
"""Objects are moved towards each other in steps of this [m]."""
NEAR = 0.012
"""A cell farther from all points of the objects than this [m] belongs to neither."""


def pair_apart(random: np.random.Generator, gap: float, solid: Callable[[np.random.Generator], Solid]) -> list[Solid]:
    """Two random objects whose outlines are this far apart [m], in a random direction."""
    first, second = solid(random), solid(random)
    angle = random.uniform(-math.pi, math.pi)
    direction = np.array([math.cos(angle), math.sin(angle)])
    tree, outline, distance = cKDTree(_outline(first)), _outline(second), 0.5
    while tree.query(outline + distance * direction)[0].min() > gap + 0.5 * STEP:
        distance -= STEP
    return [_moved(first, -0.5 * distance * direction), _moved(second, 0.5 * distance * direction)]


def separated(cells: np.ndarray, labels: np.ndarray, objects: Sequence[np.ndarray]) -> tuple[bool, int]:
    """Whether most of each object is in a cluster of its own, and the number of clusters beyond one per object.

    Args:
        cells: Points that were clustered [m], shape (cells, 3).
        labels: Cluster of each, −1 for none.
        objects: Measured points of each object [m].
    """
    numbers = np.concatenate([np.full(len(points), number) for number, points in enumerate(objects)])
    distance, nearest = cKDTree(np.concatenate(objects)).query(cells)
    owner = np.where((distance < NEAR) & (labels >= 0), numbers[nearest], -1)
    own = [np.bincount(labels[owner == number], minlength=1) for number in range(len(objects))]
    if not all(counts.any() for counts in own):
        return False, 0
    apart = len({int(counts.argmax()) for counts in own}) == len(objects)
    clusters = len(np.unique(labels[owner >= 0]))
    return apart, max(clusters - len(objects), 0)


def _outline(solid: Solid) -> np.ndarray:
    half = 0.5 * solid.size
    if solid.kind == "box":
        along, one = np.linspace(-1.0, 1.0, 60), np.ones(60)
        sides = [np.column_stack(pair) for pair in ((along, one), (along, -one), (one, along), (-one, along))]
        local = np.concatenate(sides) * half[:2]
    else:
        angle = np.linspace(0.0, 2.0 * math.pi, 240)
        local = half[0] * np.column_stack([np.cos(angle), np.sin(angle)])
    return local @ solid.T[:2, :2].T + solid.T[:2, 3]


def _moved(solid: Solid, at: np.ndarray) -> Solid:
    T = solid.T.copy()
    T[:2, 3] = at
    return replace(solid, T=T)
