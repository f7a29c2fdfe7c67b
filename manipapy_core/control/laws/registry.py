"""From one law to another, or to other gains, without a jump of the torque.

Every law by its name.
"""

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
    """Runs one law, and after a change lets the difference to the last efforts die out.

    At the first tick of a new law its effort is compared with what the arm got last. That difference is added and
    fades over the blend time. Only one law runs at a time, so a faulty law has no say once it is replaced, and the
    transition is just as smooth from a hold or from a clipped effort.

    Args:
        law: The first law.
        blend_time: How long a difference takes to fade [s].
    """

    def __init__(self, law: Law, blend_time: float = 0.2):
        self.law = law
        self.blend_time = positive(blend_time, "blend_time", "s")
        self._last = np.zeros(law.chain.n)
        """What the arm got in the last tick."""
        self._offset, self._tau = np.zeros(law.chain.n), np.zeros(law.chain.n)
        self._elapsed = self.blend_time
        self._former: Law | None = law
        """The law before the last change, until the new one has taken over."""

    @property
    def blending(self) -> bool:
        """True while a difference to the former law has not faded."""
        return self._former is not None or self._elapsed < self.blend_time

    @property
    def starting(self) -> bool:
        """True: the next step begins with a law, so it must be told what was `applied`."""
        return self._former is not None

    def switch(self, law: Law) -> None:
        """Another law from the next step on."""
        self._former = self._former or self.law
        self.law = law

    def restart(self) -> None:
        """The same law, started anew at the next step: after a hold, or when the reference jumped."""
        self._former = self._former or self.law

    def applied(self, tau: Array) -> None:
        """What the arm really got in this tick [N m or N]; where the next law starts from."""
        self._last[:] = tau

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        """Efforts of the law and what is left of the last change [N m or N], shape (n,): a buffer."""
        if self._former is not None:
            return self._take_over(self._former, state, reference, dt)
        tau = self.law.step(state, reference, dt)
        if self._elapsed >= self.blend_time:
            return tau
        self._elapsed += dt
        np.multiply(self._offset, self._remaining(), self._tau)
        np.add(self._tau, tau, self._tau)
        return self._tau

    def _take_over(self, former: Law, state: State, reference: Reference, dt: float) -> Array:
        law, self._former = self.law, None
        law.start(state, reference, self._last)
        if law is not former and type(law) is type(former):
            law.remember(former)
        np.subtract(self._last, law.step(state, reference, dt), self._offset)
        self._elapsed = 0.0
        self._tau[:] = self._last
        if not np.isfinite(self._offset).all():
            # Nothing to be continuous with: the guard shall see what the law says.
            self._offset.fill(0.0)
            self._tau.fill(np.nan)
        return self._tau

    def _remaining(self) -> float:
        """Share of the offset that is left: a cubic from 1 to 0 with level ends."""
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
"""Classes by the names that parameter files use."""


class UnknownLaw(InputError):
    """A law name that does not exist."""

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
    """A law for this arm, with default gains where none are given.

    Compiles what it needs, so make it away from the loop.

    Args:
        name: One of `LAWS`.
        gains: By name, in place of the defaults.
        gravity: In the base frame [m/s²], shape (3,).
        payload: What the tip holds.

    Raises:
        UnknownLaw: There is no law of this name.
        GainError: A gain that cannot be used.
    """
    return law_class(name)(chain, gains, gravity=gravity, payload=payload)


def law_class(name: str) -> type[Law]:
    """The class of a law, which lists its gains (`GAINS`) and their defaults (`default_gains`)."""
    if name not in LAWS:
        raise UnknownLaw(name)
    return LAWS[name]
