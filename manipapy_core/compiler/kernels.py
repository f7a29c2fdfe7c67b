"""Every kernel of a chain: what it takes, what it gives, and the algorithm that it is traced from."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .algorithms import derivatives, dynamics, forward_dynamics, kinematics, regressor, timing
from .function import FLOAT64, CompiledFunction
from .mechanism import Mechanism, mechanism_of
from .trace import Input, Kernel, Signature, trace

if TYPE_CHECKING:
    from ..model.chain import Chain
    from .llvm.entry import Entries

GRAVITY_INPUT = Input("gravity", (3,), shared=True)
"""Gravity in the base frame [m/s²], one for the whole batch."""
WRENCH = Input("wrench_tip", (6,))
PAYLOAD_INPUT = Input("payload", (regressor.PARAMETERS,), shared=True)
"""Inertial parameters of the payload, one set for the whole batch."""


@dataclass(frozen=True)
class Recipe:
    """How to make one kernel for any mechanism."""

    algorithm: Callable[..., Any]
    joint_inputs: tuple[str, ...]
    """Inputs with one number per joint, in the algorithm's order."""
    output_shape: Callable[[Mechanism], tuple[int, ...]]
    extra_inputs: tuple[Input, ...] = ()
    """After the joint inputs; passed to the algorithm by name."""

    def signature(self, name: str, mechanism: Mechanism) -> Signature:
        joints = tuple(Input(label, (mechanism.n,), angle=label == "q") for label in self.joint_inputs)
        return Signature(name, joints + self.extra_inputs, self.output_shape(mechanism))

    def formula(self, mechanism: Mechanism) -> Callable[..., Any]:
        """The algorithm for one mechanism, with all inputs by position."""
        return functools.partial(_run, self.algorithm, mechanism, tuple(extra.name for extra in self.extra_inputs))

    def trace(self, name: str, mechanism: Mechanism) -> Kernel:
        return trace(self.signature(name, mechanism), self.formula(mechanism))


def _run(algorithm: Callable[..., Any], mechanism: Mechanism, extra_names: tuple[str, ...], *values: Any) -> Any:
    count = len(values) - len(extra_names)
    return algorithm(mechanism, *values[:count], **dict(zip(extra_names, values[count:])))


def _per_joint(mechanism: Mechanism) -> tuple[int, ...]:
    return (mechanism.n,)


def _square(mechanism: Mechanism) -> tuple[int, ...]:
    return (mechanism.n, mechanism.n)


def _jacobian(mechanism: Mechanism) -> tuple[int, ...]:
    return (6, mechanism.n)


def _jacobian_per_joint(mechanism: Mechanism) -> tuple[int, ...]:
    return (6, mechanism.n, mechanism.n)


def _three_squares(mechanism: Mechanism) -> tuple[int, ...]:
    return (3, mechanism.n, mechanism.n)


def _dynamics(algorithm: Callable[..., Any], last: str) -> dict[str, Recipe]:
    """The plain kernel and those with a wrench, a payload or both, which cost more."""
    options = {"": (), "_wrench": (WRENCH,), "_payload": (PAYLOAD_INPUT,), "_wrench_payload": (WRENCH, PAYLOAD_INPUT)}
    return {
        f"{algorithm.__name__}{suffix}": Recipe(algorithm, ("q", "qd", last), _per_joint, (GRAVITY_INPUT, *extras))
        for suffix, extras in options.items()
    }


def _derivatives(algorithm: Callable[..., Any], last: str) -> dict[str, Recipe]:
    """The plain kernel, and one with wrench and payload."""
    return {
        f"{algorithm.__name__}{suffix}": Recipe(algorithm, ("q", "qd", last), _three_squares, (GRAVITY_INPUT, *extras))
        for suffix, extras in {"": (), "_wrench_payload": (WRENCH, PAYLOAD_INPUT)}.items()
    }


