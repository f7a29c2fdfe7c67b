"""Primitive shapes of links as flat facets of four corners that can be moved, shaded and drawn.

A painter's renderer sorts facets by their distance: large ones are cut into pieces so that the order comes out right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.elements import RGBA, Link
from ..model.tessellation import patches_of, quads
from ..typing import Array

PIECE = 0.06
"""Largest edge of a facet [m], as far as the shape is flat in that direction."""
SIDES = 24
"""Facets around a cylinder or a sphere."""
DEFAULT_COLOUR: RGBA = (0.72, 0.74, 0.78, 1.0)
_LIGHT = np.array([-0.35, -0.55, 0.76])
_AMBIENT, _DIFFUSE = 0.66, 0.44


@dataclass(frozen=True, eq=False)
class Facets:
    """The facets of many shapes, each in the frame of its link."""

    corners: Array
    """[m], counter-clockwise seen from outside, shape (facets, 4, 3); a triangle repeats its last corner."""
    link: np.typing.NDArray[np.intp]
    """Which link each facet moves with, shape (facets,)."""
    colour: Array
    """Red, green, blue, opacity, shape (facets, 4)."""

    def placed(self, T_base_link: Array) -> Array:
        """Corners in the base frame at given poses of the links.

        Args:
            T_base_link: Shape (links, 4, 4).

        Returns:
            Corners [m], shape (facets, 4, 3).
        """
        T = T_base_link[self.link]
        return np.einsum("fij,fkj->fki", T[:, :3, :3], self.corners) + T[:, None, :3, 3]

    def shaded(self, corners: Array) -> Array:
        """Colours under a light from above, for placed corners; shape (facets, 4)."""
        normal = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        brightness = _AMBIENT + _DIFFUSE * np.clip(normal @ _LIGHT / np.linalg.norm(_LIGHT), -0.35, 1.0)
        colour = self.colour.copy()
        colour[:, :3] = np.clip(colour[:, :3] * brightness[:, None], 0.0, 1.0)
        return colour


def facets_of(links: Sequence[Link], *, collisions: bool = False) -> Facets:
    """Facets of all primitive shapes of the links; meshes have none."""
    corners, owners, colours = [np.zeros((0, 4, 3))], [np.zeros(0, dtype=np.intp)], [np.zeros((0, 4))]
    for index, link in enumerate(links):
        for shape in link.collisions if collisions else link.visuals:
            local = quads(patches_of(shape.geometry, segments=SIDES, longest_edge=PIECE))
            R, p = shape.T_link_shape[:3, :3], shape.T_link_shape[:3, 3]
            corners.append(local @ R.T + p)
            owners.append(np.full(len(local), index))
            colours.append(np.tile(shape.rgba or DEFAULT_COLOUR, (len(local), 1)))
    return Facets(np.concatenate(corners), np.concatenate(owners), np.concatenate(colours))
