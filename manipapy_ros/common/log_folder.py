"""The folder of ROS log files: without one that can be written to, rcl ends a node with an exception at its start."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path


def log_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where rcl writes log files: $ROS_LOG_DIR, $ROS_HOME/log, or ~/.ros/log."""
    if chosen := environment.get("ROS_LOG_DIR"):
        return Path(chosen).expanduser()
    return Path(environment.get("ROS_HOME") or "~/.ros").expanduser() / "log"


def with_log_files(arguments: Sequence[str]) -> tuple[list[str], str]:
    """Arguments for `rclpy.init` that leave log files out if they cannot be written, and why; empty if they can."""
    folder = log_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return list(arguments), ""
        why = "it is read-only"
    except (OSError, RuntimeError) as error:
        why = str(getattr(error, "strerror", None) or error)
    return [*arguments, "--ros-args", "--disable-external-lib-logs"], f"no log files are written to {folder}: {why}"
