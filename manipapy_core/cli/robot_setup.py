"""Steps of `manipapy new-robot`: a home position, and the folder with description, limits, SRDF and launch file."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from ..geometry import RobotBody
from ..model import Chain, MeshGeometry, Robot, RobotFolder
from ..model.assumptions import LIMITS
from ..model.robot_folder import LIMITS_FILE
from ..model.semantics import semantics_of
from ..model.srdf import srdf_text
from ..typing import Array


def write_description(path: Path, robot: Robot, keep_ranges: bool = False) -> RobotFolder:
    """Write description, meshes, limits, launch file and package files; `write_parameters` completes the folder.

    Args:
        path: Created if it does not exist; its files are replaced.
        keep_ranges: Also write the position ranges to the limits file, because a limits file has narrowed them.
    """
    folder = RobotFolder(path.absolute(), package_name(robot.name))
    name = folder.name
    for part in ("config", "launch", "meshes"):
        (path / part).mkdir(parents=True, exist_ok=True)
    folder.description.write_text(_with_copied_meshes(robot, path, name), encoding="utf-8")
    (path / "config" / LIMITS_FILE).write_text(_limits_text(robot, keep_ranges), encoding="utf-8")
    (path / "launch" / f"{name}.launch.py").write_text(_LAUNCH.format(name=name), encoding="utf-8")
    (path / "package.xml").write_text(_PACKAGE.format(name=name), encoding="utf-8")
    (path / "CMakeLists.txt").write_text(_CMAKE.format(name=name), encoding="utf-8")
    return folder


def read_description(folder: RobotFolder, ignore_missing_meshes: bool = False) -> Robot:
    """The robot of a folder, completed, as every node reads it."""
    robot = Robot.from_urdf(folder.description, package_paths=[folder.path], limits=folder.limits, check_meshes=False)
    return robot.without_missing_meshes(collisions=ignore_missing_meshes).completed()


def write_parameters(
    folder: RobotFolder,
    robot: Robot,
    chain: Chain,
    body: RobotBody,
    home: Array,
    ignore_missing_meshes: bool = False,
) -> None:
    """Write the parameters of the nodes and the SRDF.

    Args:
        home: [rad or m], shape (n,).
        ignore_missing_meshes: Shapes without a mesh file never collide.
    """
    semantic = semantics_of(robot, chain, body.ignored, home)
    folder.semantic.write_text(srdf_text(semantic), encoding="utf-8")
    folder.config.write_text(_config_text(robot, chain, home, folder.name, ignore_missing_meshes), encoding="utf-8")


def package_name(name: str) -> str:
    """A name that ROS accepts for a package: lower case, digits and underscores, a letter first."""
    cleaned = re.sub(r"_+", "_", re.sub(r"[^a-z0-9]+", "_", name.lower())).strip("_")
    return cleaned if cleaned[:1].isalpha() else f"robot_{cleaned}".rstrip("_")


def _with_copied_meshes(robot: Robot, folder: Path, name: str) -> str:
    """The description with its meshes copied into the folder and referred to there."""
    text, taken = robot.urdf, set[str]()
    for uri, filename in dict(_meshes(robot)).items():
        source = Path(filename)
        target = source.name
        number = 1
        while target in taken:
            number += 1
            target = f"{source.stem}_{number}{source.suffix}"
        taken.add(target)
        shutil.copyfile(source, folder / "meshes" / target)
        material = source.with_suffix(".mtl")
        if source.suffix.lower() == ".obj" and material.is_file():
            shutil.copyfile(material, folder / "meshes" / material.name)
        new = quoteattr(f"package://{name}/meshes/{target}")
        for old in (quoteattr(uri), f"'{uri}'", f'"{uri}"'):
            text = text.replace(f"filename={old}", f"filename={new}")
    return text


def _meshes(robot: Robot) -> Iterator[tuple[str, str]]:
    """Reference and file of every mesh that was found."""
    for link in robot.links.values():
        for shape in (*link.collisions, *link.visuals):
            if isinstance(shape.geometry, MeshGeometry) and shape.geometry.filename:
                yield shape.geometry.uri, shape.geometry.filename


def _config_text(robot: Robot, chain: Chain, home: Array, name: str, ignore_missing_meshes: bool) -> str:
    locked = " ".join(f"{joint}:={value!r}" for joint, value in chain.locked if robot.joints[joint].mimic is None)
    numbers = ", ".join(repr(float(value)) for value in home)
    return f"""# Parameters of the nodes for {name}, written by manipapy new-robot.
