"""How far the tip is from a direction in which it cannot move."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.kernels import bind
from ...model.chain import Chain
from ..state import State


class ConditionNumber:
    """Ratio of the largest to the smallest singular value of the body Jacobian, followed over time.

    With fewer than six joints the smallest is the last of as many as there are joints: such an arm is not singular
    for lack of joints alone.
    """

    def __init__(self, chain: Chain):
        self._jacobian: Any = bind(chain, "body_jacobian")
        self._J = np.zeros((6, chain.n))
        self._last = np.inf

    def update(self, state: State) -> tuple[float, bool]:
        """The number now, and whether it is falling."""
        self._jacobian(state.q, self._J)
        values = np.linalg.svd(self._J, compute_uv=False)
        number = float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf
        leaving = number < self._last
        self._last = number
        return number, leaving
