"""Masses for links that joints move without any: physics cannot move a joint that has no inertia."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..typing import Array
from .assumptions import Assumption
from .elements import BoxGeometry, CylinderGeometry, Inertial, Link, MeshGeometry, Shape, SphereGeometry
from .joint_loads import joint_loads
from .meshes import load_mesh

if TYPE_CHECKING:
    from .robot import Robot

DENSITY = 500.0
"""Of the bounding box of a link [kg/m³]; makers' arms have 440 to 1100."""
SMALLEST_MASS = 0.1
"""[kg]"""
SMALLEST_SIZE = 0.05
"""Edge of the box of a link without shapes [m]."""
NEGLIGIBLE = 1e-12
"""Inertia that counts as none [kg m² or kg]."""


def with_assumed_masses(robot: Robot) -> tuple[Robot, list[Assumption]]:
    """The robot with masses for the links behind joints that move none, and what was assumed.

    A link that has a mass keeps it; it gets the rotational inertia of its box if a joint would have none otherwise.
    """
    chain = robot.tree()
    inertia = joint_loads(chain).inertia
    if (inertia > NEGLIGIBLE).all():
        return robot, []
    links, found = dict(robot.links), []
    for body, placement in _carried_links(chain.link_names, chain.link_placements).items():
        if inertia[chain.bodies[body].dof] > NEGLIGIBLE:
            continue
        solid = [name for name in placement if robot.links[name].collisions or robot.links[name].visuals]
        for name in solid or [chain.bodies[body].link]:
            links[name] = _with_box(robot.links[name])
            inertial = links[name].inertial
            assert inertial is not None
            found.append(Assumption(name, "mass", inertial.mass, "kg"))
    return replace(robot, links=links), found


def _carried_links(names: tuple[str, ...], placements: tuple[tuple[int, Array], ...]) -> dict[int, list[str]]:
    """Links by the body that carries them; those that stand still are left out."""
    carried: dict[int, list[str]] = {}
    for name, (body, _) in zip(names, placements):
        if body >= 0:
            carried.setdefault(body, []).append(name)
    return carried


def _with_box(link: Link) -> Link:
    lower, upper = _bounding_box(link)
    size, centre = np.maximum(upper - lower, 1e-3), 0.5 * (lower + upper)
    mass = max(DENSITY * float(np.prod(size)), SMALLEST_MASS)
    if link.inertial is not None and link.inertial.mass > 0.0:
        mass, centre = link.inertial.mass, link.inertial.com
    squares = size**2
    return replace(link, inertial=Inertial(mass, centre, np.diag(mass / 12.0 * (squares.sum() - squares))))


def _bounding_box(link: Link) -> tuple[Array, Array]:
    """Smallest and largest coordinates of the collision shapes, or of the visual ones, in the link frame [m]."""
    points = [corners for shape in link.collisions or link.visuals if (corners := _corners(shape)) is not None]
    if not points:
        return np.full(3, -0.5 * SMALLEST_SIZE), np.full(3, 0.5 * SMALLEST_SIZE)
    stacked = np.vstack(points)
    return stacked.min(axis=0), stacked.max(axis=0)


def _corners(shape: Shape) -> Array | None:
    """Points that span the box of a shape in the link frame [m], shape (k, 3); None for a mesh that was not found."""
    geometry = shape.geometry
    if isinstance(geometry, MeshGeometry):
        if not geometry.filename:
            return None
        points = load_mesh(geometry.filename, geometry.scale).points
    else:
        points = _half_size(geometry) * np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    placed: Array = points @ shape.T_link_shape[:3, :3].T + shape.T_link_shape[:3, 3]
    return placed


def _half_size(geometry: BoxGeometry | CylinderGeometry | SphereGeometry) -> Array:
    if isinstance(geometry, BoxGeometry):
        return 0.5 * geometry.size
    if isinstance(geometry, SphereGeometry):
        return np.full(3, geometry.radius)
    return np.array([geometry.radius, geometry.radius, 0.5 * geometry.length])