# `/**` matches a node under any name and in any namespace. Give the folder as the robot: manipapy up --robot FOLDER
/**:
  ros__parameters:
    base_link: {chain.base}
    tip_link: {chain.tip}
    # Where a simulated or mocked arm starts, and the named goal home [rad or m]:
    # {", ".join(chain.joint_names)}
    initial_positions: [{numbers}]
    # Joints outside the arm, held at these positions [rad or m].
    locked_joints: "{locked}"
    # Collision shapes whose mesh file is not there: false is an error, true leaves them out.
    ignore_missing_meshes: {str(ignore_missing_meshes).lower()}
"""


def _limits_text(robot: Robot, keep_ranges: bool) -> str:
    lines = [
        "# Limits of every joint [rad or m, s, N m or N], in the layout of MoveIt; written by manipapy new-robot.",
        "# `assumed` lists those that no description gives: correct them, and delete them from the list.",
        "joint_limits:",
    ]
    for name in robot.free_joints:
        joint, motion = robot.joints[name], robot.motion_limits[name]
        values = {"velocity": joint.velocity, "effort": joint.effort}
        values |= {"acceleration": motion.acceleration, "jerk": motion.jerk}
        lines.append(f"  {name}:")
        if keep_ranges and np.isfinite(joint.lower) and np.isfinite(joint.upper):
            lines += ["    has_position_limits: true", f"    min_position: {joint.lower!r}"]
            lines.append(f"    max_position: {joint.upper!r}")
        lines += [line for quantity in LIMITS for line in _limit_lines(quantity, values)]
        assumed = robot.assumed_of(name)
        if assumed:
            lines.append(f"    assumed: [{', '.join(assumed)}]")
    return "\n".join(lines) + "\n"


def _limit_lines(quantity: str, values: Mapping[str, float]) -> list[str]:
    if not np.isfinite(values[quantity]):
        return [f"    has_{quantity}_limits: false"]
    return [f"    has_{quantity}_limits: true", f"    max_{quantity}: {float(values[quantity])!r}"]


_LAUNCH = '''"""Starts {name} in simulation, configured and active; `mode:=hardware` for the real arm.

Example: `ros2 launch {name} {name}.launch.py viewer:=true`, or with the path of this file in place of the two names.
"""

from pathlib import Path

from launch import LaunchDescription

from manipapy_ros.bringup.description import BringupMode
from manipapy_ros.bringup.launch import bringup_description


def generate_launch_description() -> LaunchDescription:
    """Arguments and nodes, for the robot of this folder."""
    return bringup_description(BringupMode.SIM, robot=str(Path(__file__).resolve().parents[1]))
'''
_PACKAGE = """<?xml version="1.0"?>
<package format="3">
  <name>{name}</name>
  <version>0.1.0</version>
  <description>Description and parameters of {name}, written by manipapy new-robot</description>
  <maintainer email="you@example.com">you</maintainer>
  <license>see the source of the description</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <exec_depend>manipapy</exec_depend>
  <export>
    <build_type>ament_cmake</build_type>
  </export>
</package>
"""
_CMAKE = """cmake_minimum_required(VERSION 3.8)
project({name} NONE)
find_package(ament_cmake REQUIRED)
install(DIRECTORY config launch meshes DESTINATION share/${{PROJECT_NAME}})
install(FILES {name}.urdf {name}.srdf DESTINATION share/${{PROJECT_NAME}})
ament_package()
"""
