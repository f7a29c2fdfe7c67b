"""The node `viewer` with a real arm behind it: the page shows the arm, and its buttons move it."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("viser", reason="the extra viewer is not installed")

from visualization_msgs.msg import Marker, MarkerArray

from draw.browser import Browser, chromium
from manipapy_ros.common import qos
from ros_arm import HOME, STILL, Arm, bring_up

NAMESPACE = "/shown"
FAR = HOME + np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def shown(start_for_module, peer):
    """An arm, its viewer and the address of the page."""
    arm = Arm(peer, start_for_module, NAMESPACE)
    viewer = start_for_module("viewer", "-p", "port:=18090", namespace=NAMESPACE)
    bring_up(peer, viewer)
    found: list[str] = []

    def told() -> bool:
        found[:] = re.findall(r"http://127\.0\.0\.1:\d+/\?token=\S+", viewer.printed)
        return bool(found)

    peer.wait_for(told, "the address of the page")
    return arm, viewer, found[0]


@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: apt install chromium")
def test_the_page_shows_status_and_markers_and_its_hold_button_stops_the_arm(shown, peer):
    arm, _, address = shown
    publisher = peer.node.create_publisher(MarkerArray, f"{NAMESPACE}/planner/display_path", qos.LATCHED)
    label = Marker(ns="test", id=1, type=Marker.TEXT_VIEW_FACING, action=Marker.ADD, text="a label in the scene")
    label.header.frame_id, label.pose.orientation.w = "base_link", 1.0
    publisher.publish(MarkerArray(markers=[label]))
    with Browser(address) as browser:
        browser.wait_for(lambda: "computed_torque" in browser.text, "the status of the controller")
        # Slowly: a browser that draws without a graphics card takes seconds for a click.
        arm.send(arm.goal(FAR, seconds=40.0))
        arm.states.wait_until_moving(5.0 * STILL)
        browser.click("Hold")
        arm.states.wait_until_still()
        arm.states.assert_still()
        assert np.abs(arm.states.q() - FAR).max() > 0.1  # on the way, not there


def test_the_page_goes_with_the_node(shown, peer):
    _, viewer, _ = shown
    assert viewer.stop() == 0
