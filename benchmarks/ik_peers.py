"""Other IK solvers as functions `pose → joints or None`; solvers not installed are skipped."""

from __future__ import annotations

import importlib.util
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from problems import Array

from manipapy_core import Chain

Solve = Callable[[Array], "Array | None"]


@dataclass(frozen=True)
class Peer:
    """A solver, its clock and a note."""

    name: str
    solve: Solve
    clock: Callable[[], float]
    note: str = ""


def peers_of(name: str, text: str, chain: Chain) -> list[Peer]:
    makers = (roboticstoolbox, trac_ik, eaik, ssik)
    found = (maker(name, text, chain) for maker in makers if installed(maker.__name__))
    return [peer for peer in found if peer is not None]


def installed(maker: str) -> bool:
    return importlib.util.find_spec(maker) is not None


def written(text: str) -> Path:
    """The description as a temporary file."""
    with tempfile.NamedTemporaryFile("w", suffix=".urdf", delete=False, encoding="utf-8") as file:
        file.write(text)
    return Path(file.name)


def roboticstoolbox(name: str, text: str, chain: Chain) -> Peer | None:
    import roboticstoolbox as rtb

    path = written(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # RTB calls its own URDF reader deprecated
        robot = rtb.Robot.URDF(str(path))
    path.unlink()
    ets = robot.ets(start=chain.base, end=chain.tip)

    def solve(T: Array) -> Array | None:
        # its residual is half the squared error: 1e-13 is below 1e-6 m and rad
        answer = ets.ik_LM(T, tol=1e-13, slimit=100, joint_limits=True)
        if isinstance(answer, tuple):  # before version 1.2
            return answer[0] if answer[1] else None
        return answer.q if answer.success else None

    return Peer("RTB ik_LM", solve, time.thread_time)


def trac_ik(name: str, text: str, chain: Chain) -> Peer | None:
    from trac_ik import TracIK

    path = written(text)
    solver = TracIK(chain.base, chain.tip, str(path), timeout=0.05, epsilon=1e-6)
    path.unlink()
    rng = np.random.default_rng(0)
    lower, upper = np.maximum(chain.limits.lower, -np.pi), np.minimum(chain.limits.upper, np.pi)

    def solve(T: Array) -> Array | None:
        return solver.ik(T[:3, 3], T[:3, :3], rng.uniform(lower, upper))

    return Peer("TRAC-IK 50 ms", solve, time.process_time, "two threads; random seed, CPU time of all threads")


def eaik(name: str, text: str, chain: Chain) -> Peer | None:
    from manipapy_core.ik.closed_form import closed_form

    form = closed_form(chain)
    if form is None or form.held is not None:
        return None
    solver, rotation = form._whole, np.ascontiguousarray(chain.M[:3, :3].T)

    def solve(T: Array) -> Array | None:
        shifted = T.copy()
        shifted[:3, :3] = T[:3, :3] @ rotation
        answer = solver.IK(shifted)
        return answer.Q[0] if len(answer.Q) else None

    return Peer("EAIK", solve, time.thread_time, "every branch, no limits")


def ssik(name: str, text: str, chain: Chain) -> Peer | None:
    import ssik as package

    if len(chain.bodies) != chain.n or not all(body.revolute for body in chain.bodies):
        return None
    transforms = np.array([*(body.T_parent_body for body in chain.bodies), chain.T_body_tip])
    limits: NDArray[np.float64] = np.stack([chain.limits.lower, chain.limits.upper], axis=1)
    axes = np.array([body.axis for body in chain.bodies])
    arm = package.Manipulator.from_transforms(transforms, axes, limits=np.clip(limits, -2 * np.pi, 2 * np.pi))
    if arm.solver_name.endswith("general_6r"):
        return None  # its derivation takes up to a minute

    def solve(T: Array) -> Array | None:
        solutions = arm.solve(T)
        return solutions[0].q if solutions else None

    return Peer("ssik", solve, time.thread_time, "every branch within limits, windings too")
