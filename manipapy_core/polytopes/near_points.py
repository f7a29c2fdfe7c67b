"""Closest points between an arm and its obstacles, and the Jacobians of such points.

Distances are those of the convex parts of the links, exact to a micrometre. Pairs that are near get several points:
the nearest one, those that would be nearest after a small turn either way, so that a wall beside a link gives a row at
each end of the link, and those of parts that meet the other from another side, as both prongs of a fork do. Point
clouds and octomaps give the nearest of their points or cells.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import kernels_of
from ..errors import InputError
from ..geometry import RobotBody, World, WorldSnapshot
from ..geometry.body import link_frames
from ..geometry.world import WorldObject
from ..lie import hat
from ..model.chain import Chain
from ..typing import Array
from .near_search import OTHER_SIDES, ROW, near_cells, near_solids, place
from .near_tables import SceneTables, scene_tables

WORLD = -1
"""Body index of static objects."""
TOUCHING_RADIUS = 0.03
"""Radius of the sphere that stands for a link around its nearest point [m]: turning about its centre does not change
the distance. A point alone would make the direction to a close object turn at any rate."""
EMPTY = WorldSnapshot()


@dataclass(frozen=True, eq=False)
class Origin:
    """The arm and the world that near points were found in."""

    body: RobotBody
    snapshot: WorldSnapshot
    self_collision: bool


@dataclass(frozen=True, eq=False)
class NearPoints:
    """Points of the arm and of nearby objects or links, nearest first.

    A point of the arm is given as the nearest point of a sphere that touches the link there from inside.
    """

    names: tuple[tuple[str, str], ...]
    """Link (or carried object) and the object or link near it."""
    distance: Array
    """Between their surfaces [m], shape (count,); negative where they overlap."""
    normal: Array
    """Unit vectors from the sphere towards the other in the base frame, shape (count, 3)."""
    centre: Array
    """Of the spheres, in the base frame [m], shape (count, 3)."""
    radius: Array
    """[m], shape (count,)."""
    other: Array
    """Nearest point of the other, in the base frame [m], shape (count, 3)."""
    body: NDArray[np.int64]
    """Which body of the chain carries the sphere; WORLD for links fixed to the base, shape (count,)."""
    other_body: NDArray[np.int64]
    """Which body carries the other; WORLD for static objects, shape (count,)."""
    self_pair: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Whether the other is a link or carried object of the arm, shape (count,); if not given, none is."""
    origin: Origin | None = None
    """With it, corners of motion polytopes are checked for contact."""

    def __post_init__(self) -> None:
        if len(self.self_pair) != len(self.distance):
            object.__setattr__(self, "self_pair", np.zeros(len(self.distance), dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.distance)


class JointAxes:
    """Joint axes of a chain at one configuration, and the Jacobians of points that they move."""

    def __init__(self, chain: Chain, q: ArrayLike):
        self.chain = chain
        q = np.asarray(q, dtype=np.float64)
        if q.shape != (chain.n,):
            raise InputError(f"q has shape {q.shape}; give one configuration of {chain.n} joints")
        self.T_base_link: Array = kernels_of(chain).link_poses.run(q)
        count = len(chain.bodies)
        self.axis, self.origin = np.zeros((count, 3)), np.zeros((count, 3))
        for T_base_link, (carrier, T_body_link) in zip(self.T_base_link, chain.link_placements):
            if carrier >= 0:
                R = T_base_link[:3, :3] @ T_body_link[:3, :3].T
                self.axis[carrier] = R @ chain.bodies[carrier].axis
                self.origin[carrier] = T_base_link[:3, 3] - R @ T_body_link[:3, 3]
        self.revolute = np.array([body.revolute for body in chain.bodies])
        self.above = np.zeros((count + 1, count), dtype=bool)
        """above[b, a]: body b moves when the joint of body a does; the last row is the world."""
        for index, body in enumerate(chain.bodies):
            self.above[index, index] = True
            if body.parent >= 0:
                self.above[index] |= self.above[body.parent]
        self.gather = np.zeros((count, chain.n))
        for index, body in enumerate(chain.bodies):
            self.gather[index, body.dof] = body.ratio

    def columns(self, points: Array, body: NDArray[np.int64]) -> Array:
        """Velocity of points fixed to bodies, per joint of a body, shape (count, 3, bodies)."""
        turning = np.cross(self.axis[None], points[:, None] - self.origin[None])
        moved = np.where(self.revolute[:, None], turning, self.axis)
        return np.swapaxes(moved * self.above[body][..., None], 1, 2)

    def jacobians(self, points: Array, body: NDArray[np.int64]) -> Array:
        """Velocity of points fixed to bodies, per element of q, shape (count, 3, n)."""
        return self.columns(points, body) @ self.gather

    def jacobian_rates(self, points: Array, body: NDArray[np.int64]) -> Array:
        """Derivatives of `jacobians` by q, shape (count, 3, n, n); the last axis is the one derived by."""
        columns = self.columns(points, body)
        # The joint nearer to the base turns the velocity that the other one makes.
        turned = np.einsum("axy,myf->mafx", hat(self.axis * self.revolute[:, None]), columns, optimize=True)
        above = self.above[:-1, :, None]
        rates = np.where(above, np.swapaxes(turned, 1, 2), np.where(np.swapaxes(above, 0, 1), turned, 0.0))
        moved = self.above[body]
        rates *= (moved[:, :, None] & moved[:, None, :])[..., None]
        return np.einsum("mikx,ij,kl->mxjl", rates, self.gather, self.gather, optimize=True)


def near_points(
    body: RobotBody,
    world: World | WorldSnapshot | None,
    q: ArrayLike,
    *,
    influence: float = 0.3,
    per_pair: int = 4,
    self_collision: bool = True,
) -> NearPoints:
    """Closest points of an arm to its world and to itself, at one configuration.

    Args:
        world: Obstacles; None for an empty world.
        q: Joint positions [rad or m], shape (n,).
        influence: Pairs farther apart are left out [m].
        per_pair: Most points per pair of a link and an object, or of two links; near parts that meet the other from
            another side add up to two more.
        self_collision: Whether to include pairs of links.
    """
    if not influence > 0.0 or per_pair < 1:
        raise InputError(f"influence is {influence} and per_pair {per_pair}; give a distance above 0 and at least 1")
    q = np.asarray(q, dtype=np.float64)
    if q.shape != (body.chain.n,) or not np.isfinite(q).all():
        raise InputError(f"q has shape {q.shape}; give one finite configuration of {body.chain.n} joints")
    snapshot = world if isinstance(world, WorldSnapshot) else EMPTY if world is None else world.snapshot()
    scene = scene_tables(body, snapshot)
    arm, frames = scene.arm, frame_poses(body, q)
    count = len(arm.T_frame_solid)
    T, centres = np.empty((len(scene.solids.kind), 4, 4)), np.empty((len(arm.groups), 3))
    place(arm.first, arm.frame, arm.T_frame_solid, frames, arm.balls, T, centres)
    T[count:] = scene.T_base_object
    pairs = arm.pairs if self_collision else arm.pairs[:0]
    rows = np.empty(((per_pair + OTHER_SIDES) * (len(pairs) + len(scene.pairs)), ROW))
    owner = np.empty(len(rows), np.int64)
    solids, bound = scene.solids.arrays, scene.solids.bound
    total = near_solids(
        solids, bound, T, arm.first, centres, arm.balls, pairs, arm.parts, scene.pairs, count, influence, per_pair,
        rows, owner,
    )  # fmt: skip
    rows, owner = rows[:total], owner[:total]
    labels = [(arm.groups[a].name, arm.groups[b].name) for a, b, *_ in pairs.tolist()]
    labels += [(arm.groups[a].name, scene.object_names[b]) for a, b in scene.pairs.tolist()]
    bodies = np.concatenate([
        arm.frame[pairs[:, :2]] - 1,
        np.column_stack([arm.frame[scene.pairs[:, 0]] - 1, np.full(len(scene.pairs), WORLD)]),
    ])[owner]  # fmt: skip
    names, own = [labels[index] for index in owner], owner < len(pairs)
    for item, cells, bounded in scene.fields:
        found, groups = _near_field(scene, T, centres, frames, item, cells, bounded, influence, per_pair)
        rows = np.concatenate([rows, found])
        names += [(arm.groups[index].name, item.name) for index in groups]
        bodies = np.concatenate([bodies, np.column_stack([arm.frame[groups] - 1, np.full(len(groups), WORLD)])])
        own = np.concatenate([own, np.zeros(len(groups), dtype=np.bool_)])
    order = np.argsort(rows[:, 0], kind="stable")
    rows, bodies = rows[order], bodies[order]
    normal = rows[:, 1:4]
    return NearPoints(
        tuple(names[index] for index in order),
        rows[:, 0],
        normal,
        rows[:, 4:7] - TOUCHING_RADIUS * normal,
        np.full(len(rows), TOUCHING_RADIUS),
        rows[:, 7:10],
        bodies[:, 0],
        bodies[:, 1],
        own[order],
        Origin(body, snapshot, self_collision),
    )


def _near_field(
    scene: SceneTables,
    T: Array,
    centres: Array,
    frames: Array,
    item: WorldObject,
    cells: Array,
    bounded: NDArray[np.bool_],
    influence: float,
    per_pair: int,
) -> tuple[Array, NDArray[np.int64]]:
    """Near points of all links and a point cloud or octomap, and the group of each."""
    arm, (kind, first, corners, size, ball) = scene.arm, scene.solids.arrays
    # The last solid is changed for every cell: tables that threads share are copied.
    solids, bound = (kind, first, corners, size.copy(), ball), scene.solids.bound.copy()
    found, groups, out = [np.zeros((0, ROW))], [], np.empty((per_pair, ROW))
    for index in np.flatnonzero(bounded):
        F, local = frames[arm.frame[index]], arm.groups[index].spheres
        spheres = np.column_stack([local[:, :3] @ F[:3, :3].T + F[:3, 3], local[:, 3]])
        R = np.ascontiguousarray(item.T_base_object[:3, :3])
        count = near_cells(
            solids, bound, T, arm.first, centres, arm.balls, index, spheres, cells, R, influence, per_pair, out
        )
        found.append(out[:count].copy())
        groups += [index] * count
    return np.concatenate(found), np.array(groups, dtype=np.int64)


@functools.lru_cache(maxsize=32)
def _frame_links(body: RobotBody) -> tuple[tuple[int, int, Array, Array], ...]:
    """For every frame that moves: its number, a link in it, and rotation and position of that link there."""
    chain, found = body.chain, {}
    for index, (name, (R, p)) in enumerate(link_frames(chain).items()):
        frame = body.frame_of(name)
        if frame > 0 and frame not in found:
            found[frame] = (frame, index, R, p)
    return tuple(found.values())


def frame_poses(body: RobotBody, q: Array) -> Array:
    """Pose of every frame that groups are given in at q, shape (..., n); the first one is the base.

    Returns:
        Shape (..., frames, 4, 4).
    """
    links = kernels_of(body.chain).link_poses.run(q)
    poses = np.zeros((*q.shape[:-1], len(body.chain.bodies) + 1, 4, 4))
    poses[...] = np.eye(4)
    for frame, link, R, p in _frame_links(body):
        poses[..., frame, :3, :3] = links[..., link, :3, :3] @ R.T
        poses[..., frame, :3, 3] = links[..., link, :3, 3] - poses[..., frame, :3, :3] @ p
    return poses
