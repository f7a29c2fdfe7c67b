"""Which way the wrench acts, in which frame, and what a payload is: by hand and by rewriting the robot."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, dynamics, kinematics
from reference.cases import BUNDLED, RPRPRR, case_name, chain_of, disagreement, states
from reference.small_robots import BRANCH, DAMPED, MIMIC, RobotCase
from reference.urdf_writing import joint, link, robot

robots = pytest.mark.parametrize("case", (BUNDLED["ur5"], RPRPRR, MIMIC, BRANCH), ids=case_name)

# One joint about z; the tip is 1 m out along x, its frame turned a quarter about z: tip x = base y at q = 0.
LEVER = Robot.from_urdf(
    robot(
        "lever",
        link("base"),
        link("arm", 1.0, inertia=(0.1, 0, 0, 0.1, 0, 0.1)),
        link("tip"),
        joint("turn", "revolute", "base", "arm", axis=(0, 0, 1)),
        joint("to_tip", "fixed", "arm", "tip", xyz=(1.0, 0, 0), rpy=(0, 0, np.pi / 2)),
    )
).chain("base", "tip")


@pytest.mark.parametrize("q", [0.0, 0.4, -2.0])
def test_pushing_with_the_tip_takes_torque(q: float) -> None:
    """The tip exerts 5 N along its own x, which is the tangent: the joint must give +5 N m, at any angle."""
    push = [0.0, 0.0, 0.0, 5.0, 0.0, 0.0]
    assert dynamics.inverse_dynamics(LEVER, [q], [0.0], [0.0], wrench_tip=push) == pytest.approx([5.0])
    assert dynamics.forward_dynamics(LEVER, [q], [0.0], [0.0], wrench_tip=push) == pytest.approx([-50.0])


def test_radial_force_needs_no_torque_and_moment_passes_straight_through() -> None:
    radial, moment = [0.0, 0.0, 0.0, 0.0, 7.0, 0.0], [0.0, 0.0, 2.0, 0.0, 0.0, 0.0]
    assert dynamics.inverse_dynamics(LEVER, [0.3], [0.0], [0.0], wrench_tip=radial) == pytest.approx([0.0])
    assert dynamics.inverse_dynamics(LEVER, [0.3], [0.0], [0.0], wrench_tip=moment) == pytest.approx([2.0])


@robots
def test_wrench_acts_through_the_body_jacobian(case: RobotCase) -> None:
    chain = chain_of(case)
    q, qd, qdd = states(chain, 7)
    wrench = np.random.default_rng(5).uniform(-30, 30, (7, 6))
    extra = dynamics.inverse_dynamics(chain, q, qd, qdd, wrench_tip=wrench)
    extra = extra - dynamics.inverse_dynamics(chain, q, qd, qdd)
    expected = np.einsum("bij,bi->bj", kinematics.body_jacobian(chain, q), wrench)
    assert disagreement(extra, expected) <= 1e-11


@robots
def test_wrench_does_the_work_it_should(case: RobotCase) -> None:
    """Virtual work: tau' qd = wrench' (body twist)."""
    chain = chain_of(case)
    q, qd, _ = states(chain, 7)
    zero, wrench = np.zeros_like(q), np.random.default_rng(6).uniform(-30, 30, (7, 6))
    tau = dynamics.inverse_dynamics(chain, q, zero, zero, gravity=(0, 0, 0), wrench_tip=wrench)
    twist = np.einsum("bij,bj->bi", kinematics.body_jacobian(chain, q), qd)
    assert disagreement(np.sum(tau * qd, axis=1), np.sum(wrench * twist, axis=1)) <= 1e-10


@robots
def test_payload_is_a_link_fixed_to_the_tip(case: RobotCase) -> None:
    mass, com = 2.3, np.array([0.1, -0.05, 0.2])
    inertia = np.array([[0.03, 0.004, -0.002], [0.004, 0.05, 0.003], [-0.002, 0.003, 0.04]])
    six = (inertia[0, 0], inertia[0, 1], inertia[0, 2], inertia[1, 1], inertia[1, 2], inertia[2, 2])
    glued = link("payload", mass, com, inertia=six) + joint("glue", "fixed", case.tip, "payload")
    loaded = Robot.from_urdf(case.text.replace("</robot>", glued + "</robot>"))
    heavy = loaded.chain(case.base, case.tip, fixed=dict(case.fixed) or None)
    chain, payload = chain_of(case), dynamics.Payload(mass, com, inertia)
    q, qd, qdd = states(chain, 7)
    with_payload = dynamics.inverse_dynamics(chain, q, qd, qdd, payload=payload)
    assert disagreement(with_payload, dynamics.inverse_dynamics(heavy, q, qd, qdd)) <= 1e-11
    with_payload = dynamics.forward_dynamics(chain, q, qd, qdd, payload=payload)
    assert disagreement(with_payload, dynamics.forward_dynamics(heavy, q, qd, qdd)) <= 1e-10


def test_a_hung_weight_pulls_at_its_centre_of_mass() -> None:
    """2 kg, 0.25 m beyond the tip along base x, gravity along -y: the joint holds 2 x 9.81 x 1.25 N m."""
    payload = dynamics.Payload(2.0, (0.0, -0.25, 0.0))  # tip y points back to the joint
    held = dynamics.inverse_dynamics(LEVER, [0.0], [0.0], [0.0], gravity=(0, -9.81, 0), payload=payload)
    assert held == pytest.approx([2.0 * 9.81 * 1.25])


def test_a_payload_without_mass_changes_nothing() -> None:
    chain = chain_of(RPRPRR)
    q, qd, qdd = states(chain, 9)
    empty = dynamics.Payload(0.0)
    bare = dynamics.inverse_dynamics(chain, q, qd, qdd)
    assert disagreement(dynamics.inverse_dynamics(chain, q, qd, qdd, payload=empty), bare) <= 1e-12
    bare = dynamics.forward_dynamics(chain, q, qd, qdd)
    assert disagreement(dynamics.forward_dynamics(chain, q, qd, qdd, payload=empty), bare) <= 1e-11


def test_friction_is_off_unless_asked_for_and_opposes_motion() -> None:
    chain = chain_of(DAMPED)
    q, qd, qdd = (values[0] for values in states(chain, 1))
    bare = dynamics.inverse_dynamics(chain, q, qd, qdd)
    rubbed = dynamics.inverse_dynamics(chain, q, qd, qdd, joint_friction=True)
    assert disagreement(rubbed - bare, chain.damping * qd + chain.friction * np.sign(qd)) <= 1e-12
    still = np.zeros(chain.n)
    at_rest = dynamics.inverse_dynamics(chain, q, still, qdd, joint_friction=True)
    assert disagreement(at_rest, dynamics.inverse_dynamics(chain, q, still, qdd)) == 0.0
    slowed = dynamics.forward_dynamics(chain, q, qd, rubbed, joint_friction=True)
    assert disagreement(slowed, qdd) <= 1e-11


def test_weightlessness_and_acceleration_are_the_same() -> None:
    """Einstein's lift: gravity g is a base accelerating by -g; on a vertical slide it is qdd + 9.81."""
    slide = Robot.from_urdf(
        robot(
            "lift",
            link("base"),
            link("cabin", 3.0),
            joint("up", "prismatic", "base", "cabin", axis=(0, 0, 1)),
        )
    ).chain("base", "cabin")
    assert dynamics.inverse_dynamics(slide, [0.1], [0.5], [2.0]) == pytest.approx([3.0 * (2.0 + 9.81)])
    assert dynamics.forward_dynamics(slide, [0.1], [0.5], [0.0]) == pytest.approx([-9.81])
