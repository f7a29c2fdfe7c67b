"""ManipulaPy's `Singularity` gives the results of `manipapy_core.singularity`."""

from __future__ import annotations

import numpy as np
import pytest

from ik.arms import arm
from manipapy_core import singularity
from manipapy_core.compat.kinematics import SerialManipulator
from manipapy_core.compat.singularity import Singularity
from manipapy_core.errors import InputError

REGULAR = np.array([0.3, -1.0, 1.1, 0.4, 1.2, 0.0])
STRAIGHT = np.array([0.3, -1.0, 0.0, 0.4, 1.2, 0.0])


@pytest.fixture(scope="module")
def analysis():
    chain = arm("ur5")
    return Singularity(SerialManipulator(chain.M, S_list=chain.S))


def test_straight_elbow_is_singular(analysis):
    assert analysis.singularity_analysis(STRAIGHT)
    assert not analysis.singularity_analysis(REGULAR)


def test_condition_number_agrees_with_the_core(analysis):
    wanted = singularity.condition_number(arm("ur5"), REGULAR)
    assert analysis.condition_number(REGULAR) == pytest.approx(float(wanted))


def test_thresholds_of_both_versions_detect_near_singularities(analysis):
    near = STRAIGHT + 0.001 * np.eye(6)[2]
    number = analysis.condition_number(near)
    for theta in (near, REGULAR):
        assert analysis.near_singularity_detection(theta) == (analysis.condition_number(theta) > 1000.0)
    assert analysis.near_singularity_detection(near, 0.99 * number)
    assert not analysis.near_singularity_detection(near, 1.01 * number)
    assert analysis.near_singularity_detection(near, 0.01) and not analysis.near_singularity_detection(REGULAR, 0.01)
    with pytest.raises(InputError, match="condition number"):
        analysis.near_singularity_detection(REGULAR, threshold=0.0)


class OtherArm:
    """A manipulator of another class."""

    def __init__(self, arm):
        self._arm = arm

    def jacobian(self, theta):
        return self._arm.jacobian(theta)

    def forward_kinematics(self, theta):
        return self._arm.forward_kinematics(theta)


def test_arms_of_other_classes_give_the_same_answers(analysis):
    other = Singularity(OtherArm(analysis.serial_manipulator))
    assert other.singularity_analysis(STRAIGHT) and not other.singularity_analysis(REGULAR)
    # Of the space Jacobian: its origin is the base, so its numbers differ from those at the tip.
    J = analysis.serial_manipulator.jacobian(REGULAR)
    assert other.condition_number(REGULAR) == pytest.approx(np.linalg.cond(J))
    linear, angular = other.manipulability_ellipsoid(REGULAR)
    np.testing.assert_allclose(linear.radii, np.linalg.svd(J[3:], compute_uv=False))
    np.testing.assert_allclose(angular.radii, np.linalg.svd(J[:3], compute_uv=False))
    found = other.plot_workspace_monte_carlo([(-1.0, 1.0)] * 6, num_samples=20)
    pose = analysis.serial_manipulator.forward_kinematics(found.q[7])
    np.testing.assert_allclose(found.points[7], pose[:3, 3])
    with pytest.raises(InputError, match="joint_limits"):
        other.plot_workspace_monte_carlo()


def test_seven_joints_are_supported():
    chain = arm("panda")
    panda = Singularity(SerialManipulator(chain.M, S_list=chain.S))
    assert not panda.singularity_analysis([0.1, -0.5, 0.2, -1.9, 0.3, 1.7, 0.4])


def test_ellipsoids_and_workspace_are_drawn_without_a_screen(analysis):
    linear, angular = analysis.manipulability_ellipsoid(REGULAR)
    assert linear.radii[0] > 0.0 and angular.radii[0] > 0.0
    found = analysis.plot_workspace_monte_carlo([(-1.0, 1.0)] * 6, num_samples=500)
    assert (np.abs(found.q) <= 1.0).all() and len(found.points) == 500
