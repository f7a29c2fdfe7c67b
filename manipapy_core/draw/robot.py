"""Robots in a Matplotlib figure: primitive shapes of the description, or the skeleton if there are none.

Matplotlib sorts facets by depth, so shapes are divided into small facets with a consistent depth order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import kinematics, lie
from ..errors import InputError, ShapeError, UnknownJoint
from ..model import Chain, Robot
from ..model.elements import RGBA, Link, MeshGeometry
from ..model.tessellation import patches_of, quads
from ..typing import Array
from .figures import has_screen, include, new_axes, new_figure, show

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation

FRAMES_PER_SECOND = 25
SKELETON_COLOUR = "#4a5a70"
_SHADOW = (0.90, 0.91, 0.92, 1.0)
_FRAME_COLOURS = ("#d62728", "#2ca02c", "#1f77b4")
MAX_EDGE = 0.06
"""Maximum edge of a facet in flat directions [m]."""
SIDES = 24
"""Facets around a cylinder or a sphere."""
DEFAULT_COLOUR: RGBA = (0.72, 0.74, 0.78, 1.0)
_LIGHT = np.array([-0.35, -0.55, 0.76])
_AMBIENT, _DIFFUSE = 0.66, 0.44


@dataclass(frozen=True, eq=False)
class Facets:
    """The facets of many shapes, each in the frame of its link."""

    corners: Array
    """[m], counter-clockwise from outside, shape (facets, 4, 3); a triangle repeats its last corner."""
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
            local = quads(patches_of(shape.geometry, segments=SIDES, longest_edge=MAX_EDGE))
            R, p = shape.T_link_shape[:3, :3], shape.T_link_shape[:3, 3]
            corners.append(local @ R.T + p)
            owners.append(np.full(len(local), index))
            colours.append(np.tile(shape.rgba or DEFAULT_COLOUR, (len(local), 1)))
    return Facets(np.concatenate(corners), np.concatenate(owners), np.concatenate(colours))


class RobotDrawing:
    """A robot in 3-D axes; `move_to` changes its configuration.

    Args:
        model: A robot is drawn with its shapes, a chain, which has none, as a skeleton.
        ax: Axes to draw in; new ones if not given.
        collisions: Draw the collision shapes instead of the visual ones.
        fade: 0 for full colours, towards 1 for a pale robot behind others.
        shadow: Draw a shadow on the plane z = 0 of the base.
    """

    def __init__(
        self,
        model: Robot | Chain,
        ax: Any = None,
        *,
        collisions: bool = False,
        fade: float = 0.0,
        shadow: bool = True,
    ):
        self.ax = new_axes() if ax is None else ax
        from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

        self.chain = model.tree() if isinstance(model, Robot) else model
        links = [model.links[name] for name in self.chain.link_names] if isinstance(model, Robot) else []
        self.facets: Facets = facets_of(links, collisions=collisions)
        self.corners: Array = self.facets.corners
        """Corners of the facets as drawn, in the base frame [m], shape (facets, 4, 3)."""
        self._meshes = [
            (index, shape.T_link_shape)
            for index, link in enumerate(links)
            for shape in (link.collisions if collisions else link.visuals)
            if isinstance(shape.geometry, MeshGeometry)
        ]
        self._fade = fade
        behind = 0.5 * fade
        no_corners = [np.zeros((4, 3))]
        self._shadow = Poly3DCollection(no_corners, facecolor=_SHADOW, edgecolor=_SHADOW, linewidth=0.5, zorder=1)
        self._surface = Poly3DCollection(no_corners, linewidth=0.4, zorder=4 - behind)
        self._skeleton = Line3DCollection(
            [np.zeros((2, 3))],
            colors=SKELETON_COLOUR,
            linewidth=4.0,
            alpha=1.0 - fade,
            capstyle="round",
            zorder=3 - behind,
        )
        self._shadow.set_visible(shadow and len(self.facets.corners) > 0)
        self._surface.set_visible(len(self.facets.corners) > 0)
        self._skeleton.set_visible(not len(self.facets.corners) or bool(self._meshes))
        for artist in (self._shadow, self._skeleton, self._surface):
            self.ax.add_collection3d(artist)
        (self._points,) = self.ax.plot([], [], [], "o", color=SKELETON_COLOUR, markersize=5, alpha=1.0 - fade)

    def move_to(self, q: ArrayLike | Mapping[str, float] | None = None) -> None:
        """Draws the robot at a configuration.

        Args:
            q: Positions [rad or m] in the order of `chain.joint_names`, shape (n,), or by joint name; missing
                ones are 0.
        """
        poses = kinematics.link_poses(self.chain, self._positions(q))
        lines = self._joint_lines(poses)
        corners = self.corners = self.facets.placed(poses)
        if len(corners):
            colours = self.facets.shaded(corners)
            colours[:, :3] += self._fade * (1.0 - colours[:, :3])
            self._surface.set_verts(corners)
            # Edges in the colour of the face close the gaps between neighbours.
            self._surface.set(facecolor=colours, edgecolor=colours)
            floor = corners.copy()
            floor[..., 2] = 0.0
            self._shadow.set_verts(floor)
        self._skeleton.set_segments(lines)
        joints = lines[:, 1] if self._skeleton.get_visible() else np.zeros((0, 3))
        meshes = np.array([(poses[index] @ T)[:3, 3] for index, T in self._meshes]).reshape(-1, 3)
        self._points.set_data_3d(*np.concatenate([joints, meshes]).T)
        include(self.ax, np.concatenate([corners.reshape(-1, 3), lines.reshape(-1, 3)]))

    @property
    def artists(self) -> tuple[Any, ...]:
        """Artists that change when the robot moves."""
        return self._shadow, self._skeleton, self._surface, self._points

    def _positions(self, q: ArrayLike | Mapping[str, float] | None) -> Array:
        names = self.chain.joint_names
        if q is None:
            return np.zeros(self.chain.n)
        if isinstance(q, Mapping):
            unknown = [name for name in q if name not in names]
            if unknown:
                raise UnknownJoint(unknown[0], names)
            return np.array([float(q.get(name, 0.0)) for name in names])
        array = np.asarray(q, dtype=np.float64)
        if array.shape != (self.chain.n,):
            raise ShapeError("q", f"({self.chain.n},), one position for each of {', '.join(names)}", array.shape)
        return array

    def _joint_lines(self, poses: Array) -> Array:
        """Lines from each joint to the next and to the tip, shape (bodies + 1, 2, 3)."""
        chain = self.chain
        place = {name: poses[index] for index, name in enumerate(chain.link_names)}
        joints = [(place[body.link] @ lie.inverse(body.T_body_link))[:3, 3] for body in chain.bodies]
        starts = [joints[body.parent] if body.parent >= 0 else place[chain.base][:3, 3] for body in chain.bodies]
        tip = [joints[chain.tip_body] if chain.tip_body >= 0 else place[chain.base][:3, 3], place[chain.tip][:3, 3]]
        return np.array([*zip(starts, joints), tip])


def draw_robot(
    model: Robot | Chain,
    q: ArrayLike | Mapping[str, float] | None = None,
    ax: Any = None,
    *,
    collisions: bool = False,
    fade: float = 0.0,
    shadow: bool = True,
) -> Any:
    """Draws a robot (or the skeleton of a chain) at one configuration; returns the axes.

    Args:
        q: Positions [rad or m] of every free joint of the robot (or joint of the chain), shape (n,), or by joint
            name; all 0 if not given.
        ax: 3-D axes; new ones if not given. Other arguments: see `RobotDrawing`.
    """
    drawing = RobotDrawing(model, ax, collisions=collisions, fade=fade, shadow=shadow)
    drawing.move_to(q)
    return drawing.ax


def animate_robot(robot: Robot, waypoints: Array, loop_time: float, *, collisions: bool = False) -> FuncAnimation:
    """Plays a motion in a loop: in a window until it is closed; without a screen, draws in memory and returns.

    Args:
        waypoints: Positions of all free joints [rad or m], equally spaced in time, shape (waypoints, joints).
        loop_time: Duration of one cycle [s].
        collisions: Draw the collision shapes instead of the visual ones.
    """
    figure = new_figure(figsize=(7, 7))
    drawing = RobotDrawing(robot, new_axes(figure), collisions=collisions)
    from matplotlib.animation import FuncAnimation

    count = max(2, round(loop_time * FRAMES_PER_SECOND))
    frames = interpolate_waypoints(waypoints, count)
    # The axes are widened for the whole motion first, so that the view does not change while it plays.
    for q in frames[:: max(1, count // 16)]:
        drawing.move_to(q)

    def show_frame(index: int) -> tuple[Any, ...]:
        drawing.move_to(frames[index])
        return drawing.artists

    show_frame(0)
    animation = FuncAnimation(figure, show_frame, frames=count, interval=1000.0 * loop_time / count, repeat=True)
    # Matplotlib stops an animation without references; this one lives as long as its figure.
    figure._manipapy_animation = animation  # type: ignore[attr-defined]
    if has_screen():
        show(figure)
    else:
        figure.canvas.draw()  # matplotlib warns of an animation that was never drawn
    return animation


def interpolate_waypoints(waypoints: Array, count: int) -> Array:
    """Linear interpolation of the waypoints at `count` equally spaced times, shape (count, joints)."""
    times = np.linspace(0.0, len(waypoints) - 1.0, count)
    return np.column_stack([np.interp(times, np.arange(len(waypoints)), column) for column in waypoints.T])


def draw_frame(ax: Any, T: ArrayLike, size: float = 0.1, names: Sequence[str] = ()) -> None:
    """Draws the axes of a frame: x red, y green, z blue.

    Args:
        T: Pose in the frame of the axes, shape (4, 4).
        size: Length of the arrows [m].
        names: Labels at their ends.
    """
    pose = np.asarray(T, dtype=np.float64)
    if pose.shape != (4, 4):
        raise ShapeError("T", "(4, 4)", pose.shape)
    if names and len(names) != 3:
        raise InputError(f"names has {len(names)} entries; give one for each of x, y, z")
    start = pose[:3, 3]
    for index, colour in enumerate(_FRAME_COLOURS):
        end = start + size * pose[:3, index]
        ax.plot(*np.transpose([start, end]), color=colour, linewidth=2.0, zorder=6)
        if names:
            ax.text(*end, names[index], color=colour, fontsize=8, zorder=7)
    include(ax, start[None])


def draw_floor(ax: Any, size: float = 1.0, step: float = 0.2) -> None:
    """Draws tiles on the plane z = 0.

    Args:
        size: From the origin to the edge [m].
        step: Width of a tile [m].
    """
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    count = max(1, round(size / step))
    ticks, edge = step * np.arange(-count, count + 1), step * count
    lines = [[(tick, -edge, 0.0), (tick, edge, 0.0)] for tick in ticks]
    lines += [[(-edge, tick, 0.0), (edge, tick, 0.0)] for tick in ticks]
    ax.add_collection3d(Line3DCollection(lines, colors="#dfe3e8", linewidth=0.8, zorder=0))
    include(ax, np.array(lines))
