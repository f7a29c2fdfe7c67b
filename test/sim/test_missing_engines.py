"""Choice of the physics engine, and behaviour without one or both of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from manipapy_core.errors import InputError
from manipapy_core.sim import DEFAULT_SIMULATOR, Simulator, SimWorld
from manipapy_core.sim.engine import chosen_simulator

WITHOUT = "import sys; sys.modules[{!r}] = None\n"  # makes its import fail
ABSENT = "".join(WITHOUT.format(simulator.value) for simulator in Simulator)


def run(code: str) -> tuple[str, str]:
    """Standard output and standard error of a program."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_importing_the_simulation_loads_no_engine():
    code = "import sys, manipapy_core.sim\nprint('pybullet' in sys.modules, 'mujoco' in sys.modules)"
    assert run(code)[0].strip() == "False False"


@pytest.mark.parametrize("missing", list(Simulator))
def test_the_other_engine_is_used_with_a_warning(missing):
    pytest.importorskip(missing.other.value)
    text, warning = run(
        WITHOUT.format(missing.value) + "from manipapy_core.sim import SimWorld\n"
        f"with SimWorld(simulator={missing.value!r}) as world:\n    world.step(3)\n    print(world.simulator.value)"
    )
    assert text.split()[-1] == missing.other.value
    assert f"{missing.value} is not installed" in warning and "manipapy[sim]" in warning


def test_error_without_any_engine_names_the_extra():
    text, _ = run(
        ABSENT + "from manipapy_core.sim import SimWorld, SimulationUnavailable\n"
        "try:\n    SimWorld()\nexcept SimulationUnavailable as error:\n    print(error)"
    )
    assert "pip install 'manipapy[sim]'" in text and "MuJoCo" in text and "PyBullet" in text


def test_scene_files_and_images_need_no_engine():
    code = "from manipapy_core.sim import RenderReplica, read_scene\nRenderReplica()\nprint(read_scene('table').name)"
    assert run(ABSENT + code)[0].strip() == "table"


def test_engine_is_chosen_by_name(simulator):
    with SimWorld(simulator=simulator.value) as world:
        assert world.simulator is simulator
    with SimWorld() as world:  # the fixture has made it the default
        assert world.simulator is simulator
    with pytest.raises(InputError, match="mujoco, pybullet"):
        SimWorld(simulator="gazebo")


def test_default_is_mujoco():
    pytest.importorskip("mujoco")
    assert DEFAULT_SIMULATOR is Simulator.MUJOCO is chosen_simulator("") is chosen_simulator(None)


@pytest.mark.parametrize("simulator", [item.value for item in Simulator])
def test_gui_without_a_display_is_refused(simulator):
    pytest.importorskip(simulator)
    text, _ = run(
        "import os; os.environ.pop('DISPLAY', None)\n"
        "from manipapy_core.sim import SimWorld, SimulationUnavailable\n"
        f"try:\n    SimWorld(gui=True, simulator={simulator!r})\n"
        "except SimulationUnavailable as error:\n    print(error)"
    )
    assert "DISPLAY" in text
