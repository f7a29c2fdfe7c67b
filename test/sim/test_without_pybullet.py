"""Behaviour without PyBullet."""

from __future__ import annotations

import subprocess
import sys

ABSENT = "import sys; sys.modules['pybullet'] = None\n"  # makes `import pybullet` fail


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_simulation_does_not_load_pybullet():
    assert run("import sys, manipapy_core.sim\nprint('pybullet' in sys.modules)").strip() == "False"


def test_missing_pybullet_error_names_the_extra():
    text = run(
        ABSENT + "from manipapy_core.sim import SimWorld, SimulationUnavailable\n"
        "try:\n    SimWorld()\nexcept SimulationUnavailable as error:\n    print(error)"
    )
    assert "pip install 'manipapy[sim]'" in text
    if sys.version_info >= (3, 12):
        assert "no wheel for Python 3.12" in text


def test_scene_files_can_be_checked_without_pybullet():
    assert run(ABSENT + "from manipapy_core.sim import read_scene\nprint(read_scene('table').name)").strip() == "table"


def test_gui_without_a_display_is_refused():
    text = run(
        "import os; os.environ.pop('DISPLAY', None)\n"
        "from manipapy_core.sim import SimWorld, SimulationUnavailable\n"
        "try:\n    SimWorld(gui=True)\nexcept SimulationUnavailable as error:\n    print(error)"
    )
    assert "DISPLAY" in text or "manipapy[sim]" in text
