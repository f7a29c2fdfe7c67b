"""Ellipsoids against clouds of random joint motions, and the duality of velocity and force."""

from __future__ import annotations

import numpy as np
import pytest

from ik.arms import arm, configurations
from manipapy_core import dynamics, kinematics, polytopes, reachability
from manipapy_core.errors import InputError
from manipapy_core.polytopes import Axes, Motion


def unit_ball_surface(n, count=4000):
    points = np.random.default_rng(0).normal(size=(count, n))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize("motion", Motion)
@pytest.mark.parametrize("axes", Axes)
def test_no_joint_motion_of_unit_length_leaves_the_velocity_ellipsoid(motion, axes):
    chain, scale = arm("panda"), np.linspace(0.5, 2.0, 7)
    q = configurations(chain, 1, 5)[0]
    found = polytopes.velocity_ellipsoid(chain, q, motion=motion, axes=axes, joint_scale=scale)
    rates = unit_ball_surface(7) * scale
    J = kinematics.body_jacobian(chain, q)
    rows = J[3:] if motion is Motion.TRANSLATION else J[:3]
    if axes is Axes.BASE:
        rows = kinematics.forward(chain, q)[:3, :3] @ rows
    sizes = np.linalg.norm((rates @ rows.T @ found.axes) / found.radii, axis=1)
    assert sizes.max() <= 1.0 + 1e-12
    # The farthest motion along each axis is reached: J Jᵀ has that eigenvalue.
    longest = (rows * scale).T @ found.axes[:, 0]
    assert np.linalg.norm(longest) == pytest.approx(found.radii[0])


def test_tip_velocity_of_the_ellipsoid_is_that_of_finite_differences():
    chain = arm("ur5")
    q = configurations(chain, 1, 6)[0]
    J = polytopes.tip_jacobian(chain, q)
    for joint in range(6):
        step = np.eye(6)[joint] * 1e-6
        slope = (kinematics.forward(chain, q + step) - kinematics.forward(chain, q - step))[:3, 3] / 2e-6
        assert np.allclose(J[:, joint], slope, atol=1e-8)


def test_force_ellipsoid_is_the_inverse_of_the_velocity_ellipsoid():
    chain = arm("panda")
    q = configurations(chain, 1, 7)[0]
    velocity, force = polytopes.velocity_ellipsoid(chain, q), polytopes.force_ellipsoid(chain, q)
    assert np.allclose(force.radii, 1.0 / velocity.radii[::-1])
    for direction in np.eye(3):
        effort = polytopes.tip_jacobian(chain, q).T @ (direction * force.radius_along(direction))
        assert np.linalg.norm(effort) == pytest.approx(1.0)


def test_force_is_unbounded_along_a_singular_direction():
    chain = arm("ur5")
    straight = [0.3, -1.0, 0.0, 0.4, 1.2, 0.0]
    J = polytopes.tip_jacobian(chain, straight)
    values = np.linalg.svd(J, compute_uv=False)
    found = polytopes.force_ellipsoid(chain, straight)
    assert np.isinf(found.radii[0]) == (values[-1] < 1e-12 * values[0])


def test_acceleration_ellipsoid_contains_forward_dynamics():
    chain, effort = arm("panda"), np.array([87.0, 87, 87, 87, 12, 12, 12])
    q = configurations(chain, 1, 8)[0]
    found = polytopes.acceleration_ellipsoid(chain, q, joint_scale=effort, gravity=dynamics.GRAVITY)
    tau = unit_ball_surface(7) * effort
    zero = np.zeros_like(tau)
    qdd = dynamics.forward_dynamics(chain, np.broadcast_to(q, tau.shape), zero, tau)
    acceleration = qdd @ polytopes.tip_jacobian(chain, q).T  # from rest nothing else adds to it
    sizes = np.linalg.norm(((acceleration - found.centre) @ found.axes) / found.radii, axis=1)
    assert sizes.max() <= 1.0 + 1e-9 and sizes.max() > 0.9


def test_workspace_points_match_forward_kinematics():
    chain = arm("ur5")
    found = reachability.sample_workspace(chain, 2000, seed=3)
    again = reachability.sample_workspace(chain, 2000, seed=3)
    assert np.array_equal(found.points, again.points)
    assert np.allclose(found.points, kinematics.forward(chain, found.q)[:, :3, 3])
    corners, triangles = found.hull
    assert triangles.max() == len(corners) - 1
    # A UR5 reaches 0.95 m and a bit around its shoulder: the hull is less than that ball.
    assert 1.5 < found.hull_volume < 4.0 / 3.0 * np.pi * 1.05**3
    assert found.voxel_volume(0.1) < found.hull_volume


def test_scales_that_are_not_positive_are_refused():
    with pytest.raises(InputError, match="one per joint"):
        polytopes.velocity_ellipsoid(arm("ur5"), np.zeros(6), joint_scale=[1, 1, 0, 1, 1, 1])
