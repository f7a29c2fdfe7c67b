"""Machine code of the collision checker: one module for all robots, and one function of frames per chain.

Generated instead of taken from a library because none checks a batch in SIMD lanes: with 20 boxes and self-collision a
configuration takes 0.25 µs (panda) and 0.24 µs (ur5) with 16 lanes, where coal through Pinocchio takes 187 µs and
59 µs in the same run (benchmarks/collision.py, which also lists what is not like for like).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...compiler import Input, Mechanism, mechanism_of
from ...compiler.algorithms import kinematics
from ...compiler.function import FLOAT32
from ...compiler.llvm import engine
from ...compiler.llvm.emit import ProgramWriter, declarations
from ...compiler.llvm.types import Lanes
from ...compiler.mechanism import JointPlacement
from ...compiler.spatial import IDENTITY, ZERO
from ...compiler.trace import Kernel, Signature, trace
from ...model.chain import Chain
from .check import checker_functions
from .convex import convex_functions
from .distances import distance_functions
from .entries import entry_functions
from .nearest import nearest_function

_ADDRESS, _COUNT = ctypes.c_void_p, ctypes.c_int64
_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "check": (_COUNT, _ADDRESS, _ADDRESS, _COUNT, _ADDRESS, _ADDRESS),
    "check_boxes": (_COUNT, _ADDRESS, _ADDRESS, _ADDRESS, _ADDRESS, _COUNT, _ADDRESS, _ADDRESS),
    "edge": (_COUNT, _ADDRESS, _ADDRESS, _ADDRESS, _COUNT, _ADDRESS),
    "edge_onwards": (_COUNT, _ADDRESS, _ADDRESS, _ADDRESS, _COUNT, _ADDRESS),
    "edges": (None, _ADDRESS, _ADDRESS, _ADDRESS, _COUNT, ctypes.c_double, _ADDRESS, _ADDRESS),
    "sample": (None, _ADDRESS, _ADDRESS, _COUNT, _ADDRESS, _ADDRESS),
    "nearest_point": (_COUNT, _ADDRESS, _COUNT, _COUNT, _COUNT, _COUNT, _ADDRESS),
    "distances": (_COUNT, _ADDRESS, _ADDRESS, _COUNT, _ADDRESS, _ADDRESS, _ADDRESS),
}
"""Result and arguments of the entries, as `entries`, `nearest` and `distances` describe them."""


@dataclass(frozen=True)
class CheckerCode:
    """The entries of the checker. Calls through ctypes release the GIL."""

    lanes: int
    """Configurations that are checked side by side."""
    addresses: dict[str, int]
    """Of the entries, for callers such as Numba."""
    calls: Mapping[str, Callable[..., Any]]
    engine: Any
    """Keeps the code alive."""


@dataclass(frozen=True, eq=False)
class FramesCode:
    """Poses of the bodies of one chain, lane by lane."""

    address: int
    engine: Any
    """Keeps the code alive."""


def lanes() -> Lanes:
    return Lanes(engine.lane_count(FLOAT32), FLOAT32)


@functools.cache
def checker_code() -> CheckerCode:
    """The checker for this CPU, compiled or read from the cache at the first call."""
    vectors = lanes()
    code = engine.cached_object("checker", _checker_text, vectors.tag, lambda: _checker_text(vectors), passes=True)
    linked = engine.link(code)
    addresses = {entry: linked.get_function_address(entry) for entry in _PROTOTYPES}
    calls = {entry: ctypes.CFUNCTYPE(*_PROTOTYPES[entry])(address) for entry, address in addresses.items()}
    return CheckerCode(vectors.count, addresses, calls, linked)


def frames_code(chain: Chain) -> FramesCode:
    """`void frames(joints, out)`: n vectors in; rotation row by row and translation of every body out.

    Made once and kept as long as the chain lives.
    """
    kept: FramesCode | None = chain.__dict__.get("_frames")
    if kept is None:
        # setdefault: of two threads that get here, both return the same code. A frozen dataclass has no setattr.
        kept = chain.__dict__.setdefault("_frames", _frames_code(chain))
    return kept


def _frames_code(chain: Chain) -> FramesCode:
    mechanism, vectors = mechanism_of(chain), lanes()
    text = functools.partial(_frames_text, mechanism)
    linked = engine.link(engine.cached_object("frames", text, vectors.tag, lambda: text(vectors)))
    return FramesCode(linked.get_function_address("frames"), linked)


def _checker_text(vectors: Lanes) -> str:
    parts = [declarations(vectors), _more_declarations(vectors), convex_functions(vectors), checker_functions(vectors)]
    return "".join([*parts, entry_functions(vectors), nearest_function(vectors), distance_functions(vectors)])


def _frames_text(mechanism: Mechanism, vectors: Lanes) -> str:
    return declarations(vectors) + _emit_frames(_trace_frames(mechanism), vectors)


def _trace_frames(mechanism: Mechanism) -> Kernel:
    bodies = tuple(JointPlacement(body, IDENTITY, ZERO) for body in range(len(mechanism.bodies)))
    placed = replace(mechanism, links=bodies)

    def frames(q: Any) -> list[Any]:
        poses = kinematics.link_poses(placed, q)
        rotations_first = [0, 1, 2, 4, 5, 6, 8, 9, 10, 3, 7, 11]
        return [poses[16 * body + entry] for body in range(len(bodies)) for entry in rotations_first]

    return trace(Signature("frames", (Input("q", (mechanism.n,), angle=True),), (len(bodies), 12)), frames)


def _emit_frames(kernel: Kernel, vectors: Lanes) -> str:
    writer, V = ProgramWriter(kernel, vectors), vectors.vector
    for joint in range(kernel.inputs[0].width):
        address = writer.let(f"getelementptr {V}, ptr %q, i64 {joint}")
        writer.loaded["q", joint] = writer.let(f"load {V}, ptr {address}, align 4")
    writer.compute(list(kernel.order))
    for position, index in enumerate(kernel.outputs):
        address = writer.let(f"getelementptr {V}, ptr %out, i64 {position}")
        writer.lines.append(f"store {V} {writer.names[index]}, ptr {address}, align 4")
    return "\n".join(["define void @frames(ptr %q, ptr noalias %out) #0 {", *writer.taken(), "  ret void", "}", ""])


def _more_declarations(vectors: Lanes) -> str:
    V = vectors.vector
    floor = f"declare {V} @llvm.floor.{vectors.suffix}({V})\n"
    return floor + f"declare {V} @llvm.copysign.{vectors.suffix}({V}, {V})\n"


def workspace(vectors: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Scratch memory for one call: this many vectors of lanes."""
    return np.empty(vectors * lanes().count, dtype=np.float32)
