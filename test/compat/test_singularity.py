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


def test_documented_default_threshold_detects_near_singularities(analysis):
    assert analysis.near_singularity_detection(STRAIGHT + 0.001 * np.eye(6)[2])
    assert not analysis.near_singularity_detection(REGULAR)
    with pytest.raises(InputError, match="fraction between 0 and 1"):
        analysis.near_singularity_detection(REGULAR, threshold=100.0)


def test_seven_joints_are_supported():
    chain = arm("panda")
    panda = Singularity(SerialManipulator(chain.M, S_list=chain.S))
    assert not panda.singularity_analysis([0.1, -0.5, 0.2, -1.9, 0.3, 1.7, 0.4])


def test_ellipsoids_and_workspace_are_drawn_without_a_screen(analysis):
    linear, angular = analysis.manipulability_ellipsoid(REGULAR)
    assert linear.radii[0] > 0.0 and angular.radii[0] > 0.0
    found = analysis.plot_workspace_monte_carlo([(-1.0, 1.0)] * 6, num_samples=500)
    assert (np.abs(found.q) <= 1.0).all() and len(found.points) == 500
