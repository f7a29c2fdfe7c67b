"""The quadratic program against SciPy, and a twist that is followed around a wall."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from geometry.arms import arm, at
from manipapy_core import kinematics, polytopes
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, Checker, World
from manipapy_core.polytopes import Axes, JointSet
from manipapy_core.servoing import Following, TwistFollower, constrained_step, sampled_step
from polytopes.scipy_route import random_scene

Q = np.array([0.3, -0.6, 0.2, -1.9, 0.4, 1.8, 0.5])


def cost(J, wish, dq, damping):
    return np.sum((J @ dq - wish) ** 2) + damping * np.sum(dq**2)


@pytest.mark.parametrize("cuts", [0, 3, 10, 30])
def test_no_other_allowed_step_costs_less(cuts):
    rng = np.random.default_rng(cuts)
    for _ in range(8):
        J, joints = random_scene(rng, cuts)
        wish = rng.normal(size=3) * 5.0
        found = constrained_step(J, wish, joints, damping=1e-3)
        assert found.allowed and joints.contains(found.dq, 1e-8)
        A = np.concatenate([joints.A, np.eye(7)])
        limits = LinearConstraint(A, np.r_[np.full(cuts, -np.inf), joints.lower], np.r_[joints.b, joints.upper])
        other = minimize(
            lambda x, J=J, wish=wish: cost(J, wish, x, 1e-3),
            found.dq * 0.5,
            jac=lambda x, J=J, wish=wish: 2 * (J.T @ (J @ x - wish) + 1e-3 * x),
            constraints=[limits],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        mine = cost(J, wish, found.dq, 1e-3)
        assert mine <= other.fun + 1e-7 * max(1.0, other.fun)
        assert mine == pytest.approx(other.fun, rel=1e-5, abs=1e-7)


def test_a_wish_inside_the_polytope_is_met_exactly():
    J, joints = random_scene(np.random.default_rng(1), 6)
    polytope = polytopes.project(J, joints)
    inside = 0.3 * polytope.vertices.mean(axis=0) + 0.7 * polytope.largest_ball.centre
    found = constrained_step(J, inside, joints, damping=1e-10)
    assert found.achieved == pytest.approx(inside, abs=1e-6)


def test_a_wish_outside_ends_on_the_face_nearest_to_it():
    J, joints = random_scene(np.random.default_rng(2), 6)
    polytope = polytopes.project(J, joints)
    wish = polytope.largest_ball.centre + np.array([30.0, 5.0, -8.0])
    found = constrained_step(J, wish, joints, damping=1e-9)
    assert abs(polytope.margin(found.achieved)) < 1e-5
    # The rest of the wish points out of the polytope: no corner lies farther along it.
    rest = wish - found.achieved
    assert (polytope.vertices @ rest).max() <= found.achieved @ rest + 1e-4


def test_contradicting_rows_allow_nothing():
    joints = JointSet(-np.ones(3), np.ones(3), [[1, 0, 0], [-1, 0, 0]], [-0.6, -0.6])
    found = constrained_step(np.eye(3), [1, 1, 1], joints)
    assert not found.allowed and not found.dq.any()
    assert not constrained_step(np.eye(3), [1, 1, 1], JointSet(-np.ones(3), np.ones(3), [[0, 0, 0]], [-1.0])).allowed


def test_rows_that_hold_back_are_named():
    joints = JointSet(-np.ones(2), np.ones(2), [[1.0, 0.0], [0.0, 1.0]], [0.2, 5.0])
    assert constrained_step(np.eye(2), [0.8, 0.3], joints).held_by.tolist() == [0]


def test_samples_never_do_worse_than_the_state_alone():
    _, chain, body = arm("panda")
    world = World()
    world.add("wall", Box([0.02, 1.0, 1.0]), at(0.46, 0.0, 0.6))
    J, wish = polytopes.tip_jacobian(chain, Q), np.array([0.1, 0.0, 0.05])

    def allowed(q):
        return polytopes.motion_set(chain, q, near=polytopes.near_points(body, world, q, self_collision=False))

    alone, several = (sampled_step(J, wish, Q, allowed, samples=count) for count in (1, 6))
    assert several.cost <= alone.cost
    with pytest.raises(InputError, match="at least 1"):
        sampled_step(J, wish, Q, allowed, samples=0)


def test_a_free_twist_is_followed_in_both_frames():
    _, chain, body = arm("panda")
    wish = np.array([0.05, -0.02, 0.04, 0.03, 0.05, -0.04])
    for axes in Axes:
        follower = TwistFollower(Checker(body), axes=axes, damping=1e-9)
        found = follower.step(Q, wish, 0.01)
        assert found.status is Following.EXACT
        before, after = kinematics.forward(chain, Q), kinematics.forward(chain, Q + 1e-6 * found.qd)
        velocity = (after - before)[:3, 3] / 1e-6
        R = np.eye(3) if axes is Axes.BASE else before[:3, :3]
        assert velocity == pytest.approx(R @ wish[3:], abs=1e-4)


def test_driving_into_a_wall_ends_in_front_of_it_and_along_it_goes_on():
    _, chain, body = arm("panda")
    world = World()
    world.add("wall", Box([0.02, 2.0, 2.0]), at(0.50, 0.0, 0.6))
    checker = Checker(body, world)
    follower = TwistFollower(checker)
    q, wish = Q.copy(), np.array([0.0, 0.0, 0.0, 0.25, 0.0, 0.05])
    start = kinematics.forward(chain, q)[:3, 3]
    for _ in range(150):
        found = follower.step(q, wish, 0.02)
        q = found.q
        assert not checker.collides(q)
        assert (q >= chain.limits.lower - 1e-9).all() and (q <= chain.limits.upper + 1e-9).all()
        assert (np.abs(found.qd) <= chain.limits.velocity + 1e-9).all()
    end = kinematics.forward(chain, q)[:3, 3]
    assert found.status is not Following.EXACT
    assert end[0] < 0.49  # the tip is still in front of the wall
    assert end[0] > start[0] + 0.03


def test_joints_at_their_limits_stop_and_others_go_on():
    _, chain, body = arm("panda")
    q = Q.copy()
    q[6] = chain.limits.upper[6]
    found = TwistFollower(Checker(body), axes=Axes.TIP).step(q, [0, 0, 0.5, 0, 0, 0], 0.01)
    assert found.q[6] <= chain.limits.upper[6] + 1e-12
