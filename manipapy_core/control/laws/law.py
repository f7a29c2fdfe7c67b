"""What every control law is: gains that are checked once, memory that can be reset, one `step` per tick."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...dynamics import GRAVITY, Payload
from ...model.chain import Chain
from ..arm_model import ArmModel
from ..state import Array, Reference, State
from .gains import Gain, Gains, checked_gains


class Law(abc.ABC):
    """From what the arm does and should do to joint efforts.

    A law is made away from the loop, where it may compile and allocate; `step` does neither. Gains never change
    within a law: `with_gains` makes another one, and `LawSwitcher` moves from one to the other without a jump.

    Args:
        chain: The arm.
        gains: By name, in place of the defaults; see `GAINS`.
        gravity: In the base frame [m/s²], shape (3,).
        payload: What the tip holds.

    Raises:
        GainError: A gain that cannot be used.
    """

    name: ClassVar[str]
    """How users and parameter files call it."""
    GAINS: ClassVar[tuple[Gain, ...]]
    follows: ClassVar[bool] = True
    """True: the arm is meant to be at the reference; False: it may be led away from it."""
    stiff: ClassVar[bool] = True
    """True: being far from the reference is a fault; False: the law yields to contact by design."""
    cartesian: ClassVar[bool] = False
    """True: acts along the axes of the tip, so singular configurations matter."""

    def __init__(
        self,
        chain: Chain,
        gains: Gains | None = None,
        *,
        gravity: ArrayLike = GRAVITY,
        payload: Payload | None = None,
    ):
        self.chain = chain
        self.model = ArmModel(chain, gravity=gravity, payload=payload)
        defaults = self.default_gains(chain)
        self.gains: Mapping[str, Array] = checked_gains(self.name, self.GAINS, chain, defaults, gains)
        self._tau = np.zeros(chain.n)
        self._prepare()

    def _prepare(self) -> None:  # noqa: B027
        """Binds gains and allocates buffers, once."""

    @classmethod
    @abc.abstractmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        """Sensible gains for this arm, from its masses."""

    @abc.abstractmethod
    def step(self, state: State, reference: Reference, dt: float) -> Array:
        """Joint efforts [N m or N], shape (n,): a buffer of the law, valid until the next step.

        NaN if the state or the reference is not finite.

        Args:
            state: What the arm does now.
            reference: What it should do now.
            dt: Time since the last step [s].
        """

    def start(self, state: State, reference: Reference, tau: Array) -> None:  # noqa: B027
        """Begins anew at a state, forgetting the past; laws with memory choose it to go on from the efforts `tau`."""

    def with_gains(self, gains: Gains) -> Law:
        """A law of the same kind with other gains; those not given stay."""
        merged: dict[str, ArrayLike] = {**self.gains, **gains}
        return type(self)(self.chain, merged, gravity=self.model.gravity, payload=self.model.payload)

    def with_payload(self, payload: Payload | None) -> Law:
        """The same law for an arm that holds something else."""
        return type(self)(self.chain, dict(self.gains), gravity=self.model.gravity, payload=payload)

    def remember(self, other: Law) -> None:  # noqa: B027
        """Takes over what a law of the same kind has learnt so far; called after `start`."""
