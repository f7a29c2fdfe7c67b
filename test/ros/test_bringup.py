"""Which processes a bringup names, and that the launch files and `manipapy up` are about the same ones."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys

import pytest
import yaml

from manipapy_core import Robot
from manipapy_core.model import bundled_robots
from manipapy_ros.bringup.description import (
    BringupError,
    BringupMode,
    HandOff,
    Options,
    configured_robots,
    describe,
    yaml_scalar,
)


def executables(**options) -> list[str]:
    return [node.executable for node in describe(Options(**options)).nodes]


def test_each_mode_starts_its_processes_in_order():
    assert executables(mode=BringupMode.SIM) == [
        "sim_bridge",
        "model_server",
        "controller",
        "planner",
        "collision_monitor",
    ]
    assert "collision_monitor" not in executables(mode=BringupMode.SIM, collision_forecast="off")
    assert "collision_monitor" not in executables(mode=BringupMode.SIM, planner=False)
    assert executables(mode=BringupMode.MOCK) == ["mock_hardware", "model_server", "planner"]
    assert executables(mode=BringupMode.HARDWARE, planner=False) == ["model_server"]
    assert executables(mode=BringupMode.MOCK, perception=True, capability=True)[-2:] == ["perception", "capability"]
    assert executables(viewer=True)[-1] == "viewer"
    assert executables(mode=BringupMode.HARDWARE, hand_off=HandOff.EFFORT, far_side_timeout=0.1) == [
        "model_server",
        "controller",
        "planner",
        "collision_monitor",
    ]


def test_trajectories_go_to_ros2_control_unless_simulated():
    assert describe(Options(mode=BringupMode.SIM)).trajectory_action == "controller/follow_joint_trajectory"
    for mode in (BringupMode.MOCK, BringupMode.HARDWARE):
        assert describe(Options(mode=mode)).trajectory_action == "joint_trajectory_controller/follow_joint_trajectory"


def test_one_argument_sets_simulated_time_everywhere_but_at_its_source():
    for node in describe(Options(mode=BringupMode.SIM)).nodes:
        assert node.parameters["use_sim_time"] is (node.executable != "sim_bridge")
    for node in describe(Options(mode=BringupMode.MOCK)).nodes:
        assert node.parameters["use_sim_time"] is False
    assert describe(Options(mode=BringupMode.MOCK, use_sim_time=True)).nodes[0].parameters["use_sim_time"] is True


def test_discovery_stays_on_this_machine_unless_the_user_says_otherwise(monkeypatch):
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    assert describe(Options()).environment == {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    assert describe(Options()).environment == {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}


@pytest.mark.parametrize("namespace", ["left", "/left", "/left/"])
def test_namespace_reaches_every_process_and_its_clock(namespace):
    for command in describe(Options(namespace=namespace)).commands():
        assert command[command.index("--ros-args") + 1 :][:2] == ["-r", "__ns:=/left"]
        assert "/clock:=clock" in command


def test_the_users_parameters_come_after_those_of_the_robot(tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text("/**: {ros__parameters: {publish_frequency: 10.0}}")
    files = describe(Options(params_file=str(mine))).nodes[0].params_files
    assert [os.path.basename(path) for path in files] == ["ur5.yaml", "mine.yaml"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"robot": "no_such_robot"}, "ur5"),
        ({"params_file": "not/there.yaml"}, "not/there.yaml"),
        ({"log_level": "loud"}, "debug"),
        ({"mode": BringupMode.HARDWARE, "hand_off": HandOff.EFFORT}, "far_side_timeout"),
        ({"mode": BringupMode.MOCK, "hand_off": HandOff.EFFORT}, "trajectories only"),
        ({"real_time_factor": 0.0}, "0.01 to 100"),
        ({"real_time_factor": float("nan")}, "0.01 to 100"),
    ],
)
def test_what_cannot_work_is_refused_with_the_cure(options, reason):
    with pytest.raises(BringupError, match=reason):
        describe(Options(**options))


def test_every_bundled_robot_has_parameters_that_fit_it():
    files = configured_robots()
    assert set(bundled_robots()) <= set(files)
    for name in bundled_robots():
        values = yaml.safe_load(files[name].read_text())["/**"]["ros__parameters"]
        robot = Robot.from_urdf(values["robot"], check_meshes=False)
        chain = robot.chain(values["base_link"], values["tip_link"])
        assert len(values["initial_positions"]) == chain.n
        assert (chain.limits.lower <= values["initial_positions"]).all()
        assert (chain.limits.upper >= values["initial_positions"]).all()


def test_values_survive_the_command_line():
    for value in (True, 3, 0.25, "on", "007", "it's", ""):
        assert yaml.safe_load(yaml_scalar(value)) == value


def test_every_process_is_a_module_and_an_executable_of_the_package(project):
    for mode in BringupMode:
        for node in describe(Options(mode=mode)).nodes:
            assert importlib.util.find_spec(f"manipapy_ros.{node.executable}.node") is not None
            path = project / "manipapy_ros/executables" / node.executable
            assert os.access(path, os.X_OK), path


@pytest.mark.parametrize("name", ["sim", "hardware", "rviz"])
def test_launch_files_compile_and_take_their_nodes_from_the_bringup(project, name):
    # launch_ros is on no registry, so they cannot be run here.
    text = (project / f"launch/{name}.launch.py").read_text()
    compile(text, name, "exec")
    imported = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    other = "manipapy_ros.common.names" if name == "rviz" else "manipapy_ros.bringup.description"
    assert {other, "manipapy_ros.bringup.launch"} <= imported
    launching = (project / "manipapy_ros/bringup/launch.py").read_text()
    compile(launching, "launching.py", "exec")
    assert "describe(options)" in launching


def test_the_description_needs_neither_rclpy_nor_launch():
    code = (
        "import sys\nfrom manipapy_ros.bringup.description import Options, describe\ndescribe(Options()).commands()\n"
        "print([name for name in ('rclpy', 'launch', 'launch_ros') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
