"""Calls of the checker's machine code from functions that Numba compiles, by its address.

An address is a plain number at run time, so that what Numba compiles (and keeps on disk) serves every robot and world.
Arguments are whole numbers, and arrays, of which the address of the first element is handed over. To write
`array.ctypes.data` instead counts a reference to the array and takes it back, each time by an instruction that locks
memory: it was a fifth of the time of a search.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _call_of(kinds: tuple[Any, ...]) -> tuple[Any, Any]:
    """Signature and code of a call of a function of 64-bit numbers that returns one."""
    taken = [kind if isinstance(kind, types.Array) else types.int64 for kind in kinds]

    def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
        word = ir.IntType(64)
        function = builder.inttoptr(values[0], ir.FunctionType(word, [word] * len(kinds)).as_pointer())
        words = [
            builder.ptrtoint(context.make_array(kind)(context, builder, value).data, word)
            if isinstance(kind, types.Array)
            else value
            for kind, value in zip(taken, values[1:])
        ]
        return builder.call(function, words)

    return types.int64(types.int64, *taken), generate


def _call_five(typing_context, address, a, b, c, d, e):  # type: ignore[no-untyped-def]
    return _call_of((a, b, c, d, e))


def _call_six(typing_context, address, a, b, c, d, e, f):  # type: ignore[no-untyped-def]
    return _call_of((a, b, c, d, e, f))


def _call_seven(typing_context, address, a, b, c, d, e, f, g):  # type: ignore[no-untyped-def]
    return _call_of((a, b, c, d, e, f, g))


call_five: Any = intrinsic(_call_five)
"""`call_five(address, a, b, c, d, e)`: the entries `check` and `edge` of `RawChecker`."""
call_six: Any = intrinsic(_call_six)
"""`call_six(address, a, b, c, d, e, f)`: its entry `nearest_point`."""
call_seven: Any = intrinsic(_call_seven)
"""`call_seven(address, a, b, c, d, e, f, g)`: its entry `check_boxes`."""
