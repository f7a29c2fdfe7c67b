"""Pinocchio: its C++ loop over a batch, and its Python calls one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
from problems import Array, Problem

from reference.pinocchio_route import PinocchioRoute

# One call from Python per quantity; FK and the Jacobian rates take two or three.
STATEMENTS = {
    "forward": "fk(model, data, q); place(model, data, tip)",
    "link_poses": "fk_all(model, data, q)",
    "space_jacobian": "jacobian(model, data, q, tip, world)",
    "body_jacobian": "jacobian(model, data, q, tip, local)",
    "space_jacobian_derivative": "rates(model, data, q, v); place(model, data, tip); rate(model, data, tip, world)",
    "body_jacobian_derivative": "rates(model, data, q, v); place(model, data, tip); rate(model, data, tip, local)",
    "mass_matrix": "crba(model, data, q)",
    "coriolis_matrix": "coriolis(model, data, q, v)",
    "coriolis_forces": "bias(weightless, data, q, v)",
    "gravity_forces": "gravity(model, data, q)",
    "inverse_dynamics": "rnea(model, data, q, v, a)",
    "forward_dynamics": "aba(model, data, q, v, a)",
    "regressor": "regressor(model, data, q, v, a)",
}


class Pinocchio:
    """The model with all joints off the chain locked, and the same states in Pinocchio's order."""

    def __init__(self, problem: Problem, q: Array, qd: Array, qdd: Array):
        route = PinocchioRoute(problem.text, problem.base, problem.tip, joint_names=problem.chain.joint_names)
        self.route, self.model, self.data, self.tip = route, route.model, route.data, route.tip
        self.q = np.array([route._q(row) for row in q])
        self.v, self.a = qd @ route.spread.T, qdd @ route.spread.T

    def cpp_loops(self, threads: int = 1) -> dict[str, Callable[[], object]]:
        """rneaInParallel and abaInParallel: a loop in C++ over columns, into memory at hand."""
        pool = pin.ModelPool(self.model, threads)
        q, v, a = (np.asfortranarray(values.T) for values in (self.q, self.v, self.a))
        out = np.zeros_like(v)
        return {
            "inverse_dynamics": lambda: pin.rneaInParallel(threads, pool, q, v, a, out),
            "forward_dynamics": lambda: pin.abaInParallel(threads, pool, q, v, a, out),
        }

    def python_loops(self) -> dict[str, Callable[[], object]]:
        """Tight loops over ready-made rows; results are not even kept, which spares them a copy."""
        model, data, tip = self.model, self.data, self.tip
        positions = list(self.q)
        states = list(zip(self.q, self.v, self.a, strict=True))

        def inverse_dynamics(rnea: Callable = pin.rnea) -> None:
            for q, v, a in states:
                rnea(model, data, q, v, a)

        def forward_dynamics(aba: Callable = pin.aba) -> None:
            for q, v, a in states:
                aba(model, data, q, v, a)

        def mass_matrix(crba: Callable = pin.crba) -> None:
            for q in positions:
                crba(model, data, q)

        def forward(fk: Callable = pin.forwardKinematics, place: Callable = pin.updateFramePlacement) -> None:
            for q in positions:
                fk(model, data, q)
                place(model, data, tip)

        def body_jacobian(jacobian: Callable = pin.computeFrameJacobian) -> None:
            local = pin.ReferenceFrame.LOCAL
            for q in positions:
                jacobian(model, data, q, tip, local)

        return {
            loop.__name__: loop for loop in (inverse_dynamics, forward_dynamics, mass_matrix, forward, body_jacobian)
        }

    def single_calls(self) -> dict[str, tuple[str, dict[str, object]]]:
        """Statement and names for one call of each quantity."""
        weightless = self.model.copy()
        weightless.gravity.linear = np.zeros(3)
        names: dict[str, object] = {
            "model": self.model, "weightless": weightless, "data": self.data, "tip": self.tip,
            "q": self.q[0], "v": self.v[0], "a": self.a[0],
            "world": pin.ReferenceFrame.WORLD, "local": pin.ReferenceFrame.LOCAL,
            "fk": pin.forwardKinematics, "place": pin.updateFramePlacement, "fk_all": pin.framesForwardKinematics,
            "jacobian": pin.computeFrameJacobian, "rates": pin.computeJointJacobiansTimeVariation,
            "rate": pin.getFrameJacobianTimeVariation, "crba": pin.crba, "coriolis": pin.computeCoriolisMatrix,
            "bias": pin.nonLinearEffects, "gravity": pin.computeGeneralizedGravity, "rnea": pin.rnea, "aba": pin.aba,
            "regressor": pin.computeJointTorqueRegressor,
        }  # fmt: skip
        return {name: (statement, names) for name, statement in STATEMENTS.items()}
