"""The arms that inverse kinematics is tried on, and Pinocchio as the reference."""

from __future__ import annotations

import functools

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from manipapy_core import Chain, Robot
from reference.pinocchio_route import PinocchioRoute
from reference.random_robots import random_chain

Array = NDArray[np.float64]

BUNDLED = {
    "ur5": ("base_link", "tool0"),
    "ur10e": ("base_link", "tool0"),
    "xarm6": ("link_base", "link_eef"),
    "panda": ("panda_link0", "panda_hand"),
    "iiwa14": ("iiwa_link_0", "iiwa_link_ee"),
    "gen3": ("base_link", "end_effector_link"),
}
RANDOM = {"random RRRRRR": ("RRRRRR", 5), "random RRPRRRR": ("RRPRRRR", 8), "random PRRRRR": ("PRRRRR", 2)}


@functools.cache
def arm(name: str) -> Chain:
    if name in RANDOM:
        case = random_chain(*RANDOM[name])
        return Robot.from_urdf(case.text).chain(case.base, case.tip)
    return Robot.from_urdf(name).chain(*BUNDLED[name])


def judge_text(name: str) -> str:
    """The description as URDF text."""
    return random_chain(*RANDOM[name]).text if name in RANDOM else Robot.from_urdf(name).urdf


@functools.cache
def judge(name: str) -> PinocchioRoute:
    chain = arm(name)
    return PinocchioRoute(judge_text(name), chain.base, chain.tip)


def configurations(chain: Chain, count: int, seed: int) -> Array:
    """Random ones inside the limits; joints without limits within a turn."""
    lower, upper = np.maximum(chain.limits.lower, -np.pi), np.minimum(chain.limits.upper, np.pi)
    wide = np.isfinite(chain.limits.upper - chain.limits.lower)
    lower, upper = np.where(wide, chain.limits.lower, lower), np.where(wide, chain.limits.upper, upper)
    return np.random.default_rng(seed).uniform(lower, upper, (count, chain.n))


def errors_by_pinocchio(name: str, q: Array, T: Array) -> tuple[Array, Array]:
    """Position [m] and orientation [rad] errors of configurations (N, n) at poses (N, 4, 4)."""
    route = judge(name)
    position, orientation = np.empty(len(q)), np.empty(len(q))
    for i, (row, target) in enumerate(zip(q, T)):
        pose = route.forward(row)
        position[i] = np.linalg.norm(pose[:3, 3] - target[:3, 3])
        orientation[i] = np.linalg.norm(pin.log3(pose[:3, :3].T @ target[:3, :3]))
    return position, orientation


def inside_limits(chain: Chain, q: Array) -> bool:
    return bool(((q >= chain.limits.lower - 1e-12) & (q <= chain.limits.upper + 1e-12)).all())
