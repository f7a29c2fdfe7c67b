"""Faulty control laws for tests of the guard."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from manipapy_core.control import Reference, State
from manipapy_core.control.laws import ComputedTorque
from manipapy_core.model.chain import Chain

Array = NDArray[np.float64]


class FaultyLaw(ComputedTorque):
    """Computed torque whose efforts are changed by a fault after a number of ticks."""

    name = "faulty"

    def __init__(self, chain: Chain, fault: Callable[[Array, int], Array], after: int = 0):
        super().__init__(chain)
        self.fault, self.after, self.ticks = fault, after, 0

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        self.ticks += 1
        tau = super().step(state, reference, dt)
        return self.fault(tau, self.ticks - self.after) if self.ticks > self.after else tau


def push(joint: int, effort: float) -> Callable[[Array, int], Array]:
    """Adds an effort to a joint [N m]."""

    def fault(tau: Array, _: int) -> Array:
        tau = tau.copy()
        tau[joint] += effort
        return tau

    return fault


def force(joint: int, effort: float) -> Callable[[Array, int], Array]:
    """Sets a joint to a fixed effort [N m]."""

    def fault(tau: Array, _: int) -> Array:
        tau = tau.copy()
        tau[joint] = effort
        return tau

    return fault


def chatter(joint: int, effort: float) -> Callable[[Array, int], Array]:
    """An effort that changes its sign with every tick [N m]."""

    def fault(tau: Array, tick: int) -> Array:
        tau = tau.copy()
        tau[joint] += effort if tick % 2 else -effort
        return tau

    return fault


def not_a_number(tau: Array, _: int) -> Array:
    tau = tau.copy()
    tau[1] = np.nan
    return tau


def crash(tau: Array, _: int) -> Array:
    raise RuntimeError("the law fell over")
