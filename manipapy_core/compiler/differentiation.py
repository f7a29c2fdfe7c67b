"""Exact derivatives of traced programs: forward and reverse mode on symbols.

The derivative of a program is again a program. It is written with the same symbols, so equal terms of the function and
of all its partial derivatives are computed once, zeros cost nothing, and the emitters for CPU and CUDA take it like any
other. Derivatives may be differentiated again.

Forward mode follows one input through the program, reverse mode follows one output back. Which takes fewer operations
depends on the program; `jacobian` writes both and keeps the shorter one.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import InputError
from .trace import DECISIONS, Input, Mask, Program, Scalar, Symbol, operands_of

Formula = Callable[..., Iterable[Any]]
"""Straight-line code over any scalar; gets one flat list of numbers per input and returns a flat list."""


def differentiate(formula: Formula, inputs: Sequence[Input], by: str) -> Formula:
    """The formula of the partial derivatives of another one.

    Args:
        formula: Straight-line code as `compile_formula` takes it.
        inputs: Its inputs.
        by: Name of the input to differentiate by.

    Returns:
        A formula of the same inputs. It gives the derivatives row by row: one row per result of the formula, one
        column per number of the input, so its output shape is (*output_shape, *shape of the input).

    Raises:
        InputError: No input has this name.
    """
    names = [argument.name for argument in inputs]
    if by not in names:
        raise InputError(f"the formula has no input {by!r}; its inputs are {', '.join(names)}")
    return functools.partial(_derivative, formula, names.index(by))


def _derivative(formula: Formula, index: int, *values: Sequence[Any]) -> list[Any]:
    results = list(formula(*values))
    return [entry for row in jacobian(results, values[index]) for entry in row]


def jacobian(results: Sequence[Scalar], variables: Sequence[Symbol]) -> list[list[Scalar]]:
    """Derivatives of each result by each variable, as rows.

    Args:
        results: Symbols of one program, or numbers, which do not depend on anything.
        variables: Inputs of the program. Results may use other inputs as well.
    """
    if any(isinstance(result, Mask) for result in results):
        raise InputError("a truth value has no derivative; differentiate a formula that gives numbers")
    program = next((result.program for result in results if isinstance(result, Symbol)), None)
    if program is None:
        return [[0.0] * len(variables) for _ in results]
    modes = (_forward, _reverse) if len(variables) <= len(results) else (_reverse, _forward)
    first, second = (_cost(program, mode, results, variables) for mode in modes)
    return modes[0 if first <= second else 1](program, results, variables)


def _cost(program: Program, mode: Callable[..., Any], results: Sequence[Scalar], variables: Sequence[Symbol]) -> int:
    """Nodes that a mode adds, tried on a copy of the program."""
    copy = program.copy()
    moved = [Symbol(copy, result.index) if isinstance(result, Symbol) else result for result in results]
    rows = mode(copy, moved, [Symbol(copy, variable.index) for variable in variables])
    needed = copy.needed([entry.index for row in rows for entry in row if isinstance(entry, Symbol)])
    return sum(index >= len(program.nodes) for index in needed)


def _forward(program: Program, results: Sequence[Scalar], variables: Sequence[Symbol]) -> list[list[Scalar]]:
    order = sorted(program.needed([result.index for result in results if isinstance(result, Symbol)]))
    columns = []
    for variable in variables:
        tangents: dict[int, Scalar] = {variable.index: 1.0}
        for index in order:
            if index == variable.index:
                continue
            moving = [operand for operand in set(operands_of(program.nodes[index])) if operand in tangents]
            if not moving:
                continue
            total: Scalar = 0.0
            for operand, partial in _partials(program, index):
                if operand in tangents:
                    total = total + partial * tangents[operand]
            if not _is_zero(total):
                tangents[index] = total
        columns.append([tangents.get(r.index, 0.0) if isinstance(r, Symbol) else 0.0 for r in results])
    return [list(row) for row in zip(*columns)]


def _reverse(program: Program, results: Sequence[Scalar], variables: Sequence[Symbol]) -> list[list[Scalar]]:
    wanted = {variable.index for variable in variables}
    depends = set(wanted)
    order = sorted(program.needed([result.index for result in results if isinstance(result, Symbol)]))
    for index in order:
        if not depends.isdisjoint(operands_of(program.nodes[index])):
            depends.add(index)
    rows = []
    for result in results:
        adjoints: defaultdict[int, Scalar] = defaultdict(float)
        if isinstance(result, Symbol) and result.index in depends:
            adjoints[result.index] = 1.0
            for index in sorted(depends.intersection(program.needed([result.index])), reverse=True):
                if index not in adjoints or index in wanted:
                    continue
                adjoint = adjoints[index]
                for operand, partial in _partials(program, index):
                    if operand in depends:
                        adjoints[operand] = adjoints[operand] + partial * adjoint
        rows.append([adjoints.get(variable.index, 0.0) for variable in variables])
    return rows


def _partials(program: Program, index: int) -> list[tuple[int, Scalar]]:
    """Operands of a node, each with the derivative of the node by it."""
    op, *operands = program.nodes[index]
    value = Symbol(program, index)
    a, b = (Symbol(program, operands[0]), Symbol(program, operands[-1])) if operands else (value, value)
    match op:
        case "add":
            return [(operands[0], 1.0), (operands[1], 1.0)]
        case "sub":
            return [(operands[0], 1.0), (operands[1], -1.0)]
        case "neg":
            return [(operands[0], -1.0)]
        case "mul":
            return [(operands[0], b), (operands[1], a)]
        case "div":
            return [(operands[0], 1.0 / b), (operands[1], -(value / b))]
        case "sin":
            return [(operands[0], a.cos())]
        case "cos":
            return [(operands[0], -a.sin())]
        case "sqrt":
            return [(operands[0], 0.5 / value)]
        case "min" | "max":
            first_is_less = a.less(b)
            less, other = first_is_less.select(1.0, 0.0), first_is_less.select(0.0, 1.0)
            return [(operands[0], less), (operands[1], other)] if op == "min" else [
                (operands[0], other), (operands[1], less)
            ]  # fmt: skip
        case "select":
            chosen = Mask(program, operands[0])
            return [(operands[1], chosen.select(1.0, 0.0)), (operands[2], chosen.select(0.0, 1.0))]
    assert op in DECISIONS or op in ("input", "const"), op
    return []  # comparisons are constant but for jumps


def _is_zero(value: Scalar) -> bool:
    return not isinstance(value, Symbol) and value == 0.0
