"""Keeping the interpreter's own pauses out of a loop."""

from __future__ import annotations

import gc
import sys
import threading


class QuietInterpreter:
    """While in use: no garbage collection of its own accord, and a quick hand-over of the interpreter lock.

    The garbage collector is switched off and what exists is frozen; young garbage is collected when the loop has time.
    Between ticks the interpreter lock is handed over to a thread that has waited for a twentieth of a millisecond
    instead of five: others that compute would delay the loop by that much. During a tick they wait for a millisecond,
    so that no tick is interrupted in its middle.
    """

    SWITCH_INTERVAL = 5e-5
    """Between ticks [s]."""
    TICK_INTERVAL = 1e-3
    """During a tick [s]. Threads read it whenever they begin to wait, which they do anew when the loop takes the lock.
    Not longer, for the sake of ticks that let go of the lock and want it back."""
    _lock = threading.Lock()
    _users = 0
    _enabled = True
    _interval = 0.005
    _quick = SWITCH_INTERVAL

    def __enter__(self) -> QuietInterpreter:
        cls = type(self)
        with cls._lock:
            if cls._users == 0:
                cls._enabled, cls._interval = gc.isenabled(), sys.getswitchinterval()
                gc.collect()
                gc.freeze()
                gc.disable()
                cls._quick = min(cls._interval, self.SWITCH_INTERVAL)
                sys.setswitchinterval(cls._quick)
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
        """Keeps the lock until the tick is over."""
        sys.setswitchinterval(self.TICK_INTERVAL)

    def end_tick(self) -> None:
        """Hands the lock over quickly."""
        sys.setswitchinterval(self._quick)

    def collect_young(self) -> None:
        """Collects what has become garbage lately: a fraction of a millisecond."""
        gc.collect(1)
