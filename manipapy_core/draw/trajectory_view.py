"""A joint trajectory on the web page: the path of the tip, and the arm that follows it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import kinematics
from ..errors import InputError
from ..typing import Array
from .playback import PlaybackPanel
from .web_view import ArmView

PATH_COLOUR = (30, 120, 230)
PATH_SAMPLES = 400
KEYS = ("joint_names", "times", "positions")


@dataclass(frozen=True)
class TrajectoryFile:
    """Positions at times."""

    joint_names: tuple[str, ...]
    times: Array
    """[s], ascending, shape (m,)."""
    positions: Array
    """[rad or m], shape (m, n)."""
    robot: str = ""
    """Bundled name or file, if the file has one."""

    @staticmethod
    def read(path: Path) -> TrajectoryFile:
        """Read what `manipapy plan --json` prints.

        Raises:
            InputError: Something else.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            names = tuple(str(name) for name in data["joint_names"])
            times = np.array(data["times"], dtype=np.float64)
            positions = np.array(data["positions"], dtype=np.float64)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path} is no trajectory ({error}); it needs {', '.join(KEYS)} in JSON") from None
        if positions.shape != (len(times), len(names)) or len(times) < 2 or not np.isfinite(positions).all():
            raise InputError(
                f"{path}: positions of shape {positions.shape} for {len(times)} times, {len(names)} joints"
            )
        if not (np.diff(times) > 0.0).all():
            raise InputError(f"{path}: the times do not ascend")
        return TrajectoryFile(names, times, positions, str(data.get("robot", "")))

    def at(self, seconds: Array | float, joint_names: tuple[str, ...]) -> Array:
        """Positions in the order of the names, straight between the points, shape (..., n).

        Raises:
            InputError: A joint that the trajectory does not have.
        """
        missing = [name for name in joint_names if name not in self.joint_names]
        if missing:
            raise InputError(f"the trajectory has no {', '.join(missing)}; it has: {', '.join(self.joint_names)}")
        columns = [self.positions[:, self.joint_names.index(name)] for name in joint_names]
        return np.stack([np.interp(seconds, self.times, column) for column in columns], axis=-1)


class TrajectoryView:
    """Plays a trajectory on a page. Close it before the page.

    Args:
        view: The page of the robot.
        trajectory: Of its joints.
    """

    def __init__(self, view: ArmView, trajectory: TrajectoryFile):
        names = view.arm.chain.joint_names
        start, end = float(trajectory.times[0]), float(trajectory.times[-1])
        rows = trajectory.at(np.linspace(start, end, PATH_SAMPLES), names)
        points = kinematics.forward(view.arm.chain, rows)[:, :3, 3]
        layer = view.layers.add("Planned path", hint="Of the tip")
        pairs = np.stack([points[:-1], points[1:]], axis=1)
        view.server.scene.add_line_segments(f"{layer.below('')}/line", pairs, PATH_COLOUR, thickness=0.005)
        view.goal.set_goal(rows[-1])
        view.layers["Executed path"].visible = False

        def show(now: float) -> None:
            view.show(trajectory.at(start + now, names))
            view.status.show_text(f"**{now:.2f} s** of {end - start:.2f} s, {len(trajectory.times)} points")

        with view.server.gui.add_folder("Trajectory", order=-1.0):
            self.playback = PlaybackPanel(view.server, end - start, show)

    def close(self) -> None:
        """Stop playing."""
        self.playback.close()
