"""The wait in machine code: never early, without the GIL, and a clear error where there is none."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from manipapy_core.compiler import cache, native_wait
from manipapy_core.compiler.llvm import engine

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="written for Linux")


@pytest.mark.parametrize(("asleep", "awake"), [(0, 0), (0, 300_000), (2_000_000, 0), (2_000_000, 300_000)])
def test_it_ends_at_or_after_its_deadline(asleep, awake):
    call = native_wait.wait_code().call
    for _ in range(5):
        deadline = time.monotonic_ns() + asleep + awake
        call(deadline - awake, deadline)
        assert time.monotonic_ns() >= deadline


def test_a_time_that_has_passed_is_not_waited_for():
    done = threading.Event()

    def wait():
        native_wait.wait_code().call(1, 2)
        done.set()

    threading.Thread(target=wait, daemon=True).start()
    assert done.wait(20.0)


def test_other_threads_run_while_it_spins():
    """Looked at in the middle of the wait: before and after it the two threads take turns anyway."""
    milliseconds, ended = set(), threading.Event()

    def note_the_time():
        while not ended.is_set():
            milliseconds.add(time.monotonic_ns() // 1_000_000)

    call = native_wait.wait_code().call
    thread = threading.Thread(target=note_the_time, daemon=True)
    thread.start()
    try:
        now = time.monotonic_ns()
        call(now, now + 100_000_000)
    finally:
        ended.set()
        thread.join()
    start = now // 1_000_000
    assert any(start + 20 < moment < start + 80 for moment in milliseconds)


def test_the_code_comes_from_the_cache_the_second_time(monkeypatch, tmp_path):
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path))
    native_wait.wait_code.cache_clear()
    native_wait.wait_code()
    assert sorted(path.suffix for path in tmp_path.iterdir()) == ["", cache.INDEX, cache.KERNEL]
    monkeypatch.setattr(engine, "_compile", lambda *_: pytest.fail("compiled again"))
    native_wait.wait_code.cache_clear()
    now = time.monotonic_ns()
    native_wait.wait_code().call(now, now + 1000)
    assert time.monotonic_ns() >= now + 1000
    monkeypatch.undo()
    native_wait.wait_code.cache_clear()


def test_other_systems_are_told(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    native_wait.wait_code.cache_clear()
    with pytest.raises(native_wait.NoNativeWait, match="darwin"):
        native_wait.wait_code()
    monkeypatch.undo()
    native_wait.wait_code.cache_clear()


def test_without_llvmlite_the_cure_is_named(monkeypatch):
    """Python is told that the module is not there, as on a machine where it is not."""
    monkeypatch.delitem(sys.modules, "manipapy_core.compiler.llvm.engine", raising=False)
    monkeypatch.delattr("manipapy_core.compiler.llvm.engine", raising=False)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    native_wait.wait_code.cache_clear()
    with pytest.raises(native_wait.NoNativeWait, match="pip install llvmlite"):
        native_wait.wait_code()
    monkeypatch.undo()
    native_wait.wait_code.cache_clear()
