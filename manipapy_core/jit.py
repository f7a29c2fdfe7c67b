"""Numba's `njit`, with less to compile, a disk cache that several processes may fill at once, and a notice of progress.

**Less to compile.** Of every function, also of one that only compiled functions call, Numba makes a program of its own
with entries for Python and C, optimises it together with all that it calls, translates it to machine code and keeps it
on disk; it does so again for every value of an integer constant among the arguments. Here a function is at first a
**part**: typed and translated to LLVM's language, once per types of its arguments. Only what Python calls gets an
entry, is optimised as a whole with all parts that it needs, translated to machine code and kept on disk. A cold start
of the planner takes half as long; what runs is optimised as before.

**The disk cache.** Numba (0.68 too) keeps an index per function that gives each signature the number of its code file.
Two processes that compile the same function for different signatures at the same time may both take the next free
number, and the index then leads to the code of the wrong signature. ROS nodes that start together after an
installation, and parallel tests, do just that. Here an entry is written under a lock of its folder.
"""

# mypy: disable-error-code="no-untyped-call, attr-defined"
# Most of Numba has no annotations.

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.dispatcher import _FunctionCompiler
from numba.core.environment import Environment
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

from .compile_notice import announce_compilation

announce_compilation()


def njit(*, cache: bool, **options: Any) -> Any:
    """Decorator: `numba.njit`, with the options of it that are given."""

    def decorate(function: Callable[..., Any]) -> Any:
        entry = numba.njit(cache=cache, **options)(function)
        if cache:
            entries = entry._cache._cache_file
            entries.save = _saver_under_lock(entries)
        if function.__name__ in function.__code__.co_names:
            return entry  # A function that calls itself needs a program of its own.
        part = _Part(function, targetoptions=entry.targetoptions, pipeline_class=_PartCompiler)
        entry.get_call_template, entry.get_overload = part.get_call_template, part.get_overload
        entry._compiler = _EntryCompiler(part)
        return entry

    return decorate


class _Part(CPUDispatcher):
    """A function as compiled functions call it; Python cannot."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What type inference asks for; the values of constants among the arguments are left out."""
        return super().get_call_template(
            tuple(types.unliteral(kind) for kind in args), {name: types.unliteral(kind) for name, kind in kws.items()}
        )

    def add_overload(self, result: Any) -> None:
        """Without an entry for Python."""
        self.overloads[tuple(result.signature.args)] = result


class _EntryCompiler(_FunctionCompiler):  # type: ignore[misc]
    """Makes the entry by which Python calls a function."""

    def __init__(self, part: _Part):
        super().__init__(part.py_func, part.targetdescr, part.targetoptions, part.locals, None)
        self._part = part

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        self._part.compile(args)
        part: Any = self._part.overloads[tuple(args)]
        context, descriptor = part.target_context, copy.copy(part.fndesc)
        # Constants of the entry, such as the types of arrays that it returns, are its own: the environment of the part
        # may have been loaded with other code that contains the part, and lacks them.
        descriptor.env_name += "entry"
        environment = Environment.from_fndesc(descriptor)
        library = context.codegen().create_library(descriptor.qualname)
        library.enable_object_caching()
        library.add_linking_library(part.library)
        with context.push_code_library(library):
            context.create_cpython_wrapper(
                library,
                descriptor,
                environment,
                part.call_helper,
                release_gil=bool(self.targetoptions.get("nogil")),
            )
        function = context.get_executable(library, descriptor, environment)
        context.insert_user_function(function, descriptor, [library])
        result = part._replace(
            entry_point=function, library=library, metadata={}, fndesc=descriptor, environment=environment
        )
        for needed in result._find_referenced_environments():
            library.codegen.set_env(needed.env_name, needed)
        return result


class _PartLibrary(JITCodeLibrary):
    """Code for linking into that of callers, which optimise it and translate it to machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Translation to LLVM's language and no further."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        flags, context = state.flags, state.targetctx
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        state.library = _PartLibrary(context.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        # Callers find the code by this key, which would be the entry for Python.
        key = object()
        context.insert_user_function(key, state["cr"].fndesc, [state.library])
        state["cr"] = state["cr"]._replace(cfunc=key)
        return True


class _PartCompiler(CompilerBase):
    """Numba's passes with the last step replaced."""

    def define_pipelines(self) -> list[PassManager]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_PartLowering if step is NativeLowering else step, text) for step, text in passes.passes]
        passes.finalize()
        return [passes]


def _saver_under_lock(entries: Any) -> Callable[[Any, Any], None]:
    """The method `save` of Numba's cache file, one process at a time."""
    save, folder = entries.save, entries._cache_path

    def save_under_lock(key: Any, data: Any) -> None:
        with _locked(folder):
            save(key, data)

    return save_under_lock


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Exclusive use of a folder among the processes of this machine; the system ends it with its holder."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
