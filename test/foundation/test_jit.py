"""Numba's cache on disk is filled by one process at a time."""

from __future__ import annotations

import fcntl
import importlib.util
import os

from manipapy_core.jit import njit

SOURCE = """
from manipapy_core.jit import njit

@njit(cache=True)
def double(x):
    return x + x
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


def test_cache_entries_are_written_under_a_lock_of_their_folder(tmp_path, monkeypatch):
    file = tmp_path / "doubling.py"
    file.write_text(SOURCE)
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")  # beside the source file
    spec = importlib.util.spec_from_file_location("doubling", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
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
