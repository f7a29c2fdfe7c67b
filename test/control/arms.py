"""Arms for closed-loop tests: a chain, a plant that is integrated at 1 kHz, and a controller between them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from manipapy_core import Robot
from manipapy_core.control import (
    ArmController,
    ControllerSettings,
    Hold,
    Law,
    Reference,
    SimulatedArm,
    State,
)
from manipapy_core.model.chain import Chain
from manipapy_core.trajectory import BrakingLimits, JointTrajectory

Array = NDArray[np.float64]
DT = 1e-3
"""[s]"""
FAR_SIDE_TIMEOUT = 0.02
"""Command timeout after which the drives hold by themselves [s]."""

# With the acceleration limits that come with the robots.
UR5 = Robot.from_urdf("ur5").chain("base_link", "tool0")
PANDA = Robot.from_urdf("panda").chain("panda_link0", "panda_hand")
ARMS = {"ur5": UR5, "panda": PANDA}

HOME = {
    "ur5": np.array([0.0, -1.2, 1.2, -1.2, -1.57, 0.0]),
    "panda": np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.6, 0.8]),
}
AWAY = {
    "ur5": np.array([1.0, -0.7, 0.6, -0.5, -1.0, 0.8]),
    "panda": np.array([0.8, 0.2, -0.5, -1.2, 0.5, 2.2, 0.2]),
}


def quintic(start: Array, goal: Array, duration: float, t: float) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of a motion from rest to rest."""
    u = min(max(t / duration, 0.0), 1.0)
    delta = goal - start
    s, ds, dds = u**3 * (10 - 15 * u + 6 * u * u), 30 * u * u * (1 - u) ** 2, 60 * u * (1 - 3 * u + 2 * u * u)
    return start + s * delta, ds / duration * delta, dds / duration**2 * delta


def follow(
    law: Law,
    motion: Callable[[float], tuple[Array, Array, Array]],
    duration: float,
    *,
    plant: Chain | None = None,
) -> Array:
    """Tracking errors of a law, one row per tick [rad]; the real arm may differ from the model of the law."""
    q, qd, _ = motion(0.0)
    arm = SimulatedArm(plant or law.chain, q, qd)
    reference = Reference.at_rest(q)
    errors = []
    for tick in range(round(duration / DT)):
        reference.q[:], reference.qd[:], reference.qdd[:] = motion(tick * DT)
        errors.append(reference.q - arm.q)
        arm.step(law.step(arm.state, reference, DT), DT)
    return np.array(errors)


def heavier(chain: Chain, factor: float) -> Chain:
    """The same arm with all masses and inertias multiplied."""
    bodies = tuple(
        replace(body, mass=factor * body.mass, moment=factor * body.moment, inertia=factor * body.inertia)
        for body in chain.bodies
    )
    return replace(chain, bodies=bodies)


def rms(errors: Array) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def random_motion(chain: Chain, seed: int) -> tuple[State, Reference]:
    """A state and a reference near it, both within the limits."""
    rng = np.random.default_rng(seed)
    lower, upper = np.clip(chain.limits.lower, -3, 3), np.clip(chain.limits.upper, -3, 3)
    q, qd = rng.uniform(lower, upper), rng.normal(size=chain.n)
    near = [q + 0.1 * rng.normal(size=chain.n), qd + 0.2 * rng.normal(size=chain.n), rng.normal(size=chain.n)]
    return State(q, qd), Reference(*near)


@dataclass
class Rig:
    """A controller and a simulated arm, ticked together; records positions, velocities and efforts."""

    controller: ArmController
    arm: SimulatedArm
    now: float = 100.0
    measure: Callable[[Rig], tuple[Array, Array, float]] = field(default=lambda rig: rig.truth())
    """Measurement for the controller; tests inject faults here."""
    disturb: Callable[[Rig], Array] | None = None
    """External efforts [N m], shape (n,)."""
    q: list[Array] = field(default_factory=list)
    qd: list[Array] = field(default_factory=list)
    tau: list[Array] = field(default_factory=list)
    silence: float = 0.0
    """Time since the controller sent efforts [s]."""

    @classmethod
    def of(cls, name: str = "ur5", settings: ControllerSettings | None = None, **plant: object) -> Rig:
        chain = ARMS[name]
        return cls(ArmController(chain, settings), SimulatedArm(chain, HOME[name], **plant))  # type: ignore[arg-type]

    @property
    def chain(self) -> Chain:
        return self.arm.chain

    def truth(self) -> tuple[Array, Array, float]:
        return self.arm.q.copy(), self.arm.qd.copy(), self.now

    def run(self, seconds: float, dt: float = DT) -> Rig:
        for _ in range(round(seconds / dt)):
            self.tick(dt)
        return self

    def tick(self, dt: float = DT) -> None:
        """One tick of the controller; its efforts act on the arm until the next, in steps of a millisecond."""
        tau = self._efforts_of_drives(self.controller.tick(self.now, *self.measure(self)), dt)
        assert np.isfinite(tau).all(), "only finite numbers reach the arm"
        assert (np.abs(tau) <= self.chain.limits.effort + 1e-9).all(), "efforts stay within their limits"
        applied = tau.copy()
        for _ in range(round(dt / DT)):
            self.arm.step(applied if self.disturb is None else applied + self.disturb(self), DT)
            self.q.append(self.arm.q.copy())
            self.qd.append(self.arm.qd.copy())
            self.tau.append(applied)
        self.now += dt

    def _efforts_of_drives(self, tau: Array | None, dt: float) -> Array:
        """Efforts on the arm: without new ones the last, after the timeout those of the drives' own hold."""
        if tau is not None:
            self.silence = 0.0
            return tau
        assert self.tau, "nothing is sent before the first joint state"
        hold = self._far_side
        hold.update(self.arm.state)
        if self.silence < FAR_SIDE_TIMEOUT <= self.silence + dt:
            hold.capture()
        self.silence += dt
        limit = self.chain.limits.effort
        return np.clip(hold.step(dt), -limit, limit) if self.silence >= FAR_SIDE_TIMEOUT else self.tau[-1]

    @functools.cached_property
    def _far_side(self) -> Hold:
        return Hold(self.chain, BrakingLimits.of(self.chain, 2.0), payload=self.arm.model.payload)

    def mark(self) -> int:
        """Number of recorded steps."""
        return len(self.q)

    def still_within(self, mark: int, seconds: float, speed: float = 0.02) -> bool:
        """Whether, from a time after a mark on [s], no joint moved faster than `speed` [rad/s]."""
        after = np.array(self.qd[mark + round(seconds / DT) :])
        assert len(after), "run the rig for longer"
        return bool((np.abs(after) < speed).all())


def move(chain: Chain, goal: Array, duration: float, **options: object) -> JointTrajectory:
    """One point, reached at rest after a time: a quintic from wherever the arm is."""
    zero = np.zeros((1, chain.n))
    return JointTrajectory([duration], [goal], zero, zero, **options, joint_names=chain.joint_names)  # type: ignore[arg-type]
