"""The minimal example of the paper with only its import line changed; each function by a second route."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, dynamics, kinematics, lie
from manipapy_core.compat import alias
from manipapy_core.compat.control import ManipulatorController
from manipapy_core.compat.cuda_kernels import (
    check_cuda_availability,
    optimized_batch_trajectory_generation,
    optimized_potential_field,
    optimized_trajectory_generation,
)
from manipapy_core.compat.path_planning import OptimizedTrajectoryPlanning, TrajectoryPlanning
from manipapy_core.compat.sim import Simulation
from manipapy_core.compat.urdf_processor import URDFToSerialManipulator
from manipapy_core.errors import InputError, ShapeError
from reference.cases import BUNDLED

EXAMPLE = """
from ManipulaPy import urdf_processor, path_planning, control, sim
import numpy as np

# build model & CUDA-ready dynamics
proc   = urdf_processor.URDFToSerialManipulator("xarm.urdf")
robot  = proc.serial_manipulator
dyn    = proc.dynamics
ctrl   = control.ManipulatorController(dyn)

# 45° joint ramp
Tf, N  = 3.0, 300
goal   = np.deg2rad([45]*6)
traj   = path_planning.TrajectoryPlanning(robot, "xarm.urdf",
         dyn, proc.robot_data["joint_limits"]).joint_trajectory(
         np.zeros(6), goal, Tf, N, method=3)

# PyBullet sim with PD control
simu   = sim.Simulation("xarm.urdf", proc.robot_data["joint_limits"])
simu.initialize_robot()
Kp, Kd = np.full(6, 80.0), np.full(6, 8.0)
simu.run_controller(ctrl, traj["positions"], traj["velocities"],
         traj["accelerations"], g=[0,0,-9.81], Ftip=np.zeros(6),
         Kp=Kp, Ki=np.zeros(6), Kd=Kd)
