"""The page of a viewer without a browser: what its server sends to it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from types import TracebackType


class PageSocket:
    """One visitor of a page. Use it in a `with` statement, or close it.

    Args:
        address: With the token, as the viewer prints it.
    """

    def __init__(self, address: str):
        import viser
        from websockets.sync.client import connect

        page, token = address.split("/?token=")
        self._socket = connect(
            page.replace("http", "ws"),
            subprotocols=[f"viser-v{viser.__version__}"],
            origin=page,
            additional_headers={"Cookie": f"manipapy_token_{page.rpartition(':')[2]}={token}"},
            max_size=None,
        )
        # A visitor counts once its camera is known.
        import msgspec

        camera = {"wxyz": (1.0, 0.0, 0.0, 0.0), "position": (1.0, 1.0, 1.0), "look_at": (0.0, 0.0, 0.0)}
        camera |= {"up_direction": (0.0, 0.0, 1.0), "fov": 1.0, "near": 0.01, "far": 100.0}
        camera |= {"type": "ViewerCameraMessage", "image_height": 600, "image_width": 800}
        self._socket.send(msgspec.msgpack.encode(camera))
        self._received: list[tuple[float, bytes]] = []
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        import zstandard
        from websockets.exceptions import ConnectionClosed

        with contextlib.suppress(ConnectionClosed):
            for raw in self._socket:
                size = int.from_bytes(raw[8:16], "little")
                text = zstandard.ZstdDecompressor().decompress(raw[16 : 16 + size], 1 << 26)
                self._received.append((time.monotonic(), text))

    def messages(self) -> Iterator[tuple[float, bytes]]:
        """Time of arrival [s] and content of everything so far."""
        yield from list(self._received)

    def rate(self, name: bytes, seconds: float) -> float:
        """Messages with this name in them per second, from now on for so long."""
        begin = time.monotonic()
        time.sleep(seconds)
        end = time.monotonic()
        return sum(begin < when <= end and name in text for when, text in self.messages()) / (end - begin)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> PageSocket:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
