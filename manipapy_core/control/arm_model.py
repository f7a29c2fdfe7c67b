"""Dynamics of one arm for the control loop, and an arm simulated with them.

`ArmModel` binds the compiled kernels to a gravity vector and a payload. Its methods write into `out`. An input that is
not finite makes the whole result NaN, which the guard turns into a stop; a stale but plausible torque would be worse.
`SimulatedArm` integrates the forward dynamics, to test control laws without a simulator.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import joint_vector
from ..compiler import GRAVITY_INPUT, PAYLOAD_INPUT, Input, Mechanism, bind, compile_formula, mechanism_of
from ..compiler.algorithms import dynamics as algorithms
from ..compiler.spatial import ZERO
from ..dynamics import GRAVITY, Payload
from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array
from .state import State


class ArmModel:
    """Compiled dynamics of a chain with a fixed gravity vector and payload.

    Args:
        chain: The arm.
        gravity: In the base frame [m/s²], shape (3,).
        payload: Held by the tip.
    """

    def __init__(self, chain: Chain, *, gravity: ArrayLike = GRAVITY, payload: Payload | None = None):
        vector = np.array(gravity, dtype=np.float64)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise InputError(f"gravity is {gravity!r}; give three finite numbers in the base frame [m/s²]")
        self.chain, self.gravity, self.payload = chain, vector, payload
        suffix = "" if payload is None else "_payload"
        extras: tuple[Array, ...] = () if payload is None else (np.array(payload.parameters),)
        self._inverse: Any = bind(chain, f"inverse_dynamics{suffix}")
        self._forward: Any = bind(chain, f"forward_dynamics{suffix}")
        self.inputs = (vector, *extras)
        """Arguments of every dynamics kernel besides the motion: gravity and, if there is one, the payload."""
        self._zero = np.zeros(chain.n)

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array, out: Array) -> None:
        """Efforts for a motion: M qdd + C qd + g [N m or N], shape (n,)."""
        if not self._inverse(q, qd, qdd, *self.inputs, out):
            out.fill(math.nan)

    def gravity_forces(self, q: Array, out: Array) -> None:
        """Efforts that hold the arm against gravity [N m or N], shape (n,)."""
        self.inverse_dynamics(q, self._zero, self._zero, out)

    def forward_dynamics(self, q: Array, qd: Array, tau: Array, out: Array) -> None:
        """Accelerations from efforts [rad/s² or m/s²], shape (n,)."""
        if not self._forward(q, qd, tau, *self.inputs, out):
            out.fill(math.nan)

    def passive_dynamics(self, q: Array, qd: Array, qd_ref: Array, qdd_ref: Array, out: Array) -> None:
        """M(q) qdd_ref + C(q, qd) qd_ref + g(q), with the Christoffel C: shape (n,).

        A law built on it leaves the arm's own C(q, qd) in the error dynamics, where its power cancels that of a
        changing M: the closed loop is passive (Paden and Panja 1988), which full cancellation of C qd is not.
        """
        if not self._passive(q, qd, qd_ref, qdd_ref, *self.inputs, out):
            out.fill(math.nan)

    def bind_law(self, name: str, acceleration: Callable[..., Any], gains: Sequence[str]) -> Any:
        """Compiles a control law into one call: inverse dynamics of an acceleration computed from state and reference.

        Args:
            name: Of the law.
            acceleration: Desired acceleration of one joint from its q, qd, q_ref, qd_ref, qdd_ref and gains:
                straight-line code.
            gains: Names of the gains per joint.

        Returns:
            A builtin called as kernel(q, qd, q_ref, qd_ref, qdd_ref, gains…, inputs…, out), with the `inputs` of this
            model; False if a number is not finite.
        """
        return _law_kernel(self.chain, self.payload is not None, name, acceleration, tuple(gains))

    @functools.cached_property
    def _passive(self) -> Any:
        mechanism = mechanism_of(self.chain)
        joints = [Input(name, (mechanism.n,), angle=name == "q") for name in ("q", "qd", "qd_ref", "qdd_ref")]
        extras = [GRAVITY_INPUT] if self.payload is None else [GRAVITY_INPUT, PAYLOAD_INPUT]
        return compile_formula(
            "passive_dynamics" if self.payload is None else "passive_dynamics_payload",
            [*joints, *extras],
            (mechanism.n,),
            functools.partial(passive_dynamics, mechanism),
        )


MOTION = ("q", "qd", "q_ref", "qd_ref", "qdd_ref")
"""Inputs of a law per joint."""


@functools.lru_cache(maxsize=64)
def _law_kernel(chain: Chain, loaded: bool, name: str, acceleration: Callable[..., Any], gains: tuple[str, ...]) -> Any:
    mechanism = mechanism_of(chain)
    names = (*MOTION, *gains)
    joints = [Input(label, (mechanism.n,), angle=label == "q") for label in names]
    extras = [GRAVITY_INPUT, PAYLOAD_INPUT] if loaded else [GRAVITY_INPUT]

    def efforts(*values: Any) -> list[Any]:
        desired = [acceleration(*numbers) for numbers in zip(*values[: len(names)])]
        q, qd, gravity = values[0], values[1], values[len(names)]
        payload = values[-1] if loaded else None
        return list(algorithms.inverse_dynamics(mechanism, q, qd, desired, gravity, payload=payload))

    return compile_formula(
        f"{name}_payload" if loaded else name,
        [*joints, *extras],
        (mechanism.n,),
        efforts,
    )


def passive_dynamics(
    mechanism: Mechanism, q: Any, qd: Any, qd_ref: Any, qdd_ref: Any, gravity: Any, payload: Any = None
) -> list[Any]:
    """M qdd_ref + C(q, qd) qd_ref + g: straight-line code over any scalar.

    Velocity forces c are quadratic, so c(u + w) − c(u − w) = 4 C(u) w with the symmetric (Christoffel) C: two passes
    of RNEA give it without a matrix. Common subexpressions are computed once.
    """
    together = [u + w for u, w in zip(qd, qd_ref)]
    apart = [u - w for u, w in zip(qd, qd_ref)]
    twice, zeros = [2.0 * a for a in qdd_ref], [0.0] * mechanism.n
    more = algorithms.inverse_dynamics(mechanism, q, together, twice, ZERO, payload=payload)
    less = algorithms.inverse_dynamics(mechanism, q, apart, [-a for a in twice], ZERO, payload=payload)
    weight = algorithms.inverse_dynamics(mechanism, q, zeros, zeros, gravity, payload=payload)
    return [0.25 * (a - b) + g for a, b, g in zip(more, less, weight)]


class SimulatedArm:
    """A rigid arm driven by efforts, integrated by semi-implicit Euler.

    Semi-implicit Euler needs one evaluation per step and does not gain energy. Viscous damping is that of the robot
    description; there is no Coulomb friction, no joint stop and no contact.

    Args:
        chain: The arm.
        q: Initial positions [rad or m], shape (n,).
        qd: Initial velocities [rad/s or m/s], shape (n,); at rest if not given.
        gravity: In the base frame [m/s²], shape (3,).
        payload: Real payload of the tip; that of a control law may differ.
    """

    def __init__(
        self,
        chain: Chain,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        *,
        gravity: ArrayLike = GRAVITY,
        payload: Payload | None = None,
    ):
        self.chain = chain
        self.model = ArmModel(chain, gravity=gravity, payload=payload)
        velocity = np.zeros(chain.n) if qd is None else joint_vector(qd, chain, "qd")
        self.state = State(joint_vector(q, chain, "q"), velocity)
        self.time = 0.0
        """Simulated time [s]."""
        self._qdd, self._effort = np.zeros(chain.n), np.zeros(chain.n)
        self._damped = bool(chain.damping.any())

    @property
    def q(self) -> Array:
        """Joint positions [rad or m], shape (n,); changes with every step."""
        return self.state.q

    @property
    def qd(self) -> Array:
        """Joint velocities [rad/s or m/s], shape (n,); changes with every step."""
        return self.state.qd

    def step(self, tau: Array, dt: float) -> None:
        """Advances the simulation with constant efforts.

        Args:
            tau: Joint efforts [N m or N], shape (n,).
            dt: Time step [s].
        """
        state = self.state
        self._effort[:] = tau
        if self._damped:
            self._effort -= self.chain.damping * state.qd
        self.model.forward_dynamics(state.q, state.qd, self._effort, self._qdd)
        state.qd[:] += dt * self._qdd
        state.q[:] += dt * state.qd
        self.time += dt
