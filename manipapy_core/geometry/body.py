"""The collision body of a robot: its links as convex parts and covering spheres, and the pairs that are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..compiler import mechanism_of
from ..compiler.mechanism import JointPlacement
from ..errors import InputError, UnknownLink
from ..model.chain import Chain
from ..model.robot import Robot
from ..typing import Array
from .capsules import BoundingCapsule, bounding_capsule
from .parts import LinkShapes, Part, centred_part, enclosing_ball

OVERSHOOT = 0.02
"""How far covering spheres may extend beyond a link [m]. 0.03 is faster, 0.012 gives tighter distances."""
LARGE = 0.4
"""Radius of a link [m] from which on its spheres may extend farther, in proportion: their number stays the same."""


@dataclass(frozen=True, eq=False)
class Group:
    """Collision geometry of one link or carried object, in the frame of the body that it moves with."""

    name: str
    frame: int
    """0 is the base, body i of the chain's mechanism is i + 1."""
    parts: tuple[Part, ...]
    spheres: Array
    """Rows of centre, radius and filled radius [m], shape (spheres, 5)."""
    centre: Array
    """Centre of a ball that contains the parts [m], shape (3,)."""
    bound: float
    """Radius of that ball [m]."""

    @cached_property
    def capsule(self) -> BoundingCapsule:
        """Contains the parts as well."""
        return bounding_capsule(self.parts)

    @cached_property
    def reach(self) -> float:
        """Radius about the centre that contains all spheres [m]."""
        return float(np.max(np.linalg.norm(self.spheres[:, :3] - self.centre, axis=1) + self.spheres[:, 3]))

    @cached_property
    def nearest(self) -> float:
        """Distance from the centre to the nearest sphere; negative if that contains the centre [m]."""
        return float(np.min(np.linalg.norm(self.spheres[:, :3] - self.centre, axis=1) - self.spheres[:, 3]))


@dataclass(frozen=True, eq=False)
class ClearanceMap:
    """Lower bounds of the distance of two groups over the two joints between them; see `clearance_maps`."""

    joints: tuple[int, int]
    """Elements of q, both of revolute joints."""
    distances: NDArray[np.float32]
    """In each cell of a turn of both, from 0 on, and in it and its eight neighbours [m], shape (cells, cells, 2)."""


@dataclass(frozen=True)
class GroupPair:
    """Two groups that can collide, and which of their parts."""

    first: int
    second: int
    part_pairs: tuple[tuple[int, int], ...]
    """Indices of the parts within their groups."""
    comes_near: bool = True
    """Whether the parts came within twice `pairs.CLEARANCE` of each other in a random configuration."""
    clearances: ClearanceMap | None = None
    """Where the groups are often near each other and have two joints between them."""


