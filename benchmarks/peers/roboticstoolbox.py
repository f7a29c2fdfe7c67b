"""Robotics Toolbox for Python: C++ for poses and Jacobians, Python for the dynamics of a URDF."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import roboticstoolbox as rtb
from measure import version_of
from problems import Array, Problem

VERSION = version_of("roboticstoolbox-python")
NOTE = (
    "read from the same URDF, whose rne is Python; its C rne serves DH tables only and is timed on the UR5 and Panda "
    "it ships, with masses of its own (row 'inverse_dynamics, C, own DH')"
)
_DH = {"ur5": "UR5", "panda": "Panda"}


def calls(problem: Problem, q: Array, qd: Array, qdd: Array) -> dict[str, Callable[[], object]]:
    """One call per quantity, on one state; joints off the chain stay at zero."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")  # it calls its own URDF reader deprecated
        path = Path(folder) / "robot.urdf"
        path.write_text(problem.text, encoding="utf-8")
        robot = rtb.Robot.URDF(str(path))
    padded = [np.concatenate([values, np.zeros(robot.n - len(values))]) for values in (q, qd, qdd)]
    gravity = [0.0, 0.0, -9.81]  # it names gravity by the acceleration of what falls
    tip = problem.tip

    def inverse_dynamics() -> Array:
        return robot.rne(*padded, gravity=gravity)[: len(q)]

    def forward() -> object:
        return robot.fkine(padded[0], end=tip)

    def body_jacobian() -> object:
        return robot.jacobe(padded[0], end=tip)

    jobs: dict[str, Callable[[], object]] = {job.__name__: job for job in (inverse_dynamics, forward, body_jacobian)}
    if problem.name in _DH:
        shipped = getattr(rtb.models.DH, _DH[problem.name])()
        jobs["inverse_dynamics, C, own DH"] = lambda: shipped.rne(q, qd, qdd)
    return jobs
