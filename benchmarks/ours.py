"""manipapy's public functions and bound kernels as timed jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from problems import Array, Problem

from manipapy_core import dynamics, kinematics
from manipapy_core.compiler import RECIPES, bind

COMPARED = {
    "inverse_dynamics": (dynamics.inverse_dynamics, 3),
    "forward_dynamics": (dynamics.forward_dynamics, 3),
    "mass_matrix": (dynamics.mass_matrix, 1),
    "forward": (kinematics.forward, 1),
    "body_jacobian": (kinematics.body_jacobian, 1),
}
"""Functions compared in batches, and how many of q, qd, qdd each takes."""


def public_call(problem: Problem, name: str, states: Sequence[Array], **options: object) -> Callable[[], object]:
    """The public function on these states as a call without arguments."""
    function, count = COMPARED[name]
    operands, chain = tuple(states[:count]), problem.chain
    return lambda: function(chain, *operands, **options)


def own_statements(problem: Problem, name: str, state: Sequence[Array]) -> dict[str, tuple[str, dict[str, object]]]:
    """One call of the public function and of the bound kernel of the same name."""
    module = kinematics if hasattr(kinematics, name) else dynamics
    labels = [label for label in RECIPES[name].joint_inputs if label != "qd_ref"]
    operands = dict(zip(labels, state, strict=False))
    public = getattr(module, name)
    arguments = [operands.get(label, state[1]) for label in RECIPES[name].joint_inputs]
    arguments += [np.array([0.0, 0.0, -9.81])] * bool(RECIPES[name].extra_inputs)
    arguments.append(np.empty_like(public(problem.chain, *operands.values())))
    names = {f"a{index}": value for index, value in enumerate(arguments)}
    return {
        f"{name} bound": (f"kernel({', '.join(names)})", {"kernel": bind(problem.chain, name), **names}),
        f"{name} public": (
            f"public(chain, {', '.join(operands)})",
            {"public": public, "chain": problem.chain, **operands},
        ),
    }
