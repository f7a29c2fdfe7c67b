"""Base placement by the inverse reachability map on a floor.

For each grasp, every position and heading of the base on the floor is a pose of the tip in the base frame, whose
quality the map gives. Forbidden positions are removed and the qualities of the grasps are combined. The best placements
are returned after inverse kinematics, with the collision check if there is one, has solved every grasp.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import ik, lie
from ..errors import InputError, ShapeError
from ..typing import Array
from .footprint import Polygon
from .reach_map import ReachMap

Collision = Callable[[Array, Array], NDArray[np.bool_]]


class Combine(enum.Enum):
    """How the qualities of several grasps become one score; a place that misses one of them scores zero."""

    MINIMUM = "minimum"
    MEAN = "mean"
    PRODUCT = "product"
    """Geometric mean."""


@dataclass(frozen=True, eq=False)
class Floor:
    """The plane that the base is placed on, and the allowed areas of it."""

    T_world_floor: Array = field(default_factory=lambda: np.eye(4))
    """Its z axis is the normal, x and y are the floor's own coordinates; shape (4, 4)."""
    T_floor_base: Array = field(default_factory=lambda: np.eye(4))
    """Pose of the base at the origin of the floor with heading zero: its height, and a tilt if it has one."""
    keep_in: tuple[Polygon, ...] = ()
    """The whole footprint must lie in one of these, if there are any."""
    keep_out: tuple[Polygon, ...] = ()
    """The footprint may not overlap these."""
    footprint: Polygon | None = None
    """Around the base's origin on the floor; a point if not given."""

    def __post_init__(self) -> None:
        for name in ("T_world_floor", "T_floor_base"):
            T = np.array(getattr(self, name), dtype=np.float64)
            if T.shape != (4, 4) or not np.allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-6):
                raise ShapeError(name, "(4, 4), a pose", T.shape)
            object.__setattr__(self, name, T)

    def bases(self, x: Array, y: Array, heading: Array) -> Array:
        """Poses T_world_base of places on the floor, shape (..., 4, 4)."""
        T = np.zeros((*np.shape(x), 4, 4))
        T[..., 0, 0], T[..., 0, 1] = np.cos(heading), -np.sin(heading)
        T[..., 1, 0], T[..., 1, 1] = np.sin(heading), np.cos(heading)
        T[..., 2, 2] = T[..., 3, 3] = 1.0
        T[..., 0, 3], T[..., 1, 3] = x, y
        return self.T_world_floor @ T @ self.T_floor_base

    def allows(self, x: Array, y: Array, heading: Array) -> NDArray[np.bool_]:
        """Which placements the polygons allow; arrays of one shape."""
        allowed = np.ones(np.shape(x), dtype=bool)
        corners = np.zeros((1, 2)) if self.footprint is None else self.footprint.corners
        c, s = np.cos(heading)[..., None], np.sin(heading)[..., None]
        ahead, aside = corners.T
        placed = np.stack([x[..., None] + c * ahead - s * aside, y[..., None] + s * ahead + c * aside], axis=-1)
        if self.keep_in:
            allowed &= np.any([polygon.covers(placed) for polygon in self.keep_in], axis=0)
        for polygon in self.keep_out:
            allowed &= ~polygon.overlaps(placed)
        return allowed


@dataclass(frozen=True, eq=False)
class BasePlacement:
    """A place for the base that reaches every grasp."""

    T_world_base: Array
    """Shape (4, 4)."""
    x: float
    """On the floor [m]."""
    y: float
    """On the floor [m]."""
    heading: float
    """About the floor's normal [rad]."""
    score: float
    """From the map."""
    q: Array
    """A configuration for each grasp, checked by inverse kinematics [rad or m], shape (grasps, n)."""


