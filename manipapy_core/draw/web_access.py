"""Who may open the web viewer: the holder of its token, from a page of its own.

A browser lets every page of the internet connect to servers of this machine. So the viewer checks the names in the
headers Host (against rebound domain names) and Origin (against other pages), and asks for a token that is part of the
printed address. The browser keeps the token as a cookie that other pages cannot use. Browsers share cookies between the
ports of a machine, so the port is part of its name: the pages of two robots are open at the same time.
"""

from __future__ import annotations

import contextlib
import gzip
import hmac
import html
import http
import http.cookies
import ipaddress
import secrets
import socket
import threading
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..errors import InputError

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
COOKIE = "manipapy_token"
"""Name of the cookie, before the port."""
TOKEN_BYTES = 16
SHORTEST_TOKEN = 8
"""Characters of a token that a user chooses."""
VISER_TITLE = b"<title>Viser</title>"
_SERVE_LOCK = threading.Lock()


def is_local(host: str) -> bool:
    """Whether an address to listen on is reached from this machine only."""
    return host in LOCAL_NAMES or host.startswith("127.")


class WebAccess:
    """Checks the requests to one web server.

    Args:
        host: Address that the server listens on.
        token: Part of the address of the page; None: a random one.
        require_token: Whether a visitor needs the token.
        allowed_hosts: Further names under which the page may be opened.

    Raises:
        InputError: The token is too short, or is not required although other machines reach the page.
    """

    def __init__(
        self,
        host: str,
        *,
        token: str | None = None,
        require_token: bool = True,
        allowed_hosts: Iterable[str] = (),
    ):
        if not require_token and not is_local(host):
            raise InputError(f"other machines reach {host}, where a token is required; listen on 127.0.0.1 without one")
        if token is not None and (len(token) < SHORTEST_TOKEN or urllib.parse.quote(token, safe="") != token):
            raise InputError(f"the token needs {SHORTEST_TOKEN} or more letters, digits or any of _.-~")
        self.token = (token or secrets.token_urlsafe(TOKEN_BYTES)) if require_token else ""
        """Empty: none is required."""
        self._names = {*LOCAL_NAMES, host, socket.gethostname(), *allowed_hosts}
        self._by_number = not is_local(host)

    def refusal(self, path: str, headers: Any) -> str:
        """Why a request is refused; empty if it is not.

        Args:
            path: Of the request, with its query.
            headers: Of the request, by name.
        """
        try:
            host, origin = headers.get("Host", ""), headers.get("Origin")
        except KeyError:  # several headers of one name
            return "several headers Host or Origin"
        name = _host_name(host)
        if name is None or not (name in self._names or (self._by_number and _is_number(name))):
            return f"the page is not known as {host!r}; open the address that the viewer printed"
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return f"a page of {origin!r} may not use the viewer"
        if self.token and not (self._has_token(path) or self._has_cookie(headers)):
            return "the token is missing; open the whole address that the viewer printed"
        return ""

    def cookie(self, path: str, headers: Any) -> str:
        """The cookie for a visitor who came with the token; empty if it is not needed."""
        if not self.token or not self._has_token(path):
            return ""
        return f"{_cookie_name(headers)}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def _has_token(self, path: str) -> bool:
        given = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query).get("token", [""])
        return hmac.compare_digest(given[0].encode(), self.token.encode())

    def _has_cookie(self, headers: Any) -> bool:
        jar: http.cookies.SimpleCookie = http.cookies.SimpleCookie()
        with contextlib.suppress(http.cookies.CookieError, KeyError):
            jar.load(headers.get("Cookie", ""))
        name = _cookie_name(headers)
        return name in jar and hmac.compare_digest(jar[name].value.encode(), self.token.encode())


@contextlib.contextmanager
def guarded_server(access: WebAccess, title: str) -> Iterator[None]:
    """Context in which a viser server is made, so that `access` checks all its requests.

    viser offers no such check, so the function of websockets that it calls once is replaced meanwhile.

    Args:
        title: Of the page in the tab of the browser.
    """
    import websockets.asyncio.server as server

    original = server.serve

    def serve(handler: Any, *arguments: Any, process_request: Any = None, **options: Any) -> Any:
        checked = _checked(access, title, process_request)
        return original(handler, *arguments, process_request=checked, **options)

    with _SERVE_LOCK:
        server.serve = serve  # type: ignore[assignment, misc]
        try:
            yield
        finally:
            server.serve = original  # type: ignore[misc]


def _checked(
    access: WebAccess, title: str, process_request: Callable[[Any, Any], Any] | None
) -> Callable[[Any, Any], Any]:
    def process(connection: Any, request: Any) -> Any:
        reason = access.refusal(request.path, request.headers)
        if reason:
            return connection.respond(http.HTTPStatus.FORBIDDEN, reason + "\n")
        response = process_request(connection, request) if process_request is not None else None
        cookie = access.cookie(request.path, request.headers)
        if response is not None:
            if urllib.parse.urlsplit(request.path).path in ("", "/", "/index.html"):
                _set_title(response, title)
            response.headers["X-Frame-Options"] = "DENY"
            response.headers["Referrer-Policy"] = "no-referrer"
            if cookie:
                response.headers["Set-Cookie"] = cookie
        return response

    return process


def _set_title(response: Any, title: str) -> None:
    """Give a page of viser a title of its own; all have the same one otherwise."""
    packed = response.headers.get("Content-Encoding") == "gzip"
    body = gzip.decompress(response.body) if packed else response.body
    body = body.replace(VISER_TITLE, f"<title>{html.escape(title)}</title>".encode(), 1)
    response.body = gzip.compress(body) if packed else body
    del response.headers["Content-Length"]
    response.headers["Content-Length"] = str(len(response.body))


def _host_name(header: str) -> str | None:
    """The name in a header Host, without the port; None if there is none, or the port is none."""
    try:
        parts = urllib.parse.urlsplit(f"//{header}")
        return parts.hostname if parts.port is None or parts.port > 0 else None
    except ValueError:
        return None


def _cookie_name(headers: Any) -> str:
    """Of the page that a request with a valid header Host is for."""
    return f"{COOKIE}_{urllib.parse.urlsplit('//' + headers.get('Host', '')).port or 80}"


def _is_number(name: str) -> bool:
    """Whether a name is an IP address, which no attacker can rebind."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
