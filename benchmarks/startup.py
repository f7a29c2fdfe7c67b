"""Start-up costs of a fresh process: import, first compilation, load from the cache."""

from __future__ import annotations

import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from problems import ROOT, Problem

SIX_KERNELS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "forward", "space_jacobian", "body_jacobian")

_IMPORT = """
import time
start = time.process_time()
import manipapy_core
print(time.process_time() - start)
"""

_BIND = """
import json, sys, time
from manipapy_core import Robot
request = json.load(sys.stdin)
chain = Robot.from_urdf(request["text"]).chain(request["base"], request["tip"])
start, wall = time.process_time(), time.perf_counter()
from manipapy_core.compiler import bind
import llvmlite.binding
import manipapy_core.compiler.llvm.engine
ready = time.process_time(), time.perf_counter()
for name in request["kernels"]:
    bind(chain, name)
done = time.process_time(), time.perf_counter()
print(json.dumps({"llvmlite": ready[0] - start, "cpu": done[0] - ready[0], "wall": done[1] - ready[1]}))
"""


def import_seconds(times: int = 5) -> float:
    """CPU seconds of `import manipapy_core`, NumPy included, median of fresh processes."""
    _run(_IMPORT, "", {})  # writes the bytecode that an installed package has
    return statistics.median(float(_run(_IMPORT, "", {})) for _ in range(times))


def kernel_seconds(problem: Problem, times: int = 3) -> dict[str, float]:
    """Median CPU seconds of six kernels: compiled in an empty cache, then loaded from it by another process."""
    request = {"text": problem.text, "base": problem.base, "tip": problem.tip, "kernels": SIX_KERNELS}
    cold, warm, wall, library = [], [], [], []
    _run(_BIND, json.dumps(request | {"kernels": []}), {})
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            cache = {"MANIPAPY_CACHE_DIR": folder}
            cold.append(json.loads(_run(_BIND, json.dumps(request), cache))["cpu"])
            second = json.loads(_run(_BIND, json.dumps(request), cache))
            warm.append(second["cpu"])
            wall.append(second["wall"])
            library.append(second["llvmlite"])
    medians = (statistics.median(values) for values in (cold, warm, wall, library))
    return dict(zip(("compile", "load", "load_wall", "llvmlite"), medians, strict=True))


@functools.cache
def _bytecode_folder() -> tempfile.TemporaryDirectory[str]:
    """Bytecode for all measured processes, even where the environment forbids writing it beside the source."""
    return tempfile.TemporaryDirectory()


def _run(script: str, text: str, variables: dict[str, str]) -> str:
    environment = {**os.environ, **variables, "PYTHONPYCACHEPREFIX": _bytecode_folder().name}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    finished = subprocess.run(
        [sys.executable, "-c", script], input=text, env=environment, cwd=Path(tempfile.gettempdir()),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if finished.returncode != 0:
        raise RuntimeError(f"the measured process failed:\n{finished.stderr}")
    return finished.stdout
