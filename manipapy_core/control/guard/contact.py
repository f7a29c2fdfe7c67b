"""Contact detection: efforts that nothing in the model explains, by a generalized-momentum observer.

The momentum p = M(q) qd obeys p' = tau + C^T qd − g − f + tau_ext. Its observer

    r = K (p − ∫ (tau + C^T qd − g − f + r) dt)

follows the external efforts tau_ext like a low-pass filter with the bandwidth K, without measured accelerations and
without inverting M (De Luca and Mattone 2005; Haddadin, De Luca and Albu-Schäffer 2017, IV-E). It needs what was sent
to the arm, so it works in effort mode only.

What the model does not know well is passed through the same filter and added to the threshold: efforts that act later
than assumed, friction of a joint that hardly moves, and a share of the efforts of acceleration.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import joint_units
from ...compiler import (
    GRAVITY_INPUT,
    PAYLOAD_INPUT,
    UNLIMITED,
    Input,
    Mechanism,
    absolute,
    compile_formula,
    largest,
    mechanism_of,
)
from ...compiler.algorithms import dynamics
from ...compiler.scalar import sqrt
from ...compiler.spatial import ZERO
from ...model.chain import Chain
from ...typing import Array
from ..arm_model import ArmModel
from .checks import Action, Check, GuardSettings, Verdict

MAX_GAP = 0.0125
"""After a longer time between two states nothing is compared: the drives may have braked by themselves [s]."""
STICKING = 0.01
"""Coulomb friction has its full size above a few times this velocity [rad/s or m/s]: below, it may be anything."""
TOLERATED = 0.05
"""Share of the threshold below which a residual is nothing that had to be tolerated."""
SETTLING = 5.0
"""Time constants of the filter after which the residual shows external efforts that were there before."""
EXCESS = -1
"""Index of the last number of the result."""


def observe(mechanism: Mechanism, loaded: bool, *values: Sequence[Any]) -> list[Any]:
    """Momentum, model efforts, residual and its uncertainty of all joints, then the largest excess over a threshold.

    Straight-line code over any scalar. Between two states the model efforts are the mean of both.

    Args:
        values: q, qd, the four rows of the state before, efforts between both states, efforts before those, when (one
            over the time between the states [1/s], share of the filter in that time, delay of efforts that is
            tolerated over that time, share of the efforts of acceleration), and joint by joint damping, friction
            and threshold; then gravity and payload.
    """
    q, qd, before, tau, last, when, joints, gravity = values[:8]
    n, payload = mechanism.n, values[8] if loaded else None
    per_gap, share, late, moving = when
    damping, friction, threshold = joints[:n], joints[n : 2 * n], joints[2 * n :]
    zeros = [0.0] * n
    p = dynamics.inverse_dynamics(mechanism, q, zeros, qd, ZERO, payload=payload)
    weight = dynamics.inverse_dynamics(mechanism, q, zeros, zeros, gravity, payload=payload)
    C = dynamics.coriolis_matrix(mechanism, q, qd, payload=payload)
    turning = [sum((C[n * i + j] * qd[i] for i in range(n)), 0.0) for j in range(n)]
    slipping = [v * (1.0 / sqrt(v * v + STICKING**2)) for v in qd]
    drag = [d * v + f * s for d, v, f, s in zip(damping, qd, friction, slipping)]
    known = [t - g - f for t, g, f in zip(turning, weight, drag)]
    residual, unsure = [], []
    for j in range(n):
        rate = (p[j] - before[j]) * per_gap
        r, u = before[2 * n + j], before[3 * n + j]
        residual.append(r + share * (rate - tau[j] - 0.5 * (known[j] + before[n + j]) - r))
        sticking = friction[j] * (1.0 - absolute(slipping[j]))
        unsure.append(u + share * (late * absolute(tau[j] - last[j]) + moving * absolute(rate) + sticking - u))
    excess = [absolute(r) - u - most for r, u, most in zip(residual, unsure, threshold)]
    return [*p, *known, *residual, *unsure, largest(excess)]


@functools.lru_cache(maxsize=16)
def observer_kernel(chain: Chain, loaded: bool) -> Any:
    """Compiled `observe`: kernel(values…, out), out of shape (4 n + 1,)."""
    mechanism = mechanism_of(chain)
    n = mechanism.n
    inputs = [
        Input("q", (n,), angle=True),
        Input("qd", (n,)),
        Input("before", (4 * n,)),
        Input("tau", (n,)),
        Input("tau_last", (n,)),
        Input("when", (4,)),
        Input("joints", (3 * n,)),
        GRAVITY_INPUT,
        *((PAYLOAD_INPUT,) if loaded else ()),
    ]
    return compile_formula(
        "contact_observer_payload" if loaded else "contact_observer",
        inputs,
        (4 * n + 1,),
        functools.partial(observe, mechanism, loaded),
    )


class ContactObserver:
    """External efforts on the joints of one arm, from states and the efforts sent.

    Args:
        chain: The arm.
        settings: Bandwidth and thresholds.
        model: Dynamics with gravity and payload.
    """

    def __init__(self, chain: Chain, settings: GuardSettings, model: ArmModel):
        n = self._n = chain.n
        self.chain = chain
        self._kernel: Any = observer_kernel(chain, model.payload is not None)
        self._inputs = model.inputs
        self._bandwidth, self._late = settings.contact_bandwidth, settings.reaction_time
        self._base = np.minimum(settings.contact_threshold * chain.limits.effort, UNLIMITED)
        self._tolerated = np.zeros(n)
        """Residual at the last reset, as far as it has not fallen since: an arm in contact may move away [N m or N]."""
        self._tolerates, self._settling = False, 0.0
        self._joints = np.concatenate([chain.damping, chain.friction, self._base])
        self._when = np.array([0.0, 0.0, 0.0, settings.contact_dynamic])
        self._now, self._next = np.zeros(4 * n + 1), np.zeros(4 * n + 1)
        self._tau, self._last = np.zeros(n), np.zeros(n)
        """Mean of the efforts since the last state, and between the two states before [N m or N]."""
        self._count = 0
        self._stamp = -math.inf
        self.found = False
        """Whether the residual is above its threshold."""

    @classmethod
    def of(cls, chain: Chain, settings: GuardSettings, model: ArmModel) -> ContactObserver | None:
        """None if contacts are not to be detected."""
        return cls(chain, settings, model) if settings.contact_threshold > 0.0 else None

    @property
    def residual(self) -> Array:
        """Estimated external efforts [N m or N], shape (n,): a buffer."""
        return self._now[2 * self._n : 3 * self._n]

    @property
    def threshold(self) -> Array:
        """Residual that is a contact [N m or N], shape (n,)."""
        found: Array = self._joints[2 * self._n :] + self._now[3 * self._n : 4 * self._n]
        return found

    def observe(self, q: Array, qd: Array, stamp: float, tau: Array) -> None:
        """Takes the state of a tick; one with the last stamp only adds to the efforts.

        Args:
            q: Measured positions [rad or m], shape (n,).
            qd: Measured velocities [rad/s or m/s], shape (n,).
            stamp: When they were measured [s].
            tau: Efforts sent in the last tick [N m or N], shape (n,).
        """
        self._count += 1
        if self._count == 1:
            self._tau[:] = tau
        else:
            np.subtract(tau, self._tau, self._next[: self._n])
            np.divide(self._next[: self._n], self._count, self._next[: self._n])
            np.add(self._tau, self._next[: self._n], self._tau)
        gap = stamp - self._stamp
        if gap == 0.0:
            return
        when = self._when
        if 0.0 < gap < MAX_GAP:
            turned = self._bandwidth * gap
            when[0], when[1], when[2] = 1.0 / gap, turned / (1.0 + turned), self._late / gap
        else:
            when[:3] = 0.0
        before, found = self._now[:-1], self._next
        if not self._kernel(q, qd, before, self._tau, self._last, when, self._joints, *self._inputs, found):
            self.restart()
            return
        self._now, self._next = self._next, self._now
        self._tau, self._last = self._last, self._tau
        self._count, self._stamp = 0, stamp
        self.found = self._now.item(EXCESS) > 0.0
        if self._tolerates:
            self._tolerate(gap)

    def restart(self) -> None:
        """Begins again with the next state, as after states that were not accepted, or without efforts."""
        self._now.fill(0.0)
        self._count, self._stamp, self.found = 0, -math.inf, False

    def forgive(self) -> None:
        """Tolerates the external efforts of the next moment, until they fall: an arm in contact may move away."""
        self._tolerated[:] = np.inf
        self._settling = SETTLING / self._bandwidth
        self._tolerates = True

    def _tolerate(self, gap: float) -> None:
        if self._settling > 0.0:
            self._settling -= min(gap, MAX_GAP)
            self.found = False
            return
        if self._tolerated[0] == np.inf:
            self.found = False  # by the threshold without what is tolerated from now on
        np.minimum(self._tolerated, np.abs(self.residual), out=self._tolerated)
        np.add(self._base, self._tolerated, out=self._joints[2 * self._n :])
        self._tolerates = bool((self._tolerated > TOLERATED * self._base).any())
        if not self._tolerates:
            self._joints[2 * self._n :] = self._base

    def verdict(self) -> Verdict:
        """A stop that names the joint and the residual."""
        threshold = self.threshold
        j = int((np.abs(self.residual) - threshold).argmax())
        unit = "N m" if joint_units(self.chain)[j] == "rad" else "N"
        amount, limit = float(abs(self.residual[j])), float(threshold[j])
        what = "external effort"
        return Verdict(Action.STOP, Check.CONTACT, what, self.chain.joint_names[j], amount, limit, unit)
