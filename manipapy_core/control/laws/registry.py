"""Every law by its name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from numpy.typing import ArrayLike

from ...dynamics import GRAVITY, Payload
from ...errors import InputError
from ...model.chain import Chain
from .adaptive import Adaptive
from .cartesian import CartesianImpedance
from .gains import Gains
from .impedance import JointImpedance
from .joint import PD, PID
from .law import Law
from .model_based import ComputedTorque, Feedforward, GravityCompensation, PDGravity
from .sliding import SlidingMode

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
