"""Calls of the checker's machine code from functions that Numba compiles, by its address.

An address is a plain number at run time, so that what Numba compiles (and keeps on disk) serves every robot and world.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _call_by_address(typing_context, address, a, b, c, d, e):  # type: ignore[no-untyped-def]
    """Calls a function of five 64-bit numbers that returns one."""
    signature = types.int64(*[types.int64] * 6)

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        function = builder.inttoptr(arguments[0], ir.FunctionType(word, [word] * 5).as_pointer())
        return builder.call(function, list(arguments[1:]))

    return signature, generate


call_five: Any = intrinsic(_call_by_address)
"""`call_five(address, a, b, c, d, e)`: the entries `check` and `edge` of `RawChecker`."""
