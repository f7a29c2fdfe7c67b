"""The state of a robot as text, from the data of `state_report`; nothing of ROS is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GREEN, YELLOW, RED = 32, 33, 31
"""Codes of a terminal."""
COLOURS = {"ok": GREEN, "slow": YELLOW, "hold": YELLOW, "stop": RED}
"""Of the verdicts of the guard."""
TITLES = ("joint", "position [rad or m]", "velocity [per s]", "effort [N m or N]")


def state_text(data: Mapping[str, Any], *, colour: bool) -> str:
    """A table of joints, a line of the tip and lines of the controller; for a terminal in colours."""
    lines = [data["topic"], *_rows(data), _tip_line(data["tip"]), *_controller_lines(data["controller"], colour)]
    return "\n".join(lines)


def _rows(data: Mapping[str, Any]) -> list[str]:
    columns = [data[name] for name in ("position", "velocity", "effort")]
    rows = [TITLES]
    for i, name in enumerate(data["joint_names"]):
        rows.append((name, *(f"{values[i]:+.4f}" if i < len(values) else "" for values in columns)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(TITLES))]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]


def _tip_line(tip: Mapping[str, Any]) -> str:
    if "error" in tip:
        return str(tip["error"])
    position, quaternion = (" ".join(f"{value:+.4f}" for value in tip[name]) for name in ("position", "quaternion"))
    return f"{tip['link']} in {tip['frame']}: {position} m, quaternion {quaternion}"


def _controller_lines(status: Mapping[str, Any] | None, colour: bool) -> list[str]:
    if status is None:
        return ["no controller of manipapy: trajectories go to ros2_control or to a mock"]
    word = guard = status["guard"]
    if colour:
        guard = f"\033[1;{COLOURS.get(word, RED)}m{word}\033[0m"
    reason = f" by {status['check']}: {status['reason']}" if status["reason"] else ""
    return [
        f"guard {guard}{reason}",
        f"{status['law']}, {status['phase']}; {status['rate']:.0f} Hz, jitter p99 {status['jitter_p99']:.0f} us, "
        f"work p99 {status['work_p99']:.0f} us; largest error {1e3 * status['tracking_error']:.3f} mrad or mm "
        f"({status['tracking_joint']})",
    ]
