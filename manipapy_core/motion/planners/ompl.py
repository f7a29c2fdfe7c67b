"""RRT-Connect of the package ompl on the same checker, to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import MissingPackage
from ...typing import Array
from ..deadline import Deadline, Stopped
from ..result import PlanStatus
from ..space import RANGE, STEP, PlanningSpace
from .registry import FoundPath

SLICE = 0.05
"""Between two checks of the deadline [s]."""


def ompl_path(space: PlanningSpace, start: Array, goals: Array, deadline: Deadline) -> FoundPath:
    """A certainly free path by ompl's RRT-Connect, with motions checked by our checker.

    ompl has its own random numbers, so each call returns another path.

    Raises:
        Stopped: None was found, or what was found touches something between its samples.
        MissingPackage: ompl is not installed.
    """
    base, geometric, util = _ompl()
    util.setLogLevel(util.LogLevel.LOG_NONE)
    setup, vectors = simple_setup(base, geometric, space, start, goals, motion_validator=True)
    planner = geometric.RRTConnect(setup.getSpaceInformation())
    planner.setRange(RANGE)
    setup.setPlanner(planner)
    while True:
        deadline.check()
        if setup.solve(min(SLICE, max(deadline.left, 1e-3))) and setup.haveExactSolutionPath():
            break
    states = setup.getSolutionPath().getStates()
    path = np.array([[state[j] for j in range(start.size)] for state in states])
    del vectors
    if space.first_blocked(path) >= 0:
        raise Stopped(PlanStatus.NO_PATH, "ompl's path touches something between its samples; use another planner")
    return FoundPath(path, 0)


def simple_setup(
    base: Any, geometric: Any, space: PlanningSpace, start: Array, goals: Array, *, motion_validator: bool
) -> tuple[Any, Any]:
    """ompl's problem description; the second value must live as long as the first.

    Args:
        motion_validator: Our checker checks whole motions; otherwise ompl checks single configurations.
    """
    n = start.size
    vectors = base.RealVectorStateSpace(n)
    bounds = base.RealVectorBounds(n)
    for j in range(n):
        # A measured start may be beyond a limit by its noise.
        bounds.setLow(j, float(min(space.lower[j], start[j])))
        bounds.setHigh(j, float(max(space.upper[j], start[j])))
    vectors.setBounds(bounds)
    vectors.setLongestValidSegmentFraction(STEP / vectors.getMaximumExtent())
    setup = geometric.SimpleSetup(vectors)
    information = setup.getSpaceInformation()
    q = np.empty((1, n))

    def is_valid(state: Any) -> bool:
        for j in range(n):
            q[0, j] = state[j]
        return not bool(space.collides(q)[0])

    setup.setStateValidityChecker(is_valid)
    validator = None
    if motion_validator:
        validator = _motion_validator(base, information, space, n)
        information.setMotionValidator(validator)
    setup.addStartState(_state(vectors, start))
    targets = base.GoalStates(information)
    for goal in goals:
        targets.addState(_state(vectors, goal))
    setup.setGoal(targets)
    return setup, (vectors, validator, targets)


def _motion_validator(base: Any, information: Any, space: PlanningSpace, n: int) -> Any:
    class Straight(base.MotionValidator):  # type: ignore[misc]
        def checkMotion(self, first: Any, second: Any, *_: Any) -> bool:
            a = np.array([first[j] for j in range(n)])
            b = np.array([second[j] for j in range(n)])
            return space.is_free_at_samples(a, b)

    return Straight(information)


def _state(vectors: Any, q: Array) -> Any:
    state = vectors.allocState()
    for j, value in enumerate(q):
        state[j] = float(value)
    return state


def _ompl() -> tuple[Any, Any, Any]:
    try:
        from ompl import base, geometric, util
    except ImportError:
        raise MissingPackage("ompl", "Planner.OMPL", "planning") from None
    return base, geometric, util
