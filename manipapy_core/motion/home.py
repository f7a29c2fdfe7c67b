"""A home position: free of collisions, within the efforts, away from singularities and limits."""

from __future__ import annotations

import numpy as np

from .. import dynamics, singularity
from ..errors import InputError
from ..geometry import Checker, Plane, RobotBody, World
from ..model.robot import Robot
from ..typing import Array

HOME_CANDIDATES = 4000
HOME_CLEARANCE = 0.02
"""Distance that home keeps to the floor and to other links, where possible [m]."""
HOME_EFFORT = 0.8
"""Share of the effort limits that holds the arm at home, where possible: a motion from there needs some too."""
FLOOR_SAMPLES = 1024
HOME_STEP = 0.1
"""Home positions are multiples of this [rad or m]."""
_FLOOR = "floor"


class NoHome(InputError):
    """No sampled configuration is free of collisions."""

    def __init__(self, robot: str, count: int):
        super().__init__(
            f"all of {count} sampled configurations of {robot!r} collide with the robot itself or the floor below its "
            "root; check the collision shapes (manipapy describe), or choose another --base or --tip"
        )
        self.robot, self.count = robot, count


def floor_world(body: RobotBody, robot: Robot) -> World:
    """A world with a floor through the origin of the root link, in the base frame of the chain.

    It is empty where the robot is in contact with that floor at all of many random configurations, as a mobile base
    that stands on wheels is: the height of its floor is not known.
    """
    chain, world = body.chain, World()
    T_base_root = chain.link_placements[chain.link_names.index(robot.root)][1]
    world.add(_FLOOR, Plane(), T_base_root)
    q = np.random.default_rng(0).uniform(*chain.limits.sampling_range, (FLOOR_SAMPLES, chain.n))
    free = ~Checker(body).check(q)
    if free.any() and Checker(body, world).check(q[free]).all():
        world.remove(_FLOOR)
    return world


def find_home(checker: Checker, gravity: Array = dynamics.GRAVITY) -> Array:
    """A configuration that collides with nothing, away from singularities and limits [rad or m], shape (n,).

    Args:
        gravity: In the base frame [m/s²], shape (3,).

    Raises:
        NoHome: Every sampled configuration collides.
    """
    chain = checker.body.chain
    lower, upper = (np.clip(bound, -np.pi, np.pi) for bound in (chain.limits.lower, chain.limits.upper))
    rng = np.random.default_rng(0)
    sampled = HOME_STEP * np.round(rng.uniform(lower, upper, (HOME_CANDIDATES, chain.n)) / HOME_STEP)
    candidates = np.clip(np.vstack([np.zeros(chain.n), sampled]), lower, upper)
    for clearance in (HOME_CLEARANCE, 0.0):
        free = candidates[~checker.padded(clearance, self_padding=0.5 * clearance).check(candidates)]
        if len(free):
            break
    else:
        raise NoHome(chain.robot_name, len(candidates))
    weight = np.abs(dynamics.gravity_forces(chain, free, gravity=gravity))
    held = (weight <= HOME_EFFORT * chain.limits.effort).all(axis=1)
    if held.any():
        free = free[held]
    dexterity = singularity.manipulability(chain, free)
    room = np.minimum(free - lower, upper - free).min(axis=1) / np.pi
    distance = np.abs(free).max(axis=1) / np.pi
    score = dexterity / max(float(dexterity.max()), 1e-12) + np.minimum(room, 0.15) - 0.5 * distance
    best: Array = np.clip(np.round(free[int(score.argmax())], 9), lower, upper)
    return best
