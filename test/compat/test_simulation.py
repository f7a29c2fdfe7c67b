"""`Simulation` with PyBullet's own robots and every documented method."""

from __future__ import annotations

import csv
import os

import numpy as np
import pytest

from manipapy_core.compat.control import ManipulatorController
from manipapy_core.compat.path_planning import TrajectoryPlanning
from manipapy_core.compat.sim import Simulation
from manipapy_core.compat.urdf_processor import URDFToSerialManipulator
from manipapy_core.errors import InputError

pytestmark = pytest.mark.usefixtures("pybullet", "no_screen")


@pytest.fixture
def no_screen(monkeypatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


@pytest.fixture
def ur5():
    simulation = Simulation("ur5", [(-3.0, 3.0)] * 6, enable_self_collision=True)
    simulation.initialize_robot()
    yield simulation
    simulation.close_simulation()


@pytest.mark.parametrize("file", ["franka_panda/panda.urdf", "kuka_iiwa/model.urdf"])
def test_arms_of_pybullet_are_followed_with_their_damping(file):
    """With every joint of the iiwa damped by 0.5 N m s/rad, joint 7 once ended 0.57 rad off.

    81 rows in 0.8 s are 10 ms apart, the time step. With 80 the velocities were 1.3 % too low for the positions;
    damping that is fed forward follows the velocities, and the light wrist ended 5.6 mrad off.
    """
    data = pytest.importorskip("pybullet_data")
    path = os.path.join(data.getDataPath(), file)
    arm = URDFToSerialManipulator(path)
    limits, n = arm.robot_data["joint_limits"], arm.num_dofs
    lower, upper = np.array(limits).T
    start = np.clip(np.zeros(n), lower, upper)
    goal = np.clip(start + 0.5, lower, upper)
    plan = TrajectoryPlanning(arm.serial_manipulator, path, arm.dynamics, limits)
    wanted = plan.joint_trajectory(start, goal, 0.8, 81, 5)
    simulation = Simulation(path, limits)
    simulation.initialize_robot()
    controller = ManipulatorController(arm.dynamics)
    simulation.run_controller(controller, *wanted.values(), Kp=np.full(n, 80.0), Ki=np.zeros(n), Kd=np.full(n, 8.0))
    np.testing.assert_allclose(simulation.get_joint_positions(), goal, atol=5e-4)
    assert np.abs(simulation.history[:, 0] - wanted["positions"]).max() < 1e-3
    simulation.close_simulation()


def test_velocities_that_do_not_fit_the_time_step_are_reported(ur5, caplog):
    """ManipulaPy's N points over Tf seconds are Tf/(N − 1) apart."""
    ur5.initialize_planner_and_controller()
    start = np.array([0.0, -1.0, 1.0, 0.0, 0.5, 0.0])
    for points, expected in ((21, []), (20, ["10.53 ms"])):
        wanted = ur5.trajectory_planner.joint_trajectory(start, start + 0.1, 0.2, points, 5)
        caplog.clear()
        ur5.run_controller(ur5.controller, *wanted.values())
        assert [record.message.count(text) for record, text in zip(caplog.records, expected)] == [1] * len(expected)
        assert len(caplog.records) == len(expected)


def test_models_planner_and_controller_are_made(ur5):
    ur5.initialize_planner_and_controller()
    assert ur5.robot.forward_kinematics(np.zeros(6)).shape == (4, 4)
    assert ur5.controller.dynamics is ur5.dynamics and ur5.trajectory_planner.dynamics is ur5.dynamics
    other = object()
    ur5.set_robot_models(other, other)
    ur5.initialize_robot()
    assert ur5.robot is other


def test_positions_alone_are_run_by_the_drives(ur5, tmp_path):
    start = ur5.get_joint_positions()
    rows = [start + share for share in np.linspace(0.0, 0.1, 60)]
    end = ur5.run_controller(row for row in rows)
    np.testing.assert_allclose(end, ur5.robot.forward_kinematics(ur5.get_joint_positions())[:3, 3], atol=1e-9)
    ur5.simulate_robot_with_desired_angles(rows[-1])
    np.testing.assert_allclose(ur5.get_joint_positions(), rows[-1], atol=5e-3)
    np.testing.assert_allclose(ur5.run(rows[-1:]), ur5.simulate_robot_motion(rows[-1:]), atol=1e-3)
    for empty in ([], np.zeros((0, 6))):
        with pytest.raises(InputError, match="empty"):
            ur5.run_trajectory(empty)
    ur5.save_joint_states(tmp_path / "states.csv")
    with open(tmp_path / "states.csv", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert [row["joint"] for row in table] == list(ur5.chain.joint_names)
    assert float(table[2]["position"]) == pytest.approx(ur5.get_joint_positions()[2])


def test_a_folded_arm_touches_itself(ur5):
    assert ur5.check_collisions() == []
    ur5.arm.reset(dict(zip(ur5.chain.joint_names, [0.0, -1.5, 3.1, 0.0, 0.0, 0.0])))
    ur5.step_simulation()
    found = ur5.check_collisions()
    assert found and all(len(position) == 3 for _, _, position in found)
    ur5.disabled_pairs = {frozenset(pair[:2]) for pair in found}
    assert ur5.check_collisions() == []
    ur5.disabled_pairs, ur5.enable_self_collision = set(), False
    assert ur5.check_collisions() == []


def test_paths_are_drawn_and_erased(ur5):
    client = ur5.world._engine.client
    before = client.getNumBodies()
    points = [[0.4, 0.0, 0.5], [0.4, 0.1, 0.5], [0.4, 0.1, 0.2], [0.4, 0.1, 0.2]]
    drawn = ur5.plot_trajectory(points)
    assert len(drawn) == 2 and client.getNumBodies() == before + 2
    # The axis of a capsule is its z axis.
    position, quaternion = client.getBasePositionAndOrientation(drawn[1])
    axis = np.reshape(client.getMatrixFromQuaternion(quaternion), (3, 3))[:, 2]
    np.testing.assert_allclose(position, [0.4, 0.1, 0.35], atol=1e-9)
    np.testing.assert_allclose(axis, [0.0, 0.0, -1.0], atol=1e-9)
    ur5.clear_trajectory_visualization()
    assert client.getNumBodies() == before
    ur5.plot_trajectory_in_scene([ur5.get_joint_positions()], points)
    assert client.getNumBodies() == before + 2


def test_sliders_need_a_screen(ur5):
    ur5.add_joint_parameters()
    ur5.add_reset_button()
    ur5.add_additional_parameters()
    ur5.update_simulation_parameters()
    np.testing.assert_array_equal(ur5.get_joint_parameters(), ur5.get_joint_positions())
    with pytest.raises(InputError, match="screen"):
        ur5.manual_control()


def test_meshes_that_are_missing_are_named(tmp_path):
    text = URDFToSerialManipulator("ur5", False).robot.model
    from manipapy_core.model.urdf.write import urdf_text

    written = urdf_text(text).replace("<visual>", "<visual><!-- -->", 1)
    start = written.index("<geometry>")
    stop = written.index("</geometry>")
    written = written[:start] + '<geometry><mesh filename="package://nowhere/a.stl"/>' + written[stop:]
    (tmp_path / "arm.urdf").write_text(written)
    with pytest.warns(UserWarning, match="package://nowhere/a.stl"):
        simulation = Simulation(tmp_path / "arm.urdf", [(-3.0, 3.0)] * 6)
    simulation.initialize_robot()
    simulation.disconnect_simulation()
    with pytest.raises(InputError, match="physics_client"):
        Simulation("ur5", [(-3.0, 3.0)] * 6, physics_client=0)