RECIPES: dict[str, Recipe] = {
    "forward": Recipe(kinematics.forward, ("q",), lambda _: (4, 4)),
    "link_poses": Recipe(kinematics.link_poses, ("q",), lambda mechanism: (len(mechanism.links), 4, 4)),
    "space_jacobian": Recipe(kinematics.space_jacobian, ("q",), _jacobian),
    "body_jacobian": Recipe(kinematics.body_jacobian, ("q",), _jacobian),
    "space_jacobian_derivative": Recipe(kinematics.space_jacobian_derivative, ("q", "qd"), _jacobian),
    "body_jacobian_derivative": Recipe(kinematics.body_jacobian_derivative, ("q", "qd"), _jacobian),
    "space_jacobian_partials": Recipe(derivatives.space_jacobian_partials, ("q",), _jacobian_per_joint),
    "body_jacobian_partials": Recipe(derivatives.body_jacobian_partials, ("q",), _jacobian_per_joint),
    "mass_matrix": Recipe(dynamics.mass_matrix, ("q",), _square),
    "coriolis_matrix": Recipe(dynamics.coriolis_matrix, ("q", "qd"), _square),
    "coriolis_forces": Recipe(dynamics.coriolis_forces, ("q", "qd"), _per_joint),
    "gravity_forces": Recipe(dynamics.gravity_forces, ("q",), _per_joint, (GRAVITY_INPUT,)),
    **_dynamics(dynamics.inverse_dynamics, "qdd"),
    **_dynamics(forward_dynamics.forward_dynamics, "tau"),
    **_derivatives(derivatives.inverse_dynamics_derivatives, "qdd"),
    **_derivatives(derivatives.forward_dynamics_derivatives, "tau"),
    "regressor": Recipe(
        regressor.regressor,
        ("q", "qd", "qd_ref", "qdd"),
        lambda mechanism: (mechanism.n, regressor.PARAMETERS * len(mechanism.bodies)),
        (GRAVITY_INPUT,),
    ),
    "payload_regressor": Recipe(
        regressor.payload_regressor,
        ("q", "qd", "qdd"),
        lambda mechanism: (mechanism.n, regressor.PARAMETERS),
        (GRAVITY_INPUT,),
    ),
}
"""How each kernel of a chain is traced, by name."""


class KernelSet:
    """The compiled functions of one chain, as attributes; each is made at its first use."""

    def __init__(self, chain: Chain):
        self._mechanism = mechanism_of(chain)

    def __getattr__(self, name: str) -> CompiledFunction:
        recipe = RECIPES.get(name)
        if recipe is None:
            raise AttributeError(f"no kernel {name!r}; there are: {', '.join(RECIPES)}")
        function = compiled(recipe.signature(name, self._mechanism), recipe.formula(self._mechanism))
        self.__dict__[name] = function  # next time this method is not called
        return function


def kernels_of(chain: Chain) -> KernelSet:
    """The compiled functions of a chain, made once and kept as long as the chain lives."""
    kept: KernelSet | None = chain.__dict__.get("_kernels")
    if kept is None:
        # setdefault: of two threads that get here, both return the same set. A frozen dataclass has no setattr.
        kept = chain.__dict__.setdefault("_kernels", KernelSet(chain))
    return kept


def compiled(signature: Signature, formula: Callable[..., Any]) -> CompiledFunction:
    """A function that compiles its kernel, or reads it from the cache, at the first call for each type.

    Args:
        formula: Straight-line code over any scalar; gets one flat list of numbers per input.
    """

    def load(dtype: np.dtype) -> Entries:
        from .llvm import engine  # llvmlite takes time to import

        return engine.load(signature, dtype, formula)

    return CompiledFunction(signature, load, lambda: trace(signature, formula))


def bind(chain: Chain, name: str, dtype: Any = FLOAT64) -> Any:
    """The bare builtin of a kernel, for loops that call it a thousand times a second.

    It takes C-contiguous arrays of exactly this type, the last one written to, and returns False if an input was
    not finite (the output is then worthless). Lengths and overlap are checked, shapes are not.
    """
    if name not in RECIPES:
        raise InputError(f"no kernel {name!r}; there are: {', '.join(RECIPES)}")
    dtype = np.dtype(dtype)
    if dtype not in (np.float64, np.float32):
        raise InputError(f"kernels come in float64 and float32, not {dtype.name}")
    return getattr(kernels_of(chain), name).entries(dtype).batch


@functools.cache
def joint_trajectory(order: int, n: int) -> CompiledFunction:
    """Kernel of `algorithms.timing.joint_trajectory` for n joints: (3, n) per time."""
    return _time_law(
        f"joint_trajectory_{order}_{n}",
        functools.partial(timing.joint_trajectory, order, n),
        [Input("start", (n,), shared=True), Input("goal", (n,), shared=True), Input("rate", (1,), shared=True)],
        (3, n),
    )


@functools.cache
def screw_trajectory(order: int) -> CompiledFunction:
    """Kernel of `algorithms.timing.screw_trajectory`: 28 numbers per time."""
    shared: Sequence[tuple[str, tuple[int, ...]]] = (
        ("start", (4, 4)), ("screw", (6,)), ("distance", (1,)), ("rate", (1,)),
    )  # fmt: skip
    return _time_law(
        f"screw_trajectory_{order}",
        functools.partial(timing.screw_trajectory, order),
        [Input(name, shape, shared=True) for name, shape in shared],
        (28,),
    )


def _time_law(
    name: str, algorithm: Callable[..., Any], shared: list[Input], output_shape: tuple[int, ...]
) -> CompiledFunction:
    signature = Signature(name, (Input("u", (1,)), *shared), output_shape)
    return compiled(signature, algorithm)
