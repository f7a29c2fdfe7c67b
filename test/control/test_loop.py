"""The periodic loop: rate, skipped cycles, failures, clean-up. Behaviour, not timing."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from manipapy_core import InputError
from manipapy_core.control import LoopSettings, LoopStuck, PeriodicLoop
from manipapy_core.control.loop import Histogram
from manipapy_core.control.loop.realtime import AbsoluteSleep, RealtimeInterpreter

PLAIN = LoopSettings(period=2e-3, spin=0.0, priority=None, lock_memory=False)


def wait_until(condition, timeout=10.0):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "timeout"
        time.sleep(0.005)


def test_ticks_with_rising_times_until_it_is_stopped():
    times = []
    loop = PeriodicLoop(times.append, PLAIN)
    loop.start()
    wait_until(lambda: len(times) > 50)
    loop.stop()
    count = len(times)
    assert not loop.running
    assert (np.diff(times) > 0.0).all()
    time.sleep(0.02)
    assert len(times) == count, "no tick after the stop"


def test_no_tick_before_its_deadline_and_none_made_up_for():
    """One stall of twenty periods: those cycles are counted as missed, and never more ticks than time allows."""
    times, period = [], PLAIN.period

    def tick(now):
        times.append(now)
        if len(times) == 10:
            time.sleep(20 * period)

    loop = PeriodicLoop(tick, PLAIN)
    loop.start()
    wait_until(lambda: len(times) > 60)
    loop.stop()
    report = loop.report()
    assert report.missed >= 18
    elapsed = (times[-1] - times[0]) / period
    assert len(times) - 1 <= elapsed + 1.0
    # Every cycle was either run or counted as missed (the last report may be a cycle ahead of the list).
    assert abs(report.ticks + report.missed - 1 - elapsed) <= 2.5
    # All ticks belong to the same grid of deadlines, before and after the stall.
    phases = np.mod(np.array(times) - times[0] + 0.25 * period, period)
    assert np.median(phases) < period


def test_an_exception_is_reported_and_the_loop_continues():
    errors, ticks = [], []

    def tick(now):
        ticks.append(now)
        if len(ticks) % 3 == 0:
            raise ValueError(f"tick {len(ticks)}")

    loop = PeriodicLoop(tick, PLAIN, on_failure=errors.append)
    loop.start()
    wait_until(lambda: len(errors) >= 5)
    assert loop.running
    loop.stop()
    assert all(isinstance(error, ValueError) for error in errors)
    assert isinstance(loop.failure, ValueError) and loop.failure.__traceback__ is not None
    assert loop.report().failure is loop.failure


def broken(_):
    raise RuntimeError("always")


def test_loop_without_failure_handler_ends_and_keeps_the_cause():
    loop = PeriodicLoop(broken, PLAIN)
    loop.start()
    wait_until(lambda: not loop.running)
    assert str(loop.failure) == "always"


def test_loop_ends_after_too_many_failures():
    errors = []
    settings = LoopSettings(period=1e-3, spin=0.0, priority=None, lock_memory=False, failures_allowed=7)
    loop = PeriodicLoop(broken, settings, on_failure=errors.append)
    loop.start()
    wait_until(lambda: not loop.running)
    assert len(errors) == 7


def test_failing_failure_handler_ends_the_loop_with_both_causes():
    def fail_again(error):
        raise OSError("handler failed") from None

    loop = PeriodicLoop(broken, PLAIN, on_failure=fail_again)
    loop.start()
    wait_until(lambda: not loop.running)
    assert isinstance(loop.failure, OSError) and str(loop.failure.__cause__) == "always"


def test_reports_cover_the_time_since_the_last_one():
    ticks = []
    loop = PeriodicLoop(ticks.append, PLAIN)
    loop.start()
    wait_until(lambda: len(ticks) > 20)
    first = loop.report()
    wait_until(lambda: len(ticks) > 60)
    loop.stop()
    second = loop.report()
    assert first.ticks + second.ticks == pytest.approx(len(ticks), abs=2)
    assert first.work.count == pytest.approx(first.ticks, abs=1) and first.rate > 0.0
    assert loop.report().ticks == 0
    assert first.realtime.scheduler == "SCHED_OTHER" and first.realtime.refused == ()


def test_loop_restores_interpreter_settings_and_threads():
    threads, collecting, interval = threading.active_count(), gc.isenabled(), sys.getswitchinterval()
    frozen = gc.get_freeze_count()
    for _ in range(5):
        loop = PeriodicLoop(lambda _: None, PLAIN)
        loop.start()
        time.sleep(0.02)
        assert not gc.isenabled() and sys.getswitchinterval() <= 2e-4
        loop.stop()
    assert threading.active_count() == threads
    assert gc.isenabled() == collecting and sys.getswitchinterval() == pytest.approx(interval)
    assert gc.get_freeze_count() <= frozen


def test_two_loops_undo_their_settings_when_the_last_one_ends():
    interval = sys.getswitchinterval()
    with RealtimeInterpreter():
        with RealtimeInterpreter():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() and sys.getswitchinterval() == pytest.approx(interval)


def test_a_tick_that_blocks_is_named_when_the_loop_should_end():
    release = threading.Event()
    loop = PeriodicLoop(lambda _: release.wait(), PLAIN, name="arm-loop")
    loop.start()
    time.sleep(0.02)
    with pytest.raises(LoopStuck, match="arm-loop"):
        loop.stop(timeout=0.05)
    release.set()
    wait_until(lambda: not loop.running)


def test_stopping_twice_or_before_the_start_is_harmless():
    loop = PeriodicLoop(lambda _: None, PLAIN)
    loop.stop()
    loop = PeriodicLoop(lambda _: None, PLAIN)
    loop.start()
    loop.stop()
    loop.stop()


def test_a_tick_may_stop_its_own_loop():
    loops = []
    loop = PeriodicLoop(lambda _: loops[0].stop(), PLAIN)
    loops.append(loop)
    loop.start()
    wait_until(lambda: not loop.running)
    assert loop.failure is None


@pytest.mark.parametrize(
    "wrong", [{"period": 0.0}, {"period": 1e-3, "spin": 2e-3}, {"priority": 0}, {"priority": 100}, {"spin": -1e-4}]
)
def test_invalid_settings_are_refused(wrong):
    with pytest.raises(InputError):
        LoopSettings(**wrong)


def test_sleep_ends_at_or_after_its_deadline():
    sleep = AbsoluteSleep()
    for wait in (0, 500_000, 3_000_000):
        deadline = time.monotonic_ns() + wait
        sleep.until(deadline)
        assert time.monotonic_ns() >= deadline
    sleep.until(time.monotonic_ns() - 10_000_000_000)


def test_histogram_agrees_with_numpy_within_a_bin():
    rng = np.random.default_rng(0)
    times = (rng.gamma(2.0, 60.0, 20_000) * 1000).astype(int)
    histogram = Histogram()
    for value in times:
        histogram.record(int(value))
    spread, microseconds = histogram.spread(), times / 1000.0
    assert spread.count == times.size and spread.mean == pytest.approx(microseconds.mean())
    for quantile, share in ((spread.p50, 50), (spread.p99, 99), (spread.p999, 99.9)):
        assert quantile == pytest.approx(np.percentile(microseconds, share), abs=2.0)
    assert spread.largest == pytest.approx(microseconds.max())
    assert histogram.longer_than(100.0) == (times // 1000 >= 100).sum()


def test_histogram_keeps_outliers_and_takes_no_memory_for_them():
    histogram = Histogram()
    for value in (-5, 0, 10**12):
        histogram.record(value)
    assert histogram.spread().largest == 1e9 and histogram.longer_than(1999.0) == 1


def test_refused_realtime_settings_are_reported_and_the_loop_runs():
    """In a process without privileges: scheduling and memory locking are refused, ticks come."""
    script = """
        import os, resource, time
        from manipapy_core.control import LoopSettings, PeriodicLoop
        ticks = []
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
        resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
        if os.getuid() == 0:
            os.setuid(65534)
        loop = PeriodicLoop(ticks.append, LoopSettings(period=2e-3, spin=0.0))
        loop.start()
        while len(ticks) < 20:
            time.sleep(0.01)
        loop.stop()
        report = loop.report().realtime
        print(report.scheduler, report.memory_locked)
        print("; ".join(report.refused))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=True
    )
    state, refused = done.stdout.splitlines()
    assert state == "SCHED_OTHER False"
    assert "rtprio 80" in refused and "memlock unlimited" in refused


def test_real_time_scheduling_is_used_where_it_is_permitted():
    import os

    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        pytest.skip("this machine permits no real-time scheduling; the refusal has a test of its own")
    policies = []
    loop = PeriodicLoop(
        lambda _: policies.append(os.sched_getscheduler(0)), LoopSettings(period=2e-3, priority=1, lock_memory=False)
    )
    loop.start()
    wait_until(lambda: len(policies) > 3)
    loop.stop()
    assert set(policies) == {os.SCHED_FIFO} and loop.report().realtime.scheduler == "SCHED_FIFO 1"
    assert os.sched_getscheduler(0) == os.SCHED_OTHER, "only the thread of the loop"
