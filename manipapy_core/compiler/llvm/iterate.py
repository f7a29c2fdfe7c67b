"""Kernel → LLVM IR: an iteration that runs in lanes until one of them ends.

The arrays lie in lane order, element by element: the first number of every lane, then the second. Lanes are
independent; the caller assigns a start to each. An idle lane gets NaN as its target: all comparisons with it are
false, so it never ends.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..trace import Kernel, Signature, trace
from .types import Lanes

FLOAT64 = np.dtype(np.float64)


class Iteration(NamedTuple):
    """Machine code of an iteration: `i64 f(inputs…)` with a pointer per input.

    Inputs that the kernel gives again (as many of the first outputs) are overwritten. The result holds the lanes that
    ended by the first mask in its lower half, by the second mask in its upper half, one bit per lane.
    """

    address: int
    lanes: int
    engine: Any
    """Keeps the code alive."""


def load(signature: Signature, updated: tuple[str, ...], formula: Callable[..., Any]) -> Iteration:
    """From the cache or newly compiled; see `engine.load`."""
    from . import engine  # llvmlite takes time to import

    lanes = Lanes(engine.lane_count(FLOAT64), FLOAT64)
    text = functools.partial(_text, signature, updated, formula)
    linked = engine.link(engine.cached_object(signature.name, text, lanes.tag, lambda: text(lanes)))
    return Iteration(linked.get_function_address(signature.name), lanes.count, linked)


def _text(signature: Signature, updated: tuple[str, ...], formula: Callable[..., Any], lanes: Lanes) -> str:
    return emit(trace(signature, formula), updated, lanes)


def emit(kernel: Kernel, updated: tuple[str, ...], lanes: Lanes) -> str:
    """IR of the loop. `updated` names the inputs that the first outputs replace; two masks follow them."""
    from .emit import ProgramWriter, declarations

    writer = ProgramWriter(kernel, lanes)
    for argument in kernel.inputs:
        if argument.shared:
            for element in range(argument.width):
                writer.load_shared(argument.name, element)
    writer.compute([index for index in kernel.order if index in kernel.uniform])
    before = writer.taken()

    V, align = lanes.vector, lanes.count * lanes.dtype.itemsize

    def address(name: str, element: int) -> str:
        return writer.let(f"getelementptr {V}, ptr %{name}, i64 {element}")

    for argument in kernel.inputs:
        if not argument.shared:
            for element in range(argument.width):
                place = address(argument.name, element)
                writer.loaded[argument.name, element] = writer.let(f"load {V}, ptr {place}, align {align}")
    writer.compute([index for index in kernel.order if index not in kernel.uniform])
    outputs = iter(kernel.outputs)
    widths = {argument.name: argument.width for argument in kernel.inputs}
    for name in updated:
        for element in range(widths[name]):
            place = address(name, element)
            writer.lines.append(f"store {V} {writer.names[next(outputs)]}, ptr {place}, align {align}")
    first, second = (writer.names[index] for index in outputs)

    bits = f"i{lanes.count}"
    return "\n".join(
        [
            declarations(lanes),
            f"define i64 @{kernel.name}({', '.join(f'ptr noalias %{i.name}' for i in kernel.inputs)}) #0 {{",
            "entry:",
            *before,
            "  br label %loop",
            "loop:",
            *writer.taken(),
            f"  %first = bitcast {lanes.mask} {first} to {bits}",
            f"  %second = bitcast {lanes.mask} {second} to {bits}",
            f"  %either = or {bits} %first, %second",
            f"  %none = icmp eq {bits} %either, 0",
            "  br i1 %none, label %loop, label %done",
            "done:",
            f"  %low = zext {bits} %first to i64",
            f"  %high = zext {bits} %second to i64",
            "  %shifted = shl i64 %high, 32",
            "  %result = or i64 %low, %shifted",
            "  ret i64 %result",
            "}",
            "",
        ]
    )
