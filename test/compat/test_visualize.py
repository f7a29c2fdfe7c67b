"""`visualize_robot` and `visualize_trajectory`: figures in memory without a screen, windows with one."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from manipapy_core.compat.urdf_processor import URDFToSerialManipulator
from manipapy_core.draw.robot import interpolate_waypoints

# A window system for tests: figures are drawn in memory, and showing a window prints a line instead of waiting.
WINDOWS = """
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

class FigureManager(FigureManagerBase):
    def show(self):
        print("window", self.canvas.figure.axes[0].name)

class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager
"""

PROGRAM = """
from manipapy_core.compat.urdf_processor import URDFToSerialManipulator
processor = URDFToSerialManipulator("ur5", use_pybullet_limits=False)
processor.visualize_robot()
processor.visualize_trajectory(loop_time=0.2)
print("done")
"""


@pytest.fixture(scope="module")
def processor():
    return URDFToSerialManipulator("ur5", use_pybullet_limits=False)


def run(folder, **environment: str) -> list[str]:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")
    inherited = {name: value for name, value in os.environ.items() if name not in hidden}
    path = os.pathsep.join([str(folder), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env={**inherited, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


def test_without_a_screen_nothing_blocks_or_warns(tmp_path):
    assert "done" in run(tmp_path)


def test_with_a_screen_windows_are_shown(tmp_path):
    (tmp_path / "windows.py").write_text(WINDOWS)
    shown = run(tmp_path, MPLBACKEND="module://windows")
    assert shown.count("window 3d") >= 2 and "done" in shown


def test_figures_are_not_kept_by_pyplot(processor):
    import matplotlib.pyplot as plt

    before = len(plt.get_fignums())
    for _ in range(3):
        processor.visualize_robot()
    assert len(plt.get_fignums()) == before


def test_animation_can_be_saved(processor, tmp_path):
    animation = processor.visualize_trajectory(np.linspace(np.zeros(6), np.ones(6), 4), loop_time=0.2)
    animation.save(tmp_path / "motion.gif", writer="pillow")
    assert (tmp_path / "motion.gif").read_bytes().startswith(b"GIF89a")


def test_collision_shapes_give_another_animation(processor, tmp_path):
    files = set()
    for use_collision in (False, True, True):
        animation = processor.visualize_trajectory(loop_time=0.08, use_collision=use_collision)
        animation.save(tmp_path / "motion.gif", writer="pillow", dpi=40)
        files.add((tmp_path / "motion.gif").read_bytes())
    assert len(files) == 2


def test_default_motion_goes_from_zero_to_a_quarter_turn(processor):
    waypoints = processor._waypoints(None)
    np.testing.assert_array_equal(waypoints, [np.zeros(6), np.full(6, np.pi / 2)])


def test_arm_trajectory_keeps_the_gripper_at_zero():
    processor = URDFToSerialManipulator("panda", use_pybullet_limits=False)
    waypoints = processor._waypoints(np.ones((3, 7)))
    assert waypoints.shape == (3, 8) and waypoints[0].tolist() == [1.0] * 7 + [0.0]


def test_waypoints_are_interpolated_linearly():
    waypoints = np.array([[0.0, 1.0], [2.0, 1.0], [2.0, 3.0]])
    np.testing.assert_allclose(interpolate_waypoints(waypoints, 5), [[0, 1], [1, 1], [2, 1], [2, 2], [2, 3]])
    np.testing.assert_array_equal(interpolate_waypoints(waypoints[:1], 3), np.repeat(waypoints[:1], 3, axis=0))
