"""Time laws: limits on a grid far denser than their own, toppra as the second route, ruckig's exact profiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicSpline

from geometry.arms import arm
from manipapy_core import dynamics
from manipapy_core.motion import (
    BlendedPath,
    LawRejected,
    NoTimeLaw,
    SplinePath,
    TimeLaw,
    rounded,
    timed_trajectory,
    verify,
    waypoint_trajectory,
)
from manipapy_core.motion.timing.time_laws import TimedPath, time_optimal
from manipapy_core.motion.timing.topp import fastest_squared_speeds
from manipapy_core.motion.verify import chain_efforts
from manipapy_core.trajectory import motion_bounds

GRAVITY = np.array([0.0, 0.0, -9.81])


def corners(chain, seed, points=4):
    rng = np.random.default_rng(seed)
    lower, upper = np.maximum(chain.limits.lower, -np.pi), np.minimum(chain.limits.upper, np.pi)
    return rng.uniform(0.7 * lower, 0.7 * upper, (points, chain.n))


def as_scipy(trajectory):
    """The same quintic pieces, by scipy."""
    rows = np.stack([trajectory.positions, trajectory.velocities, trajectory.accelerations], axis=1)
    return BPoly.from_derivatives(trajectory.times, rows)


def assert_limits(trajectory, bounds):
    curve = as_scipy(trajectory)
    times = np.linspace(0.0, trajectory.times[-1], 20_001)
    for order, limit in ((1, bounds.velocity), (2, bounds.acceleration), (3, bounds.jerk)):
        assert np.all(np.abs(curve.derivative(order)(times)) <= limit * (1.0 + 1e-3))


@pytest.mark.parametrize("law", TimeLaw)
@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_laws_keep_to_the_limits_and_reach_the_ends(robot, law):
    _, chain, _ = arm(robot)
    bounds = motion_bounds(chain)
    for seed in range(3):
        rows = corners(chain, seed)
        path = BlendedPath(rows, np.zeros(2)) if law is TimeLaw.RUCKIG else rounded(rows, 0.3)
        trajectory, seen = timed_trajectory(path, bounds, law=law)
        assert seen.passed
        assert_limits(trajectory, bounds)
        np.testing.assert_allclose(trajectory.positions[[0, -1]], rows[[0, -1]], atol=1e-12)
        assert not trajectory.velocities[[0, -1]].any()


@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_times_are_those_of_toppra(robot):
    """The bare optimum, before averaging and rescaling, on the same grid and the same spline."""
    import toppra
    from toppra import algorithm, constraint

    _, chain, _ = arm(robot)
    bounds = motion_bounds(chain)
    for seed in range(5):
        path = SplinePath.through(corners(chain, seed, points=6))
        law = time_optimal(path, bounds)
        curve = toppra.SplineInterpolator(path.marks, path.corners, bc_type="natural")
        both = [np.column_stack([-limit, limit]) for limit in (bounds.velocity, bounds.acceleration)]
        rules = [
            constraint.JointVelocityConstraint(both[0]),
            constraint.JointAccelerationConstraint(
                both[1], discretization_scheme=constraint.DiscretizationType.Interpolation
            ),
        ]
        theirs = algorithm.TOPPRA(rules, curve, gridpoints=law.grid, parametrizer="ParametrizeConstAccel")
        _, speeds, _ = theirs.compute_parameterization(0.0, 0.0)
        np.testing.assert_allclose(np.sqrt(law.squared_speeds), speeds, atol=2e-3 * speeds.max())
        assert law.duration - law.window == pytest.approx(theirs.compute_trajectory().duration, rel=2e-3)


def test_one_joint_is_a_trapezoid():
    grid = np.linspace(0.0, 2.0, 2001)
    ones = np.ones((2001, 1))
    x, _ = fastest_squared_speeds(grid, ones, 0.0 * ones, -3.0 * ones, 3.0 * ones, np.full(2001, 4.0))
    truth = np.minimum(4.0, np.minimum(2.0 * 3.0 * grid, 2.0 * 3.0 * (2.0 - grid)))
    np.testing.assert_allclose(x, truth, atol=1e-2)


def test_efforts_are_kept_and_make_motions_slower():
    _, chain, _ = arm("panda")
    efforts = chain_efforts(chain, GRAVITY)
    free, tight = motion_bounds(chain), motion_bounds(chain, effort=True)
    rows = corners(chain, 1)
    path = rounded(rows, 0.3)
    positions = path.evaluate(np.linspace(0.0, path.length, 500))[0]
    hold = np.abs(dynamics.gravity_forces(chain, positions)).max(axis=0)
    weak = replace(tight, effort=1.1 * hold + 1.0)
    quick, _ = timed_trajectory(path, free)
    trajectory, seen = timed_trajectory(path, weak, efforts=efforts)
    assert seen.passed and trajectory.times[-1] > 1.2 * quick.times[-1]
    curve = as_scipy(trajectory)
    times = np.linspace(0.0, trajectory.times[-1], 5001)
    tau = dynamics.inverse_dynamics(chain, curve(times), curve.derivative(1)(times), curve.derivative(2)(times))
    assert np.all(np.abs(tau) <= weak.effort * (1.0 + 1e-3))
    assert np.max(np.abs(tau) / weak.effort) > 0.9


def test_an_arm_that_cannot_hold_itself_is_refused():
    _, chain, _ = arm("ur5")
    bounds = motion_bounds(chain, effort=True)
    feeble = replace(bounds, effort=np.ones(6))
    with pytest.raises(NoTimeLaw, match="hold itself"):
        timed_trajectory(rounded(corners(chain, 0), 0.3), feeble, efforts=chain_efforts(chain, GRAVITY))


def test_averaging_is_exact():
    """Length, speed and acceleration of the averaged law, by integrating the bare law numerically."""
    _, chain, _ = arm("ur5")
    law = time_optimal(rounded(corners(chain, 2), 0.3), motion_bounds(chain))
    bare = TimedPath(law.path, law.grid, law.squared_speeds, window=1e-9)
    times = np.linspace(0.0, law.duration, 50)
    fine = np.linspace(0.0, 1.0, 2001)
    mean = []
    for time in times:
        window = np.clip(time - law.window * (1.0 - fine), 0.0, bare.duration)
        mean.append(np.trapezoid(bare.length_at(window)[0], fine))
    s, v, u = law.length_at(times)
    np.testing.assert_allclose(s, mean, atol=1e-5)
    h = 1e-5
    inside = (times > 0.1) & (times < law.duration - 0.1)
    ahead, behind = law.length_at(times + h), law.length_at(times - h)
    np.testing.assert_allclose(v[inside], ((ahead[0] - behind[0]) / (2 * h))[inside], atol=1e-4)
    np.testing.assert_allclose(u[inside], ((ahead[1] - behind[1]) / (2 * h))[inside], atol=1e-2)


def test_stretching_scales_rates():
    _, chain, _ = arm("ur5")
    bounds = motion_bounds(chain)
    trajectory, seen = timed_trajectory(rounded(corners(chain, 3), 0.3), bounds)
    slow = verify(trajectory.slower(2.0), bounds)
    assert slow.velocity == pytest.approx(seen.velocity / 2.0)
    assert slow.acceleration == pytest.approx(seen.acceleration / 4.0)


def test_a_law_that_overshoots_is_rescaled_and_one_that_is_not_inside_is_rejected():
    _, chain, _ = arm("ur5")
    bounds = motion_bounds(chain)
    trajectory, _ = timed_trajectory(rounded(corners(chain, 4), 0.3), bounds)
    quick = verify(trajectory.slower(0.5), bounds)
    assert not quick.within_limits and quick.stretch == pytest.approx(2.0, rel=1e-3)
    outside = corners(chain, 4)
    outside[1, 0] = 7.0
    with pytest.raises(LawRejected, match="beyond a position limit"):
        timed_trajectory(rounded(outside, 0.1), bounds)


def test_missing_acceleration_limits_are_assumed_and_logged_once(caplog):
    from manipapy_core import Robot

    text = Robot.from_urdf("ur5").urdf.replace('name="ur5"', 'name="arm_without_limits"')
    chain = Robot.from_urdf(text).chain("base_link", "tool0")
    bounds = motion_bounds(chain)
    motion_bounds(chain)
    assert ("shoulder_pan_joint", "acceleration") in bounds.assumed and ("elbow_joint", "jerk") in bounds.assumed
    assert "arm_without_limits" in caplog.text and caplog.text.count("planning assumes") == 1
    trajectory, verification = timed_trajectory(rounded(corners(chain, 4), 0.3), bounds)
    assert verification.within_limits and trajectory.duration > 0.0
    assert not motion_bounds(arm("ur5")[1]).assumed


def test_spline_is_that_of_scipy():
    rng = np.random.default_rng(5)
    path = SplinePath.through(rng.normal(size=(9, 4)))
    theirs = CubicSpline(path.marks, path.corners, bc_type="natural")
    s = np.linspace(0.0, path.length, 300)
    for order, ours in enumerate(path.evaluate(s)):
        np.testing.assert_allclose(ours, theirs(s, order), atol=1e-9)


def test_rounded_corners_are_smooth_and_inside_their_triangle():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(5, 3))
    path = rounded(rows, 0.2)
    s = np.linspace(0.0, path.length, 200_001)
    q, slope, bend = path.evaluate(s)
    h = s[1]
    np.testing.assert_allclose(slope[1:-1], (q[2:] - q[:-2]) / (2 * h), atol=1e-5)
    np.testing.assert_allclose(bend[1:-1], (slope[2:] - slope[:-2]) / (2 * h), atol=1e-2)
    assert np.abs(np.diff(bend, axis=0)).max() < 1e-2  # no jump in curvature
    for k in range(1, 4):
        turn = np.linalg.norm(path.directions[k] - path.directions[k - 1])
        nearest = np.linalg.norm(q - rows[k], axis=1).min()
        assert nearest == pytest.approx(3.0 / 16.0 * turn * path.radii[k - 1], rel=1e-3)


def test_waypoints_are_passed_and_splines_hit_them():
    _, chain, _ = arm("panda")
    rows = corners(chain, 7)
    passed, _ = waypoint_trajectory(chain, rows, radius=0.1)
    hit, _ = waypoint_trajectory(chain, rows, radius=None)
    curve = as_scipy(hit)(np.linspace(0.0, hit.times[-1], 20_001))
    for point in rows:
        assert np.linalg.norm(curve - point, axis=1).min() < 2e-3
    assert np.linalg.norm(passed.velocities, axis=1)[20:-20].min() > 0.05
