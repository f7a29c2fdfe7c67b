"""Whether ROS 2 is installed, for the commands that need it."""

from __future__ import annotations

import importlib.util

from manipapy_core.errors import ManipapyError


class NoRos(ManipapyError):
    """A command that needs ROS 2, which is not installed."""

    def __init__(self, missing: str):
        super().__init__(
            f"this command needs ROS 2, and {missing} is not installed; run `make setup`, or source a ROS 2 Jazzy "
            "with manipapy_msgs built. See `manipapy doctor`"
        )
        self.missing = missing


def require_ros() -> None:
    """Raises NoRos if rclpy or the messages are not installed; nothing is imported."""
    # The source folder manipapy_msgs is importable as a namespace from the top of the clone; a built one has srv.
    for module in ("rclpy", "manipapy_msgs.srv", "control_msgs.action"):
        if not _is_there(module):
            raise NoRos(module.partition(".")[0])


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
