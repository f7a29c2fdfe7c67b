"""Compiles, or reads from the disk, all that planning needs, so that no request has to wait for it."""

from __future__ import annotations

import threading

import numpy as np

from .. import ik, kinematics
from ..geometry import Checker
from . import rrt_connect
from .blend import BlendedPath
from .bounds import MotionBounds
from .shortcut import shorten
from .space import STEP, PlanningSpace
from .time_laws import timed_trajectory

_lock = threading.Lock()
_ready: set[str] = set()


def make_ready(checker: Checker) -> None:
    """Runs every compiled function once. Takes half a minute after installation, a second or two in a new process.

    `plan` does this at its first call, before its clock starts; a node does it when it is configured.
    """
    chain = checker.body.chain
    name = f"{chain.robot_name}/{chain.base}/{chain.tip}/{chain.n}"
    with _lock:
        if name in _ready:
            return
        low = np.where(np.isfinite(chain.limits.lower), chain.limits.lower, -np.pi)
        high = np.where(np.isfinite(chain.limits.upper), chain.limits.upper, np.pi)
        begin, end = 0.6 * low + 0.4 * high, 0.4 * low + 0.6 * high
        space = PlanningSpace.around(checker, begin, end[None])
        trees = rrt_connect.Trees.planted(begin, end[None], 0)
        rrt_connect.straight(space, trees, STEP)
        rrt_connect.search(space, trees, 1, STEP)
        corners = np.stack([begin, 0.5 * (begin + end) + 0.01 * (high - low) * np.arange(chain.n) / chain.n, end])
        shorten(space, corners, tries=1)
        ones = np.ones(chain.n)
        bounds = MotionBounds(low, high, ones, ones, 1e6 * ones, np.inf * ones)
        timed_trajectory(BlendedPath(corners, np.array([1e-3])), bounds, space=space)
        T = kinematics.forward(chain, begin)
        ik.solve(chain, T, q_seed=begin)
        ik.solve_batch(chain, T[None], q_seed=begin)
        ik.track(chain, T[None], begin)
        _ready.add(name)
