"""Small formulas of the control loop as machine code.

A NumPy call on six numbers takes about a microsecond, whatever it computes. A formula of fifty operations written
over plain scalars and traced by the robot compiler takes less than one such call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..compiler.function import FLOAT64
from ..compiler.kernels import compiled
from ..compiler.trace import Input, Signature, trace

__all__ = ["Input", "compile_formula"]


def compile_formula(
    name: str,
    inputs: Sequence[Input],
    output_shape: tuple[int, ...],
    formula: Callable[..., Iterable[Any]],
) -> Any:
    """A builtin called as kernel(inputs…, out) on C-contiguous float64 arrays; False if an input is not finite.

    Args:
        name: Part of the name of the cached file.
        inputs: What the formula takes; arrays may hold any number of configurations, one row each.
        output_shape: Per configuration.
        formula: Straight-line code over any scalar; gets one flat list of numbers per input.
    """
    signature = Signature(name, tuple(inputs), output_shape)
    kernel = trace(signature, formula)
    # The cache knows the compiler's own source only; these formulas are recognised by what they do.
    key = hashlib.sha256(repr((kernel.nodes, kernel.outputs)).encode()).hexdigest()
    return compiled(signature, key, lambda: kernel).entries(FLOAT64).batch
