"""Whatever cannot be computed is refused with an error that names the argument and the cure."""

from __future__ import annotations

import re

import numpy as np
import pytest

from manipapy_core import dynamics, kinematics
from manipapy_core.errors import InputError, ManipapyError
from reference.cases import RPRPRR, chain_of, disagreement, states
from reference.public_functions import PUBLIC_FUNCTIONS, PublicFunction, function_name

OPERANDS = [
    pytest.param(function, position, id=f"{function.name}-{operand}")
    for function in PUBLIC_FUNCTIONS
    for position, operand in enumerate(function.operands)
]
every_operand = pytest.mark.parametrize(("function", "position"), OPERANDS)


def call_with(function: PublicFunction, position: int, value: object, count: int | None = None) -> object:
    """Calls with good operands but one."""
    chain = chain_of(RPRPRR)
    operands: list[object] = list(function.arguments(chain, count or 1))
    if count is None:
        operands = [operand[0] for operand in operands]
    operands[position] = value
    return function.call(chain, *operands)


def names(error: Exception, argument: str) -> bool:
    """Whether the message has the name of the argument as a word."""
    return re.search(rf"\b{argument}\b", str(error)) is not None


@every_operand
@pytest.mark.parametrize("shape", [(5,), (7,), (1,), (6, 1), (4, 7), (3, 0), (0,)], ids=str)
def test_wrong_length_names_the_argument_and_the_length(
    function: PublicFunction, position: int, shape: tuple[int, ...]
) -> None:
    with pytest.raises(InputError) as caught:
        call_with(function, position, np.zeros(shape))
    assert names(caught.value, function.operands[position])
    assert "6" in str(caught.value)


@every_operand
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, -1e300], ids=str)
@pytest.mark.parametrize("count", [None, 8, 1003])
def test_numbers_that_are_not_finite_are_found(
    function: PublicFunction, position: int, bad: float, count: int | None
) -> None:
    chain = chain_of(RPRPRR)
    operand = function.arguments(chain, count or 1)[position]
    operand[-1, 3] = bad
    with pytest.raises(InputError) as caught:
        call_with(function, position, operand if count else operand[0], count)
    assert names(caught.value, function.operands[position])
    assert "3]" in str(caught.value), "the message says which element"


@every_operand
@pytest.mark.parametrize("row", [0, 3, 7, 8, 12])
def test_the_bad_row_of_a_batch_is_named(function: PublicFunction, position: int, row: int) -> None:
    operand = function.arguments(chain_of(RPRPRR), 13)[position]
    operand[row, 5] = np.nan
    with pytest.raises(InputError, match=rf"{function.operands[position]}\[{row}, 5\]"):
        call_with(function, position, operand, 13)


@every_operand
@pytest.mark.parametrize(
    "value",
    [
        None,
        "0 0 0 0 0 0",
        ["a"] * 6,
        [None] * 6,
        np.zeros(6, dtype=complex),
        np.full(6, 1 + 2j),
        np.array([object()] * 6),
        {"joint1": 0.0},
        [[0.0] * 6, [0.0] * 5],
        3.0,
        np.array(["2020-01-01"] * 6, dtype="datetime64[D]"),
    ],
    ids=[
        "None",
        "text",
        "letters",
        "Nones",
        "complex zeros",
        "complex",
        "objects",
        "mapping",
        "ragged",
        "scalar",
        "dates",
    ],
)
def test_what_is_not_numbers_is_refused(function: PublicFunction, position: int, value: object) -> None:
    with pytest.raises(InputError) as caught:
        call_with(function, position, value)
    assert names(caught.value, function.operands[position])


@pytest.mark.parametrize("function", [dynamics.inverse_dynamics, dynamics.forward_dynamics], ids=["inverse", "forward"])
@pytest.mark.parametrize(
    "value", [None, "fast", np.zeros(5), [0.0] * 7, np.full(6, np.nan), np.zeros(6, dtype=complex)], ids=repr
)
def test_asking_for_friction_checks_no_less(function, value: object) -> None:
    chain = chain_of(RPRPRR)
    q, _, last = (values[0] for values in states(chain, 1))
    with pytest.raises(InputError, match=r"\bqd\b"):
        function(chain, q, value, last, joint_friction=True)


