"""Calls of the checker's machine code from functions that Numba compiles, by its address.

An address is a plain number at run time, so that what Numba compiles (and keeps on disk) serves every robot and world.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _call_of(arguments: int) -> tuple[Any, Any]:
    """Signature and code of a call of a function of so many 64-bit numbers that returns one."""

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        word = ir.IntType(64)
        function = builder.inttoptr(values[0], ir.FunctionType(word, [word] * arguments).as_pointer())
        return builder.call(function, list(values[1:]))

    return types.int64(*[types.int64] * (arguments + 1)), generate


def _call_five(typing_context, address, a, b, c, d, e):  # type: ignore[no-untyped-def]
    return _call_of(5)


def _call_seven(typing_context, address, a, b, c, d, e, f, g):  # type: ignore[no-untyped-def]
    return _call_of(7)


call_five: Any = intrinsic(_call_five)
"""`call_five(address, a, b, c, d, e)`: the entries `check` and `edge` of `RawChecker`."""
call_seven: Any = intrinsic(_call_seven)
"""`call_seven(address, a, b, c, d, e, f, g)`: its entry `check_boxes`."""
