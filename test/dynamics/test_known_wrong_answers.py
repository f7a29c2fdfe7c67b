"""Mistakes found in other libraries, each computed by hand on a small robot."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from manipapy_core import Robot, dynamics, kinematics
from manipapy_core.model.chain import Chain
from reference.cases import BUNDLED, chain_of, disagreement, states
from reference.urdf_writing import joint, link, robot

TINY = (1e-6, 0, 0, 1e-6, 0, 1e-6)


def pendulum(*extra: str, mass: float = 2.0, reach: float = 0.7, moment: float = 0.3) -> Chain:
    """One joint about y, centre of mass `reach` along x."""
    text = robot(
        "pendulum",
        link("base"),
        link("bob", mass, com=(reach, 0, 0), inertia=(moment, 0, 0, moment, 0, moment)),
        joint("swing", "revolute", "base", "bob", axis=(0, 1, 0)),
        *extra,
    )
    return Robot.from_urdf(text).chain("base", "bob")


def test_offset_of_the_centre_of_mass_counts_once() -> None:
    """Steiner once: I + m r². Counting the offset twice gives I + 4 m r² or I + 2 m r²."""
    assert dynamics.mass_matrix(pendulum(), [0.4]) == pytest.approx(np.array([[0.3 + 2.0 * 0.7**2]]))
    assert dynamics.gravity_forces(pendulum(), [0.0]) == pytest.approx([-2.0 * 9.81 * 0.7])


def test_mass_behind_a_fixed_joint_is_not_dropped() -> None:
    tool = link("tool", 0.5, com=(0.1, 0, 0), inertia=TINY)
    mount = joint("mount", "fixed", "bob", "tool", xyz=(1.0, 0, 0))
    assert dynamics.mass_matrix(pendulum(tool, mount), [0.4]) == pytest.approx(
        np.array([[0.3 + 2.0 * 0.7**2 + 1e-6 + 0.5 * 1.1**2]])
    )
    assert dynamics.gravity_forces(pendulum(tool, mount), [0.0]) == pytest.approx([-9.81 * (2.0 * 0.7 + 0.5 * 1.1)])


def test_mass_on_a_side_branch_is_not_dropped() -> None:
    arm = link("arm", 0.5, com=(0, 0, 0.2), inertia=TINY)
    hinge = joint("hinge", "revolute", "bob", "arm", xyz=(1.0, 0, 0), axis=(0, 1, 0))
    chain = pendulum(arm, hinge)
    assert chain.joint_names == ("swing",)
    expected = 0.3 + 2.0 * 0.7**2 + 1e-6 + 0.5 * (1.0**2 + 0.2**2)
    assert dynamics.mass_matrix(chain, [0.4]) == pytest.approx(np.array([[expected]]))


def test_a_link_without_inertial_has_no_mass() -> None:
    """Not one kilogram, not the identity."""
    frame, mount = link("camera_frame"), joint("mount", "fixed", "bob", "camera_frame", xyz=(1.0, 2.0, 3.0))
    bare, framed = pendulum(), pendulum(frame, mount)
    np.testing.assert_array_equal(dynamics.mass_matrix(framed, [0.4]), dynamics.mass_matrix(bare, [0.4]))
    np.testing.assert_array_equal(dynamics.gravity_forces(framed, [0.4]), dynamics.gravity_forces(bare, [0.4]))


def test_coriolis_is_exact_and_not_a_difference_quotient() -> None:
    """Two point masses on a plane: h = -m2 l1 l2 sin q2, C qd = (h (2 qd1 qd2 + qd2²), -h qd1²)."""
    arm = Robot.from_urdf(
        robot(
            "planar",
            link("base"),
            link("first", 1.5, com=(0.6, 0, 0), inertia=(0, 0, 0, 0, 0, 0)),
            link("second", 0.8, com=(0.9, 0, 0), inertia=(0, 0, 0, 0, 0, 0)),
            joint("one", "revolute", "base", "first", axis=(0, 0, 1)),
            joint("two", "revolute", "first", "second", xyz=(0.6, 0, 0), axis=(0, 0, 1)),
        )
    ).chain("base", "second")
    for q, qd in (([0.3, 1.1], [0.7, -1.9]), ([2.0, -0.4], [-5.0, 3.0])):
        h = -0.8 * 0.6 * 0.9 * np.sin(q[1])
        expected = [h * (2 * qd[0] * qd[1] + qd[1] ** 2), -h * qd[0] ** 2]
        assert disagreement(dynamics.coriolis_forces(arm, q, qd), expected) <= 1e-14
        christoffel = [[h * qd[1], h * (qd[0] + qd[1])], [-h * qd[0], 0.0]]
        assert disagreement(dynamics.coriolis_matrix(arm, q, qd), christoffel) <= 1e-14


def test_tip_wrench_turns_with_the_tip() -> None:
    """A force across the arm, in the tip frame, is the same torque wherever the arm points."""
    text = robot(
        "lever",
        link("base"),
        link("bob", 1.0, inertia=TINY),
        link("tip"),
        joint("swing", "revolute", "base", "bob", axis=(0, 0, 1)),
        joint("mount", "fixed", "bob", "tip", xyz=(1.0, 0, 0)),
    )
    chain = Robot.from_urdf(text).chain("base", "tip")
    q = np.linspace(-2, 2, 9)[:, None]
    zero = np.zeros_like(q)
    tangential = dynamics.inverse_dynamics(chain, q, zero, zero, wrench_tip=[0, 0, 0, 0, 3.0, 0])
    assert disagreement(tangential, np.full((9, 1), 3.0)) <= 1e-13


def test_calling_again_and_again_does_not_hold_memory() -> None:
    """A cache keyed by the configuration would grow by every one of these calls."""
    chain = chain_of(BUNDLED["ur5"])
    q, qd, qdd = states(chain, 4000)

    def use() -> None:
        for position, velocity, acceleration in zip(q, qd, qdd, strict=True):
            dynamics.inverse_dynamics(chain, position, velocity, acceleration)
            dynamics.mass_matrix(chain, position)
            kinematics.forward(chain, position)

    use()
    tracemalloc.start()
    try:
        use()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 100_000, f"{held} bytes are still held after 12,000 calls"


def test_last_result_survives_the_next_call() -> None:
    chain = chain_of(BUNDLED["ur5"])
    first_q, second_q = states(chain, 2)[0]
    first = dynamics.mass_matrix(chain, first_q)
    copy = first.copy()
    dynamics.mass_matrix(chain, second_q)
    np.testing.assert_array_equal(first, copy)


def test_a_massless_link_between_joints_is_no_division_by_zero() -> None:
    text = robot(
        "cardan",
        link("base"),
        link("cross"),
        link("shaft", 1.0, com=(0.1, 0.2, 0.3)),
        joint("one", "revolute", "base", "cross", axis=(1, 0, 0)),
        joint("two", "revolute", "cross", "shaft", axis=(0, 1, 0)),
    )
    chain = Robot.from_urdf(text).chain("base", "shaft")
    q, qd, qdd = states(chain, 9)
    forces = dynamics.inverse_dynamics(chain, q, qd, qdd)
    assert disagreement(dynamics.forward_dynamics(chain, q, qd, forces), qdd) <= 1e-11
