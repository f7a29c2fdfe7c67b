"""Registry of control laws by name, and the switch between laws without a jump of the efforts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from ...checks import positive
from ...dynamics import GRAVITY, Payload
from ...errors import InputError
from ...model.chain import Chain
from ...typing import Array
from ..state import Reference, State
from .adaptive import Adaptive
from .cartesian import CartesianImpedance
from .law import Gains, Law
from .model_based import ComputedTorque, Feedforward, GravityCompensation, JointImpedance, PDGravity, SlidingMode
from .pid import PD, PID


class LawSwitcher:
    """Runs one law, and blends out the difference to the last efforts after a change of law.

    At the first tick of a new law, the difference between the last efforts and its own is stored as an offset, which
    fades over the blend time. Only one law runs at a time, so a faulty law has no effect once it is replaced, and the
    transition is as smooth from a hold or from clipped efforts.

    Args:
        law: The first law.
        blend_time: Time in which the offset fades [s].
    """

    def __init__(self, law: Law, blend_time: float = 0.2):
        self.law = law
        self.blend_time = positive(blend_time, "blend_time", "s")
        self._last = np.zeros(law.chain.n)
        """Efforts of the last tick."""
        self._offset, self._tau = np.zeros(law.chain.n), np.zeros(law.chain.n)
        self._elapsed = self.blend_time
        self._former: Law | None = law
        """The law before the last change, until the new one has taken over."""

    @property
    def blending(self) -> bool:
        """Whether the offset to the former law has not faded yet."""
        return self._former is not None or self._elapsed < self.blend_time

    @property
    def starting(self) -> bool:
        """Whether the next step starts a law, so that `applied` must be called first."""
        return self._former is not None

    def switch(self, law: Law) -> None:
        """Switches to another law with the next step."""
        self._former = self._former or self.law
        self.law = law

    def restart(self) -> None:
        """Restarts the law with the next step: after a hold, or a jump of the reference."""
        self._former = self._former or self.law

    def applied(self, tau: Array) -> None:
        """Sets the efforts of the last tick [N m or N], from which the next law starts."""
        self._last[:] = tau

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        """Efforts of the law plus the remaining offset [N m or N], shape (n,): a buffer."""
        if self._former is not None:
            return self._start_law(self._former, state, reference, dt)
        tau = self.law.step(state, reference, dt)
        if self._elapsed >= self.blend_time:
            return tau
        self._elapsed += dt
        np.multiply(self._offset, self._remaining(), self._tau)
        np.add(self._tau, tau, self._tau)
        return self._tau

    def _start_law(self, former: Law, state: State, reference: Reference, dt: float) -> Array:
        law, self._former = self.law, None
        law.start(state, reference, self._last)
        if law is not former and type(law) is type(former):
            law.take_over(former)
        np.subtract(self._last, law.step(state, reference, dt), self._offset)
        self._elapsed = 0.0
        self._tau[:] = self._last
        if not np.isfinite(self._offset).all():
            # No valid efforts to blend from: NaN goes to the guard.
            self._offset.fill(0.0)
            self._tau.fill(np.nan)
        return self._tau

    def _remaining(self) -> float:
        """Remaining share of the offset: a cubic from 1 to 0 with zero slope at both ends."""
        u = min(self._elapsed / self.blend_time, 1.0)
        return (1.0 - u) ** 2 * (1.0 + 2.0 * u)


_ALL: tuple[type[Law], ...] = (
    PD,
    PID,
    PDGravity,
    ComputedTorque,
    Feedforward,
    SlidingMode,
    Adaptive,
    JointImpedance,
    CartesianImpedance,
    GravityCompensation,
)

LAWS: Mapping[str, type[Law]] = MappingProxyType({law.name: law for law in _ALL})
"""Classes by name, as in parameter files."""


class UnknownLaw(InputError):
    """No law has this name."""

    def __init__(self, name: str):
        super().__init__(f"no control law {name!r}; there are: {', '.join(LAWS)}")
        self.name, self.available = name, tuple(LAWS)


def make_law(
    name: str,
    chain: Chain,
    gains: Gains | None = None,
    *,
    gravity: ArrayLike = GRAVITY,
    payload: Payload | None = None,
) -> Law:
    """Makes a law, with default gains where none are given.

    Compiles kernels: call it outside the loop.

    Args:
        name: One of `LAWS`.
        gains: By name, in place of the defaults.
        gravity: In the base frame [m/s²], shape (3,).
        payload: Held by the tip.

    Raises:
        UnknownLaw: There is no law of this name.
        GainError: An invalid gain.
    """
    return law_class(name)(chain, gains, gravity=gravity, payload=payload)


def law_class(name: str) -> type[Law]:
    """The class of a law, which lists its gains (`GAINS`) and their defaults (`default_gains`)."""
    if name not in LAWS:
        raise UnknownLaw(name)
    return LAWS[name]
