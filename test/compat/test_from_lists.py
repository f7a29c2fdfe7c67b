"""Arms from lists of screws and inertias: results follow from the lists alone."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.compat import utils
from manipapy_core.compat.dynamics import ManipulatorDynamics
from manipapy_core.compat.kinematics import SerialManipulator
from manipapy_core.errors import InputError, NotFiniteError, ShapeError

N = 5


def lists(seed: int = 0):
    """Screws of an arm with one prismatic joint, home pose, inertias and the poses of their frames; all random."""
    rng = np.random.default_rng(seed)
    S = np.zeros((6, N))
    for index in range(N):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        S[:, index] = np.r_[np.zeros(3), axis] if index == 2 else np.r_[axis, -np.cross(axis, rng.uniform(-1, 1, 3))]
    G = np.zeros((N, 6, 6))
    for matrix in G:
        points = rng.normal(scale=0.2, size=(9, 3))
        spread = points.T @ points
        matrix[:3, :3] = np.trace(spread) * np.eye(3) - spread
        matrix[3:, 3:] = rng.uniform(0.5, 3.0) * np.eye(3)
    frames = np.array([lie.exp_se3(rng.normal(size=6)) for _ in range(N)])
    return S, lie.exp_se3(rng.normal(size=6)), G, frames


def by_hand(S, G, frames, theta):
    """Σ J_kᵀ G_k J_k with J_k of the inertia frame of link k, from the definition: Lynch & Park (8.57)."""
    M = np.zeros((N, N))
    for k in range(N):
        T = np.eye(4)
        space = np.zeros((6, N))
        for i in range(k + 1):
            space[:, i] = lie.adjoint(T) @ S[:, i]
            T = T @ lie.exp_se3(S[:, i] * theta[i])
        J = lie.adjoint(lie.inverse(T @ frames[k])) @ space
        M += J.T @ G[k] @ J
    return M


def potential(S, G, frames, theta, g):
    energy, T = 0.0, np.eye(4)
    for k in range(N):
        T = T @ lie.exp_se3(S[:, k] * theta[k])
        mass, moment = G[k][5, 5], lie.vee(G[k][:3, 3:])
        pose = T @ frames[k]
        energy -= g @ (mass * pose[:3, 3] + pose[:3, :3] @ moment)
    return energy


def dynamics_of(S, M, G, frames):
    return ManipulatorDynamics(M, None, None, None, S, None, G, frames)


@pytest.mark.parametrize("seed", range(4))
def test_mass_matrix_and_gravity_come_from_the_lists(seed):
    S, M, G, frames = lists(seed)
    arm, g = dynamics_of(S, M, G, frames), np.array([1.0, -2.0, -9.0])
    for theta in np.random.default_rng(seed).uniform(-2, 2, (5, N)):
        np.testing.assert_allclose(arm.mass_matrix(theta), by_hand(S, G, frames, theta), atol=1e-12)
        slope = [
            (potential(S, G, frames, theta + unit, g) - potential(S, G, frames, theta - unit, g)) / 2e-6
            for unit in 1e-6 * np.eye(N)
        ]
        np.testing.assert_allclose(arm.gravity_forces(theta, g), slope, atol=1e-7)


def test_inertia_may_be_given_about_any_point():
    """Moved by a pose, G becomes Adᵀ G Ad with the moment m [c] off its diagonal: still the same arm."""
    S, M, G, frames = lists()
    shifts = np.array([lie.exp_se3(twist) for twist in np.random.default_rng(9).normal(size=(N, 6))])
    Ad = lie.adjoint(shifts)
    moved = np.swapaxes(Ad, 1, 2) @ G @ Ad
    theta = np.linspace(-1, 1, N)
    expected = dynamics_of(S, M, G, frames)
    arm = dynamics_of(S, M, moved, frames @ shifts)
    np.testing.assert_allclose(arm.mass_matrix(theta), expected.mass_matrix(theta), atol=1e-12)
    np.testing.assert_allclose(arm.gravity_forces(theta), expected.gravity_forces(theta), atol=1e-12)


def test_missing_inertia_frames_warn_and_default_to_the_end_effector():
    S, M, G, _ = lists()
    with pytest.warns(DeprecationWarning, match="Mlist_per_link") as caught:
        arm = ManipulatorDynamics(M, None, None, None, S, None, G)
    assert caught[0].filename == __file__
    theta = np.linspace(-1, 1, N)
    np.testing.assert_allclose(arm.mass_matrix(theta), by_hand(S, G, [M] * N, theta), atol=1e-12)
    assert arm.Mlist_per_link is None


def test_poses_and_jacobians_come_from_the_lists():
    S, M, _, _ = lists(3)
    arm = SerialManipulator(M, S_list=S)
    rng = np.random.default_rng(3)
    for theta, dtheta in rng.uniform(-2, 2, (5, 2, N)):
        T, B = M.copy(), arm.B_list
        for index in reversed(range(N)):
            T = lie.exp_se3(S[:, index] * theta[index]) @ T
        body = M.copy()
        for index in range(N):
            body = body @ lie.exp_se3(B[:, index] * theta[index])
        for frame in ("space", "body"):
            np.testing.assert_allclose(arm.forward_kinematics(theta, frame=frame), T, atol=1e-12)
        np.testing.assert_allclose(body, T, atol=1e-12)
        step = 1e-6 * dtheta
        ahead, behind = arm.forward_kinematics(theta + step), arm.forward_kinematics(theta - step)
        twist = lie.log_se3(lie.inverse(behind) @ ahead) / 2e-6
        np.testing.assert_allclose(arm.end_effector_velocity(theta, dtheta, frame="body"), twist, atol=1e-7)
        V = arm.end_effector_velocity(theta, dtheta)
        np.testing.assert_allclose(
            V, lie.adjoint(T) @ arm.end_effector_velocity(theta, dtheta, frame="body"), atol=1e-11
        )
        np.testing.assert_allclose(arm.joint_velocity(theta, V), dtheta, atol=1e-8)


def test_screws_from_axes_and_points():
    omega, r = np.eye(3), np.array([[0, 0, 0], [0.1, 0.2, 0.3], [0.4, 0, 0.5]]).T
    M = lie.pose(translation=[0.5, 0, 0.5])
    arm = SerialManipulator(M, omega, r)
    np.testing.assert_allclose(arm.S_list, utils.extract_screw_list(omega, r))
    np.testing.assert_allclose(arm.B_list, lie.adjoint(lie.inverse(M)) @ arm.S_list, atol=1e-15)
    assert arm.joint_limits == [(None, None)] * 3
    again = SerialManipulator(M, omega, r, None, arm.S_list, arm.B_list, None, [(-1, 1)] * 3)
    assert again.joint_limits == [(-1.0, 1.0)] * 3
    np.testing.assert_array_equal(again.forward_kinematics([0.1, 0.2, 0.3]), arm.forward_kinematics([0.1, 0.2, 0.3]))


def test_state_is_stored_as_a_copy():
    S, M, _, _ = lists()
    arm = SerialManipulator(M, S_list=S)
    theta = np.ones(N)
    arm.update_state(theta, 2 * theta)
    theta[:] = 0.0
    assert arm.joint_positions.tolist() == [1.0] * N and arm.joint_velocities.tolist() == [2.0] * N
    arm.update_state(theta)
    assert arm.joint_velocities.tolist() == [0.0] * N
    with pytest.raises(ShapeError):
        arm.update_state(theta, np.zeros(N + 1))


def test_input_lists_are_copied():
    S, M, G, frames = lists()
    arm = dynamics_of(S, M, G, frames)
    theta = np.linspace(-1, 1, N)
    before = arm.mass_matrix(theta), arm.forward_kinematics(theta)
    for array in (S, M, G, frames):
        array[...] = np.nan
    np.testing.assert_array_equal(arm.forward_kinematics(theta), before[1])
    np.testing.assert_array_equal(arm.mass_matrix(theta), before[0])
    assert np.all(np.isfinite(arm.Glist)) and np.all(np.isfinite(arm.S_list))


def bad_lists():
    S, M, G, frames = lists()
    pitched, long = S.copy(), S.copy()
    pitched[3:, 0] += S[:3, 0]
    long[:, 0] *= 2
    uneven, negative = G.copy(), -G
    uneven[0, 3, 3] += 1.0
    yield (pitched, M, G, frames), "column 1 of S_list"
    yield (long, M, G, frames), "column 1 of S_list"
    yield (S[:, :0], M, G, frames), "S_list"
    yield (S, 2 * M, G, frames), "M_list is not a pose"
    yield (S, M, G[:-1], frames), "Glist"
    yield (S, M, uneven, frames), r"Glist\[0\] is not a rigid-body inertia"
    yield (S, M, negative, frames), r"Glist\[0\] is not a rigid-body inertia"
    yield (S, M, np.full_like(G, np.nan), frames), "Glist holds NaN"
    yield (S, M, G, frames[:-1]), "Mlist_per_link"
    yield (S, M, None, frames), "Glist is missing"


@pytest.mark.parametrize(("arguments", "message"), list(bad_lists()))
def test_bad_lists_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        dynamics_of(*arguments)


def test_body_screws_that_contradict_the_space_screws_are_replaced_with_a_warning():
    S, M, _, _ = lists()
    with pytest.warns(UserWarning, match="B_list is not S_list in the frame of the end effector"):
        arm = SerialManipulator(M, S_list=S, B_list=S)
    np.testing.assert_allclose(arm.B_list, lie.adjoint(lie.inverse(M)) @ S, atol=1e-12)


def test_other_bad_arguments_are_refused():
    S, M, G, frames = lists()
    arm = dynamics_of(S, M, G, frames)
    zero = np.zeros(N)
    with pytest.raises(InputError, match="omega_list and r_list"):
        SerialManipulator(M)
    with pytest.raises(InputError, match="lower ≤ upper"):
        SerialManipulator(M, S_list=S, joint_limits=[(1, -1)] * N)
    with pytest.raises(InputError, match="joint_limits has 1"):
        SerialManipulator(M, S_list=S, joint_limits=[(-1, 1)])
    with pytest.raises(InputError, match="'space' and 'body'"):
        arm.jacobian(zero, frame="tool")
    with pytest.raises(InputError, match="k is 5"):
        arm.partial_derivative(0, 0, N, zero)
    with pytest.raises(ShapeError):
        arm.mass_matrix(np.zeros(N + 1))
    with pytest.raises(ShapeError, match="Ftip"):
        arm.inverse_dynamics(zero, zero, zero, [0, 0, -9.81], [0, 0, 0])
    with pytest.raises(ShapeError, match="g has shape"):
        arm.gravity_forces(zero, -9.81)
    with pytest.raises(NotFiniteError):
        arm.mass_matrix(np.full(N, np.nan))