@dataclass(frozen=True, eq=False)
class RobotBody:
    """Collision geometry of a robot; built by `RobotBody.build`.

    Made from the collision shapes of the description, not from the visual ones. A mesh is cut into convex parts that
    cover every triangle and reach some millimetres into concave places (`decomposition.TOLERANCE`).

    Pairs of links are left out only if they are joined by one joint (or through links without shapes), if their exact
    shapes are in contact in every sampled configuration, or if they are proved never to meet. `ignored` lists all of
    them with the reason.
    """

    chain: Chain
    overshoot: float
    """How far covering spheres extend beyond links of up to `LARGE` radius, at most [m]."""
    groups: tuple[Group, ...]
    """Those fixed to the base first."""
    pairs: tuple[GroupPair, ...]
    ignored: Mapping[frozenset[str], str]
    """Pairs of links that are not checked, with the reason: adjacent, always or never in contact."""

    @classmethod
    def build(cls, robot: Robot, chain: Chain, *, overshoot: float = OVERSHOOT, keep: bool = True) -> RobotBody:
        """The body of a robot, from its collision shapes.

        Takes some seconds the first time; the result is kept on disk beside the compiled kernels.

        Args:
            robot: The robot that the chain was cut from.
            overshoot: How far covering spheres may extend beyond a link [m]; beyond one with a radius above 0.4 m
                farther in proportion.
            keep: False neither reads nor writes the disk.
        """
        if chain.robot_name != robot.name or set(chain.link_names) != set(robot.links):
            raise InputError(f"the chain is of {chain.robot_name!r}, not of {robot.name!r}; cut it from this robot")
        from .build import build_body

        return build_body(robot, chain, overshoot, keep)

    @property
    def moving_links(self) -> tuple[str, ...]:
        """Links with collision shapes that a joint moves, in the order of `Checker.distances`."""
        return tuple(group.name for group in self.groups if group.frame > 0)

    @cached_property
    def link_spheres(self) -> Mapping[str, Array]:
        """Covering spheres per link, in the frame of the link: centre and radius [m], shape (spheres, 4)."""
        frames = link_frames(self.chain)
        spheres = {}
        for group in self.groups:
            R, p = frames[group.name]
            local = (group.spheres[:, :3] - p) @ R
            spheres[group.name] = np.column_stack([local, group.spheres[:, 3]])
        return MappingProxyType(spheres)

    def frame_of(self, link: str) -> int:
        """The frame that a link moves with."""
        names = self.chain.link_names
        if link not in names:
            raise UnknownLink(link, names)
        return self.chain.link_placements[names.index(link)][0] + 1

    def __repr__(self) -> str:
        links, pairs = len(self.groups), len(self.pairs)
        return f"<RobotBody of {self.chain.robot_name!r}: {links} links with shapes, {pairs} pairs; see describe()>"

    def describe(self) -> str:
        """Readable summary: spheres and parts per link, which pairs are checked, and everything that is not."""
        name, reach = self.chain.robot_name, 1e3 * self.overshoot
        lines = [f"{name}: covering spheres extend at most {reach:g} mm beyond the links"]
        lines += [f"  {group.name}: {len(group.parts)} parts, {len(group.spheres)} spheres" for group in self.groups]
        for pair in self.pairs:
            lines.append(f"  checked: {self.groups[pair.first].name} – {self.groups[pair.second].name}")
        lines += [f"  not checked ({reason}): {' – '.join(sorted(names))}" for names, reason in self.ignored.items()]
        by_frame: dict[int, list[str]] = {}
        for group in self.groups:
            by_frame.setdefault(group.frame, []).append(group.name)
        together = [names for names in by_frame.values() if len(names) > 1]
        lines += [f"  not checked (fixed to each other): {', '.join(names)}" for names in together]
        solid = {group.name for group in self.groups}
        if empty := [link for link in self.chain.link_names if link not in solid]:
            lines.append(f"  without collision shapes: {', '.join(empty)}")
        return "\n".join(lines)


def link_frames(chain: Chain) -> dict[str, tuple[Array, Array]]:
    """Rotation and translation of every link in the frame of the body that carries it."""
    return {name: _pose(placement) for name, placement in zip(chain.link_names, mechanism_of(chain).links)}


def _pose(placement: JointPlacement) -> tuple[Array, Array]:
    return np.reshape(placement.rotation, (3, 3)).astype(np.float64), np.array(placement.translation, dtype=np.float64)


def parts_by_link(robot: Robot, chain: Chain, shapes: LinkShapes) -> dict[str, tuple[int, tuple[Part, ...]]]:
    """Frame and parts of every link that has collision shapes, links that stand still first."""
    found = {}
    for name, placement in zip(chain.link_names, mechanism_of(chain).links):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = _pose(placement)
        parts = tuple(
            centred_part(solid, T @ shape.T_link_shape)
            for shape, solids in zip(robot.links[name].collisions, shapes[name])
            for solid in solids
        )
        if parts:
            found[name] = (placement.body + 1, parts)
    # Links far from the base collide most often: they come first among those that move.
    return dict(sorted(found.items(), key=lambda item: (item[1][0] > 0, -item[1][0])))


def overshoot_of(parts: tuple[Part, ...], overshoot: float) -> float:
    """Of the spheres of a link [m], where that of a small one is given."""
    return overshoot * max(1.0, enclosing_ball(parts)[1] / LARGE)


def make_group(name: str, frame: int, parts: tuple[Part, ...], spheres: Array) -> Group:
    centre, bound = enclosing_ball(parts)
    return Group(name, frame, parts, spheres, centre, bound)
