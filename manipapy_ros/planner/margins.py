"""Distances between a planned motion and obstacles: what is added to what, and where each is set.

- Depth noise, 5 mm and one standard deviation: part of `Obstacle.padding`; parameter `padding` of perception.
- Drift, how far an obstacle may have moved while unseen: part of `Obstacle.padding`; follows from its velocity.
- Margin to perceived obstacles, 20 mm per attempt of `~/move`: parameters `obstacles.margin`, `obstacles.least_margin`.
- Padding of all objects, 10 mm: parameter `padding`, or the field of the request. It is no distance between links.
- Rounding of all objects, 0.2 mm: `manipapy_core.geometry.tables.SAFETY`.

They add up. The first two are part of the obstacle when it arrives on `obstacles`. The margin is for motions that are
executed: perceived obstacles vary from frame to frame, and a path that only just clears them would soon be blocked
again. It is therefore reduced where no path has that much space, and the result of `~/move` reports how much was kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, ConvexMesh, WorldObject, WorldSnapshot
from manipapy_core.geometry.distance import Shape

from ..common.object_messages import PERCEIVED
from ..common.params import Param, Values

MARGIN_PARAMETERS = (
    Param("padding", 0.01, "Default distance kept to all objects [m]", minimum=0.0, maximum=0.5, live=True),
    Param("obstacles.margin", 0.02, "Distance kept to perceived obstacles in addition, times the number of the attempt "
          "[m]", minimum=0.0, maximum=0.5, live=True),
    Param("obstacles.least_margin", 0.0, "Smallest margin accepted where space is tight [m]; with less, planning fails",
          minimum=0.0, maximum=0.5, live=True),
)  # fmt: skip
REDUCTIONS = (1.0, 0.5, 0.0)
"""Shares of the difference between the full and the least margin that are tried one after the other."""


@dataclass(frozen=True)
class PerceivedMargin:
    """Distance to perceived obstacles beyond their padding and that of the request."""

    margin: float
    """For the first attempt [m]; the n-th attempt has n times as much."""
    least: float
    """Smallest margin that is accepted [m]."""

    @classmethod
    def of(cls, values: Values) -> PerceivedMargin:
        """As the parameters set it.

        Raises:
            InputError: The least margin is larger than the margin.
        """
        margin, least = float(values["obstacles.margin"]), float(values["obstacles.least_margin"])
        if least > margin:
            raise InputError(f"obstacles.least_margin is {least:g} m, more than obstacles.margin ({margin:g} m)")
        return cls(margin, least)

    def wanted(self, attempt: int) -> float:
        """Full margin of an attempt [m], counted from 1."""
        return attempt * self.margin

    def steps(self, attempt: int) -> tuple[float, ...]:
        """Margins to try [m], largest first."""
        extra = self.wanted(attempt) - self.least
        return tuple(dict.fromkeys(self.least + share * extra for share in REDUCTIONS))


def perceived_in(world: WorldSnapshot) -> Mapping[str, WorldObject]:
    """Perceived obstacles of a world, by name."""
    return {name: item for name, item in world.objects.items() if name.startswith(PERCEIVED)}


def with_margin(world: WorldSnapshot, margin: float) -> WorldSnapshot:
    """The world with its perceived obstacles enlarged by a margin [m]; the same object if that changes nothing."""
    perceived = perceived_in(world)
    if not perceived or margin <= 0.0:
        return world
    enlarged = {name: replace(item, shape=_enlarged(item.shape, margin)) for name, item in perceived.items()}
    return replace(world, objects=MappingProxyType({**world.objects, **enlarged}))


def _enlarged(shape: Shape, margin: float) -> Shape:
    if isinstance(shape, Box):
        return Box(shape.size + 2.0 * margin)
    if isinstance(shape, ConvexMesh):
        # Corners move away from the centre by the diagonal of a cube, so that the faces of a cube move by the margin.
        centre = shape.vertices.mean(axis=0)
        away = shape.vertices - centre
        return ConvexMesh(shape.vertices + np.sqrt(3.0) * margin * away / np.linalg.norm(away, axis=1, keepdims=True))
    return shape
