"""CPython builtins for each kernel, written as LLVM IR: arrays in, True or False out.

ctypes costs about a microsecond a call, more than the kernel itself and more than Pinocchio's whole Python call, so
the kernels get METH_FASTCALL entries of their own. They take objects with the buffer protocol and check type, length
and overlap. The batch entry releases the GIL for large batches and runs lanes first, then the remaining
configurations one by one; the single entry takes one configuration of exactly the right dimensions; the pieces entry
is for several threads at once, which draw pieces of one batch from a counter without waiting for the GIL.
Only functions of the stable ABI are called, by symbol: no address of this process ends up in a cached object.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..trace import Kernel, Signature
from .emit import function_name
from .types import COUNTER, COUNTERS, PIECE, Lanes

FREE_GIL_FROM = 64
"""Configurations from which releasing the GIL (some 50 ns) is worth while."""

METH_FASTCALL = 0x80
_C_CONTIGUOUS, _FORMAT, _WRITABLE = 0x38, 0x04, 0x01
_LEN, _NDIM, _FORMAT_TEXT, _BUFFER_SIZE = 16, 36, 40, 80  # Py_buffer, unchanged since Python 3.0

FUNCTIONS = (
    "PyObject_GetBuffer",
    "PyBuffer_Release",
    "PyErr_SetString",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "Py_IncRef",
)
OBJECTS = {
    "_Py_TrueStruct": "_Py_TrueStruct",
    "_Py_FalseStruct": "_Py_FalseStruct",
    "manipapy_value_error": "PyExc_ValueError",
}
"""Symbols of our code and what they stand for. Numba gives the name PyExc_ValueError, in the same table of symbols, to
the exception itself rather than to the pointer that C knows by it: hence a name of our own."""

DECLARATIONS = """
declare i32 @PyObject_GetBuffer(ptr, ptr, i32)
declare void @PyBuffer_Release(ptr)
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare i32 @sched_yield()
declare i64 @llvm.umax.i64(i64, i64)
@_Py_TrueStruct = external global i8
@_Py_FalseStruct = external global i8
@manipapy_value_error = external global ptr
"""


def python_symbols() -> dict[str, int]:
    """Addresses of the interpreter's functions and objects in this process."""
    api = ctypes.pythonapi
    functions = {name: ctypes.cast(getattr(api, name), ctypes.c_void_p).value or 0 for name in FUNCTIONS}
    objects = {symbol: ctypes.addressof(ctypes.c_char.in_dll(api, name)) for symbol, name in OBJECTS.items()}
    return functions | objects


class Entries(NamedTuple):
    """The builtins of a kernel, each called as entry(inputs…, out): False if an input was not finite."""

    batch: Any
    single: Any
    pieces: Any
    """Takes counters besides, common to all threads. Returns when the whole batch is done."""


def entry_names(signature: Signature) -> Entries:
    return Entries(*(f"{kind}_{signature.name}" for kind in Entries._fields))


def emit_entries(kernel: Kernel, wide: Lanes) -> str:
    """IR of `PyObject *entry(self, arguments, count)` for each kind of entry."""
    text = _usage(kernel.signature, wide.dtype)
    escaped = "".join(character if character.isalnum() else f"\\{ord(character):02X}" for character in text)
    constant = f'@usage = private constant [{len(text) + 1} x i8] c"{escaped}\\00"\n'
    runs = Entries(_run_batch, _run_one, _run_pieces)
    return constant + "".join(
        _emit_entry(kernel, wide, name, run) for name, run in zip(entry_names(kernel.signature), runs)
    )


