"""Base class of control laws, and the declaration and validation of their gains."""

from __future__ import annotations

import abc
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...dynamics import GRAVITY, Payload
from ...errors import InputError
from ...model.chain import Chain
from ...typing import Array
from ..arm_model import ArmModel
from ..state import Reference, State

Gains = Mapping[str, ArrayLike]
"""Gains by name; one number stands for all joints (or all axes)."""


class GainShape(enum.Enum):
    """Shape of a gain."""

    JOINTS = "one per joint"
    TWIST = "six, angular first, in the tip frame"
    SCALAR = "one"

    def shape(self, chain: Chain) -> tuple[int, ...]:
        if self is GainShape.JOINTS:
            return (chain.n,)
        return (6,) if self is GainShape.TWIST else ()


@dataclass(frozen=True)
class Gain:
    """Declaration of a gain."""

    name: str
    shape: GainShape
    unit: str
    text: str
    """Description for users."""
    above_zero: bool = False
    """Whether zero is refused, because the law divides by the gain."""


class GainError(InputError):
    """An invalid gain."""

    def __init__(self, law: str, gain: str, reason: str):
        super().__init__(f"gain {gain!r} of law {law!r}: {reason}")
        self.law, self.gain, self.reason = law, gain, reason


def checked_gains(
    law: str, specification: Sequence[Gain], chain: Chain, defaults: Gains, given: Gains | None
) -> Mapping[str, Array]:
    """The defaults with the given gains in their place, all checked, as read-only arrays.

    Raises:
        GainError: A name that the law does not have, a wrong shape, or a number that is negative or not finite.
    """
    given = given or {}
    names = [gain.name for gain in specification]
    for name in given:
        if name not in names:
            raise GainError(law, name, f"there is no such gain; this law has: {', '.join(names) or 'none'}")
    checked = {}
    for gain in specification:
        values = given[gain.name] if gain.name in given else defaults[gain.name]
        checked[gain.name] = _checked(law, gain, chain, values)
    return MappingProxyType(checked)


def _checked(law: str, gain: Gain, chain: Chain, values: ArrayLike) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise GainError(law, gain.name, f"{values!r} is not a list of numbers [{gain.unit}]") from None
    shape = gain.shape.shape(chain)
    if array.shape not in ((), shape):
        expected = f"{gain.shape.value}, shape {shape}" if shape else "one number"
        raise GainError(law, gain.name, f"has shape {array.shape}; give {expected} [{gain.unit}]")
    array = np.array(np.broadcast_to(array, shape))
    wrong = ~np.isfinite(array) | (array < 0.0) | (gain.above_zero & (array == 0.0))
    if wrong.any():
        where = int(np.flatnonzero(wrong)[0])
        of = f" of joint {chain.joint_names[where]!r}" if gain.shape is GainShape.JOINTS else ""
        bound = "above zero" if gain.above_zero else "zero or above"
        value = float(np.atleast_1d(array)[where])
        raise GainError(law, gain.name, f"value {value!r}{of} must be finite and {bound} [{gain.unit}]")
    array.setflags(write=False)
    return array


class Law(abc.ABC):
    """Control law: joint efforts from state and reference.

    A law is constructed outside the loop, where it may compile and allocate; `step` does neither. The gains of a law
    are fixed: `with_gains` makes another law, and `LawSwitcher` blends from one to the other.

    Args:
        chain: The arm.
        gains: By name, in place of the defaults; see `GAINS`.
        gravity: In the base frame [m/s²], shape (3,).
        payload: Held by the tip.

    Raises:
        GainError: An invalid gain.
    """

    name: ClassVar[str]
    """Name in parameter files."""
    GAINS: ClassVar[tuple[Gain, ...]]
    follows: ClassVar[bool] = True
    """Whether the law follows the reference; False: the arm may be guided by hand."""
    stiff: ClassVar[bool] = True
    """Whether a large tracking error is a fault; False: the law yields to contact by design."""
    cartesian: ClassVar[bool] = False
    """Whether the law acts along the axes of the tip, so that singularities matter."""

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
        self.friction_effort = np.zeros(chain.n)
        """Part of the last efforts that balances the joint friction of the description [N m or N], shape (n,)."""
        self._prepare()

    def _prepare(self) -> None:  # noqa: B027
        """Binds gains and allocates buffers, once."""

    @classmethod
    @abc.abstractmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        """Default gains for an arm, from its inertia."""

    @abc.abstractmethod
    def step(self, state: State, reference: Reference, dt: float) -> Array:
        """Joint efforts [N m or N], shape (n,): a buffer of the law, valid until the next step.

        NaN if the state or the reference is not finite.

        Args:
            state: Measured or filtered.
            reference: Desired.
            dt: Time since the last step [s].
        """

    def start(self, state: State, reference: Reference, tau: Array) -> None:  # noqa: B027
        """Resets the law at a state; laws with an internal state choose it to continue from the efforts `tau`."""

    def with_gains(self, gains: Gains) -> Law:
        """The same law with other gains; gains that are not given stay."""
        merged: dict[str, ArrayLike] = {**self.gains, **gains}
        return type(self)(self.chain, merged, gravity=self.model.gravity, payload=self.model.payload)

    def with_payload(self, payload: Payload | None) -> Law:
        """The same law with another payload."""
        return type(self)(self.chain, dict(self.gains), gravity=self.model.gravity, payload=payload)

    def take_over(self, other: Law) -> None:  # noqa: B027
        """Takes over the internal state of a law of the same class; called after `start`."""