"""


@pytest.fixture(scope="module")
def arm():
    processor = URDFToSerialManipulator("ur5", use_pybullet_limits=False)
    limits = [(-2.0 * np.pi, 2.0 * np.pi)] * 6
    return processor, TrajectoryPlanning(processor.serial_manipulator, "ur5", processor.dynamics, limits)


@pytest.mark.filterwarnings("ignore:thetaend. joint 3 is beyond:UserWarning")
def test_minimal_example_of_the_paper(tmp_path, monkeypatch, pybullet):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DISPLAY", raising=False)
    (tmp_path / "xarm.urdf").write_text(BUNDLED["xarm6"].text, encoding="utf-8")
    names: dict = {}
    alias.install(replace=True)
    try:
        exec(EXAMPLE, names)  # the lines of the document, unchanged
    finally:
        alias.uninstall()
    simulation, wanted = names["simu"], names["traj"]["positions"]
    try:
        assert np.abs(simulation.get_joint_positions() - wanted[-1]).max() < 0.02
        assert np.abs(simulation.history[:, 0] - wanted).max() < 0.02
        assert simulation.world.time == pytest.approx(3.0)
    finally:
        simulation.close_simulation()


def test_goal_beyond_a_limit_warns_and_velocities_stay_consistent(arm):
    processor, _ = arm
    planner = OptimizedTrajectoryPlanning(processor.serial_manipulator, "ur5", processor.dynamics, [(-1.0, 1.0)] * 6)
    with pytest.warns(UserWarning, match="joint 1 is beyond its limits"):
        found = planner.joint_trajectory(np.zeros(6), np.full(6, 2.0), 2.0, 401, 5)
    assert found["positions"].max() == 1.0
    slope = np.gradient(found["positions"], 2.0 / 400, axis=0)
    np.testing.assert_allclose(slope[1:-1], found["velocities"][1:-1], atol=1e-3)


def test_batches_and_cuda_functions_agree_with_single_trajectories(arm):
    _, planner = arm
    rng = np.random.default_rng(0)
    starts, ends = rng.uniform(-1, 1, (2, 5, 6))
    many = planner.batch_joint_trajectory(starts, ends, 1.5, 20, 5)
    three = optimized_batch_trajectory_generation(starts, ends, 1.5, 20, 5)
    for index in range(5):
        one = planner.joint_trajectory(starts[index], ends[index], 1.5, 20, 5)
        alone = optimized_trajectory_generation(starts[index], ends[index], 1.5, 20, 5)
        for name, table, row in zip(("positions", "velocities", "accelerations"), three, alone):
            np.testing.assert_allclose(many[name][index], one[name], atol=1e-12)
            np.testing.assert_allclose(table[index], row, atol=1e-12)
    assert check_cuda_availability() in (True, False)


def test_cartesian_trajectory_is_straight_with_constant_rotation_axis(arm):
    _, planner = arm
    T_a, T_b = np.eye(4), lie.pose(lie.exp_so3(np.array([0.3, -0.8, 0.5])), np.array([0.1, 0.4, -0.2]))
    found = planner.cartesian_trajectory(T_a, T_b, 2.0, 51, 5)
    share = found["positions"] @ T_b[:3, 3] / (T_b[:3, 3] @ T_b[:3, 3])
    np.testing.assert_allclose(found["positions"], share[:, None] * T_b[:3, 3], atol=1e-12)
    turns = np.array([lie.log_so3(R) for R in found["orientations"]])
    np.testing.assert_allclose(turns, share[:, None] * [0.3, -0.8, 0.5], atol=1e-9)
    with pytest.raises(InputError):
        planner.cartesian_trajectory(T_a, 2.0 * T_b, 2.0, 51, 5)


def test_forward_dynamics_inverts_inverse_dynamics(arm):
    processor, planner = arm
    wanted = planner.joint_trajectory(np.full(6, 0.2), np.full(6, 0.6), 1.0, 101, 5)
    tau = planner.inverse_dynamics_trajectory(wanted["positions"], wanted["velocities"], wanted["accelerations"])
    chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
    expected = dynamics.inverse_dynamics(chain, wanted["positions"], wanted["velocities"], wanted["accelerations"])
    np.testing.assert_allclose(tau, expected, atol=1e-9)
    run = planner.forward_dynamics_trajectory(
        wanted["positions"][0], wanted["velocities"][0], tau, [0, 0, -9.81], np.zeros((101, 6)), 0.01, 20
    )
    assert np.abs(run["positions"][:60] - wanted["positions"][:60]).max() < 0.02
    limited = TrajectoryPlanning(
        processor.serial_manipulator, "ur5", processor.dynamics, planner.joint_limits, [(-1.0, 1.0)] * 6
    )
    capped = limited.inverse_dynamics_trajectory(wanted["positions"], wanted["velocities"], wanted["accelerations"])
    assert np.abs(capped).max() == 1.0


def test_laws_match_their_formulas(arm):
    processor, _ = arm
    controller = ManipulatorController(processor.dynamics)
    rng = np.random.default_rng(1)
    q, qd, q_ref, qd_ref, qdd_ref = rng.normal(size=(5, 6))
    g, chain = [0.0, 0.0, -9.81], processor.dynamics.chain
    e, de = q_ref - q, qd_ref - qd
    np.testing.assert_allclose(controller.pd_control(q_ref, qd_ref, q, qd, 3.0, 2.0), 3.0 * e + 2.0 * de)
    pid = controller.pid_control(q_ref, qd_ref, q, qd, 0.01, 3.0, 5.0, 2.0)
    np.testing.assert_allclose(pid, 3.0 * e + 5.0 * 0.01 * e + 2.0 * de)
    controller.reset()
    tau = controller.computed_torque_control(q_ref, qd_ref, qdd_ref, q, qd, g, 0.01, 30.0, 4.0, 6.0)
    wanted = qdd_ref + 30.0 * e + 4.0 * 0.01 * e + 6.0 * de
    terms = dynamics.mass_matrix(chain, q) @ wanted + dynamics.coriolis_forces(chain, q, qd)
    np.testing.assert_allclose(tau, terms + dynamics.gravity_forces(chain, q), atol=1e-9)
    forward = controller.feedforward_control(q, qd, qdd_ref, g, np.zeros(6))
    np.testing.assert_allclose(
        controller.robust_control(q, qd, qdd_ref, g, np.zeros(6), e, 0.5), forward + 0.5 * e, atol=1e-12
    )
    for times in (1, 2):
        tau = controller.adaptive_control(q, qd, qdd_ref, g, np.zeros(6), e, 0.1)
        np.testing.assert_allclose(tau, forward + 0.1 * times * e, atol=1e-12)
    np.testing.assert_allclose(controller.ziegler_nichols_tuning(10.0, 0.5), (6.0, 24.0, 0.375))
    np.testing.assert_allclose(controller.ziegler_nichols_tuning([10.0, 20.0], 0.5, "PI")[1], (10.8, 21.6))


def test_feedforward_adds_feedback_and_the_tip_wrench(arm):
    processor, _ = arm
    controller, chain = ManipulatorController(processor.dynamics), processor.dynamics.chain
    rng = np.random.default_rng(4)
    q, qd, q_ref, qd_ref, qdd_ref, kp, kd = rng.uniform(0.1, 2.0, (7, 6))
    g, wrench = np.array([0.0, 0.0, -9.81]), rng.normal(size=6)
    for Ftip in (np.zeros(6), wrench):
        tau = controller.pd_feedforward_control(q_ref, qd_ref, qdd_ref, q, qd, kp, kd, g, Ftip)
        model = dynamics.inverse_dynamics(chain, q_ref, qd_ref, qdd_ref, gravity=g, wrench_tip=Ftip)
        np.testing.assert_allclose(tau, model + kp * (q_ref - q) + kd * (qd_ref - qd), atol=1e-11)


def test_gains_and_states_that_cannot_be_used_are_refused(arm):
    processor, _ = arm
    controller, zero = ManipulatorController(processor.dynamics), np.zeros(6)
    with pytest.raises(ShapeError, match="Kp"):
        controller.pd_control(zero, zero, zero, zero, np.ones(3), 1.0)
    with pytest.raises(InputError, match="zero or above"):
        controller.pd_control(zero, zero, zero, zero, -1.0, 1.0)
    with pytest.raises(InputError, match="current_position"):
        controller.pd_control(zero, zero, np.full(6, np.nan), zero, 1.0, 1.0)
    with pytest.raises(InputError, match="P, PI, PID"):
        controller.ziegler_nichols_tuning(1.0, 1.0, "PD")


def test_cartesian_control_pushes_the_position(arm):
    """The work of the efforts is that of the force at the end effector."""
    processor, _ = arm
    controller, chain = ManipulatorController(processor.dynamics), processor.dynamics.chain
    q = np.array([0.3, -1.0, 1.2, 0.1, 0.5, 0.2])
    place = kinematics.forward(chain, q)[:3, 3]
    tau = controller.cartesian_space_control(place + np.array([0.0, 0.0, 0.1]), q, np.zeros(6), 100.0, 0.0)
    for joint in range(6):
        ahead = q + 1e-6 * np.eye(6)[joint]
        rise = (kinematics.forward(chain, ahead)[2, 3] - place[2]) / 1e-6
        assert tau[joint] == pytest.approx(10.0 * rise, abs=1e-4)


def test_potential_field_gradient_by_differences():
    rng = np.random.default_rng(2)
    x, goal, obstacles = rng.uniform(-1, 1, (20, 3)), np.zeros(3), rng.uniform(-1, 1, (8, 3))
    potential, gradient = optimized_potential_field(x, goal, obstacles, 0.6)
    for axis in range(3):
        ahead = optimized_potential_field(x + 1e-6 * np.eye(3)[axis], goal, obstacles, 0.6)[0]
        np.testing.assert_allclose((ahead - potential) / 1e-6, gradient[:, axis], rtol=1e-3, atol=1e-3)
    with pytest.raises(ShapeError):
        optimized_potential_field(x, goal, obstacles[0], 0.6)


def test_simulation_without_a_robot_names_the_missing_call(pybullet):
    simulation = Simulation("ur5", [(-3.0, 3.0)] * 6)
    with pytest.raises(InputError, match="initialize_robot"):
        simulation.get_joint_positions()


def test_drives_follow_positions(pybullet, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    simulation = Simulation("ur5", [(-3.0, 3.0)] * 6)
    simulation.initialize_robot()
    start = simulation.get_joint_positions()
    rows = start + np.linspace(0.0, 0.2, 100)[:, None]
    tip = simulation.run_trajectory(np.vstack([rows, np.tile(rows[-1], (60, 1))]))
    np.testing.assert_allclose(simulation.get_joint_positions(), rows[-1], atol=0.02)
    assert tip.shape == (3,)
    simulation.close_simulation()
    simulation.close_simulation()


def test_plot_has_three_axes(arm, monkeypatch):
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install 'manipapy[plots]'")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    _, planner = arm
    found = planner.joint_trajectory(np.zeros(6), np.ones(6), 1.0, 20, 3)
    assert len(planner.plot_trajectory(found, 1.0, labels=[f"joint {i}" for i in range(6)]).axes) == 3
