"""The planners and trajectories that manipapy is compared with: ompl on the same checker, and ManipulaPy."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from problems import ROOT  # noqa: F401  (puts the library and the tests' problems on the path)

from manipapy_core.motion.planners.ompl import simple_setup
from manipapy_core.motion.space import RANGE, PlanningSpace
from manipapy_core.trajectory import JointTrajectory, Spline
from motion.scenes import Problem

Array = NDArray[np.float64]

FINE_TRAVEL, FINE_TURN = 1e-3, np.deg2rad(0.25)
"""How far points of the arm [m] and joints [rad] move between two looks of coal at a finished trajectory."""


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def ompl_seconds(space: PlanningSpace, problem: Problem, limit: float, *, motion_validator: bool) -> float:
    """CPU time of ompl's RRT-Connect for one problem; infinite if it did not solve it in the time."""
    from ompl import base, geometric, util

    util.setLogLevel(util.LogLevel.LOG_NONE)
    setup, keep = simple_setup(
        base, geometric, space, problem.start, problem.goal[None], motion_validator=motion_validator
    )
    planner = geometric.RRTConnect(setup.getSpaceInformation())
    planner.setRange(RANGE)
    setup.setPlanner(planner)
    setup.setup()
    start = time.thread_time()
    solved = bool(setup.solve(limit)) and setup.haveExactSolutionPath()
    taken = time.thread_time() - start
    del keep
    return taken if solved else float("inf")


def dense_configurations(trajectory: JointTrajectory, space: PlanningSpace) -> Array:
    """Configurations along a finished trajectory, as a controller interpolates it, at fine steps, shape (N, n)."""
    ways = np.abs(np.diff(trajectory.positions, axis=0))
    counts = np.ceil(np.maximum(ways @ space.reaches / FINE_TRAVEL, ways.max(axis=1) / FINE_TURN)).astype(int) + 1
    interval = np.repeat(np.arange(len(counts)), counts)
    share = (np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)) / counts[interval]
    return Spline.of(trajectory).positions_within(interval, share)


def manipulapy_batch(
    text: str, starts: Array, goals: Array, duration: float, samples: int
) -> dict[str, Callable[[], object]]:
    """ManipulaPy's batch of quintic trajectories on the CPU: with the threads that it takes itself, and with one."""
    import logging

    import numba

    logging.disable(logging.WARNING)
    from ManipulaPy.path_planning import OptimizedTrajectoryPlanning
    from ManipulaPy.urdf_processor import URDFToSerialManipulator

    with tempfile.NamedTemporaryFile("w", suffix=".urdf", delete=False, encoding="utf-8") as file:
        file.write(text)
    path = Path(file.name)
    processor = URDFToSerialManipulator(str(path))
    limits = [(-10.0, 10.0)] * starts.shape[1]
    planner = OptimizedTrajectoryPlanning(
        processor.serial_manipulator, str(path), processor.dynamics, limits, use_cuda=False
    )
    path.unlink()
    threads = numba.config.NUMBA_NUM_THREADS

    def run(count: int) -> object:
        numba.set_num_threads(count)
        try:
            return planner.batch_joint_trajectory(starts, goals, duration, samples, 5)
        finally:
            numba.set_num_threads(threads)

    return {"ManipulaPy, all cores": lambda: run(threads), "ManipulaPy, one thread": lambda: run(1)}
