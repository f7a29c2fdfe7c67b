"""The constrained step against SciPy, and twists followed in front of a wall."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.optimize import LinearConstraint, minimize

from geometry.arms import arm, at
from manipapy_core import kinematics, polytopes
from manipapy_core.errors import InputError, MissingPackage
from manipapy_core.geometry import Box, Checker, World
from manipapy_core.polytopes import Axes, JointSet
from manipapy_core.servoing import Following, TwistFollower, constrained_step, sampled_step
from polytopes.scipy_route import interior, random_scene

Q = np.array([0.3, -0.6, 0.2, -1.9, 0.4, 1.8, 0.5])


def cost(J, desired, dq, damping):
    return np.sum((J @ dq - desired) ** 2) + damping * np.sum(dq**2)


@pytest.mark.parametrize("cuts", [0, 3, 10, 30])
def test_no_allowed_step_costs_less(cuts):
    rng = np.random.default_rng(cuts)
    for _ in range(8):
        J, joints = random_scene(rng, cuts)
        desired = rng.normal(size=3) * 5.0
        found = constrained_step(J, desired, joints, damping=1e-3)
        assert found.allowed and joints.contains(found.dq, 1e-8)
        A = np.concatenate([joints.A, np.eye(7)])
        limits = LinearConstraint(A, np.r_[np.full(cuts, -np.inf), joints.lower], np.r_[joints.b, joints.upper])
        other = minimize(
            lambda x, J=J, desired=desired: cost(J, desired, x, 1e-3),
            found.dq * 0.5,
            jac=lambda x, J=J, desired=desired: 2 * (J.T @ (J @ x - desired) + 1e-3 * x),
            constraints=[limits],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        mine = cost(J, desired, found.dq, 1e-3)
        assert mine <= other.fun + 1e-7 * max(1.0, other.fun)
        assert mine == pytest.approx(other.fun, rel=1e-5, abs=1e-7)


def test_displacement_inside_the_polytope_is_achieved_exactly():
    J, joints = random_scene(np.random.default_rng(1), 6)
    polytope = polytopes.project(J, joints)
    inside = 0.3 * polytope.vertices.mean(axis=0) + 0.7 * polytope.largest_ball.centre
    found = constrained_step(J, inside, joints, damping=1e-10)
    assert found.achieved == pytest.approx(inside, abs=1e-6)


def test_displacement_outside_ends_on_the_nearest_face():
    J, joints = random_scene(np.random.default_rng(2), 6)
    polytope = polytopes.project(J, joints)
    desired = polytope.largest_ball.centre + np.array([30.0, 5.0, -8.0])
    found = constrained_step(J, desired, joints, damping=1e-9)
    assert abs(polytope.margin(found.achieved)) < 1e-5
    # The remaining displacement points out of the polytope: no corner lies farther along it.
    rest = desired - found.achieved
    assert (polytope.vertices @ rest).max() <= found.achieved @ rest + 1e-4


def test_contradicting_rows_allow_no_step():
    joints = JointSet(-np.ones(3), np.ones(3), [[1, 0, 0], [-1, 0, 0]], [-0.6, -0.6])
    found = constrained_step(np.eye(3), [1, 1, 1], joints)
    assert not found.allowed and not found.dq.any()
    assert not constrained_step(np.eye(3), [1, 1, 1], JointSet(-np.ones(3), np.ones(3), [[0, 0, 0]], [-1.0])).allowed


@pytest.mark.parametrize("damping", [1e-3, 1e-6, 1e-8, 1e-10])
def test_badly_conditioned_steps_stay_inside_their_rows(damping):
    rng = np.random.default_rng(5)
    allowed = 0
    for trial in range(300):
        scene = {"around_origin": bool(trial % 2), "flatten": (1.0, 1e-3, 1e-6)[trial % 3]}
        J, joints = random_scene(rng, int(rng.integers(1, 31)), **scene)
        found = constrained_step(J, rng.normal(size=3) * 5.0, joints, damping=damping)
        assert found.allowed == (interior(joints) is not None)
        assert not found.allowed or joints.contains(found.dq, 1e-8)
        allowed += found.allowed
    assert 100 < allowed < 300


def test_fixed_joints_stay_fixed():
    joints = JointSet([0.0, -1.0, 0.2], [0.0, 1.0, 0.2], np.zeros((0, 3)), np.zeros(0))
    assert constrained_step(np.eye(3), [1.0, 0.5, 1.0], joints).dq == pytest.approx([0.0, 0.5, 0.2], abs=1e-5)


def test_missing_solver_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "daqp", None)
    with pytest.raises(MissingPackage, match=r"daqp.*manipapy\[capability\]"):
        constrained_step(np.eye(2), [1.0, 0.0], JointSet.box(-np.ones(2), np.ones(2)))


def test_active_rows_are_reported():
    joints = JointSet(-np.ones(2), np.ones(2), [[1.0, 0.0], [0.0, 1.0]], [0.2, 5.0])
    assert constrained_step(np.eye(2), [0.8, 0.3], joints).held_by.tolist() == [0]


def test_sampled_step_costs_no_more_than_the_single_step():
    _, chain, body = arm("panda")
    world = World()
    world.add("wall", Box([0.02, 1.0, 1.0]), at(0.46, 0.0, 0.6))
    J, desired = polytopes.tip_jacobian(chain, Q), np.array([0.1, 0.0, 0.05])

    def allowed(q):
        return polytopes.motion_set(chain, q, near=polytopes.near_points(body, world, q, self_collision=False))

    alone, several = (sampled_step(J, desired, Q, allowed, samples=count) for count in (1, 6))
    assert several.cost <= alone.cost
    with pytest.raises(InputError, match="at least 1"):
        sampled_step(J, desired, Q, allowed, samples=0)


def test_unconstrained_twist_is_followed_in_both_axes():
    _, chain, body = arm("panda")
    desired = np.array([0.05, -0.02, 0.04, 0.03, 0.05, -0.04])
    for axes in Axes:
        follower = TwistFollower(Checker(body), axes=axes, damping=1e-9)
        found = follower.step(Q, desired, 0.01)
        assert found.status is Following.EXACT
        before, after = kinematics.forward(chain, Q), kinematics.forward(chain, Q + 1e-6 * found.qd)
        velocity = (after - before)[:3, 3] / 1e-6
        R = np.eye(3) if axes is Axes.BASE else before[:3, :3]
        assert velocity == pytest.approx(R @ desired[3:], abs=1e-4)


def test_twist_into_a_wall_stops_in_front_of_it():
    _, chain, body = arm("panda")
    world = World()
    world.add("wall", Box([0.02, 2.0, 2.0]), at(0.50, 0.0, 0.6))
    checker = Checker(body, world)
    follower = TwistFollower(checker)
    q, desired = Q.copy(), np.array([0.0, 0.0, 0.0, 0.25, 0.0, 0.05])
    start = kinematics.forward(chain, q)[:3, 3]
    for _ in range(150):
        found = follower.step(q, desired, 0.02)
        q = found.q
        assert not checker.collides(q)
        assert (q >= chain.limits.lower - 1e-9).all() and (q <= chain.limits.upper + 1e-9).all()
        assert (np.abs(found.qd) <= chain.limits.velocity + 1e-9).all()
    end = kinematics.forward(chain, q)[:3, 3]
    assert found.status is not Following.EXACT
    assert end[0] < 0.49  # the tip is still in front of the wall
    assert end[0] > start[0] + 0.03


def test_joint_at_its_limit_stops():
    _, chain, body = arm("panda")
    q = Q.copy()
    q[6] = chain.limits.upper[6]
    found = TwistFollower(Checker(body), axes=Axes.TIP).step(q, [0, 0, 0.5, 0, 0, 0], 0.01)
    assert found.q[6] <= chain.limits.upper[6] + 1e-12


@pytest.mark.parametrize("axes", Axes)
@pytest.mark.parametrize("name", ["ur5", "ur10e", "panda", "iiwa14", "xarm6", "gen3"])
def test_every_direction_is_followed_from_the_start_pose(name, axes):
    """Both ways along and about three axes, as the arm alone can: without obstacle rows, by least squares."""
    _, chain, body = arm(name)
    text = (Path(__file__).parents[2] / "config" / f"{name}.yaml").read_text()
    q = np.array(yaml.safe_load(text)["/**"]["ros__parameters"]["initial_positions"])
    follower = TwistFollower(Checker(body), axes=axes)
    J = kinematics.body_jacobian(chain, q)
    if axes is Axes.BASE:
        R = kinematics.forward(chain, q)[:3, :3]
        J = np.concatenate([R @ J[:3], R @ J[3:]])
    possible = 0
    for direction in np.concatenate([np.eye(6), -np.eye(6)]):
        twist = direction * np.r_[0.3, 0.3, 0.3, 0.1, 0.1, 0.1]
        alone = np.linalg.pinv(J, rcond=1e-3) @ twist
        if np.abs(J @ alone - twist).max() < 1e-6 and (np.abs(alone) < chain.limits.velocity).all():
            possible += 1
            step = follower.step(q, twist, 0.01)
            assert step.status is Following.EXACT and step.twist == pytest.approx(twist, abs=1e-3)
            assert step.q == pytest.approx(q + 0.01 * step.qd) and np.abs(step.qd).max() > 0.0
    assert possible >= 10 and (name != "ur5" or possible == 12)
