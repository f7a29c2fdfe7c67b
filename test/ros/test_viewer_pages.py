"""Pages of several robots: each has links to the others."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("viser", reason="the extra viewer is not installed")

from draw.page_socket import PageSocket
from ros_arm import bring_up


def address_of(viewer) -> str:
    return re.findall(r"http://127\.0\.0\.1:\d+/\?token=\S+", viewer.printed)[0]


def links_on(page: PageSocket) -> bytes:
    """The newest list of links on a page."""
    found = [text for _, text in page.messages() if b"Other robots" in text]
    return found[-1] if found else b""


def test_each_page_has_links_to_those_of_the_other_robots(start, peer):
    robots = {"/left": "ur5", "/right": "panda"}
    viewers = {
        name: start("viewer", "-p", f"robot:={robot}", "-p", "port:=18130", namespace=name)
        for name, robot in robots.items()
    }
    for viewer in viewers.values():
        bring_up(peer, viewer)
    left, right = (address_of(viewer) for viewer in viewers.values())
    assert left.split("?")[0] != right.split("?")[0], "a port each"
    with PageSocket(left) as page, PageSocket(right) as other:
        peer.wait_for(lambda: right.encode() in links_on(page), "a link to the right robot")
        peer.wait_for(lambda: left.encode() in links_on(other), "a link to the left robot")
        assert b"right (panda)" in links_on(page) and b"left (ur5" in links_on(other)
        assert left.encode() not in links_on(page), "no link to itself"


def test_a_page_without_buttons_has_no_links_to_pages_with_them(start, peer):
    shown = start("viewer", "-p", "robot:=ur5", "-p", "port:=18140", "-p", "read_only:=true", namespace="/shown")
    moved = start("viewer", "-p", "robot:=ur5", "-p", "port:=18140", namespace="/moved")
    for viewer in (shown, moved):
        bring_up(peer, viewer)
    with PageSocket(address_of(shown)) as page, PageSocket(address_of(moved)) as other:
        peer.wait_for(lambda: b"shown" in links_on(other), "the link in the other direction")
        peer.spin_for(2.0)
        assert not links_on(page)
