"""Robust control: a sliding mode with a boundary layer, on top of one pass of RNEA."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...model.chain import Chain
from ..state import Array, Reference, State
from .gains import Gain, GainShape
from .joint import BANDWIDTH
from .law import Law


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
        self._slope, self._reach = self.gains["slope"], self.gains["reach"]
        self._robustness, self._per_layer = self.gains["robustness"], 1.0 / self.gains["layer"]
        self._acceleration, self._surface, self._scratch = (np.zeros(self.chain.n) for _ in range(3))

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        return {"slope": BANDWIDTH, "reach": BANDWIDTH, "robustness": 10.0, "layer": 0.1}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        acceleration, surface, scratch = self._acceleration, self._surface, self._scratch
        np.subtract(reference.qd, state.qd, surface)
        np.multiply(surface, self._slope, acceleration)
        np.add(acceleration, reference.qdd, acceleration)
        np.subtract(reference.q, state.q, scratch)
        np.multiply(scratch, self._slope, scratch)
        np.add(surface, scratch, surface)

        np.multiply(surface, self._reach, scratch)
        np.add(acceleration, scratch, acceleration)
        np.multiply(surface, self._per_layer, scratch)
        # minimum and maximum, unlike fmin and fmax, let NaN through to the guard
        np.minimum(scratch, 1.0, scratch)
        np.maximum(scratch, -1.0, scratch)
        np.multiply(scratch, self._robustness, scratch)
        np.add(acceleration, scratch, acceleration)
        self.model.inverse_dynamics(state.q, state.qd, acceleration, self._tau)
        return self._tau
