"""A service whose answers are computed on threads, so that the executor stays free."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rclpy.node import Node


class DeferredService:
    """A service that computes its responses on threads.

    rclpy sends what a callback returns as soon as it returns, which would block the executor meanwhile; a coroutine
    would keep it busy.

    Args:
        node: That offers it.
        kind: Type of the service.
        answer: From a request to a response; must not raise.
        pool: Threads.
    """

    def __init__(self, node: Node, kind: type, name: str, answer: Callable[[Any], Any], pool: ThreadPoolExecutor):
        self._node, self._answer, self._pool = node, answer, pool
        self._lock, self._ended = threading.Lock(), False
        self._service: Any = node.create_service(kind, name, lambda request, _: request)
        self._send = self._service.send_response
        # The executor calls it with what the callback returns, which is the request, and the header of the client.
        self._service.send_response = self._begin

    def destroy(self) -> None:
        """End the service; answers that are being computed are not sent."""
        with self._lock:
            self._ended = True
        self._node.destroy_service(self._service)

    def _begin(self, request: Any, header: Any) -> None:
        self._pool.submit(self._respond, request, header)

    def _respond(self, request: Any, header: Any) -> None:
        response = self._answer(request)
        with self._lock:
            if not self._ended:
                self._send(response, header)
