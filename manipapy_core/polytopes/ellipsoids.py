"""Velocity, force and acceleration ellipsoids: the image at the tip of a ball of joint motions or efforts.

Each is written in base axes or tip axes, about the tip, for translation or for rotation.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..compiler import kernels_of
from ..errors import InputError
from ..model.chain import Chain
from ..model.tessellation import sphere_patch
from ..typing import Array


class Axes(enum.Enum):
    """The axes that vectors at the tip are written in."""

    BASE = "base"
    TIP = "tip"


class Motion(enum.Enum):
    """Translational or rotational part of a twist or wrench."""

    TRANSLATION = "translation"
    ROTATION = "rotation"


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Points centre + axes · radii · unit ball."""

    centre: Array
    """Shape (3,)."""
    axes: Array
    """Unit directions in columns, longest first, shape (3, 3)."""
    radii: Array
    """Half lengths, longest first, in the unit of the quantity; 0 where flat, inf where unbounded; shape (3,)."""

    @property
    def volume(self) -> float:
        """4/3 π times the product of the radii."""
        return float(4.0 / 3.0 * np.pi * np.prod(self.radii))

    def radius_along(self, direction: ArrayLike) -> float:
        """Distance from the centre to the surface along a direction of any length, shape (3,)."""
        d = np.asarray(direction, dtype=np.float64)
        size = np.linalg.norm(d)
        if d.shape != (3,) or not size > 0.0:
            raise InputError("direction must be three numbers, not all zero")
        components = self.axes.T @ (d / size)
        flat = self.radii <= 0.0
        if (np.abs(components[flat]) > 1e-12).any():
            return 0.0
        inverse = np.linalg.norm(components[~flat] / self.radii[~flat])
        return float(1.0 / inverse) if inverse > 0.0 else np.inf

    def surface(self, count: int = 24) -> tuple[Array, Array, Array]:
        """x, y, z of a grid of surface points, as matplotlib's `plot_surface` takes them."""
        ball = sphere_patch(1.0, 2 * count - 1, count - 1).points
        x, y, z = np.moveaxis(ball @ (self.axes * self.radii).T + self.centre, -1, 0)
        return x, y, z


def tip_jacobian(chain: Chain, q: ArrayLike, motion: Motion = Motion.TRANSLATION, axes: Axes = Axes.BASE) -> Array:
    """Velocity of the tip's origin, or its angular velocity, per joint rate.

    Args:
        q: Joint positions [rad or m], shape (n,).

    Returns:
        Shape (3, n).
    """
    J = kernels_of(chain).body_jacobian.run(np.asarray(q, dtype=np.float64))
    rows: Array = J[:3] if motion is Motion.ROTATION else J[3:]
    return rows if axes is Axes.TIP else kernels_of(chain).forward.run(np.asarray(q, dtype=np.float64))[:3, :3] @ rows


def velocity_ellipsoid(
    chain: Chain,
    q: ArrayLike,
    *,
    motion: Motion = Motion.TRANSLATION,
    axes: Axes = Axes.BASE,
    joint_scale: ArrayLike | None = None,
) -> Ellipsoid:
    """Tip velocities of joint velocities inside a ball [m/s or rad/s].

    Args:
        q: Joint positions [rad or m], shape (n,).
        joint_scale: Radius of the ball per joint [rad/s or m/s], shape (n,), such as the velocity limits; 1 for all
            if not given.
    """
    return _image(tip_jacobian(chain, q, motion, axes) * _scale(chain, joint_scale), np.zeros(3))


def force_ellipsoid(
    chain: Chain,
    q: ArrayLike,
    *,
    motion: Motion = Motion.TRANSLATION,
    axes: Axes = Axes.BASE,
    joint_scale: ArrayLike | None = None,
) -> Ellipsoid:
    """Forces (or moments) of the tip that joint efforts inside a ball can hold [N or N m].

    Long where the velocity ellipsoid is short; unbounded along directions that no joint moves.

    Args:
        joint_scale: Radius of the ball per joint [N m or N], shape (n,), such as the effort limits; 1 if not given.
    """
    u, values, _ = np.linalg.svd(tip_jacobian(chain, q, motion, axes) / _scale(chain, joint_scale))
    values = np.concatenate([values, np.zeros(3 - len(values))])
    lost = values <= 1e-12 * values[0]
    radii = np.where(lost, np.inf, 1.0 / np.where(lost, 1.0, values))
    return Ellipsoid(np.zeros(3), u[:, ::-1], radii[::-1])


def acceleration_ellipsoid(
    chain: Chain,
    q: ArrayLike,
    *,
    motion: Motion = Motion.TRANSLATION,
    axes: Axes = Axes.BASE,
    joint_scale: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
) -> Ellipsoid:
    """Tip accelerations of joint efforts inside a ball, from rest (dynamic manipulability) [m/s² or rad/s²].

    Args:
        joint_scale: Radius of the ball per joint [N m or N], shape (n,), such as the effort limits; 1 if not given.
        gravity: In the base frame [m/s²], shape (3,); its pull moves the centre. None leaves it out.
    """
    q = np.asarray(q, dtype=np.float64)
    J, mass = tip_jacobian(chain, q, motion, axes), kernels_of(chain).mass_matrix.run(q)
    centre = np.zeros(3)
    if gravity is not None:
        load = kernels_of(chain).gravity_forces.run(q, np.asarray(gravity, dtype=np.float64))
        centre = -J @ np.linalg.solve(mass, load)
    return _image(np.linalg.solve(mass, J.T).T * _scale(chain, joint_scale), centre)


def _scale(chain: Chain, joint_scale: ArrayLike | None) -> Array:
    if joint_scale is None:
        return np.ones(chain.n)
    scale = np.asarray(joint_scale, dtype=np.float64)
    if scale.shape != (chain.n,) or not (np.isfinite(scale) & (scale > 0.0)).all():
        raise InputError(f"joint_scale must be {chain.n} finite numbers above zero, one per joint")
    return scale


def _image(matrix: Array, centre: Array) -> Ellipsoid:
    u, values, _ = np.linalg.svd(matrix)
    return Ellipsoid(centre, u, np.concatenate([values, np.zeros(3 - len(values))]))
