"""Headless Chromium over the DevTools protocol, to test web pages."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.request import urlopen

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    # WebGL without a graphics card.
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--remote-debugging-port=0",
)
TIMEOUT = 60.0
"""[s]"""


def chromium() -> str | None:
    """Path of Chromium; None if it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page of one browser. Use it in a `with` statement.

    Args:
        url: Of the page.
        size: Of the window, width and height [pixels].
        timeout: For every answer and every wait [s].
    """

    def __init__(self, url: str, *, size: tuple[int, int] = (1280, 800), timeout: float = TIMEOUT):
        from websockets.sync.client import connect

        program = chromium()
        assert program is not None
        self._timeout = timeout
        self._profile = tempfile.TemporaryDirectory(prefix="manipapy-browser-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--window-size={size[0]},{size[1]}", f"--user-data-dir={self._profile.name}", url],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port_file = Path(self._profile.name) / "DevToolsActivePort"
        self.wait_for(lambda: port_file.is_file() and "\n" in port_file.read_text(), "Chromium to start")
        port = port_file.read_text().split()[0]
        pages: list[dict[str, Any]] = []

        def look() -> bool:
            with urlopen(f"http://127.0.0.1:{port}/json") as answer:
                pages[:] = [page for page in json.load(answer) if page["url"].startswith(url)]
            return bool(pages)

        self.wait_for(look, "the page")
        self._socket = connect(pages[0]["webSocketDebuggerUrl"], max_size=None)
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        """Errors in the console of the page since it was opened."""
        self.ask("Runtime.enable")
        self.ask("Log.enable")

    def wait_for(self, condition: Any, what: str) -> None:
        deadline = time.monotonic() + self._timeout
        while not condition():
            assert time.monotonic() < deadline, f"waited {self._timeout:g} s for {what}"
            time.sleep(0.1)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Response to a command of the protocol."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=self._timeout))
            self._keep_error(answer)
            if answer.get("id") == number:
                return answer["result"]

    def _keep_error(self, event: dict[str, Any]) -> None:
        method, values = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(values["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(part.get("value", part.get("description"))) for part in values["args"]))
        elif method == "Log.entryAdded" and values["entry"]["level"] == "error":
            self.errors.append(f"{values['entry']['text']} {values['entry'].get('url', '')}")

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        return self.ask("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    @property
    def text(self) -> str:
        """Visible text of the page."""
        return str(self.evaluate("document.body.innerText"))

    def click(self, label: str) -> None:
        """Click the button with this label."""
        found = self.evaluate(
            f"(() => {{ const b = [...document.querySelectorAll('button')].find(b => b.innerText.trim() === {label!r});"
            " if (b) b.click(); return !!b; })()"
        )
        assert found, f"no button {label!r} on the page"

    def click_input(self, label: str) -> None:
        """Click the checkbox beside this label."""
        found = self.evaluate(
            "(() => { const l = [...document.querySelectorAll('label')]"
            f".find(l => l.innerText.trim() === {label!r}); if (!l) return false;"
            " let e = l; while (e && !e.querySelector('input[type=checkbox]')) e = e.parentElement;"
            " if (e) e.querySelector('input[type=checkbox]').click(); return !!e; })()"
        )
        assert found, f"no checkbox {label!r} on the page"

    def hold(self, label: str, until: Any) -> None:
        """Hold the button with this label until a condition is met."""
        place = self.evaluate(
            f"(() => {{ const b = [...document.querySelectorAll('button')].find(b => b.innerText.trim() === {label!r});"
            " if (!b) return null; b.scrollIntoView({block: 'center'}); const r = b.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        assert place, f"no button {label!r} on the page"
        mouse = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        self.ask("Input.dispatchMouseEvent", type="mousePressed", **mouse)
        try:
            self.wait_for(until, f"what {label!r} does while it is held")
        finally:
            self.ask("Input.dispatchMouseEvent", type="mouseReleased", **mouse)

    def click_tab(self, label: str) -> None:
        """Open the tab with this label."""
        self._click_at(
            "[...document.querySelectorAll('[role=tab]')].find(t => t.innerText.trim() === " + repr(label) + ")",
            f"tab {label!r}",
        )

    def click_at(self, x: float, y: float) -> None:
        """Click with the mouse at a place of the page [pixels]."""
        mouse = {"x": x, "y": y, "button": "left", "clickCount": 1}
        self.ask("Input.dispatchMouseEvent", type="mousePressed", **mouse)
        self.ask("Input.dispatchMouseEvent", type="mouseReleased", **mouse)

    def drag(self, start: tuple[float, float], end: tuple[float, float], *, steps: int = 8) -> None:
        """Drag with the mouse from one place of the page to another [pixels]."""
        button = {"button": "left", "clickCount": 1}
        x, y = start
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        time.sleep(0.3)  # what is below the mouse is found when a frame is drawn
        self.ask("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **button)
        for step in range(1, steps + 1):
            x, y = (a + (b - a) * step / steps for a, b in zip(start, end))
            self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, buttons=1, **button)
            time.sleep(0.1)
        self.ask("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **button)

    def _click_at(self, element: str, what: str) -> None:
        place = self.evaluate(
            f"(() => {{ const e = {element}; if (!e) return null; e.scrollIntoView({{block: 'center'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        assert place, f"no {what} on the page"
        self.click_at(*place)

    def screenshot(self) -> bytes:
        """The page as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"])

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(self._timeout)
        self._profile.cleanup()
