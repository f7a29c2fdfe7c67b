"""Judgement of a recorded motion: speed, distance beyond a stop, distance kept from an obstacle."""

from __future__ import annotations

import numpy as np

from manipapy_core import kinematics, lie
from manipapy_core.geometry import Box, RobotBody, World
from manipapy_core.geometry.exact import ExactChecker
from manipapy_core.model.chain import Chain
from manipapy_core.trajectory import BrakingLimits
from manipapy_ros.sim_bridge.truth_log import Truth

REACTION = 0.05
"""Time before an arm must begin to brake [s]: more than twice the command timeout of the drives."""
AT_REST = 0.01
"""[rad/s or m/s]"""
END = 0.3
"""Part at the end of a record in which the arm must be at rest [s]."""
SAMPLES = 60
"""Configurations of a record whose distance from an obstacle is computed."""


def peak_ratio(chain: Chain, truth: Truth) -> float:
    """Largest speed over its limit."""
    return float((np.abs(truth.qd) / chain.limits.velocity).max())


def after(truth: Truth, seconds: float) -> Truth:
    """The part from a simulated time after the start of the record on [s]; at least the last step."""
    first = min(int(np.searchsorted(truth.time, truth.time[0] + seconds)), len(truth.time) - 1)
    return truth.since(truth.wall[first])


def beyond_braking(chain: Chain, truth: Truth, *, gentle: bool = False) -> float:
    """Tip distance from the start of the record beyond that of an ideal stop [m].

    Args:
        gentle: The stop is a requested one: on the path, so that all joints come to rest at the same time, with the
            accelerations of normal motion.
    """
    limits = BrakingLimits.of(chain)
    q, qd = truth.q[0], truth.qd[0]
    brake, speed = limits.brake, np.maximum(np.abs(qd), 1e-9)
    if gentle:
        brake = speed / (speed / limits.acceleration).max()
    stop = np.abs(qd) / brake
    times = np.linspace(0.0, REACTION + float(stop.max()), 200)
    late = np.maximum(times - REACTION, 0.0)[:, None]
    t = np.minimum(late, stop)
    path = q + qd * np.minimum(times, REACTION)[:, None] + np.sign(qd) * (np.abs(qd) * t - 0.5 * brake * t * t)
    allowed = np.linalg.norm(tips(chain, path) - tips(chain, path[:1]), axis=1).max()
    return float(np.linalg.norm(tips(chain, truth.q) - tips(chain, truth.q[:1]), axis=1).max() - allowed)


def rest_time(truth: Truth) -> float:
    """Simulated time from the start of the record to rest [s]."""
    moving = np.abs(truth.qd).max(axis=1) > AT_REST
    return float(truth.time[moving][-1] - truth.time[0]) if moving.any() else 0.0


def rests_at_end(truth: Truth) -> bool:
    """Whether the arm is at rest in the last part of the record."""
    return rest_time(truth) < float(truth.time[-1] - truth.time[0]) - END


def tips(chain: Chain, q: np.ndarray) -> np.ndarray:
    """Tip positions [m], shape (..., 3)."""
    return kinematics.forward(chain, q)[..., :3, 3]


class Obstacle:
    """A box that an arm must not touch.

    Args:
        body: Of the arm.
        at: Centre [m], shape (3,).
        size: [m], shape (3,).
    """

    def __init__(self, body: RobotBody, at: np.ndarray, size: np.ndarray):
        self.at, self.size = np.asarray(at, float), np.asarray(size, float)
        world = World()
        world.add("obstacle", Box(self.size), lie.pose(translation=self.at))
        self._checker = ExactChecker(body, world)

    def distance(self, q: np.ndarray) -> float:
        """Exact distance of the arm in one configuration, negative in contact [m]."""
        return min(found.distance for found in self._checker.contacts(q) if "obstacle" in (found.first, found.second))

    def kept(self, truth: Truth) -> float:
        """Smallest distance along a record [m]."""
        rows = np.unique(np.linspace(0, len(truth.q) - 1, SAMPLES).astype(int))
        return min(self.distance(q) for q in truth.q[rows])