def _emit_entry(kernel: Kernel, wide: Lanes, name: str, run: Callable[[Kernel, Lanes, str], list[str]]) -> str:
    item, number, one = wide.dtype.itemsize, "d" if wide.dtype == np.float64 else "f", run is _run_one
    arguments = [_Argument(number, i.width * item, len(i.shape), i.shared, False) for i in kernel.inputs]
    out = len(arguments)
    arguments.append(_Argument(number, len(kernel.outputs) * item, len(kernel.signature.output_shape), False, True))
    if run is _run_pieces:
        arguments.append(_Argument(COUNTER.char, COUNTERS * COUNTER.itemsize, 1, True, True))

    lines = [f"define ptr @{name}(ptr %self, ptr %arguments, i64 %count) #0 {{", "entry:"]
    lines += [f"  %b{index} = alloca [{_BUFFER_SIZE} x i8], align 8" for index in range(len(arguments))]
    lines += [
        f"  %counted = icmp eq i64 %count, {len(arguments)}",
        "  br i1 %counted, label %get0, label %complain",
    ]
    for index, argument in enumerate(arguments):
        flags = _C_CONTIGUOUS | _FORMAT | (_WRITABLE if argument.written else 0)
        after = f"get{index + 1}" if index + 1 < len(arguments) else "sizes"
        lines += [
            f"get{index}:",
            f"  %a{index} = getelementptr ptr, ptr %arguments, i64 {index}",
            f"  %o{index} = load ptr, ptr %a{index}",
            f"  %r{index} = call i32 @PyObject_GetBuffer(ptr %o{index}, ptr %b{index}, i32 {flags})",
            f"  %g{index} = icmp eq i32 %r{index}, 0",
            f"  br i1 %g{index}, label %{after}, label %{f'undo{index - 1}' if index else 'fail'}",
        ]

    lines += ["sizes:", "  %fine.start = icmp eq i32 0, 0"]
    for index in range(len(arguments)):
        lines += [
            f"  %p{index} = load ptr, ptr %b{index}",
            f"  %la{index} = getelementptr i8, ptr %b{index}, i64 {_LEN}",
            f"  %n{index} = load i64, ptr %la{index}",
            f"  %fa{index} = getelementptr i8, ptr %b{index}, i64 {_FORMAT_TEXT}",
            f"  %fp{index} = load ptr, ptr %fa{index}",
            f"  %f{index} = load i8, ptr %fp{index}",
            f"  %e{index} = getelementptr i8, ptr %p{index}, i64 %n{index}",
        ]
    batched = next(index for index, argument in enumerate(arguments) if not argument.shared)
    lines.append(f"  %N = sdiv i64 %n{batched}, {arguments[batched].size}")
    fine = "%fine.start"

    def require(name: str, condition: str) -> None:
        nonlocal fine
        lines.append(f"  %{name} = {condition}")
        lines.append(f"  %{name}.all = and i1 {fine}, %{name}")
        fine = f"%{name}.all"

    for index, argument in enumerate(arguments):
        require(f"type{index}", f"icmp eq i8 %f{index}, {ord(argument.code)}")
        wanted = str(argument.size)
        if one:
            lines.append(f"  %da{index} = getelementptr i8, ptr %b{index}, i64 {_NDIM}")
            lines.append(f"  %d{index} = load i32, ptr %da{index}")
            require(f"depth{index}", f"icmp eq i32 %d{index}, {argument.depth}")
        elif not argument.shared:
            lines.append(f"  %w{index} = mul i64 %N, {argument.size}")
            wanted = f"%w{index}"
        require(f"length{index}", f"icmp eq i64 %n{index}, {wanted}")
        if index != out:
            lines += [
                f"  %before{index} = icmp ule ptr %e{index}, %p{out}",
                f"  %after{index} = icmp ule ptr %e{out}, %p{index}",
            ]
            require(f"apart{index}", f"or i1 %before{index}, %after{index}")
    lines += [
        f"  br i1 {fine}, label %run, label %wrong",
        "run:",
        *run(kernel, wide, ", ".join(f"ptr %p{k}" for k in range(out + 1))),
        "finish:",
        *[f"  call void @PyBuffer_Release(ptr %b{index})" for index in range(len(arguments))],
        "  %result = select i1 %ok, ptr @_Py_TrueStruct, ptr @_Py_FalseStruct",
        "  call void @Py_IncRef(ptr %result)",
        "  ret ptr %result",
        "wrong:",
        *[f"  call void @PyBuffer_Release(ptr %b{index})" for index in range(len(arguments))],
        "  br label %complain",
        "complain:",
        "  %error = load ptr, ptr @manipapy_value_error",
        "  call void @PyErr_SetString(ptr %error, ptr @usage)",
        "  br label %fail",
    ]
    for index in reversed(range(len(arguments) - 1)):
        lines += [
            f"undo{index}:",
            f"  call void @PyBuffer_Release(ptr %b{index})",
            f"  br label %{f'undo{index - 1}' if index else 'fail'}",
        ]
    lines += ["fail:", "  ret ptr null", "}", ""]
    return "\n".join(lines)


def _run_one(kernel: Kernel, wide: Lanes, pointers: str) -> list[str]:
    single = function_name(kernel, Lanes(1, wide.dtype))
    return [f"  %ok = call i1 @{single}({pointers}, i64 0, i64 1)", "  br label %finish"]


def _run_batch(kernel: Kernel, wide: Lanes, pointers: str) -> list[str]:
    return [
        f"  %large = icmp sge i64 %N, {FREE_GIL_FROM}",
        "  br i1 %large, label %release, label %compute",
        "release:",
        "  %thread.new = call ptr @PyEval_SaveThread()",
        "  br label %compute",
        "compute:",
        "  %thread = phi ptr [null, %run], [%thread.new, %release]",
        f"  %body = and i64 %N, -{wide.count}",
        f"  %ok.wide = call i1 @{function_name(kernel, wide)}({pointers}, i64 0, i64 %body)",
        f"  %ok.rest = call i1 @{function_name(kernel, Lanes(1, wide.dtype))}({pointers}, i64 %body, i64 %N)",
        "  %ok = and i1 %ok.wide, %ok.rest",
        "  br i1 %large, label %take, label %finish",
        "take:",
        "  call void @PyEval_RestoreThread(ptr %thread)",
        "  br label %finish",
    ]


