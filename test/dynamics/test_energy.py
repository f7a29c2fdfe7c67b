"""An arm without efforts keeps its energy: ten seconds of integrated forward dynamics."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, dynamics
from reference.cases import BUNDLED, RPRPRR, case_name, chain_of
from reference.mechanics import kinetic_energy, motion, potential_energy
from reference.small_robots import COM_OFFSET, CONTINUOUS, DAMPED, MIMIC, RobotCase

DURATION = 10.0
"""[s]"""
DRIFT = 1e-8
"""Allowed change of energy, relative to the largest kinetic energy on the way.

The integrator keeps each step to 1e-11; over some thousands of steps of a chaotic swing that leaves about 1e-9. A
Coriolis term wrong by one part in a thousand shows up as 1e-3.
"""


@pytest.mark.parametrize("case", (BUNDLED["ur5"], BUNDLED["panda"], MIMIC, CONTINUOUS, COM_OFFSET), ids=case_name)
def test_a_falling_arm_keeps_its_energy(case: RobotCase) -> None:
    chain = chain_of(case)
    idle = np.zeros(chain.n)
    kinetic, total = [], []
    for q, qd in motion(lambda q, qd: dynamics.forward_dynamics(chain, q, qd, idle), *start(chain.n), DURATION):
        kinetic.append(kinetic_energy(chain, q, qd))
        total.append(kinetic[-1] + potential_energy(chain, q, dynamics.GRAVITY))
    assert max(kinetic) > 1.0, "the arm must really move"
    assert np.ptp(total) <= DRIFT * max(kinetic)


def test_sliding_joints_on_springs_keep_their_energy() -> None:
    """Without the springs a sliding joint would fall for ten seconds and be half a kilometre away."""
    chain, stiffness = chain_of(RPRPRR), 40.0
    q0, qd0 = start(chain.n)

    def acceleration(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return dynamics.forward_dynamics(chain, q, qd, -stiffness * (q - q0))

    kinetic, total = [], []
    for q, qd in motion(acceleration, q0, qd0, DURATION):
        kinetic.append(kinetic_energy(chain, q, qd))
        spring = 0.5 * stiffness * np.sum((q - q0) ** 2)
        total.append(kinetic[-1] + potential_energy(chain, q, dynamics.GRAVITY) + spring)
    assert max(kinetic) > 1.0
    assert np.ptp(total) <= DRIFT * max(kinetic)


def test_damping_only_ever_takes_energy() -> None:
    # Dry friction jumps at standstill, where no integrator of high order gets past.
    chain = Robot.from_urdf(DAMPED.text.replace('friction="0.2"', 'friction="0.0"')).chain(DAMPED.base, DAMPED.tip)
    assert not chain.friction.any() and chain.damping.all()
    idle = np.zeros(chain.n)

    def acceleration(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return dynamics.forward_dynamics(chain, q, qd, idle, joint_friction=True)

    total = [
        kinetic_energy(chain, q, qd) + potential_energy(chain, q, dynamics.GRAVITY)
        for q, qd in motion(acceleration, *start(chain.n), 3.0)
    ]
    assert (np.diff(total) <= 1e-9).all()
    assert total[0] - total[-1] > 1.0


def test_momentum_about_a_vertical_axis_is_kept() -> None:
    """Gravity has no moment about the first joint of an upright arm, so (M qd)_1 cannot change."""
    chain = chain_of(CONTINUOUS)
    idle = np.zeros(chain.n)
    path = motion(
        lambda q, qd: dynamics.forward_dynamics(chain, q, qd, idle), np.array([0.2, 0.9]), np.array([1.5, -0.7]), 5.0
    )
    momenta = [(dynamics.mass_matrix(chain, q) @ qd)[0] for q, qd in path]
    assert np.ptp(momenta) <= 1e-8 * abs(momenta[0])


def start(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.uniform(-0.5, 0.5, n), rng.uniform(-0.3, 0.3, n)
