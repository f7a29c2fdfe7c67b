"""A robot that plays a motion over and over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import draw
from ..model import Robot
from ..typing import Array

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation

FRAMES_PER_SECOND = 25


def animate(robot: Robot, waypoints: Array, loop_time: float, *, collisions: bool = False) -> FuncAnimation:
    """Opens a window and waits until it is closed; without a screen, draws in memory and returns.

    Args:
        waypoints: Positions of all free joints [rad or m], equally spaced in time, shape (waypoints, joints).
        loop_time: How long one round takes [s].
        collisions: Draws the collision shapes instead of the visual ones.
    """
    figure = draw.new_figure(figsize=(7, 7))
    drawing = draw.RobotDrawing(robot, draw.new_axes(figure), collisions=collisions)
    from matplotlib.animation import FuncAnimation

    count = max(2, round(loop_time * FRAMES_PER_SECOND))
    frames = interpolated(waypoints, count)
    # The axes are made wide enough for the whole motion first, so that the picture stands still.
    for q in frames[:: max(1, count // 16)]:
        drawing.move_to(q)

    def show_frame(index: int) -> tuple[Any, ...]:
        drawing.move_to(frames[index])
        return drawing.artists

    show_frame(0)
    animation = FuncAnimation(figure, show_frame, frames=count, interval=1000.0 * loop_time / count, repeat=True)
    # An animation that nobody refers to stops; this one lives as long as its figure.
    figure._manipapy_animation = animation  # type: ignore[attr-defined]
    if draw.has_screen():
        draw.show(figure)
    else:
        figure.canvas.draw()  # one picture, or matplotlib would warn of an animation that nobody ever saw
    return animation


def interpolated(waypoints: Array, count: int) -> Array:
    """The waypoints at `count` equally spaced times, straight between them, shape (count, joints)."""
    times = np.linspace(0.0, len(waypoints) - 1.0, count)
    before = np.minimum(times.astype(np.intp), max(0, len(waypoints) - 2))
    after = np.minimum(before + 1, len(waypoints) - 1)
    share = (times - before)[:, None]
    return (1.0 - share) * waypoints[before] + share * waypoints[after]
