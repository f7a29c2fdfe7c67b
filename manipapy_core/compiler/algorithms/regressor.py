"""The dynamics as a matrix times the inertial parameters, for identification and adaptive control."""

from __future__ import annotations

from typing import Any

from ..mechanism import JointMotion, JointPlacement, Mechanism, along_axis, joint_motions
from ..spatial import ZERO, Vector, add, cross, matvec, matvec_transposed, scale
from .dynamics import RigidInertia, momentum_of, velocity_factor, wrench_in_body, wrench_to_parent

PARAMETERS = 10
"""Per body: mass, first moment (3), inertia xx, xy, xz, yy, yz, zz, in the frame of the body's link."""


def regressor(mechanism: Mechanism, q: Any, qd: Any, qd_ref: Any, qdd: Any, gravity: Vector) -> list[Any]:
    """Y of Y π = M qdd + C(q, qd) qd_ref + g, with the Christoffel C: n × 10·bodies, row by row.

    With qd_ref = qd this is inverse dynamics; Slotine and Li's adaptive law uses its own reference velocity.
    """
    motions = joint_motions(mechanism, q)
    Y: list[list[Any]] = [[] for _ in range(mechanism.n)]
    for index, state in enumerate(_states(mechanism, motions, qd, qd_ref, qdd, gravity)):
        _append_columns(Y, mechanism, motions, index, mechanism.bodies[index].link, state)
    return [entry for row in Y for entry in row]


def payload_regressor(mechanism: Mechanism, q: Any, qd: Any, qdd: Any, gravity: Vector) -> list[Any]:
    """Derivative of the joint efforts by the parameters of a payload in the tip frame: n × 10, row by row."""
    motions = joint_motions(mechanism, q)
    Y: list[list[Any]] = [[] for _ in range(mechanism.n)]
    tip = mechanism.tip
    if tip.body < 0:
        return [0.0] * (mechanism.n * PARAMETERS)
    states = _states(mechanism, motions, qd, qd, qdd, gravity)
    _append_columns(Y, mechanism, motions, tip.body, tip, states[tip.body])
    return [entry for row in Y for entry in row]


def _states(
    mechanism: Mechanism, motions: list[JointMotion], qd: Any, qd_ref: Any, qdd: Any, gravity: Vector
) -> list[_State]:
    states: list[_State] = []
    for body, motion in zip(mechanism.bodies, motions):
        rates = [values[body.dof] * body.ratio for values in (qd, qd_ref, qdd)]
        before = states[body.parent] if body.parent >= 0 else _State.at_rest(gravity)
        states.append(before.carried(motion, body.revolute, *rates))
    return states


def _append_columns(
    Y: list[list[Any]],
    mechanism: Mechanism,
    motions: list[JointMotion],
    index: int,
    placement: JointPlacement,
    state: _State,
) -> None:
    """Adds the effort of every joint per inertial parameter of a frame on a body."""
    in_frame = state.expressed_in(placement)
    for parameter in range(PARAMETERS):
        efforts: list[Any] = [0.0] * mechanism.n
        moment, force = wrench_in_body(placement, in_frame.unit_wrench(parameter))
        j = index
        while j >= 0:
            other = mechanism.bodies[j]
            efforts[other.dof] = efforts[other.dof] + along_axis(other, moment, force)
            if other.parent >= 0:
                moment, force = wrench_to_parent(motions[j], moment, force)
            j = other.parent
        for row, effort in zip(Y, efforts):
            row.append(effort)


class _State:
    """Twist, reference twist and reference acceleration of a body, each as (angular, linear)."""

    def __init__(self, twist: Any, reference: Any, acceleration: Any):
        self.twist, self.reference, self.acceleration = twist, reference, acceleration

    @classmethod
    def at_rest(cls, gravity: Vector) -> _State:
        return cls((ZERO, ZERO), (ZERO, ZERO), (ZERO, scale(-1.0, gravity)))

    def carried(self, motion: Any, revolute: bool, rate: Any, reference_rate: Any, acceleration: Any) -> _State:
        twist = _along(_carry(motion, self.twist), revolute, rate)
        reference = _along(_carry(motion, self.reference), revolute, reference_rate)
        w, v = twist
        # d(axis)/dt = twist × axis, times the reference rate
        dw, dv = ([w[1], -w[0], 0.0], [v[1], -v[0], 0.0]) if revolute else (ZERO, [w[1], -w[0], 0.0])
        angular, linear = _carry(motion, self.acceleration)
        moving = (add(angular, scale(reference_rate, dw)), add(linear, scale(reference_rate, dv)))
        return _State(twist, reference, _along(moving, revolute, acceleration))

    def expressed_in(self, placement: Any) -> _State:
        """The same motion at a frame fixed to the body."""

        def at(pair: Any) -> Any:
            angular, linear = pair
            linear = add(linear, cross(angular, placement.translation))
            return matvec_transposed(placement.rotation, angular), matvec_transposed(placement.rotation, linear)

        return _State(at(self.twist), at(self.reference), at(self.acceleration))

    def unit_wrench(self, parameter: int) -> list[Any]:
        """Wrench on a body that has one inertial parameter equal to 1 and all others 0: I a + B v_ref."""
        basis = [0.0] * PARAMETERS
        basis[parameter] = 1.0
        inertia = RigidInertia(basis[0], basis[1:4], basis[4:10])
        moment, force = momentum_of(inertia, *self.acceleration)
        factor, momentum = velocity_factor(inertia, *self.twist)
        angular = self.reference[0]
        return [*add(moment, matvec(factor, angular)), *add(force, cross(angular, momentum))]


def _carry(motion: Any, pair: Any) -> Any:
    angular, linear = pair
    return motion.to_child(angular), motion.to_child(add(linear, cross(angular, motion.translation)))


def _along(pair: Any, revolute: bool, rate: Any) -> Any:
    angular, linear = pair
    step = [0.0, 0.0, rate]
    return (add(angular, step), linear) if revolute else (angular, add(linear, step))
