"""Keeping the interpreter's own pauses out of a loop."""

from __future__ import annotations

import gc
import sys
import threading


class QuietInterpreter:
    """While in use: no garbage collection of its own accord, and a quick hand-over of the interpreter lock.

    The garbage collector is switched off and what exists is frozen; young garbage is collected when the loop has time.
    Between ticks the interpreter lock goes to whoever has waited for some microseconds instead of five milliseconds: a
    thread that computes would otherwise delay the loop by that much. During a tick it does not go to anybody.
    """

    BETWEEN_TICKS = 2e-5
    """A thread gives the lock up after this time when the loop wants it [s]."""
    DURING_TICKS = 5e-3
    """Likewise the loop, when another thread wants it [s]; it sleeps before."""
    _lock = threading.Lock()
    _users = 0
    _enabled = True
    _interval = 0.005

    def __enter__(self) -> QuietInterpreter:
        cls = type(self)
        with cls._lock:
            if cls._users == 0:
                cls._enabled, cls._interval = gc.isenabled(), sys.getswitchinterval()
                gc.collect()
                gc.freeze()
                gc.disable()
                sys.setswitchinterval(self.BETWEEN_TICKS)
            cls._users += 1
        return self

    def __exit__(self, *_: object) -> None:
        cls = type(self)
        with cls._lock:
            cls._users -= 1
            if cls._users == 0:
                sys.setswitchinterval(cls._interval)
                gc.unfreeze()
                if cls._enabled:
                    gc.enable()

    def begin_tick(self) -> None:
        """From now on other threads wait."""
        sys.setswitchinterval(self.DURING_TICKS)

    def end_tick(self) -> None:
        """From now on the loop is the one that may wait."""
        sys.setswitchinterval(self.BETWEEN_TICKS)

    def collect_young(self) -> None:
        """Collects what has become garbage lately: a fraction of a millisecond."""
        gc.collect(1)
