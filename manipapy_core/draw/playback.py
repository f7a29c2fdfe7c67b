"""Playback panel of the web viewer: a time slider, a button that plays, and a speed."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import viser

RATE = 25.0
"""Steps per second while it plays [Hz]."""
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")


class PlaybackPanel:
    """Plays something that depends on time, in the container that is open when it is made.

    Args:
        server: The viser server.
        duration: [s].
        show: Shows the state at a time [s].
    """

    def __init__(self, server: viser.ViserServer, duration: float, show: Callable[[float], None]):
        self._server, self._show = server, show
        self.duration = max(math.ceil(10.0 * duration) / 10.0, 0.1)
        """Rounded up to a tenth of a second [s]."""
        self._playing, self._closing = threading.Event(), threading.Event()
        self._lock, self._now = threading.Lock(), 0.0
        gui = server.gui
        self.time: Any = gui.add_slider("Time [s]", 0.0, self.duration, step=0.01, initial_value=0.0)
        self.speed: Any = gui.add_dropdown("Speed", options=SPEEDS, initial_value="1")
        self.button: Any = gui.add_button("Play", color="green")
        self.time.on_update(self._on_slider)
        self.button.on_click(lambda _: self.pause() if self._playing.is_set() else self.play())
        self._thread = threading.Thread(target=self._run, name="playback", daemon=True)
        self._thread.start()
        self.seek(0.0)

    @property
    def now(self) -> float:
        """Time that is shown [s]."""
        return self._now

    @property
    def playing(self) -> bool:
        """Whether it plays."""
        return self._playing.is_set()

    def play(self) -> None:
        """Play to the end; from the start if it is there."""
        if self._now >= self.duration:
            self.seek(0.0)
        self.button.label = "Pause"
        self._playing.set()

    def pause(self) -> None:
        """Stop playing."""
        self._playing.clear()
        self.button.label = "Play"

    def seek(self, seconds: float) -> None:
        """Show a time [s]."""
        with self._lock:
            self._now = min(max(seconds, 0.0), self.duration)
            self._show(self._now)
        self.time.value = self._now

    def close(self) -> None:
        """End the thread."""
        self._closing.set()
        self._playing.set()
        self._thread.join()

    def _on_slider(self, event: Any) -> None:
        if event.client is not None:  # None: set by this program
            with self._lock:
                self._now = float(event.target.value)
                self._show(self._now)

    def _run(self) -> None:
        while not self._closing.is_set():
            self._playing.wait()
            before = time.monotonic()
            time.sleep(1.0 / RATE)
            if self._closing.is_set() or not self._playing.is_set():
                continue
            if not self._server.get_clients():
                continue  # no browser shows it
            self.seek(self._now + float(self.speed.value) * (time.monotonic() - before))
            if self._now >= self.duration:
                self.pause()
