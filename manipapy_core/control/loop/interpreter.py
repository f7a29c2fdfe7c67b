"""Keeping the interpreter's own pauses out of a loop."""

from __future__ import annotations

import gc
import sys
import threading


class QuietInterpreter:
    """While in use: no garbage collection of its own accord, and a quick hand-over of the interpreter lock.

    The garbage collector is switched off and what exists is frozen; young garbage is collected when the loop has time.
    The interpreter lock is offered to waiting threads after a tenth of a millisecond instead of five: a thread that
    computes would otherwise delay the loop by that much.
    """

    SWITCH_INTERVAL = 1e-4
    """[s]"""
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
                sys.setswitchinterval(min(cls._interval, self.SWITCH_INTERVAL))
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

    def collect_young(self) -> None:
        """Collects what has become garbage lately: a fraction of a millisecond."""
        gc.collect(1)