@dataclass(frozen=True, eq=False)
class PlacementMap:
    """Scores of placements on the floor."""

    x: Array
    """[m], shape (columns,)."""
    y: Array
    """[m], shape (rows,)."""
    heading: Array
    """[rad], shape (headings,)."""
    score: Array
    """Zero where a grasp is out of reach or the placement forbidden; shape (columns, rows, headings)."""
    grasps: Array
    """T_world_tip, shape (grasps, 4, 4)."""
    floor: Floor

    @property
    def best_over_heading(self) -> Array:
        """Shape (columns, rows)."""
        return self.score.max(axis=2)

    def ranked(self) -> Iterator[tuple[float, float, float, float]]:
        """Placements with a score, best first: x, y [m], heading [rad] and score."""
        flat = self.score.ravel()
        for index in np.argsort(-flat, kind="stable")[: np.count_nonzero(flat > 0.0)]:
            i, j, k = np.unravel_index(index, self.score.shape)
            yield float(self.x[i]), float(self.y[j]), float(self.heading[k]), float(flat[index])

    def score_at(self, T_world_base: ArrayLike) -> float:
        """Score of the place nearest to a pose of the base on the floor, shape (4, 4); zero beyond the map."""
        T = np.asarray(T_world_base, dtype=np.float64)
        if T.shape != (4, 4):
            raise ShapeError("T_world_base", "(4, 4)", T.shape)
        place = lie.inverse(self.floor.T_world_floor) @ T @ lie.inverse(self.floor.T_floor_base)
        if not self.score.size:
            return 0.0
        at = [int(np.abs(line - place[k, 3]).argmin()) for k, line in enumerate((self.x, self.y))]
        spacing = float(np.diff(self.x[:2])[0]) if len(self.x) > 1 else np.inf
        if max(abs(self.x[at[0]] - place[0, 3]), abs(self.y[at[1]] - place[1, 3])) > 0.5 * spacing + 1e-9:
            return 0.0
        turn = np.arctan2(place[1, 0], place[0, 0]) - self.heading
        return float(self.score[at[0], at[1], int(np.cos(turn).argmax())])


def score_floor(
    reach: ReachMap,
    grasps: ArrayLike,
    floor: Floor = Floor(),
    *,
    combine: Combine = Combine.MINIMUM,
    step: float | None = None,
    headings: int = 16,
    penalised: bool = True,
) -> PlacementMap:
    """Scores every place on the floor around some grasps.

    Args:
        grasps: Poses of the tip T_world_tip, shape (4, 4) or (grasps, 4, 4).
        step: Distance of neighbouring places [m]; the map's resolution if not given.
        headings: Directions of the base that are tried.
        penalised: Score by the quality in which joint limits count.
    """
    T = np.asarray(grasps, dtype=np.float64).reshape(-1, 4, 4) if np.size(grasps) else np.zeros((0, 4, 4))
    if not len(T) or np.shape(grasps)[-2:] != (4, 4):
        raise ShapeError("grasps", "(4, 4) or (grasps, 4, 4), at least one", np.shape(grasps))
    if headings < 1:
        raise InputError(f"headings is {headings}; give at least 1")
    spacing = reach.grid.resolution if step is None else float(step)
    if not spacing > 0.0:
        raise InputError(f"step is {step}; give a distance above zero [m]")
    local = (lie.inverse(floor.T_world_floor) @ T)[:, :2, 3]
    # No base farther from a grasp than the arm is long can reach it.
    reach_length = reach.grid.reach + float(np.linalg.norm(floor.T_floor_base[:3, 3]))
    low, high = local.max(axis=0) - reach_length, local.min(axis=0) + reach_length
    axes = [spacing * np.arange(np.ceil(low[k] / spacing), np.floor(high[k] / spacing) + 1) for k in range(2)]
    angle = 2.0 * np.pi * np.arange(headings) / headings
    x, y, heading = np.meshgrid(axes[0], axes[1], angle, indexing="ij")
    score = np.zeros(x.shape)
    if x.size:
        allowed = floor.allows(x, y, heading)
        T_base_world = lie.inverse(floor.bases(x[allowed], y[allowed], heading[allowed]))
        qualities = np.array([reach.quality(T_base_world @ grasp, penalised=penalised) for grasp in T], dtype=float)
        score[allowed] = combined(qualities, combine)
    return PlacementMap(axes[0], axes[1], angle, score, T, floor)