def _run_pieces(kernel: Kernel, wide: Lanes, pointers: str) -> list[str]:
    """Loop until the first counter shows no piece left to draw and the second shows all done, by any thread.

    Pieces are drawn from as many regions as there are threads, one region after the other. Threads of the same speed
    so stay in regions of their own, and read and write memory in one go.
    """
    counter = f"%p{pointers.count('ptr')}"
    return [
        "  %thread = call ptr @PyEval_SaveThread()",
        f"  %done = getelementptr i64, ptr {counter}, i64 1",
        f"  %bad = getelementptr i64, ptr {counter}, i64 2",
        f"  %regions.at = getelementptr i64, ptr {counter}, i64 3",
        "  %regions.given = load i64, ptr %regions.at",
        "  %regions = call i64 @llvm.umax.i64(i64 %regions.given, i64 1)",
        f"  %body = and i64 %N, -{wide.count}",
        f"  %N.up = add i64 %N, {PIECE - 1}",
        f"  %pieces = udiv i64 %N.up, {PIECE}",
        "  %pieces.up = add i64 %pieces, %regions",
        "  %pieces.less = sub i64 %pieces.up, 1",
        "  %per = udiv i64 %pieces.less, %regions",
        "  %turns = mul i64 %per, %regions",
        "  br label %draw",
        "draw:",
        f"  %turn = atomicrmw add ptr {counter}, i64 1 monotonic",
        "  %some = icmp ult i64 %turn, %turns",
        "  br i1 %some, label %place, label %wait",
        "place:",
        "  %region = urem i64 %turn, %regions",
        "  %step = udiv i64 %turn, %regions",
        "  %region.start = mul i64 %region, %per",
        "  %piece = add i64 %region.start, %step",
        "  %there = icmp ult i64 %piece, %pieces",
        "  br i1 %there, label %drawn, label %draw",
        "drawn:",
        f"  %from = mul i64 %piece, {PIECE}",
        f"  %end = add i64 %from, {PIECE}",
        "  %within = icmp slt i64 %end, %N",
        "  %to = select i1 %within, i64 %end, i64 %N",
        "  %to.wide = select i1 %within, i64 %end, i64 %body",
        f"  %ok.wide = call i1 @{function_name(kernel, wide)}({pointers}, i64 %from, i64 %to.wide)",
        f"  %ok.rest = call i1 @{function_name(kernel, Lanes(1, wide.dtype))}({pointers}, i64 %to.wide, i64 %to)",
        "  %ok.both = and i1 %ok.wide, %ok.rest",
        "  %spoilt = xor i1 %ok.both, true",
        "  %spoilt.one = zext i1 %spoilt to i64",
        "  %bad.before = atomicrmw add ptr %bad, i64 %spoilt.one monotonic",
        "  %size = sub i64 %to, %from",
        "  %done.before = atomicrmw add ptr %done, i64 %size release",
        "  br label %draw",
        "wait:",
        "  %finished = load atomic i64, ptr %done acquire, align 8",
        "  %all = icmp sge i64 %finished, %N",
        "  br i1 %all, label %take, label %yield",
        "yield:",
        "  %yielded = call i32 @sched_yield()",
        "  br label %wait",
        "take:",
        "  %bad.all = load atomic i64, ptr %bad monotonic, align 8",
        "  %ok = icmp eq i64 %bad.all, 0",
        "  call void @PyEval_RestoreThread(ptr %thread)",
        "  br label %finish",
    ]


@dataclass(frozen=True)
class _Argument:
    """How the entries check one argument."""

    code: str
    """Of its type, in the buffer protocol."""
    size: int
    """Bytes per configuration."""
    depth: int
    """Dimensions of one configuration."""
    shared: bool
    written: bool


def _usage(signature: Signature, dtype: np.dtype) -> str:
    """Error text of the builtin for wrong arguments."""
    parts = [f"{i.name} ({i.width}{' in all' if i.shared else ''})" for i in signature.inputs]
    return (
        f"kernel {signature.name} takes C-contiguous {dtype.name} arrays {', '.join(parts)} and out "
        f"({signature.output_width}): that many numbers per configuration, as many configurations in each, "
        "and out sharing no memory with an input"
    )


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    ]


class _Owner:
    """The builtin's self: what must live as long as it does."""

    def __init__(self, engine: Any, definition: _MethodDef):
        self.engine, self.definition = engine, definition


def builtin(address: int, signature: Signature, dtype: np.dtype, engine: Any) -> Any:
    """A callable for an entry at this address; it keeps the engine (and so the code) alive."""
    text = _usage(signature, dtype)
    definition = _MethodDef(signature.name.encode(), address, METH_FASTCALL, text.encode())
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype, create.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return create(ctypes.addressof(definition), _Owner(engine, definition), None)
