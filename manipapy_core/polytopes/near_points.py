"""Closest points between an arm and its obstacles, and the Jacobians of such points.

Links are represented by their covering spheres: a distance is never too large, and too small by the spheres' overshoot
at most. Several points are kept per link and object, so that a wall beside a link gives more than one row, and so does
a point cloud.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiler import kernels_of
from ..errors import InputError
from ..geometry import PointCloud, RobotBody, World, WorldSnapshot
from ..geometry.body import Group, link_frames
from ..geometry.distance import Shape, signed_distance
from ..geometry.table_builder import groups_and_pairs
from ..model.chain import Chain
from ..typing import Array

STEP = 1e-6
"""Step of the finite differences of a distance [m]."""
WORLD = -1
"""Body index of static objects."""


@dataclass(frozen=True, eq=False)
class NearPoints:
    """Pairs of a sphere of the arm and a nearby object or link, nearest first."""

    names: tuple[tuple[str, str], ...]
    """Link (or carried object) and the object or link near it."""
    distance: Array
    """Between their surfaces [m], shape (count,); negative where the spheres overlap."""
    normal: Array
    """Unit vectors from the sphere towards the other in the base frame, shape (count, 3)."""
    centre: Array
    """Of the spheres, in the base frame [m], shape (count, 3)."""
    radius: Array
    """[m], shape (count,)."""
    other: Array
    """Nearest point of the other (its centre, if it is a sphere of the arm), in the base frame [m], (count, 3)."""
    body: NDArray[np.int64]
    """Which body of the chain carries the sphere, shape (count,)."""
    other_body: NDArray[np.int64]
    """Which body carries the other; WORLD for static objects, shape (count,)."""

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
        columns = np.swapaxes(self.columns(points, body), 1, 2)
        count = len(self.axis)
        rates = np.zeros((len(points), count, count, 3))
        for i in range(count):
            for k in range(count):
                # The joint nearer to the base turns the velocity that the other one makes.
                near, far = (k, i) if self.above[i, k] else (i, k)
                if self.revolute[near] and self.above[far, near]:
                    rates[:, i, k] = np.cross(self.axis[near], columns[:, far])
        moved = self.above[body]
        rates *= (moved[:, :, None] & moved[:, None, :])[..., None]
        return np.einsum("mikx,ij,kl->mxjl", rates, self.gather, self.gather)


def near_points(
    body: RobotBody,
    world: World | WorldSnapshot | None,
    q: ArrayLike,
    *,
    influence: float = 0.3,
    per_pair: int = 3,
    self_collision: bool = True,
) -> NearPoints:
    """Closest points of an arm to its world and to itself, at one configuration.

    Args:
        world: Obstacles; None for an empty world.
        q: Joint positions [rad or m], shape (n,).
        influence: Pairs farther apart are left out [m].
        per_pair: Most points per pair of a link and an object, or of two links.
        self_collision: Whether to include pairs of links.
    """
    if not influence > 0.0 or per_pair < 1:
        raise InputError(f"influence is {influence} and per_pair {per_pair}; give a distance above 0 and at least 1")
    snapshot = world if isinstance(world, WorldSnapshot) else (World() if world is None else world).snapshot()
    groups, pairs = groups_and_pairs(body, snapshot)
    poses = _frame_poses(body, q)
    spheres = [_placed(group, poses[group.frame]) for group in groups]
    rows: list[Array] = []
    names: list[tuple[str, str]] = []
    moving = [index for index, group in enumerate(groups) if group.frame > 0]
    if moving and snapshot.objects:
        centres = np.concatenate([spheres[index][0] for index in moving])
        radii = np.concatenate([spheres[index][1] for index in moving])
        owner = np.concatenate([np.full(len(spheres[index][1]), index) for index in moving])
        for item in snapshot.objects.values():
            gap = _distances(item.shape, item.T_base_object, centres) - radii
            chosen = _nearest_per_owner(gap, owner, influence, per_pair)
            if not len(chosen):
                continue
            allowed = [snapshot.may_touch(groups[index].name, item.name) for index in owner[chosen]]
            chosen = chosen[~np.array(allowed)]
            distance, away = _to_object(item.shape, item.T_base_object, centres[chosen])
            other = centres[chosen] - distance[:, None] * away
            bodies = np.array([(groups[index].frame - 1, WORLD) for index in owner[chosen]]).reshape(-1, 2)
            rows.append(np.column_stack([gap[chosen], -away, centres[chosen], radii[chosen], other, bodies]))
            names += [(groups[index].name, item.name) for index in owner[chosen]]
    if self_collision:
        for pair in pairs:
            if not pair.comes_near:
                continue
            a, b = groups[pair.first], groups[pair.second]
            (first, radius), (second, other_radius) = spheres[pair.first], spheres[pair.second]
            gap = np.sqrt(_squares(first, second)) - radius[:, None] - other_radius
            at, other_at = np.unravel_index(np.argsort(gap, axis=None)[:per_pair], gap.shape)
            between = second[other_at] - first[at]
            apart = np.linalg.norm(between, axis=1)  # again, because the squares have lost digits
            gaps = apart - radius[at] - other_radius[other_at]
            near = (gaps < influence) & (apart > 1e-9)
            if not near.any():
                continue
            at, other_at, gaps, normals = at[near], other_at[near], gaps[near], between[near] / apart[near, None]
            bodies = np.tile([float(a.frame - 1), float(b.frame - 1)], (len(gaps), 1))
            rows.append(np.column_stack([gaps, normals, first[at], radius[at], second[other_at], bodies]))
            names += [(a.name, b.name)] * len(gaps)
    if not names:
        none, no_bodies = np.zeros((0, 3)), np.zeros(0, np.int64)
        return NearPoints((), np.zeros(0), none, none, np.zeros(0), none, no_bodies, no_bodies)
    table = np.concatenate(rows)
    order = np.argsort(table[:, 0], kind="stable")
    table = table[order]
    bodies = table[:, 11:].astype(np.int64)
    return NearPoints(
        tuple(names[index] for index in order),
        table[:, 0], table[:, 1:4], table[:, 4:7], table[:, 7], table[:, 8:11], bodies[:, 0], bodies[:, 1],
    )  # fmt: skip


@functools.lru_cache(maxsize=32)
def _frame_links(body: RobotBody) -> tuple[tuple[int, int, Array, Array], ...]:
    """For every frame that moves: its number, a link in it, and rotation and position of that link there."""
    chain, found = body.chain, {}
    for index, (name, (R, p)) in enumerate(link_frames(chain).items()):
        frame = body.frame_of(name)
        if frame > 0 and frame not in found:
            found[frame] = (frame, index, R, p)
    return tuple(found.values())


def _frame_poses(body: RobotBody, q: ArrayLike) -> dict[int, Array]:
    """Pose of every frame that groups are given in."""
    links = kernels_of(body.chain).link_poses.run(np.asarray(q, dtype=np.float64))
    poses = {0: np.eye(4)}
    for frame, link, R, p in _frame_links(body):
        T = np.eye(4)
        T[:3, :3] = links[link, :3, :3] @ R.T
        T[:3, 3] = links[link, :3, 3] - T[:3, :3] @ p
        poses[frame] = T
    return poses


def _placed(group: Group, T: Array) -> tuple[Array, Array]:
    return group.spheres[:, :3] @ T[:3, :3].T + T[:3, 3], group.spheres[:, 3]


def _distances(shape: Shape, T: Array, points: Array) -> Array:
    """Signed distance of points (count, 3) to an object."""
    local = (points - T[:3, 3]) @ T[:3, :3]
    if isinstance(shape, PointCloud):
        return np.sqrt(_squares(local, shape.points).min(axis=1))
    return signed_distance(shape, local)


def _squares(points: Array, cloud: Array) -> Array:
    return np.maximum((points**2).sum(axis=1)[:, None] - 2.0 * points @ cloud.T + (cloud**2).sum(axis=1), 0.0)


def _to_object(shape: Shape, T: Array, points: Array) -> tuple[Array, Array]:
    """Signed distance of points (count, 3) to an object, and the unit direction away from it, in the base frame."""
    local = (points - T[:3, 3]) @ T[:3, :3]
    if isinstance(shape, PointCloud):
        # The points themselves, not the cells of the checker, because the directions must be exact.
        nearest = shape.points[_squares(local, shape.points).argmin(axis=1)]
        distance = np.linalg.norm(local - nearest, axis=1)
        away = (local - nearest) / np.maximum(distance, 1e-12)[:, None]
        return distance, away @ T[:3, :3].T
    shifts = np.concatenate([np.zeros((1, 3)), STEP * np.eye(3), -STEP * np.eye(3)])
    around = signed_distance(shape, local[None] + shifts[:, None])
    slope = (around[1:4] - around[4:]).T
    size = np.linalg.norm(slope, axis=1, keepdims=True)
    away = np.where(size > 0.0, slope / np.where(size > 0.0, size, 1.0), [0.0, 0.0, 1.0])
    return around[0], away @ T[:3, :3].T


def _nearest_per_owner(gap: Array, owner: NDArray[np.int64], influence: float, most: int) -> NDArray[np.int64]:
    """Indices of the smallest gaps of every owner, at most so many each."""
    near = np.flatnonzero(gap < influence)
    if not len(near):
        return near
    order = near[np.lexsort((gap[near], owner[near]))]
    first = np.r_[True, owner[order][1:] != owner[order][:-1]]
    place = np.arange(len(order)) - np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    return order[place < most]