def place_base(
    reach: ReachMap,
    grasps: ArrayLike,
    floor: Floor = Floor(),
    *,
    count: int = 5,
    combine: Combine = Combine.MINIMUM,
    collision: Collision | None = None,
    quality: Callable[[Array], ArrayLike] | None = None,
    step: float | None = None,
    headings: int = 16,
    penalised: bool = True,
    apart: float = 0.1,
) -> list[BasePlacement]:
    """The best places for the base, each with configurations that realise every grasp.

    Args:
        count: How many places, at most.
        collision: Takes T_world_base (4, 4) and configurations (N, n), gives True for each that collides.
        quality: Takes configurations (N, n) and gives the quality of each: the answers are then scored and ordered by
            the configurations that realise them, which is finer than the cells of the map.
        apart: Least distance between two answers [m].

    Returns:
        Best first, and of equal scores those that face the grasps; fewer than `count`, or none, if there are no more.
    """
    scored = score_floor(reach, grasps, floor, combine=combine, step=step, headings=headings, penalised=penalised)
    order = np.lexsort((-_facing(scored).ravel(), -scored.score.ravel()))
    wanted = count if quality is None else 4 * count
    found: list[BasePlacement] = []
    for flat in order:
        i, j, k = np.unravel_index(flat, scored.score.shape)
        score = float(scored.score[i, j, k])
        if score <= 0.0 or len(found) == wanted:
            break
        x, y, heading = float(scored.x[i]), float(scored.y[j]), float(scored.heading[k])
        if any(np.hypot(x - other.x, y - other.y) < apart for other in found):
            continue
        T_world_base = floor.bases(np.array(x), np.array(y), np.array(heading))
        q = _realise(reach, lie.inverse(T_world_base) @ scored.grasps, T_world_base, collision)
        if q is None:
            continue
        if quality is not None:
            score = float(combined(np.asarray(quality(q), dtype=np.float64)[:, None], combine)[0])
        found.append(BasePlacement(T_world_base, x, y, heading, score, q))
    return sorted(found, key=lambda place: -place.score)[:count]


def _realise(
    reach: ReachMap,
    T_base_tip: Array,
    T_world_base: Array,
    collision: Collision | None,
) -> Array | None:
    """A configuration for every pose, or None if one has none."""
    rows: list[Array] = []
    for T, seed in zip(T_base_tip, reach.seeds(T_base_tip)):
        check = None if collision is None else functools.partial(collision, T_world_base)
        result = ik.solve(reach.chain, T, q_seed=None if np.isnan(seed).any() else seed, collision=check)
        if not result.solved:
            return None
        rows.append(result.q)
    return np.array(rows)


def _facing(scored: PlacementMap) -> Array:
    """Cosine between each heading and the direction to the grasps, to order placements of equal score."""
    middle = (lie.inverse(scored.floor.T_world_floor) @ scored.grasps)[:, :2, 3].mean(axis=0)
    x, y, heading = np.meshgrid(scored.x, scored.y, scored.heading, indexing="ij")
    return np.cos(heading - np.arctan2(middle[1] - y, middle[0] - x))


def combined(qualities: Array, combine: Combine) -> Array:
    """Scores of places from the qualities of the grasps (grasps, places); zero where one is missed."""
    missed = (qualities <= 0.0).any(axis=0)
    if combine is Combine.MINIMUM:
        score = qualities.min(axis=0)
    elif combine is Combine.MEAN:
        score = qualities.mean(axis=0)
    else:
        score = np.exp(np.log(np.maximum(qualities, 1e-300)).mean(axis=0))
    return np.where(missed, 0.0, score)
