"""IR text → machine code for this CPU → callable, by llvmlite."""

from __future__ import annotations

import functools
import platform
import sys
from collections.abc import Callable

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from ...errors import CompilerError
from .. import cache
from ..trace import Kernel, Signature
from .emit import declarations, emit
from .entry import DECLARATIONS, Entries, builtin, emit_entries, entry_names, python_symbols
from .types import Lanes

LARGE = 10_000
"""Operations from which code generation takes the quick way: it is worse than linear in the length of a program."""
ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }\n'


@functools.cache
def _prepare() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name, address in python_symbols().items():
        llvm.add_symbol(name, address)


def _target(effort: int = 1) -> llvm.TargetMachine:
    """A new one each time: an engine owns the one it is given.

    Effort 1 gives the same code as 3 for straight lines (measured) in less time.

    The small code model reads constants relative to the instruction pointer; the large one, default for JIT code,
    needs an instruction and a register for each. Position-independent code reaches Python through a table.
    """
    _prepare()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_features(), opt=effort, reloc="pic", codemodel="small", jit=True
    )


@functools.cache
def _features() -> str:
    return llvm.get_host_cpu_features().flatten()


@functools.cache
def machine() -> str:
    """Whatever makes machine code of one process useless in another: CPU, LLVM, Python."""
    return "|".join(
        [
            platform.machine(),
            llvm.get_host_cpu_name(),
            _features(),
            llvmlite.__version__,
            ".".join(map(str, llvm.llvm_version_info)),
            sys.implementation.cache_tag or sys.version,
        ]
    )


@functools.cache
def lane_count(dtype: np.dtype) -> int:
    """Numbers of this type in the widest registers of this CPU."""
    features = _features()
    width = 64 if "+avx512f" in features else 32 if "+avx2" in features else 16
    return width // dtype.itemsize


def load(signature: Signature, dtype: np.dtype, key: str, make: Callable[[], Kernel]) -> Entries:
    """The builtins of a kernel, from the cache or freshly compiled.

    Args:
        key: Identifies the kernel's numbers and how it is made; CPU and versions are added here.
        make: Traces the kernel; called only if it must be compiled.
    """
    name = cache.name_for(signature.name, key, dtype.name, machine())
    code = cache.read(name)
    if code is None:
        code = compile_object(make(), dtype)
        cache.write(name, code)
    engine = link(code)
    return Entries(
        *(builtin(engine.get_function_address(name), signature, dtype, engine) for name in entry_names(signature))
    )


def link(code: bytes) -> llvm.ExecutionEngine:
    """Machine code ready to be called; it lives as long as the engine, which the caller keeps."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())  # an empty module of its own
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def compile_object(kernel: Kernel, dtype: np.dtype) -> bytes:
    """Machine code of a kernel as an object file: lanes, single, and the Python entries.

    The program is straight-line and merged already, so LLVM's optimisation passes find nothing to do (measured);
    code generation alone takes half the time.
    """
    wide, single = Lanes(lane_count(dtype), dtype), Lanes(1, dtype)
    parts = [DECLARATIONS, declarations(wide), declarations(single), emit(kernel, wide), emit(kernel, single)]
    text = "".join([*parts, emit_entries(kernel, wide)])
    return assemble(kernel.name, text, effort=1 if kernel.operations < LARGE else 0)


def assemble(name: str, text: str, *, effort: int = 1) -> bytes:
    """Object file of IR text, whose functions may refer to the attributes #0."""
    try:
        module = llvm.parse_assembly(text + ATTRIBUTES)
        module.verify()
        return _target(effort).emit_object(module)
    except RuntimeError as error:
        raise CompilerError(f"LLVM refused kernel {name!r}: {error}") from error
