"""Robust control: a sliding mode with a boundary layer, on top of one pass of RNEA."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import ArrayLike

from ...model.chain import Chain
from ..kernels import clamp
from ..state import Array, Reference, State
from .gains import Gain, GainShape
from .joint import BANDWIDTH
from .law import Law


def robust_acceleration(
    q: Any,
    qd: Any,
    q_ref: Any,
    qd_ref: Any,
    qdd_ref: Any,
    slope: Any,
    reach: Any,
    robustness: Any,
    per_layer: Any,
) -> Any:
    """Acceleration that brings one joint to the surface and keeps it there."""
    rate_error = qd_ref - qd
    surface = rate_error + slope * (q_ref - q)
    return qdd_ref + slope * rate_error + reach * surface + robustness * clamp(per_layer * surface, 1.0)


class SlidingMode(Law):
    """tau = ID(q, qd, qdd_ref + slope ė + reach s + robustness · sat(s / layer)), with s = ė + slope e.

    On the surface s = 0 the error dies out as exp(−slope t), whatever the masses. `robustness` must exceed the
    acceleration that a wrong model causes. A pure sign would chatter; within the layer it is a straight line, which
    leaves an error of at most layer / slope (Slotine and Li, Applied Nonlinear Control, 7.2).
    """

    name = "robust"
    GAINS = (
        Gain("slope", GainShape.JOINTS, "1/s", "rate at which the error dies out on the surface"),
        Gain("reach", GainShape.JOINTS, "1/s", "rate at which the surface is reached"),
        Gain("robustness", GainShape.JOINTS, "rad/s² or m/s²", "disturbing acceleration that is overcome"),
        Gain("layer", GainShape.JOINTS, "rad/s or m/s", "thickness of the boundary layer", above_zero=True),
    )

    def _prepare(self) -> None:
        slope, reach, robustness, layer = (self.gains[gain.name] for gain in self.GAINS)
        self._constants = (slope, reach, robustness, 1.0 / layer, *self.model.inputs)
        gains = ("slope", "reach", "robustness", "per_layer")
        self._kernel: Any = self.model.bind_law(self.name, robust_acceleration, gains)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        return {"slope": BANDWIDTH, "reach": BANDWIDTH, "robustness": 50.0, "layer": 0.25}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        q, qd, tau = state.q, state.qd, self._tau
        if not self._kernel(q, qd, reference.q, reference.qd, reference.qdd, *self._constants, tau):
            tau.fill(math.nan)
        return tau
