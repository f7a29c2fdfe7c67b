"""NVIDIA's run-time compiler, which needs no GPU: what a kernel costs in registers on a real architecture.

The package nvidia-cuda-nvrtc is two shared libraries, called here through ctypes; neither CuPy nor a CUDA toolkit is
needed.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from manipapy_core.compiler.cuda import device

ARCHITECTURES = (75, 80, 90, 100, 120)
"""Turing, Ampere, Hopper, and Blackwell of data centres and of workstations."""

OPTIONS = (*device.OPTIONS, "--ptxas-options=-v")
"""Ours, and a report of the assembler."""


@dataclass(frozen=True)
class Usage:
    """What the assembler says about a kernel."""

    registers: int
    spilled: int
    """Bytes stored to and loaded from memory for lack of registers."""
    stack: int
    """Bytes of local memory per thread."""
    assembly: str
    """PTX, the virtual assembly before registers are chosen."""


def library_path() -> Path | None:
    """Where pip put NVRTC."""
    package = importlib.util.find_spec("nvidia")
    folders = [] if package is None else list(package.submodule_search_locations or [])
    found = sorted(path for folder in folders for path in Path(folder).glob("*/lib/libnvrtc.so.*"))
    return found[-1] if found else None


needs_nvrtc = pytest.mark.skipif(
    library_path() is None, reason="no NVRTC, which compiles for GPUs without one; pip install nvidia-cuda-nvrtc"
)


@functools.cache
def _library() -> ctypes.CDLL:
    path = library_path()
    assert path is not None, "pip install nvidia-cuda-nvrtc"
    return ctypes.CDLL(str(path))


def version() -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def compile_for(architecture: int, source: str, *further: str) -> Usage:
    """Compiles a file with one kernel down to machine code, with further options if need be."""
    nvrtc, program = _library(), ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None) == 0
    try:
        texts = (f"--gpu-architecture=sm_{architecture}", *OPTIONS, *further)
        options = [text.encode() for text in texts]
        failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = _text(nvrtc, program, "ProgramLog")
        assert not failed, log
        return _usage(log, _text(nvrtc, program, "PTX"))
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _text(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    assert nvrtc[f"nvrtcGet{what}Size"](program, ctypes.byref(size)) == 0
    buffer = ctypes.create_string_buffer(size.value)
    assert nvrtc[f"nvrtcGet{what}"](program, buffer) == 0
    return buffer.value.decode()


def _usage(log: str, assembly: str) -> Usage:
    registers = re.findall(r"Used (\d+) registers", log)
    memory = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log)
    assert len(registers) == len(memory) == 1, log
    stack, stores, loads = map(int, memory[0])
    return Usage(int(registers[0]), stores + loads, stack, assembly)
