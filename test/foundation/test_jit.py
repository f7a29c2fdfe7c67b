"""Numba's cache on disk is filled by one process at a time; functions are compiled as parts of those Python calls."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import subprocess
import sys

import pytest

from manipapy_core.jit import njit

SOURCE = """
from manipapy_core.jit import njit

@njit(cache=True)
def double(x):
    return x + x
"""

PARTS = """
import numpy as np
from manipapy_core.jit import njit

@njit(cache=True)
def shifted(x, k):
    if k > 2:
        raise ValueError("k is too large")
    return x + k

@njit(cache=True, nogil=True)
def pair(x):
    out = np.empty(2)
    out[0], out[1] = shifted(x, 1), shifted(x, 2)
    return out

@njit(cache=True, nogil=True)
def total(x, k=0):
    found = pair(x)
    return found[0] + found[1] + shifted(x, k)
"""


def is_locked(folder) -> bool:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def load(file, text):
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parts_of(function):
    """Signatures for which compiled functions call a function."""
    return list(function.get_call_template.__self__.overloads)


def test_cache_entries_are_written_under_a_lock_of_their_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")  # beside the source file
    module = load(tmp_path / "doubling.py", SOURCE)
    entries, folder = module.double._cache._cache_file, tmp_path / "__pycache__"
    locked, save_index = [], entries._save_index

    def save(overloads):
        locked.append(is_locked(folder))
        save_index(overloads)

    entries._save_index = save
    assert (module.double(2), module.double(2.5)) == (4, 5.0)
    assert locked == [True, True] and not is_locked(folder)
    assert len(list(folder.glob("*.nbc"))) == 2


def test_a_function_without_a_cache_is_compiled_too():
    assert njit(cache=False)(lambda x: x + 1)(1) == 2


def test_only_what_python_calls_is_translated_to_machine_code_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    module = load(tmp_path / "parts.py", PARTS)
    assert module.total(2.0) == 3.0 + 4.0 + 2.0
    kept = {path.name.split("-")[0] for path in (tmp_path / "__pycache__").glob("*.nbc")}
    assert kept == {"parts.total"}
    # All constants are numbers of one type.
    assert len(parts_of(module.shifted)) == 1
    assert module.pair(1.0).tolist() == [2.0, 3.0]
    assert len(parts_of(module.pair)) == 1
    again = load(tmp_path / "parts.py", PARTS)
    assert again.total(2.0) == 9.0 and sum(again.total.stats.cache_hits.values()) == 1
    assert not parts_of(again.pair)


def test_kept_entries_work_after_kept_code_that_contains_their_part(tmp_path, project):
    """In a new process: what is loaded first must not take the constants of the entry away."""
    (tmp_path / "parts.py").write_text(PARTS)
    call = "import parts; print(parts.total(2.0), parts.pair(1.0).tolist())"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{project}", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        ended = subprocess.run(
            [sys.executable, "-c", call], env=environment, capture_output=True, text=True, check=False
        )
        assert ended.stdout == "9.0 [2.0, 3.0]\n", ended.stderr


def test_an_error_of_a_part_reaches_python(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    module = load(tmp_path / "parts.py", PARTS)
    for function in (module.shifted, module.total):
        with pytest.raises(ValueError, match="k is too large"):
            function(1.0, 3)


def test_a_function_that_calls_itself_is_compiled_too():
    @njit(cache=False)
    def power(x, n):
        if n == 0:
            return 1.0
        return x * power(x, n - 1)

    @njit(cache=False)
    def cube(x):
        return power(x, 3)

    assert power(2.0, 5) == 32.0 and cube(2.0) == 8.0
