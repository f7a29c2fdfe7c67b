"""Machine code lives as long as something can call it, and no longer; a crash would take the process with it."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np

import manipapy_core
from manipapy_core import Robot, kinematics
from manipapy_core.compiler import bind
from reference.cases import RPRPRR


def run(script: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, whose death is a result and not the end of all tests."""
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(script)],
        cwd=Path(manipapy_core.__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_chains_come_and_go() -> None:
    finished = run(
        """
        import gc
        import numpy as np
        from manipapy_core import Robot, dynamics, kinematics
        robot = Robot.from_urdf("ur5")
        first = None
        for _ in range(30):
            chain = robot.chain("base_link", "tool0")
            pose = kinematics.forward(chain, np.full(6, 0.3))
            forces = dynamics.gravity_forces(chain, np.full(6, 0.3))
            del chain
            gc.collect()
            first = pose if first is None else first
            assert (pose == first).all()
        print("alive")
        """
    )
    assert finished.stdout.strip() == "alive", finished.stderr


def test_dropped_chains_do_not_disturb_later_compilations() -> None:
    finished = run(
        """
        import gc
        import numpy as np
        from manipapy_core import Robot, kinematics
        robot = Robot.from_urdf("panda")
        joints = [name for name, joint in robot.joints.items() if joint.type.moves]
        for value in (0.01, 0.02, 0.03, 0.04):
            chain = robot.chain("panda_link0", "panda_hand", fixed={"panda_joint2": value})
            kinematics.forward(chain, np.zeros(chain.n))
            kinematics.body_jacobian(chain, np.zeros(chain.n))
            del chain
            gc.collect()
        print("alive")
        """
    )
    assert finished.stdout.strip() == "alive", finished.stderr


def test_a_bound_kernel_outlives_its_chain() -> None:
    chain = Robot.from_urdf(RPRPRR.text).chain(RPRPRR.base, RPRPRR.tip)
    q, out = np.full(6, 0.2), np.empty((4, 4))
    expected = kinematics.forward(chain, q)
    kernel = bind(chain, "forward")
    del chain
    gc.collect()
    assert kernel(q, out)
    np.testing.assert_array_equal(out, expected)


def test_leaving_the_process_is_quiet() -> None:
    finished = run(
        """
        import numpy as np
        from manipapy_core import Robot, kinematics
        from manipapy_core.compiler import bind
        chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
        kernel = bind(chain, "forward")
        cycle = [chain, kernel]
        cycle.append(cycle)
        kinematics.forward(chain, np.zeros((2000, 6)), threads=2)
        """
    )
    assert finished.returncode == 0 and finished.stderr == "", finished.stderr
