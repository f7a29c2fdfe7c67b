"""Gains of a law: what there is, in which unit, and that what a user gives can be used."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...model.chain import Chain
from ..state import Array

Gains = Mapping[str, ArrayLike]
"""Gains by name; one number stands for all joints (or all axes)."""


class GainShape(enum.Enum):
    """How many numbers a gain has."""

    JOINTS = "one per joint"
    TWIST = "six, angular first, in the tip frame"
    SCALAR = "one"

    def shape(self, chain: Chain) -> tuple[int, ...]:
        if self is GainShape.JOINTS:
            return (chain.n,)
        return (6,) if self is GainShape.TWIST else ()


@dataclass(frozen=True)
class Gain:
    """One gain that a law has."""

    name: str
    shape: GainShape
    unit: str
    text: str
    """What it does."""
    above_zero: bool = False
    """True: the law divides by it, so zero is refused."""


class GainError(InputError):
    """A gain that cannot be used."""

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
        wanted = f"{gain.shape.value}, shape {shape}" if shape else "one number"
        raise GainError(law, gain.name, f"has shape {array.shape}; give {wanted} [{gain.unit}]")
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