@pytest.mark.parametrize("function", [f for f in PUBLIC_FUNCTIONS if len(f.operands) > 1], ids=function_name)
def test_batches_that_do_not_fit_each_other_are_refused(function: PublicFunction) -> None:
    chain = chain_of(RPRPRR)
    operands = function.arguments(chain, 5)
    operands[-1] = operands[-1][:4]
    with pytest.raises(InputError):
        function.call(chain, *operands)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two", None], ids=str)
def test_threads_must_be_a_positive_count(threads: object) -> None:
    with pytest.raises(InputError, match="threads"):
        kinematics.forward(chain_of(RPRPRR), np.zeros((1000, 6)), threads=threads)


@pytest.mark.parametrize("gravity", [(0, 0), (0, 0, 0, 9), (0, 0, np.nan), (0, np.inf, 0), 9.81, "down", None], ids=str)
def test_gravity_is_three_finite_numbers(gravity: object) -> None:
    q, qd, qdd = (values[0] for values in states(chain_of(RPRPRR), 1))
    chain = chain_of(RPRPRR)
    for call in (
        lambda: dynamics.gravity_forces(chain, q, gravity=gravity),
        lambda: dynamics.inverse_dynamics(chain, q, qd, qdd, gravity=gravity),
        lambda: dynamics.forward_dynamics(chain, q, qd, qdd, gravity=gravity),
        lambda: dynamics.regressor(chain, q, qd, qdd, gravity=gravity),
    ):
        with pytest.raises(InputError, match="gravity"):
            call()


@pytest.mark.parametrize("wrench", [np.zeros(3), np.zeros(7), np.full(6, np.nan), "push", np.zeros((2, 5))], ids=str)
def test_wrench_is_six_finite_numbers(wrench: object) -> None:
    chain = chain_of(RPRPRR)
    q, qd, qdd = (values[0] for values in states(chain, 1))
    for function in (dynamics.inverse_dynamics, dynamics.forward_dynamics):
        with pytest.raises(InputError, match="wrench_tip"):
            function(chain, q, qd, qdd, wrench_tip=wrench)


@pytest.mark.parametrize(
    "arguments",
    [
        {"mass": -1.0},
        {"mass": np.nan},
        {"mass": np.inf},
        {"mass": "heavy"},
        {"mass": 1.0, "com": (0.0, 0.0)},
        {"mass": 1.0, "com": (0.0, 0.0, np.nan)},
        {"mass": 1.0, "inertia": np.eye(2)},
        {"mass": 1.0, "inertia": np.full((3, 3), np.nan)},
        {"mass": 1.0, "inertia": [[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]},
        {"mass": 1.0, "inertia": -np.eye(3)},
    ],
    ids=str,
)
def test_a_payload_must_be_a_body_that_can_exist(arguments: dict[str, object]) -> None:
    with pytest.raises(InputError):
        dynamics.Payload(**arguments)


def test_a_refused_call_leaves_the_library_usable() -> None:
    chain = chain_of(RPRPRR)
    q, qd, qdd = states(chain, 9)
    before = dynamics.inverse_dynamics(chain, q, qd, qdd)
    bad = q.copy()
    bad[4] = np.nan
    with pytest.raises(ManipapyError):
        dynamics.inverse_dynamics(chain, bad, qd, qdd)
    assert disagreement(dynamics.inverse_dynamics(chain, q, qd, qdd), before) == 0.0


def test_large_but_valid_velocities_are_computed() -> None:
    """Forces of 1e4 rad/s are large, not wrong: the bound is there to catch nonsense."""
    chain = chain_of(RPRPRR)
    q, qd, _ = (values[0] for values in states(chain, 1))
    small, large = dynamics.coriolis_forces(chain, q, qd), dynamics.coriolis_forces(chain, q, 1e4 * qd)
    assert disagreement(large, 1e8 * small) <= 1e-12
