"""What a supervisor does for `manipapy hold`, `reset` and `state` of the same machine (`local_socket`)."""

from __future__ import annotations

import threading
from typing import Any

from ..client.session import RosSession
from ..client.state_report import StateReport
from ..client.stop_client import StopClient
from .local_socket import Handler, LocalSocket

IDLE = 30.0
"""Joint states are subscribed to until so long after the last question for them [s]."""


class LocalCommands:
    """Handlers of the commands.

    Args:
        session: Of the supervisor.
    """

    def __init__(self, session: RosSession):
        self._session, self._stop = session, StopClient(session)
        self._report: StateReport | None = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def served(self) -> LocalSocket:
        """A socket with these commands."""
        handlers: dict[str, Handler] = {"hold": self._stop.hold, "reset": self._stop.reset, "state": self.state}
        return LocalSocket(self._session.namespace, handlers)

    def state(self) -> dict[str, Any]:
        """The state of the robot; the first call takes a moment longer."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._report is None:
                self._report = StateReport(self._session)
            self._timer = threading.Timer(IDLE, self._forget)
            self._timer.daemon = True
            self._timer.start()
            return self._report.data()

    def _forget(self) -> None:
        with self._lock:
            if self._report is not None:
                self._report.destroy()
                self._report = None
