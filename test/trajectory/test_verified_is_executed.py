"""What the verifier checked is what the executor sends: a released plan, sampled by the controller at 1 kHz."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BPoly

from control.arms import DT
from manipapy_core.control import ArmController, ControllerSettings, GoalPhase, GuardSettings
from manipapy_core.model.chain import Chain
from manipapy_core.motion import PlanResult, plan
from manipapy_core.trajectory import JointTrajectory, Spline, motion_bounds
from motion.scenes import problem

AGREEMENT = 1e-12
"""[rad, rad/s, rad/s²], and relative."""


@pytest.fixture(scope="module", params=["ur5", "panda"])
def released(request) -> tuple[PlanResult, Chain]:
    one = problem(request.param, "shelf", 3)
    result = plan(one.checker, one.start, one.goal, timeout=60.0)
    assert result.success and result.verification.passed
    return result, one.checker.body.chain


def executed(chain: Chain, trajectory: JointTrajectory, law: str) -> tuple[np.ndarray, np.ndarray]:
    """Trajectory times, and positions, velocities and accelerations of the reference in every tick."""
    # The arm below follows whatever the efforts are, which looks like external ones.
    settings = ControllerSettings(law=law, guard=GuardSettings(contact_threshold=0.0))
    controller, spline, now = ArmController(chain, settings), Spline.of(trajectory), 10.0
    still = np.stack([trajectory.positions[0], 0.0 * trajectory.positions[0]])
    controller.tick(now, *still, now)
    goal = controller.submit(trajectory)
    times, rows = [], []
    for tick in range(round((trajectory.duration + 0.5) / DT)):
        now += DT
        # An arm that follows exactly.
        measured = spline.sample_many(np.array([min(tick * DT, trajectory.duration)]))[0]
        controller.tick(now, measured[0], measured[1], now)
        status = controller.status()
        assert status.held is None, status.held
        if status.phase is GoalPhase.RUNNING:
            times.append(status.goal_time)
            rows.append([status.q_ref, status.qd_ref, status.qdd_ref])
    assert goal.outcome is not None and goal.outcome.succeeded, goal.outcome
    return np.array(times), np.array(rows)


@pytest.mark.parametrize("law", ["computed_torque", "pid"])
def test_a_released_plan_is_executed_as_it_was_verified(released, law):
    result, chain = released
    trajectory = result.trajectory
    times, rows = executed(chain, trajectory, law)
    assert len(times) >= trajectory.duration / DT - 2 and np.allclose(np.diff(times), DT)
    spline = Spline.of(trajectory)
    k = np.searchsorted(trajectory.times, times, side="right") - 1
    u = (times - trajectory.times[k]) / np.diff(trajectory.times)[k]
    np.testing.assert_allclose(rows, spline.within(k, u), rtol=AGREEMENT, atol=AGREEMENT)
    np.testing.assert_allclose(rows[:, 0], spline.positions_within(k, u), rtol=AGREEMENT, atol=AGREEMENT)
    # A second route: SciPy's Hermite polynomials through the released points.
    truth = BPoly.from_derivatives(trajectory.times, np.stack(trajectory.states(), axis=1))
    for order, accuracy in enumerate((1e-12, 1e-9, 1e-7)):
        np.testing.assert_allclose(rows[:, order], truth(times, order), atol=accuracy)


def test_executed_rates_stay_within_the_verified_extremes(released):
    result, chain = released
    _, rows = executed(chain, result.trajectory, "computed_torque")
    bounds, seen = motion_bounds(chain), result.verification
    # Velocities are verified at eight parts of 10 ms: between them they differ by a fraction of a thousandth.
    assert (np.abs(rows[:, 1]) / bounds.velocity).max() <= seen.velocity * (1.0 + 1e-3)
    assert (np.abs(rows[:, 2]) / bounds.acceleration).max() <= seen.acceleration * (1.0 + AGREEMENT)
    assert (np.abs(rows[:, 1]) / bounds.velocity).max() > 0.9 * seen.velocity


def test_the_goal_of_a_plan_has_the_coefficients_that_were_verified(released):
    result, chain = released
    controller = ArmController(chain)
    controller.tick(0.0, result.trajectory.positions[0], np.zeros(chain.n), 0.0)
    goal = controller.submit(result.trajectory)
    assert result.trajectory.joint_names == chain.joint_names
    np.testing.assert_array_equal(goal.spline.coefficients, Spline.of(result.trajectory).coefficients)


def test_extremes_are_those_of_dense_samples(released):
    result, _ = released
    spline = Spline.of(result.trajectory)
    velocity, acceleration, jerk, lowest, highest = spline.extremes()
    _, dense = spline.inner_samples(199)
    rows = np.concatenate([spline.sample_many(spline.times), dense])
    most = np.abs(rows).max(axis=0)
    np.testing.assert_allclose(velocity, most[1], rtol=1e-3)
    assert (acceleration >= most[2] * (1.0 - AGREEMENT)).all()
    np.testing.assert_allclose(acceleration, most[2], rtol=1e-3)
    # The third derivative of the quintic from its coefficients, at the ends and the middle of every segment.
    c, h = spline.coefficients, spline.lengths[:, None]
    thirds = [(6.0 * c[:, 3] + u * (24.0 * c[:, 4] + u * 60.0 * c[:, 5])) / h**3 for u in (0.0, 0.5, 1.0)]
    assert (jerk >= np.abs(thirds).max(axis=(0, 1)) * (1.0 - AGREEMENT)).all()
    np.testing.assert_allclose([lowest, highest], [rows[:, 0].min(axis=0), rows[:, 0].max(axis=0)], atol=1e-4)
