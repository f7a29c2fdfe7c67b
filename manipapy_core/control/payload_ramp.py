"""Changes of the payload: ramped in, as far as the external efforts show that the arm carries it.

A payload that is not there would lift the arm, and one that is cleared while it hangs at the tip would let it sink. So
the parameters go from the former to the new ones within half a second, and wait while the external efforts show that
the arm does not carry what is compensated already.
"""

from __future__ import annotations

import numpy as np

from ..dynamics import Payload
from ..model.chain import Chain
from ..typing import Array
from .arm_model import ArmModel

RAMP = 0.5
"""Shortest time from the former to the new payload [s]."""


class PayloadRamp:
    """From one payload to another.

    With w the joint efforts that hold the difference of both payloads, and r the external efforts that the present
    model does not explain, r·w / w·w is the share of w that is compensated although the arm does not carry it.

    Args:
        chain: The arm.
        model: Dynamics with the new payload, of the hold; what is written into it changes with the ramp.
        tolerance: Efforts of a payload that need not be felt, as a share of the effort limits; 0: any.
    """

    def __init__(self, chain: Chain, model: ArmModel, tolerance: float):
        assert model.payload is not None
        self._model = ArmModel(chain, gravity=model.gravity, payload=model.payload)
        """For the efforts of payloads."""
        self._target = np.array(model.payload.parameters)
        self._change, self.values = np.zeros_like(self._target), self._target.copy()
        self._tolerated = tolerance * chain.limits.effort
        self._weight, self._bare = np.zeros(chain.n), np.zeros(chain.n)
        self._models: list[ArmModel] = []
        self.share = 1.0
        """Of the change that is compensated, 0 to 1."""

    def begin(self, former: PayloadRamp | None) -> None:
        """Starts from the numbers of the former payload; none: from no payload."""
        self.values[:] = 0.0 if former is None else former.values
        np.subtract(self._target, self.values, self._change)
        self.share = 0.0

    def applies_to(self, model: ArmModel) -> None:
        """Writes the present numbers into a model, from now on at every step."""
        if model.payload is not None:
            self._models = [*self._models[-2:], model]  # of the hold, of the law and of the law before it
            model.inputs[1][:] = self.values

    def advance(self, dt: float, q: Array, residual: Array | None) -> None:
        """One step.

        Args:
            dt: [s]
            q: Measured positions [rad or m], shape (n,).
            residual: External efforts that the present model does not explain [N m or N], shape (n,); None: not known.
        """
        if residual is not None and self._unfelt(q, residual):
            return
        step = min(dt / RAMP, 1.0 - self.share)
        self.share += step
        self.values += step * self._change
        if self.share >= 1.0:
            self.values[:] = self._target
        for model in self._models:
            model.inputs[1][:] = self.values

    def _unfelt(self, q: Array, residual: Array) -> bool:
        """Whether the arm does not feel as much of the payload as is compensated."""
        if not self._tolerated.any():
            return False
        model, weight = self._model, self._weight
        model.inputs[1][:] = self._change
        model.gravity_forces(q, weight)
        model.inputs[1][:] = 0.0
        model.gravity_forces(q, self._bare)
        np.subtract(weight, self._bare, weight)
        squared = float(weight @ weight)
        if not squared > 0.0:
            return False
        unfelt = float(residual @ weight) / squared
        return bool((unfelt * np.abs(weight) > self._tolerated).any())


def following(payload: Payload | None, former: Payload | None) -> Payload | None:
    """What models are made for after a change of the payload: one of no mass in place of None, to ramp down to it."""
    return payload if payload is not None or former is None else Payload(0.0)
