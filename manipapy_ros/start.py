"""Starts a node: `python3 -m manipapy_ros.start planner`; the executables of `ros2 run` and `ros2 launch` call it.

A package that is missing is reported in a sentence with its cure, not by a traceback from the middle of an import.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys

try:
    from manipapy_core import requirements
except ModuleNotFoundError as error:
    sys.exit(f"manipapy cannot start: {error.name} is not installed: pip install {error.name}")

ROS_MODULES = ("rclpy", "manipapy_msgs.srv", "control_msgs.action", "tf2_msgs.msg")
"""Of these a distribution may lack some."""


def main(argv: list[str] | None = None) -> int:
    """Run a node until it ends.

    Args:
        argv: Name of the node and its arguments; those of the process when not given.

    Returns:
        Exit code: 1 for a missing package, 2 for an unknown node.
    """
    words = sys.argv[1:] if argv is None else argv
    if not words or not _is_there(f"manipapy_ros.{words[0]}.node"):
        print("usage: python3 -m manipapy_ros.start NODE [--ros-args ...]", file=sys.stderr)
        return 2
    found = requirements.problems() + _missing_of_ros()
    if found:
        for line in found:
            print(f"{words[0]} cannot start: {line}", file=sys.stderr)
        print("`manipapy doctor` checks everything; docs/install.md explains the installation", file=sys.stderr)
        return 1
    sys.argv = words
    runpy.run_module(f"manipapy_ros.{words[0]}.node", run_name="__main__", alter_sys=True)
    return 0


def _missing_of_ros() -> list[str]:
    distribution = os.environ.get("ROS_DISTRO", "")
    found = []
    for module in ROS_MODULES:
        if _is_there(module):
            continue
        package = module.partition(".")[0]
        cure = f"apt install ros-{distribution}-{package.replace('_', '-')}" if distribution else "make setup"
        if package == "manipapy_msgs":
            cure = "colcon build --base-paths . manipapy_msgs, then source install/setup.bash"
        found.append(f"{package} is not installed: {cure}")
    return found


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


if __name__ == "__main__":
    sys.exit(main())
