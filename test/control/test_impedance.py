"""Impedance laws: stiffness as set, and passivity."""

from __future__ import annotations

import numpy as np
import pytest

from control.arms import ARMS, DT, HOME, PANDA
from manipapy_core import dynamics, kinematics, lie
from manipapy_core.control import Reference, SimulatedArm, make_law
from reference.mechanics import kinetic_energy

robots = pytest.mark.parametrize("robot", ARMS)


def spring_energy(law, q, reference):
    """Energy of the springs of a law [J], by an independent formula."""
    if law.name == "joint_impedance":
        return 0.5 * law.gains["stiffness"] @ (reference - q) ** 2
    error = lie.inverse(kinematics.forward(law.chain, q)) @ kinematics.forward(law.chain, reference)
    r, p = lie.log_so3(error[:3, :3]), error[:3, 3]
    return 0.5 * (law.gains["stiffness"][:3] @ r**2 + law.gains["stiffness"][3:] @ p**2)


@robots
@pytest.mark.parametrize("name", ["joint_impedance", "cartesian_impedance"])
def test_energy_of_a_released_arm_never_grows(robot, name):
    """Kinetic energy plus spring energy, from a deflected start in motion."""
    chain = ARMS[robot]
    gains = {"stiffness": [10.0, 2.0, 0.5, 300.0, 900.0, 50.0]} if name == "cartesian_impedance" else None
    law = make_law(name, chain, gains)
    reference = Reference.at_rest(HOME[robot])
    arm = SimulatedArm(chain, HOME[robot] + 0.15, 0.2 * np.ones(chain.n))
    energies = []
    for tick in range(2000):
        if tick % 5 == 0:
            energies.append(kinetic_energy(chain, arm.q, arm.qd) + spring_energy(law, arm.q, reference.q))
        arm.step(law.step(arm.state, reference, DT), DT)
    # Sampling lets the energy ripple slightly within a tick.
    assert np.diff(energies).max() < 2e-3 * energies[0]
    assert energies[-1] < 0.5 * energies[0]


@robots
@pytest.mark.parametrize("name", ["joint_impedance", "cartesian_impedance"])
def test_impedance_is_passive_under_pushes(robot, name):
    """Passivity at the port to the world: ∫ push · velocity dt ≥ energy stored − energy at the start."""
    chain = ARMS[robot]
    law, reference = make_law(name, chain), Reference.at_rest(HOME[robot])
    arm = SimulatedArm(chain, HOME[robot])
    rng = np.random.default_rng(1)
    push, work = np.zeros(chain.n), 0.0
    scale = 0.05 * dynamics.mass_matrix(chain, HOME[robot]).diagonal()
    for tick in range(3000):
        if tick % 50 == 0:
            push = scale * 100 * rng.normal(size=chain.n)
        before = arm.qd.copy()
        arm.step(law.step(arm.state, reference, DT) + push, DT)
        work += push @ (0.5 * (before + arm.qd)) * DT
        if tick % 10 == 0:
            stored = kinetic_energy(chain, arm.q, arm.qd) + spring_energy(law, arm.q, reference.q)
            assert work > stored - 1e-3 * max(1.0, stored)


def test_tip_deflection_is_force_over_stiffness():
    """A steady push along each axis of the tip moves it by force / stiffness, and nothing else."""
    stiffness = np.array([20.0, 20.0, 5.0, 400.0, 600.0, 800.0])
    law = make_law("cartesian_impedance", PANDA, {"stiffness": stiffness})
    reference = Reference.at_rest(HOME["panda"])
    T_goal = kinematics.forward(PANDA, HOME["panda"])
    for axis in range(6):
        wrench = np.zeros(6)
        wrench[axis] = 0.2 if axis < 3 else 5.0
        arm = SimulatedArm(PANDA, HOME["panda"])
        for _ in range(4000):
            J = kinematics.body_jacobian(PANDA, arm.q)
            arm.step(law.step(arm.state, reference, DT) + J.T @ wrench, DT)
        deflection = lie.log_se3(lie.inverse(T_goal) @ kinematics.forward(PANDA, arm.q))
        assert np.allclose(deflection, wrench / stiffness, atol=2e-4), axis


def test_null_space_motion_decays_while_the_tip_stays():
    law, reference = make_law("cartesian_impedance", PANDA), Reference.at_rest(HOME["panda"])
    J = kinematics.body_jacobian(PANDA, HOME["panda"])
    arm = SimulatedArm(PANDA, HOME["panda"], 0.5 * np.linalg.svd(J)[2][-1])
    start = kinematics.forward(PANDA, arm.q)[:3, 3]
    furthest = 0.0
    for _ in range(2500):
        arm.step(law.step(arm.state, reference, DT), DT)
        furthest = max(furthest, np.linalg.norm(kinematics.forward(PANDA, arm.q)[:3, 3] - start))
    assert np.abs(arm.qd).max() < 0.01
    assert np.abs(arm.q - HOME["panda"]).max() > 0.005, "it did swing, and stays where it came to rest"
    assert furthest < 5e-3


def test_orientation_error_near_a_half_turn_takes_the_shorter_rotation():
    """The error is a rotation vector, not a difference of angles: the moment points about the true axis."""
    chain = ARMS["ur5"]
    law = make_law("cartesian_impedance", chain, {"stiffness": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], "damping": 0.0})
    q = HOME["ur5"].copy()
    goal = q.copy()
    goal[5] += 3.0
    tau = law.step(SimulatedArm(chain, q).state, Reference.at_rest(goal), DT) - dynamics.gravity_forces(chain, q)
    assert tau[5] == pytest.approx(3.0, abs=1e-9)
    goal[5] = q[5] + 3.5
    tau = law.step(SimulatedArm(chain, q).state, Reference.at_rest(goal), DT) - dynamics.gravity_forces(chain, q)
    assert tau[5] == pytest.approx(3.5 - 2 * np.pi, abs=1e-9)
