"""Measures against determinants and finite differences, for few joints and many, on and off singularities."""

from __future__ import annotations

import numpy as np
import pytest

from ik.arms import arm, configurations
from manipapy_core import Robot, kinematics, singularity
from manipapy_core.errors import InputError
from manipapy_core.singularity import JacobianPart, SingularityKind
from reference.random_robots import random_chain

ARMS = ["ur5", "panda", "random PRRRRR"]
SHORT = ["RR", "RRPR"]


def short_arm(pattern):
    case = random_chain(pattern, 3)
    return Robot.from_urdf(case.text).chain(case.base, case.tip)


def differences(function, q, step=1e-6):
    columns = np.eye(len(q)) * step
    return np.array([(function(q + d) - function(q - d)) / (2 * step) for d in columns])


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("part", JacobianPart)
def test_manipulability_is_the_root_of_the_determinant(name, part):
    chain = arm(name)
    q = configurations(chain, 20, 1)
    J = kinematics.body_jacobian(chain, q) * np.r_[0.3 * np.ones(3), np.ones(3)][:, None]
    if part is not JacobianPart.WHOLE:
        J = kinematics.body_jacobian(chain, q)[:, :3] if part is JacobianPart.ROTATION else J[:, 3:]
    wanted = np.sqrt(np.linalg.det(J @ np.swapaxes(J, 1, 2)))
    assert np.allclose(singularity.manipulability(chain, q, part=part, length=0.3), wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("pattern", SHORT)
def test_fewer_than_six_joints_have_as_many_values_as_joints(pattern):
    chain = short_arm(pattern)
    q = configurations(chain, 10, 2)
    J = kinematics.body_jacobian(chain, q)
    assert singularity.singular_values(chain, q).shape == (10, chain.n)
    wanted = np.sqrt(np.linalg.det(np.swapaxes(J, 1, 2) @ J))
    assert np.allclose(singularity.manipulability(chain, q), wanted, rtol=1e-8)
    assert np.isfinite(singularity.condition_number(chain, q)).all()


@pytest.mark.parametrize("name", ARMS)
@pytest.mark.parametrize("penalised", [False, True])
def test_gradient_of_manipulability_is_the_slope(name, penalised):
    chain = arm(name)
    measure = singularity.penalised_manipulability if penalised else singularity.manipulability
    for q in configurations(chain, 5, 3) * 0.9:
        for part in JacobianPart:
            exact = singularity.manipulability_gradient(chain, q, part=part, length=0.5, penalised=penalised)
            slope = differences(lambda x, part=part: measure(chain, x, part=part, length=0.5), q)
            assert np.allclose(exact, slope, rtol=1e-5, atol=1e-7)


def test_gradient_of_the_smallest_value_is_the_slope():
    chain = arm("ur5")
    for q in configurations(chain, 10, 4):
        exact = singularity.smallest_singular_value_gradient(chain, q)
        slope = differences(lambda x: singularity.smallest_singular_value(chain, x), q)
        assert np.allclose(exact, slope, rtol=1e-5, atol=1e-7)


def test_penalty_takes_a_joint_away_at_its_limit_and_leaves_the_middle_alone():
    chain = arm("panda")
    middle = 0.5 * (chain.limits.lower + chain.limits.upper)
    assert np.allclose(singularity.limit_weights(chain, middle), 1.0)
    at_limit = middle.copy()
    at_limit[3] = chain.limits.upper[3]
    assert singularity.limit_weights(chain, at_limit)[3] < 1e-4
    assert singularity.penalised_manipulability(chain, at_limit) <= singularity.manipulability(chain, at_limit)


def test_straight_elbow_of_a_ur5_loses_the_direction_of_the_arm():
    chain = arm("ur5")
    found = singularity.classify(chain, [0.3, -1.0, 0.0, 0.4, 1.2, 0.0])
    assert found.kind is SingularityKind.SINGULAR and found.rank == 5 and found.condition == np.inf
    # The lost twist is orthogonal to every column of the Jacobian.
    J = kinematics.body_jacobian(chain, [0.3, -1.0, 0.0, 0.4, 1.2, 0.0])
    assert np.abs(found.lost @ J).max() < 1e-6
    assert found.joint_distance == 0.0


def test_near_a_singularity_the_joint_distance_is_the_angle_to_it():
    chain = arm("ur5")
    found = singularity.classify(chain, [0.3, -1.0, 0.01, 0.4, 1.2, 0.0])
    assert found.kind is SingularityKind.NEAR
    # Only the elbow's angle matters here, so the distance is its angle, to second order.
    assert found.joint_distance == pytest.approx(0.01, rel=0.05)


def test_regular_configuration_is_regular():
    found = singularity.classify(arm("panda"), [0.1, -0.5, 0.2, -1.9, 0.3, 1.7, 0.4])
    assert found.kind is SingularityKind.REGULAR and found.rank == 6 and len(found.lost) == 0


def test_a_length_of_zero_is_refused():
    with pytest.raises(InputError, match="characteristic length"):
        singularity.manipulability(arm("ur5"), np.zeros(6), length=0.0)
