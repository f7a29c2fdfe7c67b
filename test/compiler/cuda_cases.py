"""Every kernel that has a GPU form, with inputs for it and its algorithm run on NumPy arrays as the reference."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manipapy_core import dynamics, lie
from manipapy_core.compiler import kernels_of
from manipapy_core.compiler.algorithms import timing
from manipapy_core.compiler.function import CompiledFunction
from manipapy_core.compiler.kernels import RECIPES, joint_trajectory, screw_trajectory
from manipapy_core.compiler.mechanism import mechanism_of
from manipapy_core.compiler.trace import Kernel
from reference.cases import BUNDLED, RPRPRR, chain_of

Array = NDArray[Any]

ROBOTS = {"ur5": BUNDLED["ur5"], "panda": BUNDLED["panda"], "random": RPRPRR}
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
COUNT = 301
"""Configurations that the kernels are compared on."""
DOUBLE_BOUND = 1e-12
"""Agreement demanded in float64, element by element, relative to max(1, |reference|)."""


@dataclass(frozen=True)
class KernelCase:
    """One kernel of one robot, or a time law."""

    name: str
    function: CompiledFunction
    """As users call it; on NumPy arrays it is the CPU kernel."""
    algorithm: Callable[..., Any]
    """Takes one list of numbers (or arrays) per input."""

    @functools.cached_property
    def kernel(self) -> Kernel:
        return self.function.make()

    def arguments(self, count: int, dtype: np.dtype, seed: int = 0) -> list[Array]:
        """Random inputs, batched ones of shape (count, ...)."""
        rng = np.random.default_rng(seed)
        batch = {False: (count,), True: ()}
        return [
            _VALUES[argument.name](rng, batch[argument.shared] + argument.shape).astype(dtype)
            for argument in self.function.signature.inputs
        ]

    def reference(self, arguments: list[Array]) -> Array:
        """The algorithm on NumPy arrays, in the type of the inputs."""
        inputs = self.function.signature.inputs
        columns = [
            list(array.ravel()) if argument.shared else list(array.reshape(len(array), -1).T)
            for argument, array in zip(inputs, arguments)
        ]
        count = next(len(array) for argument, array in zip(inputs, arguments) if not argument.shared)
        results = [np.broadcast_to(value, count) for value in self.algorithm(*columns)]
        shape = (count, *self.function.signature.output_shape)
        return np.stack(results, axis=-1).reshape(shape).astype(arguments[0].dtype)


def _pose(rng: np.random.Generator, _: tuple[int, ...]) -> Array:
    T = np.eye(4)
    T[:3, :3] = lie.exp_so3(rng.uniform(-1.5, 1.5, 3))
    T[:3, 3] = rng.uniform(-1, 1, 3)
    return T


def _screw(rng: np.random.Generator, _: tuple[int, ...]) -> Array:
    axis = rng.normal(size=3)
    return np.r_[axis / np.linalg.norm(axis), rng.uniform(-1, 1, 3)]


def _payload(rng: np.random.Generator, _: tuple[int, ...]) -> Array:
    return dynamics.Payload(2.5, rng.uniform(-0.1, 0.1, 3), 0.01 * np.eye(3)).parameters


def _uniform(low: float, high: float) -> Callable[[np.random.Generator, tuple[int, ...]], Array]:
    return lambda rng, shape: rng.uniform(low, high, shape)


_VALUES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "q": _uniform(-3.1, 3.1),
    **dict.fromkeys(["qd", "qd_ref", "qdd"], _uniform(-2, 2)),
    "tau": _uniform(-20, 20),
    "gravity": _uniform(-10, 10),
    "wrench_tip": _uniform(-20, 20),
    "payload": _payload,
    "u": _uniform(0, 1),
    "start": lambda rng, shape: _pose(rng, shape) if shape == (4, 4) else rng.uniform(-3, 3, shape),
    "goal": _uniform(-3, 3),
    "screw": _screw,
    "distance": _uniform(0.5, 2.5),
    "rate": _uniform(0.2, 2.0),
}


@functools.cache
def robot_cases(robot: str) -> tuple[KernelCase, ...]:
    """Every kernel of `RECIPES` for a robot."""
    chain = chain_of(ROBOTS[robot])
    mechanism = mechanism_of(chain)
    cases = []
    for name, recipe in RECIPES.items():

        def algorithm(*values: Any, recipe: Any = recipe) -> Any:
            count = len(recipe.joint_inputs)
            extras = {extra.name: value for extra, value in zip(recipe.extra_inputs, values[count:])}
            return recipe.algorithm(mechanism, *values[:count], **extras)

        cases.append(KernelCase(name, getattr(kernels_of(chain), name), algorithm))
    return tuple(cases)


@functools.cache
def time_laws() -> tuple[KernelCase, ...]:
    """Cubic and quintic: joints, and a screw motion."""
    cases = []
    for order in (3, 5):
        joints, screw = joint_trajectory(order, 6), screw_trajectory(order)
        cases.append(KernelCase(joints.signature.name, joints, functools.partial(timing.joint_trajectory, order, 6)))
        cases.append(KernelCase(screw.signature.name, screw, functools.partial(timing.screw_trajectory, order)))
    return tuple(cases)


def all_cases(robot: str) -> tuple[KernelCase, ...]:
    return robot_cases(robot) + time_laws()


def case_of(robot: str, name: str) -> KernelCase:
    return next(case for case in all_cases(robot) if case.name == name)
