"""The plot and the picture that `make sim` leaves behind.

The picture is made by a process of its own with low priority (`python -m manipapy_ros.demo_pictures`): it takes seconds
of computing that the control loop needs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from manipapy_core.model.elements import Array

from .demo_record import Recorder

MILLI = 1e3
LOW_PRIORITY = 15
"""Of `nice`."""


def plot(recorder: Recorder, path: Path, title: str) -> None:
    """Where the joints should be and are, their errors and efforts, and the loop, over time.

    Raises:
        ImportError: No matplotlib; says how to get it.
    """
    from manipapy_core.plots.figures import require_matplotlib

    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 10), layout="constrained")
    FigureCanvasAgg(figure)
    positions, errors, efforts, loop = figure.subplots(4, 1, sharex=True, height_ratios=[3, 2, 2, 1.6])
    times, reference, measured, effort = recorder.arrays()
    for j, name in enumerate(recorder.joint_names):
        colour = f"C{j}"
        positions.plot(times, reference[:, j], "--", color=colour, linewidth=1.0)
        positions.plot(times, measured[:, j], color=colour, linewidth=1.4, label=name)
        errors.plot(times, MILLI * (reference[:, j] - measured[:, j]), color=colour, linewidth=1.0)
        efforts.plot(times, effort[:, j], color=colour, linewidth=1.0)
    positions.set_ylabel("position [rad]\ndashed: reference")
    positions.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    errors.set_ylabel("tracking error [mrad]")
    efforts.set_ylabel("effort [N m]")
    loop_times, rate, jitter = recorder.loop()
    loop.plot(loop_times, rate, color="C0")
    loop.set_ylabel("loop [Hz]", color="C0")
    loop.set_ylim(bottom=0.0, top=1.1 * max(float(rate.max(initial=0.0)), 1000.0))
    late = loop.twinx()
    late.semilogy(loop_times, jitter.clip(1.0), ".", color="C3", markersize=3)
    late.set_ylabel("jitter p99 [µs]", color="C3")
    loop.set_xlabel("time [s]")
    for axes in (positions, errors, efforts, loop):
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def start_picture(robot: str, scene: str, joint_names: Sequence[str], q: Array, path: Path) -> subprocess.Popen[str]:
    """Begin to render the arm in its scene; the process ends when the picture is there.

    Things that the arm has moved stand where they stood in the beginning.
    """
    command = [sys.executable, "-m", "manipapy_ros.demo_pictures", robot, scene, str(path)]
    command += [f"{name}={value!r}" for name, value in zip(joint_names, q.tolist(), strict=True)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Render one picture."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("robot")
    parser.add_argument("scene")
    parser.add_argument("path", type=Path)
    parser.add_argument("positions", nargs="*", help="joint=position [rad or m]")
    given = parser.parse_args(argv)
    os.nice(LOW_PRIORITY)
    from manipapy_core import Robot
    from manipapy_core.sim import Scene, World, read_scene, render, write_png

    scene = read_scene(given.scene) if given.scene else Scene("nothing")
    q = {name: float(value) for name, value in (text.split("=", 1) for text in given.positions)}
    with World() as world:
        world.load_scene(scene)
        robot = Robot.from_urdf(given.robot, check_meshes=False)
        world.add_robot(robot, T_world_base=scene.T_world_base, q=q)
        given.path.parent.mkdir(parents=True, exist_ok=True)
        write_png(given.path, render(world, width=1120, height=760))
    return 0


if __name__ == "__main__":
    sys.exit(main())
