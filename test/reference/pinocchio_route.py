"""Every public quantity of a chain or tree, computed with Pinocchio from the same URDF text.

Only one configuration at a time, in the conventions of manipapy: twists and wrenches angular first, one coordinate
per joint, mimicking joints folded into their drivers, all other joints locked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from reference.rerooting import mimics, path_joints, rerooted

Array = NDArray[np.float64]

# Pinocchio stacks a body's parameters as m, mc, xx, xy, yy, xz, yz, zz; manipapy as m, mc, xx, xy, xz, yy, yz, zz.
_PARAMETER_ORDER = np.array([0, 1, 2, 3, 4, 5, 7, 6, 8, 9])


class PinocchioRoute:
    """Pinocchio's answers for the mechanism seen from `base`, which does not move."""

    def __init__(
        self,
        text: str,
        base: str,
        tip: str,
        *,
        joint_names: Sequence[str] | None = None,
        fixed: Mapping[str, float] | None = None,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
    ):
        """Builds the model.

        Args:
            joint_names: Free joints in the order of q; the joints between base and tip when left out.
            fixed: Values of locked joints [rad or m]; zero for those not named.
        """
        self.joint_names = tuple(path_joints(text, base, tip, fixed or ()) if joint_names is None else joint_names)
        locked = dict(fixed or {})
        full = pin.buildModelFromXML(rerooted(text, base))
        rules = {name: rule for name, rule in mimics(text).items() if rule[0] in self.joint_names}
        for name, (driver, multiplier, offset) in mimics(text).items():
            if name not in rules:
                locked[name] = multiplier * locked.get(driver, 0.0) + offset
        moving = set(self.joint_names) | set(rules)
        frozen = [index for index in range(1, full.njoints) if full.names[index] not in moving]
        pose = _configuration(full, {full.names[index]: locked.get(full.names[index], 0.0) for index in frozen})
        self.model = pin.buildReducedModel(full, frozen, pose)
        self.model.gravity.linear = np.asarray(gravity, dtype=float)
        self.data = self.model.createData()
        self.tip = self.model.getFrameId(tip, pin.FrameType.BODY)
        self.spread, self.offset = self._spread(rules)

    def add_payload(self, mass: float, com: ArrayLike, inertia: ArrayLike) -> None:
        """Glues a body to the tip frame."""
        frame = self.model.frames[self.tip]
        body = pin.Inertia(mass, np.asarray(com, dtype=float), np.asarray(inertia, dtype=float))
        self.model.appendBodyToJoint(frame.parentJoint, body, frame.placement)
        self.data = self.model.createData()

    def forward(self, q: ArrayLike, link: str | None = None) -> Array:
        """Pose of the tip, or of any other link, in the base frame, (4, 4)."""
        pin.framesForwardKinematics(self.model, self.data, self._q(q))
        return self.data.oMf[self.tip if link is None else self.model.getFrameId(link, pin.FrameType.BODY)].homogeneous

    def space_jacobian(self, q: ArrayLike) -> Array:
        return self._jacobian(q, pin.ReferenceFrame.WORLD)

    def body_jacobian(self, q: ArrayLike) -> Array:
        return self._jacobian(q, pin.ReferenceFrame.LOCAL)

    def space_jacobian_derivative(self, q: ArrayLike, qd: ArrayLike) -> Array:
        return self._jacobian_derivative(q, qd, pin.ReferenceFrame.WORLD)

    def body_jacobian_derivative(self, q: ArrayLike, qd: ArrayLike) -> Array:
        return self._jacobian_derivative(q, qd, pin.ReferenceFrame.LOCAL)

    def mass_matrix(self, q: ArrayLike) -> Array:
        upper = np.triu(pin.crba(self.model, self.data, self._q(q)))
        return self.spread.T @ (upper + np.triu(upper, 1).T) @ self.spread

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        matrix = pin.computeCoriolisMatrix(self.model, self.data, self._q(q), self._v(qd))
        return self.spread.T @ matrix @ self.spread

    def coriolis_forces(self, q: ArrayLike, qd: ArrayLike) -> Array:
        bias = pin.nonLinearEffects(self.model, self.data, self._q(q), self._v(qd)).copy()
        return self.spread.T @ bias - self.gravity_forces(q)

    def gravity_forces(self, q: ArrayLike) -> Array:
        return self.spread.T @ pin.computeGeneralizedGravity(self.model, self.data, self._q(q))

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, wrench_tip: ArrayLike | None = None
    ) -> Array:
        """Joint forces; `wrench_tip` is what the tip exerts, in the tip frame, moment first."""
        forces = self.spread.T @ pin.rnea(self.model, self.data, self._q(q), self._v(qd), self._v(qdd))
        if wrench_tip is not None:
            forces = forces + self.body_jacobian(q).T @ np.asarray(wrench_tip, dtype=float)
        return forces

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, wrench_tip: ArrayLike | None = None
    ) -> Array:
        """Joint accelerations: Pinocchio's ABA, or a linear solve where mimicking joints rule it out."""
        effort = np.array(tau, dtype=float)
        if wrench_tip is not None:
            effort -= self.body_jacobian(q).T @ np.asarray(wrench_tip, dtype=float)
        if self.spread.shape[0] == self.spread.shape[1]:
            torque = self.spread @ effort
            return self.spread.T @ pin.aba(self.model, self.data, self._q(q), self._v(qd), torque)
        zero = np.zeros(len(self.joint_names))
        return np.linalg.solve(self.mass_matrix(q), effort - self.inverse_dynamics(q, qd, zero))

    def inverse_dynamics_derivatives(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """By q, by qd and by qdd, (3, n, n); needs a robot without mimics."""
        by_q, by_qd, by_qdd = pin.computeRNEADerivatives(self.model, self.data, self._q(q), self._v(qd), self._v(qdd))
        by_qdd = np.triu(by_qdd) + np.triu(by_qdd, 1).T
        return np.stack([self.spread.T @ block @ self.spread for block in (by_q, by_qd, by_qdd)])

    def forward_dynamics_derivatives(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
        """By q, by qd and by tau, (3, n, n); needs a robot without mimics."""
        torque = self.spread @ np.asarray(tau, dtype=float)
        pin.computeABADerivatives(self.model, self.data, self._q(q), self._v(qd), torque)
        inverse = np.triu(self.data.Minv) + np.triu(self.data.Minv, 1).T
        blocks = (self.data.ddq_dq, self.data.ddq_dv, inverse)
        return np.stack([self.spread.T @ block @ self.spread for block in blocks])

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Torque regressor (n, 10 bodies) in manipapy's order of parameters; needs a robot without mimics."""
        matrix = pin.computeJointTorqueRegressor(self.model, self.data, self._q(q), self._v(qd), self._v(qdd))
        return self.spread.T @ matrix.reshape(self.model.nv, -1)[:, self._parameter_columns()]

    def inertial_parameters(self) -> Array:
        """Parameters of the moving bodies, in the order of the regressor's columns."""
        stacked = np.concatenate([body.toDynamicParameters() for body in list(self.model.inertias)[1:]])
        return stacked[self._parameter_columns()]

    def _parameter_columns(self) -> NDArray[np.int64]:
        bodies = [self.model.getJointId(name) - 1 for name in self.joint_names]
        return np.concatenate([10 * body + _PARAMETER_ORDER for body in bodies])

    def _jacobian(self, q: ArrayLike, frame: pin.ReferenceFrame) -> Array:
        matrix = pin.computeFrameJacobian(self.model, self.data, self._q(q), self.tip, frame)
        return angular_first(matrix) @ self.spread

    def _jacobian_derivative(self, q: ArrayLike, qd: ArrayLike, frame: pin.ReferenceFrame) -> Array:
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self._q(q), self._v(qd))
        pin.updateFramePlacements(self.model, self.data)
        matrix = pin.getFrameJacobianTimeVariation(self.model, self.data, self.tip, frame)
        return angular_first(matrix) @ self.spread

    def _spread(self, rules: Mapping[str, tuple[str, float, float]]) -> tuple[Array, Array]:
        """Matrix and offset that turn q into one coordinate per joint of the model, in the model's order."""
        matrix, offset = np.zeros((self.model.nv, len(self.joint_names))), np.zeros(self.model.nv)
        for name in self.model.names:
            if name == "universe":
                continue
            row = self.model.idx_vs[self.model.getJointId(name)]
            driver, multiplier, shift = rules.get(name, (name, 1.0, 0.0))
            matrix[row, self.joint_names.index(driver)] = multiplier
            offset[row] = shift
        return matrix, offset

    def _q(self, q: ArrayLike) -> Array:
        coordinates = self.spread @ np.asarray(q, dtype=float) + self.offset
        model = self.model
        values = {model.names[i]: coordinates[model.idx_vs[i]] for i in range(1, model.njoints)}
        return _configuration(model, values)

    def _v(self, qd: ArrayLike) -> Array:
        return self.spread @ np.asarray(qd, dtype=float)


def _configuration(model: pin.Model, values: Mapping[str, float]) -> Array:
    """Pinocchio's q: a continuous joint is stored there as (cos, sin)."""
    q = pin.neutral(model)
    for name, value in values.items():
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
    return q


def angular_first(matrix: Array) -> Array:
    """Rows of a Jacobian in manipapy's order; Pinocchio hands out that of a single joint as a plain vector."""
    columns = matrix.reshape(6, -1)
    return np.vstack([columns[3:], columns[:3]])
