"""IR text → machine code for this CPU → callable, by llvmlite."""

from __future__ import annotations

import functools
import platform
import sys
from collections.abc import Callable
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from ...errors import CompilerError
from .. import cache, sources
from ..trace import Kernel, Signature, trace
from .emit import declarations, emit
from .entry import DECLARATIONS, Entries, builtin, emit_entries, entry_names, python_symbols
from .types import Lanes

LARGE = 25_000
"""Lines of IR from which code is generated without optimising: that takes more than linear time in the length of a
program. A traced program has this many at about ten thousand operations."""
TARGET: dict[str, Any] = {"reloc": "pic", "codemodel": "small", "jit": True}
"""The small code model reads constants relative to the instruction pointer; the large one, default for JIT code, needs
an instruction and a register for each. Position-independent code reaches Python through a table."""
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
    """
    _prepare()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=_features(), opt=effort, **TARGET)


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


def load(signature: Signature, dtype: np.dtype, formula: Callable[..., Any]) -> Entries:
    """The builtins of a kernel, from the cache or newly compiled."""
    engine = link(
        cached_object(
            signature.name, formula, f"{signature!r} {dtype.name}", lambda: ir_text(trace(signature, formula), dtype)
        )
    )
    return Entries(
        *(builtin(engine.get_function_address(name), signature, dtype, engine) for name in entry_names(signature))
    )


def link(code: bytes) -> llvm.ExecutionEngine:
    """Machine code ready to be called; it lives as long as the engine, which the caller keeps."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())  # an empty module of its own
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def ir_text(kernel: Kernel, dtype: np.dtype) -> str:
    """LLVM IR of a kernel: lanes, single, and the Python entries."""
    wide, single = Lanes(lane_count(dtype), dtype), Lanes(1, dtype)
    parts = [DECLARATIONS, declarations(wide), declarations(single), emit(kernel, wide), emit(kernel, single)]
    return "".join([*parts, emit_entries(kernel, wide)])


def cached_object(name: str, made_from: Any, options: str, text: Callable[[], str], *, passes: bool = False) -> bytes:
    """Object file of IR text, whose functions may refer to the attributes #0; from the cache if it was compiled before.

    Args:
        made_from: Function that makes the text or is traced for it, with all that it is bound to.
        options: What else the text depends on; processor and versions are added here.
        text: Makes the text; called only if the cache does not lead to the object.
        passes: Run LLVM's optimisation passes: for code with loops and variables. A traced program is straight-line
            and merged already, so they find nothing to do there (measured), and without them it takes half the time.
    """
    known = sources.identity(made_from)
    inputs = None if known is None else [known.text, options, machine()]
    modules = () if known is None else (*known.modules, __name__)

    def program() -> str:
        head = f"; {machine()} {TARGET} {'passes' if passes else 'no passes'}\n"
        return head + text() + ATTRIBUTES

    return cache.load(name, inputs, modules, program, functools.partial(_compile, name, passes))


def _compile(name: str, passes: bool, text: str) -> bytes:
    try:
        module = llvm.parse_assembly(text)
        module.verify()
        target = _target(3 if passes else 1 if text.count("\n") < LARGE else 0)
        if passes:
            builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
            builder.getModulePassManager().run(module, builder)
        return target.emit_object(module)
    except RuntimeError as error:
        raise CompilerError(f"LLVM refused kernel {name!r}: {error}") from error
