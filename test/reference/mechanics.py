"""Energies of a chain from the poses of its links, and an accurate integrator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from manipapy_core import dynamics, kinematics
from manipapy_core.model.chain import Chain

Array = NDArray[np.float64]


def centres_of_mass(chain: Chain, q: Array) -> Array:
    """Centre of mass of every body in the base frame [m], (bodies, 3)."""
    poses = kinematics.link_poses(chain, q)
    centres = []
    for body in chain.bodies:
        T_base_body = poses[chain.link_names.index(body.link)] @ np.linalg.inv(body.T_body_link)
        centres.append(T_base_body[:3, :3] @ body.com + T_base_body[:3, 3])
    return np.array(centres)


def potential_energy(chain: Chain, q: Array, gravity: Array) -> float:
    """[J], zero for all mass at the base's origin."""
    masses = np.array([body.mass for body in chain.bodies])
    return -float(masses @ centres_of_mass(chain, q) @ gravity)


def kinetic_energy(chain: Chain, q: Array, qd: Array) -> float:
    """[J]"""
    return 0.5 * float(qd @ dynamics.mass_matrix(chain, q) @ qd)


def motion(
    acceleration: Callable[[Array, Array], Array], q: Array, qd: Array, duration: float
) -> Iterator[tuple[Array, Array]]:
    """States at every step of an eighth-order Runge-Kutta integration with an error of 1e-11 per step."""
    n = len(q)

    def slope(_: float, state: Array) -> Array:
        return np.concatenate([state[n:], acceleration(state[:n], state[n:])])

    solution = solve_ivp(slope, (0.0, duration), np.concatenate([q, qd]), method="DOP853", rtol=1e-11, atol=1e-11)
    assert solution.success, solution.message
    for state in solution.y.T:
        yield state[:n], state[n:]
