"""A `Chain` from lists of screw axes, home pose and spatial inertias."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .. import lie
from ..errors import InputError, ShapeError
from ..model.chain import Chain, ChainBody, JointLimits
from ..typing import Array
from .inputs import pose, shaped

BASE, TIP = "base", "end_effector"
_TOLERANCE = 1e-9


def chain_from_screws(
    S: ArrayLike,
    M: ArrayLike,
    limits: Sequence[tuple[float, float]],
    G: Sequence[ArrayLike] | ArrayLike | None = None,
    M_inertia: Sequence[ArrayLike] | ArrayLike | None = None,
    *,
    damping: ArrayLike | None = None,
    friction: ArrayLike | None = None,
) -> Chain:
    """The serial arm with T(q) = exp(S_1 q_1) … exp(S_n q_n) M.

    Args:
        S: Space screw axes at q = 0, unit, shape (6, n).
        M: Pose of the tip at q = 0, shape (4, 4).
        limits: Lower and upper position per joint [rad or m].
        G: Spatial inertia of each link, angular first, shape (n, 6, 6); none for a massless arm.
        M_inertia: Pose at q = 0 of the frame in which each G is given, shape (n, 4, 4).
        damping: Of each joint [N m s/rad or N s/m], shape (n,); 0 if not given. Coulomb friction [N m or N] likewise.
    """
    screws = np.array(S, dtype=np.float64)
    if screws.ndim != 2 or screws.shape[0] != 6 or screws.shape[1] == 0:
        raise ShapeError("S_list", "(6, n) with n ≥ 1", screws.shape)
    n = screws.shape[1]
    M = pose(M, "M_list")
    if len(limits) != n:
        raise InputError(f"joint_limits has {len(limits)} entries; S_list has {n} joints")
    inertias = np.zeros((n, 6, 6)) if G is None else _stack(G, (n, 6, 6), "Glist")
    frames = _stack([np.eye(4)] * n if M_inertia is None else M_inertia, (n, 4, 4), "Mlist_per_link")

    bodies: list[ChainBody] = []
    homes: list[Array] = []
    for index, screw in enumerate(screws.T):
        revolute, axis, home = _joint_frame(screw, index, homes)
        T_parent = lie.inverse(homes[-1]) @ home if homes else home
        T_body_frame = lie.inverse(home) @ pose(frames[index], f"Mlist_per_link[{index}]")
        mass, moment, inertia = _rigid_body(inertias[index], index, T_body_frame)
        bodies.append(
            ChainBody(
                joint=f"joint_{index + 1}",
                link=f"link_{index + 1}",
                parent=index - 1,
                T_parent_body=T_parent,
                axis=axis,
                revolute=revolute,
                dof=index,
                ratio=1.0,
                T_body_link=np.eye(4),
                mass=mass,
                moment=moment,
                inertia=inertia,
            )
        )
        homes.append(home)
    T_body_tip = lie.inverse(homes[-1]) @ M
    unlimited = np.full(n, np.inf)
    lower, upper = np.array(limits, dtype=np.float64).T
    return Chain(
        robot_name="manipulator",
        base=BASE,
        tip=TIP,
        joint_names=tuple(body.joint for body in bodies),
        bodies=tuple(bodies),
        tip_body=n - 1,
        T_body_tip=T_body_tip,
        link_names=(BASE, *(body.link for body in bodies), TIP),
        link_placements=((-1, np.eye(4)), *((index, np.eye(4)) for index in range(n)), (n - 1, T_body_tip)),
        limits=JointLimits(lower, upper, unlimited, unlimited, unlimited, unlimited),
        damping=np.zeros(n) if damping is None else _stack(damping, (n,), "damping"),
        friction=np.zeros(n) if friction is None else _stack(friction, (n,), "friction"),
        locked=(),
    )


def _joint_frame(screw: Array, index: int, homes: list[Array]) -> tuple[bool, Array, Array]:
    """Whether the joint is revolute, its unit axis, and a frame with base axes at q = 0 whose origin is on the axis."""
    w, v = screw[:3], screw[3:]
    turning, sliding = float(np.linalg.norm(w)), float(np.linalg.norm(v))
    if turning == 0.0 and abs(sliding - 1.0) < _TOLERANCE:
        return False, v / sliding, homes[-1].copy() if homes else np.eye(4)
    if abs(turning - 1.0) < _TOLERANCE and abs(w @ v) < _TOLERANCE * max(1.0, sliding):
        return True, w / turning, lie.pose(translation=np.cross(w, v))
    raise InputError(
        f"column {index + 1} of S_list is {screw}; a revolute joint has a unit axis and v = -ω × r, a prismatic one "
        "ω = 0 and a unit v"
    )


def _rigid_body(G: Array, index: int, T_body_frame: Array) -> tuple[float, Array, Array]:
    """Mass, first moment and inertia about the origin, in the body's frame.

    G may be given about any point: [[I, m [c]], [-m [c], m 1]] with I about the origin of its frame.
    """
    mass = float(np.trace(G[3:, 3:])) / 3.0
    moment, inertia = lie.vee(G[:3, 3:]), 0.5 * (G[:3, :3] + G[:3, :3].T)
    rebuilt = np.block([[inertia, lie.hat(moment)], [-lie.hat(moment), mass * np.eye(3)]])
    if mass < 0.0 or not np.allclose(rebuilt, G, rtol=0.0, atol=_TOLERANCE * max(1.0, float(np.abs(G).max()))):
        raise InputError(
            f"Glist[{index}] is not a rigid-body inertia; give [[I, m [c]], [-m [c], m 1]] with I symmetric, m ≥ 0"
        )
    R, p = T_body_frame[:3, :3], T_body_frame[:3, 3]
    turned, cross = R @ moment, lie.hat(p)
    # Steiner's theorem from the origin of the frame of G, which need not be the centre of mass.
    about_origin = R @ inertia @ R.T - cross @ lie.hat(turned) - lie.hat(turned) @ cross - mass * cross @ cross
    return mass, turned + mass * p, 0.5 * (about_origin + about_origin.T)


def _stack(values: Sequence[ArrayLike] | ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    array = shaped(values, shape, name)
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name} holds NaN or infinity; give finite numbers")
    return array
