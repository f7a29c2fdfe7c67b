"""Polytopes, ellipsoids and maps in Matplotlib axes given by the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..errors import InputError
from ..polytopes.ellipsoids import Ellipsoid
from ..polytopes.polytope import Polytope
from ..polytopes.quality import PathQuality
from ..reachability.placement import BasePlacement, PlacementMap
from ..reachability.reach_map import ReachMap
from ..typing import Array


def draw_polytope(
    axes: Any, polytope: Polytope, *, at: ArrayLike = (0.0, 0.0, 0.0), scale: float = 1.0, colour: str = "tab:blue"
) -> Any:
    """Draws a 3-D polytope as a transparent body, a flat one as a sheet or a line.

    Args:
        axes: 3-D axes.
        at: Position of its origin [m], shape (3,); usually the tip.
        scale: Metres per unit of the polytope.

    Returns:
        The artist, or None for an empty polytope.
    """
    if polytope.d != 3:
        raise InputError(f"this polytope has {polytope.d} dimensions; draw its vertices with `plot` or `fill`")
    if polytope.is_empty:
        return None
    points = np.asarray(at, dtype=np.float64) + scale * polytope.vertices
    if polytope.dimension < 2:
        return axes.plot(*points.T, color=colour, marker="o", markersize=3)[0]
    from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

    body = Poly3DCollection(points[polytope.triangles], facecolor=colour, alpha=0.22, linewidth=0.0)
    axes.add_collection3d(body)
    axes.add_collection3d(Line3DCollection(points[edges_of(polytope)], colors=colour, linewidths=0.7, alpha=0.9))
    return body


def edges_of(polytope: Polytope) -> NDArray[np.int64]:
    """Vertex pairs of the edges between non-coplanar faces, shape (edges, 2)."""
    corners = polytope.vertices[polytope.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    owner: dict[tuple[int, int], list[int]] = {}
    for index, triangle in enumerate(polytope.triangles):
        for a, b in zip(triangle, np.roll(triangle, -1)):
            owner.setdefault((min(int(a), int(b)), max(int(a), int(b))), []).append(index)
    sharp = [
        edge for edge, faces in owner.items() if len(faces) < 2 or normals[faces[0]] @ normals[faces[1]] < 1.0 - 1e-6
    ]
    return np.array(sharp, dtype=np.int64).reshape(-1, 2)


def draw_ellipsoid(
    axes: Any, ellipsoid: Ellipsoid, *, at: ArrayLike = (0.0, 0.0, 0.0), scale: float = 1.0, colour: str = "tab:orange"
) -> Any:
    """Draws an ellipsoid; the arguments are those of `draw_polytope`."""
    place = np.asarray(at, dtype=np.float64)
    surface = [place[k] + scale * grid for k, grid in enumerate(ellipsoid.surface())]
    return axes.plot_surface(*surface, color=colour, alpha=0.35, linewidth=0)


def draw_path_quality(axes: Any, quality: PathQuality, *, at: ArrayLike | None = None) -> Any:
    """Draws the velocity polytopes along a path into 2-D axes: volume, least speed, and distance where it is known.

    Args:
        quality: From `polytopes.path_quality`.
        at: Time or length at each configuration, shape (count,); their numbers if not given.

    Returns:
        The line of the volume.
    """
    places = np.arange(len(quality.volume)) if at is None else np.asarray(at, dtype=np.float64)
    if places.shape != quality.volume.shape:
        raise InputError(f"at has shape {places.shape}; give a number for each of {len(quality.volume)} configurations")
    line = axes.plot(places, quality.volume, color="tab:blue", label="volume of the velocity polytope")[0]
    axes.set_ylabel("volume [m³/s³]", color="tab:blue")
    axes.set_ylim(bottom=0.0)
    other = axes.twinx()
    other.plot(places, quality.slowest, color="tab:orange", label="speed in the slowest direction [m/s]")
    if np.isfinite(quality.distance).any():
        near = np.where(np.isfinite(quality.distance), quality.distance, np.nan)
        other.plot(places, near, color="tab:red", linestyle=":", label="nearest distance [m]")
    other.set_ylim(bottom=0.0)
    other.set_ylabel("m/s, m")
    axes.legend(handles=[line, *other.get_lines()], fontsize=8, loc="best")
    return line


def draw_map_slice(
    axes: Any, reach: ReachMap, *, height: float, tilt: float = np.pi, penalised: bool = False, clearance: bool = False
) -> Any:
    """Draws the best quality of the reachable positions at one height, in 2-D axes.

    Args:
        height: Of the tip in the base frame [m].
        tilt: Between the tip's z axis and the base's [rad]; π is a grasp from above.
        penalised: Use the quality penalised by joint limits.
        clearance: Use the self-collision distance instead [m].

    Returns:
        The image, for a colour bar.
    """
    half = reach.grid.radius
    count = 2 * round(2.0 * half / reach.grid.resolution)
    middle = (np.arange(count) + 0.5) / count * 2.0 * half - half
    x, y = np.meshgrid(middle, middle, indexing="ij")
    T = np.zeros((*x.shape, 4, 4))
    c, s = np.cos(tilt), np.sin(tilt)
    T[..., :3, :3] = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]
    T[..., 0, 3], T[..., 1, 3], T[..., 2, 3], T[..., 3, 3] = x, y, height, 1.0
    values = np.nan_to_num(reach.clearances(T)) if clearance else reach.quality(T, penalised=penalised)
    return _image(axes, values.astype(np.float64), (-half, half, -half, half))


def draw_placements(axes: Any, scored: PlacementMap, places: Sequence[BasePlacement] = ()) -> Any:
    """Draws the best score over all headings on the floor, in 2-D axes; returns the image.

    Outlines show the allowed and forbidden areas of the base, crosses the grasps, and arrows the given placements.
    """
    floor = scored.floor
    for polygons, colour in ((floor.keep_in, "tab:green"), (floor.keep_out, "tab:red")):
        for polygon in polygons:
            closed = np.vstack([polygon.corners, polygon.corners[:1]])
            axes.plot(*closed.T, color=colour, linewidth=1.2)
    axes.plot(*(lie.inverse(floor.T_world_floor) @ scored.grasps)[:, :2, 3].T, "kx")
    for place in places:
        c, s = np.cos(place.heading), np.sin(place.heading)
        axes.annotate("", (place.x + 0.12 * c, place.y + 0.12 * s), (place.x, place.y), arrowprops={"arrowstyle": "->"})
        if floor.footprint is not None:
            corners = floor.footprint.corners @ np.array([[c, s], [-s, c]]) + [place.x, place.y]
            axes.fill(*corners.T, facecolor="none", edgecolor="black", linewidth=0.8)
    step = 0.5 * float(scored.x[1] - scored.x[0]) if len(scored.x) > 1 else 0.05
    extent = (scored.x[0] - step, scored.x[-1] + step, scored.y[0] - step, scored.y[-1] + step)
    return _image(axes, scored.best_over_heading, extent)


def _image(axes: Any, values: Array, extent: tuple[float, float, float, float]) -> Any:
    hidden = np.ma.masked_less_equal(values, 0.0)
    image = axes.imshow(hidden.T, origin="lower", extent=extent, cmap="viridis", interpolation="nearest")
    axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    return image
