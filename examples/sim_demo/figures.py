"""The plot and the still image of a `make sim` run: `python examples/sim_demo/figures.py`.

A separate process with low priority: drawing takes seconds of CPU time that the control loop needs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from manipapy_core.typing import Array

MILLI = 1e3
LOW_PRIORITY = 5
"""Increment of the nice value."""
RECORD, CHART, IMAGE = "tracking.npz", "tracking.png", "scene.png"
"""Names of the files in the folder of a run."""


def start_drawing(
    folder: Path, title: str, robot: str, scene: str, joint_names: Sequence[str], q: Array
) -> subprocess.Popen[str]:
    """Starts the drawing process, which writes both files and exits; on failure it prints the error.

    Args:
        folder: Holds the record and gets the files.
        title: Title of the plot.
        robot: Robot in the image.
        scene: Scene in the image, with objects at their start poses.
        joint_names: Order of q.
        q: Joint positions in the image [rad or m], shape (n,).
    """
    command = [sys.executable, str(Path(__file__)), str(folder), title, robot, scene]
    command += [f"{name}={value!r}" for name, value in zip(joint_names, q.tolist(), strict=True)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def plot(record: Path, path: Path, title: str) -> None:
    """Plots reference and measured positions, errors, efforts and loop timing.

    Args:
        record: File written by `Recorder.save`.

    Raises:
        ImportError: Matplotlib is not installed.
    """
    from manipapy_core.draw.figures import require_matplotlib

    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 10), layout="constrained")
    FigureCanvasAgg(figure)
    positions, errors, efforts, loop = figure.subplots(4, 1, sharex=True, height_ratios=[3, 2, 2, 1.6])
    data = np.load(record)
    times, reference, measured = data["times"], data["reference"], data["measured"]
    for j, name in enumerate(data["joint_names"]):
        colour = f"C{j}"
        positions.plot(times, reference[:, j], "--", color=colour, linewidth=1.0)
        positions.plot(times, measured[:, j], color=colour, linewidth=1.4, label=str(name))
        errors.plot(times, MILLI * (reference[:, j] - measured[:, j]), color=colour, linewidth=1.0)
        efforts.plot(times, data["effort"][:, j], color=colour, linewidth=1.0)
    positions.set_ylabel("position [rad]\ndashed: reference")
    positions.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    errors.set_ylabel("tracking error [mrad]")
    efforts.set_ylabel("effort [N m]")
    rate = data["loop_rate"]
    loop.plot(data["loop_times"], rate, color="C0")
    loop.set_ylabel("loop [Hz]", color="C0")
    loop.set_ylim(bottom=0.0, top=1.1 * max(float(rate.max(initial=0.0)), 1000.0))
    late = loop.twinx()
    late.semilogy(data["loop_times"], data["loop_jitter"].clip(1.0), ".", color="C3", markersize=3)
    late.set_ylabel("jitter p99 [µs]", color="C3")
    loop.set_xlabel("time [s]")
    for axes in (positions, errors, efforts, loop):
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    figure.savefig(path, dpi=110)


def still_image(path: Path, robot_name: str, scene_name: str, q: dict[str, float]) -> None:
    """Renders the arm in its scene at joint positions [rad or m] by name."""
    from manipapy_core import Robot
    from manipapy_core.sim import Scene, SimWorld, read_scene, render, write_png

    scene = read_scene(scene_name) if scene_name else Scene("nothing")
    with SimWorld() as world:
        world.load_scene(scene)
        robot = Robot.from_urdf(robot_name, check_meshes=False)
        world.add_robot(robot, T_world_base=scene.T_world_base, q=q)
        write_png(path, render(world, width=960, height=640, lights=16))


def main(argv: Sequence[str] | None = None) -> int:
    """Draw the plot and the still image of one run."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("title")
    parser.add_argument("robot")
    parser.add_argument("scene")
    parser.add_argument("positions", nargs="*", help="joint=position [rad or m]")
    given = parser.parse_args(argv)
    os.nice(LOW_PRIORITY)
    plot(given.folder / RECORD, given.folder / CHART, given.title)
    q = {name: float(value) for name, value in (text.split("=", 1) for text in given.positions)}
    still_image(given.folder / IMAGE, given.robot, given.scene, q)
    return 0


if __name__ == "__main__":
    sys.exit(main())
