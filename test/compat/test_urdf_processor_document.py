"""Every snippet of the URDF processor document, with the import line changed and nothing else."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from matplotlib.animation import FuncAnimation
from matplotlib.figure import Figure

from manipapy_core import Robot, kinematics
from manipapy_core.compat.dynamics import ManipulatorDynamics
from manipapy_core.compat.kinematics import SerialManipulator
from manipapy_core.compat.urdf_processor import URDFToSerialManipulator

pytestmark = pytest.mark.usefixtures("robot_file", "pybullet")


@pytest.fixture
def processor():
    return URDFToSerialManipulator("robot.urdf")


def test_basic_urdf_loading(capsys):
    from manipapy_core.compat.urdf_processor import URDFToSerialManipulator

    # Load robot from URDF
    processor = URDFToSerialManipulator("robot.urdf")

    # Access created objects
    robot = processor.serial_manipulator
    dynamics = processor.dynamics

    print(f"Robot has {len(robot.joint_limits)} joints")
    assert capsys.readouterr().out == "Robot has 6 joints\n"
    assert isinstance(robot, SerialManipulator) and isinstance(dynamics, ManipulatorDynamics)


def test_built_in_robot_models():
    from manipapy_core.compat.ManipulaPy_data.xarm import urdf_file as xarm_urdf

    # Load xArm robot
    processor = URDFToSerialManipulator(xarm_urdf)

    # Perform forward kinematics
    joint_angles = [0.1, 0.2, 0.3, 0, 0, 0]
    T = processor.serial_manipulator.forward_kinematics(joint_angles)
    assert processor.robot.name == "xarm6" and processor.chain.tip == "link_eef"
    chain = Robot.from_urdf("xarm6").chain("link_base", "link_eef")
    np.testing.assert_allclose(T, kinematics.forward(chain, joint_angles), atol=1e-12)


def test_joint_limits_configuration(capsys):
    # Use PyBullet joint limits (default)
    processor_pb = URDFToSerialManipulator("robot.urdf", use_pybullet_limits=True)

    # Use default limits (-π, π)
    processor_default = URDFToSerialManipulator("robot.urdf", use_pybullet_limits=False)

    # Compare joint limits
    print("PyBullet limits:", processor_pb.serial_manipulator.joint_limits)
    print("Default limits:", processor_default.serial_manipulator.joint_limits)
    assert processor_pb.serial_manipulator.joint_limits == [(-2 * np.pi, 2 * np.pi)] * 6
    assert processor_default.serial_manipulator.joint_limits == [(-np.pi, np.pi)] * 6


def test_robot_visualization(processor):
    # Static robot visualization
    figure = processor.visualize_robot()

    # Create trajectory: 100 timesteps, smooth motion
    n_steps = 100
    n_joints = len(processor.serial_manipulator.joint_limits)
    trajectory = np.zeros((n_steps, n_joints))

    for i in range(n_joints):
        trajectory[:, i] = np.linspace(0, np.pi / 3, n_steps)

    animation = processor.visualize_trajectory(cfg_trajectory=trajectory, loop_time=5.0, use_collision=True)
    assert isinstance(figure, Figure) and isinstance(animation, FuncAnimation)


def test_trajectory_animation_with_dictionary(processor):
    # Get joint names
    joint_info = processor.print_joint_info()
    joint_names = joint_info["joint_names"]

    # Create trajectory dictionary
    trajectory_dict = {}
    for joint_name in joint_names:
        if "joint" in joint_name.lower():  # Filter actuated joints
            trajectory_dict[joint_name] = [0, np.pi / 4, np.pi / 2, np.pi / 4, 0]

    animation = processor.visualize_trajectory(trajectory_dict, loop_time=4.0)
    assert isinstance(animation, FuncAnimation)
    assert "base_link-base_fixed_joint" in trajectory_dict, "the filter of the document lets fixed joints through"


def test_extracting_robot_parameters(processor, capsys):
    # Access raw URDF data
    robot_data = processor.robot_data

    print(f"Home configuration:\n{robot_data['M']}")
    print(f"Number of DOF: {robot_data['actuated_joints_num']}")
    print(f"Screw axes shape: {robot_data['Slist'].shape}")

    # Access inertia matrices
    for i, G in enumerate(robot_data["Glist"]):
        print(f"Link {i} inertia:\n{G}")
    text = capsys.readouterr().out
    assert "Number of DOF: 6" in text and "Screw axes shape: (6, 6)" in text and "Link 5 inertia" in text
    assert robot_data["M"].shape == (4, 4) and robot_data["Blist"].shape == (6, 6)
    assert isinstance(robot_data["Glist"], list) and all(G.shape == (6, 6) for G in robot_data["Glist"])
    assert robot_data["joint_limits"] == processor.serial_manipulator.joint_limits


def test_integration_with_kinematics_and_dynamics(capsys):
    # Complete workflow example
    processor = URDFToSerialManipulator("robot.urdf")

    # Kinematics
    joint_angles = [0.5, -0.3, 0.8, 0.1, -0.2, 0.4]
    T = processor.serial_manipulator.forward_kinematics(joint_angles)
    J = processor.serial_manipulator.jacobian(joint_angles)

    # Dynamics
    joint_velocities = [0.1, 0.2, 0.0, 0.0, 0.0, 0.0]
    joint_accelerations = [1.0, 0.5, 0.0, 0.0, 0.0, 0.0]

    torques = processor.dynamics.inverse_dynamics(
        joint_angles, joint_velocities, joint_accelerations, g=[0, 0, -9.81], Ftip=[0, 0, 0, 0, 0, 0]
    )

    print(f"Required torques: {torques}")
    assert T.shape == (4, 4) and J.shape == (6, 6) and torques.shape == (6,)
    assert "Required torques" in capsys.readouterr().out


def test_custom_urdf_processing(processor, capsys):
    # Access raw urchin URDF object
    urdf_obj = processor.robot

    # Inspect URDF structure
    print(f"Robot name: {urdf_obj.name}")
    print(f"Links: {[link.name for link in urdf_obj.links]}")
    print(f"Joints: {[joint.name for joint in urdf_obj.joints]}")

    # Get link-wise forward kinematics
    link_transforms = urdf_obj.link_fk()
    for link_name, transform in link_transforms.items():
        print(f"{link_name}: {transform[:3, 3]}")  # Position only
    text = capsys.readouterr().out
    assert "Robot name: ur5" in text and "'wrist_3_joint'" in text and "tool0: [" in text
    np.testing.assert_allclose(link_transforms["tool0"], processor.robot_data["M"], atol=1e-12)


def test_error_handling(processor, capsys):
    try:
        processor = URDFToSerialManipulator("nonexistent.urdf")
    except FileNotFoundError:
        print("URDF file not found")
    except Exception as e:
        print(f"URDF processing error: {e}")

    # Validate extracted parameters
    if processor.robot_data["actuated_joints_num"] == 0:
        print("Warning: No actuated joints found")

    if len(processor.dynamics.Glist) != processor.robot_data["actuated_joints_num"]:
        print("Warning: Inertia matrix count mismatch")
    assert capsys.readouterr().out == "URDF file not found\n"


def test_names_of_the_document(processor):
    for attribute in ("urdf_name", "robot", "robot_data", "serial_manipulator", "dynamics"):
        assert hasattr(processor, attribute)
    assert processor.urdf_name == "robot.urdf"
    signature = inspect.signature(URDFToSerialManipulator).parameters
    assert list(signature)[:2] == ["urdf_name", "use_pybullet_limits"]
    assert signature["use_pybullet_limits"].default is True
    assert all(parameter.default is not inspect.Parameter.empty for parameter in list(signature.values())[1:])
    trajectory = inspect.signature(URDFToSerialManipulator.visualize_trajectory).parameters
    defaults = {name: parameter.default for name, parameter in trajectory.items() if name != "self"}
    assert defaults == {"cfg_trajectory": None, "loop_time": 3.0, "use_collision": False}
    again = processor.load_urdf("robot.urdf")
    assert {"M", "Slist", "Blist", "Glist", "actuated_joints_num"} <= again.keys()
    assert isinstance(processor.initialize_serial_manipulator(), SerialManipulator)
    assert isinstance(processor.initialize_manipulator_dynamics(), ManipulatorDynamics)
    assert processor._get_joint_limits_from_pybullet() == [(-2 * np.pi, 2 * np.pi)] * 6


def test_utilities_of_the_document(processor):
    info = processor.print_joint_info()
    assert info["num_joints"] == len(info["joint_names"]) == len(processor.robot.joints) == 11
    assert (
        URDFToSerialManipulator.transform_to_xyz(processor.robot_data["M"]).tolist()
        == processor.robot_data["M"][:3, 3].tolist()
    )
    assert URDFToSerialManipulator.get_link(processor.robot, "tool0").name == "tool0"
    assert URDFToSerialManipulator.get_link(processor.robot, "tool9") is None
    w, p = np.array([[0, 0, 1.0], [0, 1.0, 0]]).T, np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]).T
    S = URDFToSerialManipulator.w_p_to_slist(w, p, 2)
    np.testing.assert_allclose(S.T, [[0, 0, 1, 0.2, -0.1, 0], [0, 1, 0, -0.6, 0, 0.4]])
