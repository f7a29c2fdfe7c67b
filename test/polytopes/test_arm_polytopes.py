"""Polytopes of real arms: by sampling, by other parts of the library, and by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull, HalfspaceIntersection

from geometry.arms import arm, at
from manipapy_core import dynamics, kinematics, polytopes
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, PointCloud, Sphere, World
from manipapy_core.geometry.exact import ExactChecker
from manipapy_core.polytopes import Axes, Motion

Q = np.array([0.3, -0.6, 0.2, -1.9, 0.4, 1.8, 0.5])
EFFORT = np.array([87.0, 87, 87, 87, 12, 12, 12])


@pytest.fixture(scope="module")
def panda():
    return arm("panda")[1:]


def test_velocity_polytope_is_the_zonotope_of_the_columns(panda):
    chain, _ = panda
    found = polytopes.velocity_polytope(chain, Q)
    J = polytopes.tip_jacobian(chain, Q) * chain.limits.velocity
    # Volume of a zonotope: 8 times the sum of all 3 × 3 minors.
    minors = [abs(np.linalg.det(J[:, [i, j, k]])) for i in range(7) for j in range(i) for k in range(j)]
    assert found.volume == pytest.approx(8.0 * sum(minors), rel=1e-12)


@pytest.mark.parametrize("motion", Motion)
def test_tip_axes_rotate_the_polytope(panda, motion):
    chain, _ = panda
    base = polytopes.velocity_polytope(chain, Q, motion=motion)
    tip = polytopes.velocity_polytope(chain, Q, motion=motion, axes=Axes.TIP)
    R = kinematics.forward(chain, Q)[:3, :3]
    assert tip.volume == pytest.approx(base.volume)
    assert base.contains(tip.vertices @ R.T).all()


def test_fewer_directions_project_the_polytope(panda):
    chain, _ = panda
    whole = polytopes.velocity_polytope(chain, Q)
    plane = polytopes.velocity_polytope(chain, Q, directions=[[1, 0, 0], [0, 0, 1]])
    line = polytopes.velocity_polytope(chain, Q, directions=[[0, 0, 1.0]])
    assert plane.volume == pytest.approx(ConvexHull(whole.vertices[:, [0, 2]]).volume, rel=1e-9)
    assert line.volume == pytest.approx(np.ptp(whole.vertices[:, 2]))


def test_force_polytope_is_that_of_scipy_and_holds_its_forces(panda):
    chain, _ = panda
    found = polytopes.force_polytope(chain, Q, effort=EFFORT)
    J, load = polytopes.tip_jacobian(chain, Q), dynamics.gravity_forces(chain, Q)
    rows = np.column_stack([np.r_[J.T, -J.T], -np.r_[EFFORT - load, EFFORT + load]])
    wanted = ConvexHull(HalfspaceIntersection(rows, found.largest_ball.centre).intersections)
    assert found.volume == pytest.approx(wanted.volume, rel=1e-9)
    R = kinematics.forward(chain, Q)[:3, :3]
    wrench = np.column_stack([np.zeros_like(found.vertices), found.vertices @ R])
    still = np.zeros((len(wrench), 7))
    tau = dynamics.inverse_dynamics(chain, still + Q, still, still, wrench_tip=wrench)
    share = np.abs(tau) / EFFORT
    assert share.max() == pytest.approx(1.0) and share.max(axis=1) == pytest.approx(1.0)


def test_force_polytope_is_empty_without_gravity_capacity(panda):
    assert polytopes.force_polytope(panda[0], Q, effort=1.0).is_empty


def test_force_polytope_of_a_straight_arm_is_clipped_at_largest():
    chain = arm("ur5")[1]
    stretched = [0.0, 0.0, 0.0, -np.pi / 2, 0.0, 0.0]
    found = polytopes.force_polytope(chain, stretched, effort=100.0, gravity=None, largest=1e4)
    lost = np.linalg.svd(polytopes.tip_jacobian(chain, stretched))[1][-1] < 1e-9
    assert lost and np.abs(found.vertices).max() == pytest.approx(1e4)


def test_acceleration_polytope_contains_forward_dynamics(panda):
    chain, _ = panda
    rng = np.random.default_rng(1)
    qd = rng.uniform(-1, 1, 7)
    found = polytopes.acceleration_polytope(chain, Q, qd, effort=EFFORT)
    tau = rng.choice([-1.0, 1.0], (300, 7)) * EFFORT
    qdd = dynamics.forward_dynamics(chain, np.tile(Q, (300, 1)), np.tile(qd, (300, 1)), tau)
    step = 1e-6
    J = polytopes.tip_jacobian(chain, Q)
    J_dot = (polytopes.tip_jacobian(chain, Q + step * qd) - polytopes.tip_jacobian(chain, Q - step * qd)) / (2 * step)
    acceleration = qdd @ J.T + J_dot @ qd
    assert found.contains(acceleration, tolerance=1e-5).all()
    assert found.margin(acceleration) < 0.2 * found.largest_ball.radius  # some come close to a face


def test_joint_acceleration_limits_cut_the_acceleration_polytope(panda):
    chain, _ = panda
    free = polytopes.acceleration_polytope(chain, Q, effort=EFFORT)
    cut = polytopes.acceleration_polytope(chain, Q, effort=EFFORT, acceleration=10.0)
    assert 0.0 < cut.volume < free.volume
    inverse = np.linalg.inv(dynamics.mass_matrix(chain, Q))
    qdd = (cut.preimages - dynamics.gravity_forces(chain, Q)) @ inverse.T
    assert np.abs(qdd).max() == pytest.approx(10.0)


def test_reachable_polytope_keeps_every_limit(panda):
    chain, _ = panda
    near_limit = Q.copy()
    near_limit[3] = chain.limits.lower[3] + 0.002
    qd, T = np.full(7, 0.1), 0.15
    found = polytopes.reachable_polytope(chain, near_limit, qd, horizon=T, effort=EFFORT)
    bias = dynamics.coriolis_forces(chain, near_limit, qd) + dynamics.gravity_forces(chain, near_limit)
    qdd = np.linalg.solve(dynamics.mass_matrix(chain, near_limit), (found.preimages - bias).T).T
    end, rate = near_limit + qd * T + 0.5 * qdd * T**2, qd + qdd * T
    assert (end >= chain.limits.lower - 1e-9).all() and (end <= chain.limits.upper + 1e-9).all()
    assert (np.abs(rate) <= chain.limits.velocity + 1e-9).all()
    assert np.allclose((end - near_limit) @ polytopes.tip_jacobian(chain, near_limit).T, found.vertices, atol=1e-9)


def test_obstacle_rows_are_the_rates_of_the_distances(panda):
    """Distances of the same parts by coal, before and after a small motion."""
    chain, body = panda
    world = World()
    world.add("ball", Sphere(0.08), at(0.45, 0.25, 0.5))
    world.add("box", Box([0.1, 0.2, 0.1]), at(0.5, -0.3, 0.4))
    near = polytopes.near_points(body, world, Q, influence=0.5)
    exact = ExactChecker(body, world)
    told = {(contact.first, contact.second): contact.distance for contact in exact.contacts(Q)}
    first = {names: index for index, names in reversed(list(enumerate(near.names)))}
    assert {name for pair in first for name in pair} > {"ball", "box"} and len(first) > 6
    assert all(near.distance[index] == pytest.approx(told[names], abs=2e-6) for names, index in first.items())
    rows = polytopes.obstacle_rows(chain, Q, near)
    rng = np.random.default_rng(2)
    compared = 0
    for _ in range(3):
        qd, step = rng.normal(size=7), 2e-4
        ahead, behind = (
            {(contact.first, contact.second): contact.distance for contact in exact.contacts(Q + sign * step * qd)}
            for sign in (1, -1)
        )
        for names, index in first.items():
            rates = (ahead[names] - told[names]) / step, (told[names] - behind[names]) / step
            if abs(rates[0] - rates[1]) < 0.02:  # not where the nearest feature changes
                compared += 1
                assert np.mean(rates) == pytest.approx(-rows[index] @ qd, abs=0.01)
    assert compared > 2 * len(first)


def test_allowed_motions_keep_their_distance_to_obstacles(panda):
    chain, body = panda
    world = World()
    world.add("wall", Box([0.02, 1.0, 1.0]), at(0.44, 0.0, 0.6))
    near = polytopes.near_points(body, world, Q, influence=0.3, per_pair=4)
    assert sum(names[1] == "wall" for names in near.names) > 4  # several points per link
    avoidance = polytopes.Avoidance(speed=0.2)
    free = polytopes.velocity_polytope(chain, Q)
    cut = polytopes.velocity_polytope(chain, Q, near=near, avoidance=avoidance)
    assert 0.0 < cut.volume < free.volume and free.contains(cut.vertices).all()
    step = 1e-5
    for qd in cut.preimages:
        after = polytopes.near_points(body, world, Q + step * qd, influence=0.5, per_pair=4)
        assert (after.distance.min() - near.distance.min()) / step > -0.2


def test_point_cloud_gives_the_rows_of_the_wall_it_samples(panda):
    chain, body = panda
    y, z = np.meshgrid(np.linspace(-0.5, 0.5, 60), np.linspace(0.1, 1.1, 60))
    cloud = np.column_stack([np.full(y.size, 0.43), y.ravel(), z.ravel()])
    worlds = World(), World()
    worlds[0].add("cloud", PointCloud(cloud), np.eye(4))
    worlds[1].add("wall", Box([0.02, 1.0, 1.0]), at(0.44, 0.0, 0.6))
    volumes = [
        polytopes.motion_polytope(chain, Q, near=polytopes.near_points(body, world, Q, self_collision=False)).volume
        for world in worlds
    ]
    assert volumes[1] < 0.8 * polytopes.motion_polytope(chain, Q).volume
    assert volumes[0] == pytest.approx(volumes[1], rel=0.1)


def test_missing_limits_are_named(panda):
    with pytest.raises(InputError, match="horizon"):
        polytopes.reachable_polytope(panda[0], Q, horizon=0.0)
