"""Planner: other people's dynamics, derivatives, plots, ways around obstacles; potential field; `URDF`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.compat.path_planning import (
    OptimizedTrajectoryPlanning,
    TrajectoryPlanning,
    compare_implementations,
    create_optimized_planner,
)
from manipapy_core.compat.potential_field import CollisionChecker, PotentialField
from manipapy_core.compat.urdf import URDF
from manipapy_core.compat.urdf_processor import URDFToSerialManipulator, load_robot
from manipapy_core.errors import InputError, UnknownLink

GRAVITY = np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope="module")
def ur5():
    return URDFToSerialManipulator("ur5", use_pybullet_limits=False)


@pytest.fixture
def planner(ur5):
    return create_optimized_planner(ur5.serial_manipulator, "ur5", ur5.dynamics, [(-3.0, 3.0)] * 6)


class OtherDynamics:
    """Dynamics of another class."""

    def __init__(self, dynamics):
        self.inverse_dynamics, self.forward_dynamics = dynamics.inverse_dynamics, dynamics.forward_dynamics


def test_dynamics_of_other_classes_give_the_same_trajectories(ur5, planner):
    other = OptimizedTrajectoryPlanning(object(), "none", OtherDynamics(ur5.dynamics), [(None, None)] * 6)
    rng = np.random.default_rng(0)
    tables = rng.uniform(-1.0, 1.0, (3, 5, 6))
    np.testing.assert_allclose(
        other.inverse_dynamics_trajectory(*tables), planner.inverse_dynamics_trajectory(*tables), atol=1e-9
    )
    state = (np.zeros(6), np.zeros(6), tables[0], GRAVITY, np.zeros((5, 6)), 0.01, 2)
    for found, wanted in zip(
        other.forward_dynamics_trajectory(*state).values(), planner.forward_dynamics_trajectory(*state).values()
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert other.joint_trajectory(np.zeros(6), np.full(6, 9.0), 1.0, 5, 3)["positions"][-1, 0] == 9.0


def test_derivatives_of_a_cubic_are_exact_in_the_third_order(planner):
    t = np.arange(0.0, 1.0, 0.01)
    velocity, acceleration, jerk = planner.calculate_derivatives(np.stack([t**3, t], axis=1), 0.01)
    assert [len(table) for table in (velocity, acceleration, jerk)] == [99, 98, 97]
    np.testing.assert_allclose(velocity[:, 1], 1.0)
    np.testing.assert_allclose(jerk[:, 0], 6.0, rtol=1e-6)
    np.testing.assert_allclose(acceleration[:, 0], 6.0 * t[1:-1], atol=1e-8)
    with pytest.raises(InputError, match="at least 4"):
        planner.calculate_derivatives([[0.0]] * 3, 0.01)


def test_cartesian_lines_are_linear_in_time_on_request(planner):
    end = lie.pose(lie.exp_so3([0.0, 0.0, 1.0]), [0.4, 0.2, 0.0])
    found = planner.cartesian_trajectory(np.eye(4), end, 2.0, 5, 1)
    np.testing.assert_allclose(found["positions"], np.linspace(0.0, [0.4, 0.2, 0.0], 5))
    np.testing.assert_allclose(found["orientations"][2], lie.exp_so3([0.0, 0.0, 0.5]), atol=1e-12)
    assert planner.cartesian_trajectory(np.eye(4), end, 2.0, 1, 5)["orientations"].shape == (1, 3, 3)


def test_rounded_rotations_are_taken_and_others_refused(planner, ur5):
    rounded = np.array([[0.995, -0.0998, 0.0], [0.0998, 0.995, 0.0], [0.0, 0.0, 1.0]])
    found = planner.cartesian_trajectory(np.eye(4), lie.pose(rounded), 1.0, 5, 3)["orientations"][-1]
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(found, rounded, atol=1e-4)
    for wrong in (1.1 * np.eye(3), np.diag([1.0, 1.0, -1.0]), np.full((3, 3), np.nan)):
        T = np.eye(4)
        T[:3, :3] = wrong
        with pytest.raises(InputError, match="not a pose"):
            planner.cartesian_trajectory(np.eye(4), T, 1.0, 5, 3)


def test_every_plot_returns_its_figure(planner, monkeypatch):
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install 'manipapy[plots]'")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    motion = planner.joint_trajectory(np.zeros(6), np.full(6, 0.4), 1.0, 20, 5)
    line = planner.cartesian_trajectory(np.eye(4), lie.pose(translation=[0.1, 0.0, 0.0]), 1.0, 20, 5)
    assert len(planner.plot_cartesian_trajectory(line, 1.0).axes) == 3
    assert len(planner.plot_ee_trajectory(motion, 1.0).axes) == 1
    assert len(planner.plot_tcp_trajectory(list(motion["positions"]), 1.0 / 19).axes) == 4


def test_calls_are_counted(planner):
    planner.joint_trajectory(np.zeros(6), np.ones(6), 1.0, 5, 3)
    planner.batch_joint_trajectory(np.zeros((2, 6)), np.ones((2, 6)), 1.0, 5, 3)
    stats = planner.get_performance_stats()
    assert (stats["cpu_calls"], stats["gpu_calls"]) == (2, 0) and stats["avg_cpu_time"] > 0.0
    planner.reset_performance_stats()
    planner.cleanup_gpu_memory()
    assert planner.get_performance_stats()["total_cpu_time"] == 0.0
    with pytest.warns(UserWarning, match="CPU"):
        TrajectoryPlanning(object(), "none", object(), [(-1.0, 1.0)], use_cuda=True)


def test_the_comparison_times_the_cpu(ur5):
    found = compare_implementations(
        ur5.serial_manipulator, "ur5", ur5.dynamics, [(-0.2, 0.2)] * 6, {"N": 30, "num_runs": 2}
    )
    assert found["cpu"]["time"] > 0.0 and not found["gpu"]["available"]
    np.testing.assert_allclose(found["cpu"]["result"]["positions"][-1], 0.2)


def test_a_way_around_points_is_found_or_refused(ur5, planner):
    start, goal = np.array([0.0, -1.2, 1.2, 0.0, 0.5, 0.0]), np.array([1.6, -1.2, 1.2, 0.0, 0.5, 0.0])
    free = planner.plan_trajectory(start, goal, [])
    np.testing.assert_allclose([free[0], free[-1]], [start, goal])
    between = ur5.forward_kinematics(0.5 * (start + goal))[:3, 3]
    wall = between + np.random.default_rng(0).uniform(-0.03, 0.03, (200, 3))
    path = np.array(planner.plan_trajectory(start, goal, wall))
    np.testing.assert_allclose(path[[0, -1]], [start, goal])
    dense = np.concatenate([np.linspace(a, b, 50) for a, b in itertools.pairwise(path)])
    tips = ur5.get_end_effector_transforms(dense)[:, :3, 3]
    assert np.linalg.norm(tips - between, axis=1).min() > 0.03
    with pytest.raises(RuntimeError, match=r"collide|collision|touch"):
        planner.plan_trajectory(start, goal, ur5.forward_kinematics(goal)[:3, 3][None])


def test_gradient_of_the_potential_field_agrees_with_differences():
    field = PotentialField(attractive_gain=1.2, repulsive_gain=0.8, influence_distance=1.0)
    q, goal, obstacles = np.array([0.2, 0.1, 0.0]), np.array([0.5, -0.1, 0.3]), [np.array([0.6, 0.1, 0.0])]

    def potential(x):
        return field.compute_attractive_potential(x, goal) + field.compute_repulsive_potential(x, obstacles)

    numeric = [(potential(q + e) - potential(q - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(field.compute_gradient(q, goal, obstacles), numeric, rtol=1e-5)
    at_obstacle = field.compute_gradient(q, q, [q])
    assert np.isfinite(at_obstacle).all() and np.linalg.norm(at_obstacle) > 0.0
    assert np.isfinite(field.compute_repulsive_potential(q, [q]))


def test_the_checker_sees_a_folded_arm():
    checker = CollisionChecker("ur5")
    assert not checker.check_collision(np.array([0.0, -1.2, 1.2, 0.0, 0.5, 0.0]))
    assert checker.check_collision({"elbow_joint": 3.1, "shoulder_lift_joint": -1.5})


def test_description_and_models_agree(ur5):
    robot = URDF.load("ur5")
    assert robot.num_dofs == 6 and robot.actuated_joint_names == ur5.joint_names
    q = np.array([0.1, -0.4, 0.3, 0.2, -0.5, 0.6])
    serial, dynamics = robot.to_serial_manipulator(), robot.to_manipulator_dynamics()
    np.testing.assert_allclose(serial.forward_kinematics(q), ur5.forward_kinematics(q), atol=1e-12)
    np.testing.assert_allclose(dynamics.mass_matrix(q), ur5.dynamics.mass_matrix(q), atol=1e-12)
    tip = robot.end_effector_link.name
    np.testing.assert_allclose(robot.get_transform(tip, cfg=q), ur5.forward_kinematics(q), atol=1e-12)
    np.testing.assert_allclose(ur5.get_transform(tip, cfg=q), ur5.link_fk(q)[tip], atol=1e-12)
    np.testing.assert_allclose(robot.link_fk_batch(q[None], [tip])[tip][0], ur5.forward_kinematics(q), atol=1e-12)
    np.testing.assert_allclose(ur5.batch_forward_kinematics(q[None], tip)[0], ur5.forward_kinematics(q), atol=1e-12)
    assert robot.extract_screw_axes("forearm_link")["S_list"].shape == (6, 3)
    assert serial.joint_limits == [tuple(pair) for pair in load_robot("ur5").joint_limits_array]
    for method in ("robust", "smart", "iterative"):
        theta, success, _ = ur5.inverse_kinematics(ur5.forward_kinematics(q), method=method, eomg=1e-6, ev=1e-6)
        if success:
            np.testing.assert_allclose(ur5.forward_kinematics(theta), ur5.forward_kinematics(q), atol=1e-5)
        assert success or method == "iterative"
    with pytest.raises(UnknownLink, match="wing"):
        robot.get_link("wing")
