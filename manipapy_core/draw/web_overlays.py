"""What the web viewer draws besides robots and markers: collision spheres, the path of the tip, points, a map."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..geometry import RobotBody
from ..typing import Array
from .web_layers import Layer

if TYPE_CHECKING:
    import viser

PATH_POINTS = 600
"""Of the executed path."""
PATH_STEP = 0.004
"""Least distance of two points of the path [m]."""
SPHERE_COLOUR = (140, 90, 220)
PATH_COLOUR = (235, 90, 20)
MOST_POINTS = 30_000
"""Of a point cloud that is drawn; of more only some."""
MAP_COLOURS = np.array([(120, 20, 30), (220, 90, 30), (240, 200, 60), (110, 190, 80), (30, 120, 190)], dtype=np.float64)
"""From the worst quality to the best."""


def draw_spheres(scene: viser.SceneApi, body: RobotBody, layer: Layer, root: str = "/arm") -> None:
    """Draw the covering spheres of a collision body below the links of a drawn robot."""
    for link, rows in body.link_spheres.items():
        for number, (x, y, z, radius) in enumerate(rows.tolist()):
            name = f"{layer.below(f'{root}/{link}')}/{number}"
            scene.add_icosphere(
                name, radius=radius, subdivisions=2, color=SPHERE_COLOUR, opacity=0.3, position=(x, y, z)
            )


class TipPath:
    """The path that the tip has taken.

    Args:
        scene: Of viser.
        layer: Where it is drawn.
    """

    def __init__(self, scene: viser.SceneApi, layer: Layer):
        self._scene, self._layer = scene, layer
        self._points: collections.deque[Array] = collections.deque(maxlen=PATH_POINTS)
        self._drawn: Any = None

    def add(self, position: Array) -> None:
        """Add a position of the tip in the base frame [m], shape (3,); drawn if it has moved."""
        if self._points and float(np.linalg.norm(position - self._points[-1])) < PATH_STEP:
            return
        self._points.append(np.array(position))
        if len(self._points) < 2 or not self._layer.visible:
            return
        points = np.array(self._points)
        pairs = np.stack([points[:-1], points[1:]], axis=1)
        name = f"{self._layer.below('')}/line"
        self._drawn = self._scene.add_line_segments(name, pairs, PATH_COLOUR, thickness=0.006)

    def clear(self) -> None:
        """Forget the path."""
        self._points.clear()
        if self._drawn is not None:
            self._drawn.remove()
            self._drawn = None


def thinned(points: NDArray[np.floating[Any]], most: int = MOST_POINTS) -> NDArray[np.float32]:
    """Measured points of a cloud (..., 3), at most so many, spread over all of it."""
    rows = np.asarray(points, dtype=np.float32).reshape(-1, 3)
    rows = rows[np.isfinite(rows).all(axis=1)]
    return rows[:: max(1, -(-len(rows) // most))]


def quality_colours(quality: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Colours for qualities, relative to the best, shape (count, 3)."""
    values = np.asarray(quality, dtype=np.float64)
    shares = values / max(float(values.max(initial=0.0)), 1e-30)
    steps = np.linspace(0.0, 1.0, len(MAP_COLOURS))
    return np.column_stack([np.interp(shares, steps, column) for column in MAP_COLOURS.T]).astype(np.uint8)


class MapSlice:
    """A horizontal slice of a reachability map, with a slider for its height.

    Args:
        server: The viser server; the slider is made in the container that is open.
        layer: Where it is drawn.
    """

    def __init__(self, server: viser.ViserServer, layer: Layer):
        self._scene, self._layer = server.scene, layer
        self._points, self._colours = np.zeros((0, 3)), np.zeros((0, 3), np.uint8)
        self.step = 0.1
        """Distance of neighbouring positions [m]."""
        self.height: Any = server.gui.add_slider("Slice height [m]", -2.0, 2.0, step=0.01, initial_value=0.3)
        self.whole: Any = server.gui.add_checkbox("Whole map", initial_value=False, hint="All positions, not a slice")
        for element in (self.height, self.whole):
            layer.include(element)
            element.on_update(lambda _: self._draw())

    def show(self, points: Array, quality: NDArray[np.floating[Any]], step: float) -> None:
        """Show a map.

        Args:
            points: Reachable positions of the tip in the base frame [m], shape (count, 3).
            quality: Of each, shape (count,).
            step: Distance of neighbouring positions [m].
        """
        self._points, self._colours, self.step = points, quality_colours(quality), step
        self._draw()

    def _draw(self) -> None:
        keep = np.abs(self._points[:, 2] - float(self.height.value)) <= 0.5 * self.step + 1e-9
        if self.whole.value:
            keep[:] = True
        name = f"{self._layer.below('')}/points"
        self._scene.add_point_cloud(
            name, self._points[keep].astype(np.float32), self._colours[keep], point_size=0.35 * self.step,
            point_shape="circle",
        )  # fmt: skip
