"""Requests from other threads to the loop, which never waits for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..errors import ManipapyError

Request = Callable[[float], None]
"""Carried out in the loop; gets the time of the tick [s]."""

CAPACITY = 256
PER_TICK = 8
"""So that a flood of requests cannot make a tick late."""


class InboxFull(ManipapyError):
    """Requests are not being taken out: the loop does not run."""

    def __init__(self) -> None:
        super().__init__(f"{CAPACITY} requests wait and none is taken; is the control loop running?")


class Inbox:
    """A queue without a lock: appending to and taking from a deque are atomic."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque()

    def post(self, request: Request) -> None:
        """From any thread.

        Raises:
            InboxFull: Nobody takes requests out.
        """
        if len(self._requests) >= CAPACITY:
            raise InboxFull()
        self._requests.append(request)

    def carry_out(self, now: float) -> None:
        """In the loop: the oldest requests, a few per tick, in the order they came."""
        requests = self._requests
        if not requests:
            return
        for _ in range(min(len(requests), PER_TICK)):
            requests.popleft()(now)

    def __len__(self) -> int:
        return len(self._requests)
