"""ManipulaPy: NumPy and Numba, one configuration at a time."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import version_of
from problems import Array, Problem

os.environ.setdefault("MANIPULAPY_QUIET", "1")
from ManipulaPy.urdf_processor import URDFToSerialManipulator

VERSION = version_of("ManipulaPy")
NOTE = (
    "read from the same URDF with its own choice of tip; it keeps mass matrices by configuration, so each timed call "
    "gets one it has not seen; it counts only the link right behind each joint and takes Coriolis terms from "
    "differences (read in its version 1.4.2)"
)


def calls(problem: Problem, q: Array, qd: Array, qdd: Array) -> dict[str, Callable[[], object]]:
    """One call per quantity; the position is nudged by 1e-9 before each, past its cache."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")  # several candidates for the tip
        path = Path(folder) / "robot.urdf"
        path.write_text(problem.text, encoding="utf-8")
        loaded = URDFToSerialManipulator(path)
    arm, dynamics = loaded.serial_manipulator, loaded.dynamics
    gravity, no_wrench = np.array([0.0, 0.0, -9.81]), np.zeros(6)
    position = q.copy()

    def fresh() -> Array:
        position[0] += 1e-9
        return position.copy()

    def inverse_dynamics() -> Array:
        return dynamics.inverse_dynamics(fresh(), qd, qdd, gravity, no_wrench)

    def forward_dynamics() -> object:
        return dynamics.forward_dynamics(fresh(), qd, qdd, gravity, no_wrench)

    def mass_matrix() -> object:
        return dynamics.mass_matrix(fresh())

    def forward() -> object:
        return arm.forward_kinematics(fresh())

    def body_jacobian() -> object:
        return arm.jacobian(fresh(), frame="body")

    return {job.__name__: job for job in (inverse_dynamics, forward_dynamics, mass_matrix, forward, body_jacobian)}
