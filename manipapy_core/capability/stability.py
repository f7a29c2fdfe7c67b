"""Whether a robot that only stands would fall over: its centre of mass over what it stands on."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, ShapeError
from ..model.chain import Chain
from ..model.robot import Robot
from .polygons import Polygon

Array = NDArray[np.float64]


def centre_of_mass(robot: Robot, chain: Chain, q: ArrayLike) -> Array:
    """Of the whole robot, links outside the chain and the base included.

    Args:
        robot: The robot that the chain was cut from.
        q: Joint positions of the chain [rad or m], shape (..., n).

    Returns:
        In the base frame [m], shape (..., 3).
    """
    rows = np.asarray(q, dtype=np.float64)
    if rows.ndim < 1 or rows.shape[-1] != chain.n:
        raise ShapeError("q", f"(..., {chain.n})", rows.shape)
    inertials = [robot.links[name].inertial for name in chain.link_names]
    mass = np.array([0.0 if inertial is None else inertial.mass for inertial in inertials])
    if not mass.sum() > 0.0:
        raise InputError(f"robot {robot.name!r} weighs nothing; a centre of mass needs <inertial> elements")
    local = np.array([np.zeros(3) if inertial is None else inertial.com for inertial in inertials])
    T = chain.kernels.link_poses.run(rows.reshape(-1, chain.n))
    centres = np.einsum("nlij,lj->nli", T[..., :3, :3], local) + T[..., :3, 3]
    return (np.einsum("nli,l->ni", centres, mass) / mass.sum()).reshape(*rows.shape[:-1], 3)


def stands(robot: Robot, chain: Chain, support: Polygon, q: ArrayLike) -> NDArray[np.bool_]:
    """Which configurations keep the centre of mass above what the robot stands on.

    Args:
        support: In the x and y of the base frame, whose z axis points up: the foot, or the hull of both feet.
        q: Joint positions [rad or m], shape (..., n).
    """
    return support.contains(centre_of_mass(robot, chain, q)[..., :2])
