"""Access to the web viewer, by real HTTP requests and real websockets: other pages and visitors without the token."""

from __future__ import annotations

import gzip
from http.cookiejar import CookieJar
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, Request, build_opener, urlopen

import pytest

pytest.importorskip("viser", reason="the extra viewer is not installed")

import viser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from manipapy_core import Robot
from manipapy_core.draw import ArmView, WebAccess
from manipapy_core.errors import InputError

PROTOCOL = [f"viser-v{viser.__version__}"]
TOKEN = "a-token-for-tests"


@pytest.fixture(scope="module")
def view():
    robot = Robot.from_urdf("ur5")
    chain = robot.chain("base_link", "tool0")
    with ArmView(robot, chain, port=18100, access=WebAccess("127.0.0.1", token=TOKEN)) as view:
        yield view


def address(view, scheme="http"):
    return f"{scheme}://127.0.0.1:{view.server.get_port()}"


def visit(view, *, cookie=TOKEN, origin="own", host=None):
    """Opens the websocket of the page; it must greet with a message."""
    headers = {"Cookie": f"other=1; manipapy_token_{view.server.get_port()}={cookie}"} if cookie else {}
    if host is not None:
        headers["Host"] = host
    chosen = {"own": address(view), None: None}.get(origin, origin)
    with connect(address(view, "ws"), subprotocols=PROTOCOL, origin=chosen, additional_headers=headers) as socket:
        return socket.recv(timeout=20)


def test_a_visitor_with_the_token_gets_the_page_and_a_cookie_that_opens_the_socket(view):
    assert view.url == f"{address(view)}/?token={TOKEN}"
    with urlopen(view.url) as page:
        assert page.status == 200
        cookie = page.headers["Set-Cookie"]
    assert (
        cookie.startswith(f"manipapy_token_{view.server.get_port()}={TOKEN};")
        and "SameSite=Strict" in cookie
        and "HttpOnly" in cookie
    )
    assert visit(view)
    assert visit(view, origin=None), "a program that is not a browser"


@pytest.mark.parametrize(
    "visitor",
    [
        {"cookie": None},
        {"cookie": "another-token"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "null"},
    ],
    ids=str,
)
def test_a_socket_without_token_or_of_another_page_is_refused(view, visitor):
    with pytest.raises(InvalidStatus) as refused:
        visit(view, **visitor)
    assert refused.value.response.status_code == 403
    assert not view.watched


@pytest.mark.parametrize("query", ["", "/?token=", "/?token=wrong", "/?tokens=" + TOKEN])
def test_the_page_is_refused_without_the_token_with_a_sentence(view, query):
    with pytest.raises(HTTPError) as refused:
        urlopen(address(view) + query)
    assert refused.value.code == 403 and b"open the whole address" in refused.value.read()
    assert "Set-Cookie" not in refused.value.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:18100", "10.1.2.3", "", "127.0.0.1:x", "127.0.0.1:70000"]
)
def test_a_rebound_host_name_is_refused(view, host):
    request = Request(view.url, headers={"Host": host})
    with pytest.raises(HTTPError) as refused:
        urlopen(request)
    assert refused.value.code in (400, 403)


def test_the_pages_of_two_robots_are_open_in_one_browser(view):
    """Browsers send the cookies of all ports of a machine to each of them."""
    jar = CookieJar()
    browser = build_opener(HTTPCookieProcessor(jar))
    robot = Robot.from_urdf("panda")
    with ArmView(robot, robot.chain("panda_link0", "panda_hand"), port=18100) as second:
        for page in (view, second):
            assert browser.open(page.url).status == 200
        for page in (view, second):
            assert browser.open(address(page)).status == 200, "by its cookie, as the socket of the page comes"


@pytest.mark.parametrize("packed", [True, False])
def test_the_tab_of_a_page_has_the_name_of_the_robot(packed):
    robot = Robot.from_urdf("ur5")
    with ArmView(robot, robot.chain("base_link", "tool0"), port=18100, title="left & <ur5>") as page:
        request = Request(page.url, headers={"Accept-Encoding": "gzip"} if packed else {})
        with urlopen(request) as answer:
            content = answer.read()
            assert int(answer.headers["Content-Length"]) == len(content)
    text = (gzip.decompress(content) if packed else content).decode()
    assert "<title>left &amp; &lt;ur5&gt;</title>" in text


def test_tokens_are_random_and_required_on_a_network():
    assert WebAccess("127.0.0.1").token != WebAccess("127.0.0.1").token
    with pytest.raises(InputError, match="a token is required"):
        WebAccess("0.0.0.0", require_token=False)
    with pytest.raises(InputError, match="8 or more"):
        WebAccess("127.0.0.1", token="short")
    with pytest.raises(InputError, match="letters"):
        WebAccess("127.0.0.1", token="with spaces & signs")
    open_to_this_machine = WebAccess("127.0.0.1", require_token=False)
    assert open_to_this_machine.refusal("/", {"Host": "localhost:1"}) == ""
    assert "may not use" in open_to_this_machine.refusal("/", {"Host": "localhost:1", "Origin": "http://evil.example"})


def test_on_a_network_numbers_and_given_names_are_known():
    access = WebAccess("0.0.0.0", token=TOKEN, allowed_hosts=["arm.local"])
    path = f"/?token={TOKEN}"
    for host in ("192.168.1.7:8080", "arm.local:8080", "[fe80::1]:8080"):
        assert access.refusal(path, {"Host": host}) == ""
        assert "token" in access.refusal("/", {"Host": host})
    assert "not known" in access.refusal(path, {"Host": "evil.example"})
