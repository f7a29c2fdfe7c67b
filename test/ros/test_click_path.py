"""The page of a running arm as a person uses it: drag the gizmo, Plan, Move, and the arm is there; then servo."""

from __future__ import annotations

import re
import signal
import time

import numpy as np
import pytest

pytest.importorskip("viser", reason="the extra viewer is not installed")

from draw.browser import Browser, chromium
from draw.page_socket import PageSocket
from draw.pointing import best_axis, drag_gizmo
from manipapy_core import Robot, kinematics
from ros.suites import suite
from ros_arm import JOINTS, StateWatch

CHAIN = Robot.from_urdf("ur5").chain("base_link", "tool0")
LEAST_RATE = 20.0
"""Updates of the arm on the page per second [Hz]."""
NEAR = 0.01
"""[m]"""


class Used:
    """A running arm with its page."""

    def __init__(self, peer, namespace: str, address: str):
        self.peer, self.address = peer, address
        self._states = StateWatch(peer, namespace)

    def q(self) -> np.ndarray:
        state = self._states.next()
        return np.array([state.position[state.name.index(name)] for name in JOINTS])

    def tip(self) -> np.ndarray:
        return kinematics.forward(CHAIN, self.q())

    def wait_at(self, position: np.ndarray) -> None:
        self.peer.wait_for(lambda: np.linalg.norm(self.tip()[:3, 3] - position) < NEAR, f"the tip at {position}")


@pytest.fixture(
    scope="module",
    params=["mock", pytest.param("sim", marks=pytest.mark.slow)],
)
def used(request, domain, peer):
    namespace = f"/clicked_{request.param}"
    options = ("--mode", request.param, "--namespace", namespace, "--servo", "--viewer")
    with suite(*options, domain=domain) as running:
        running.wait_until_up()
        address = re.findall(r"http://127\.0\.0\.1:\d+/\?token=\S+", running.output)[0]
        yield Used(peer, namespace, address)
        running.process.send_signal(signal.SIGINT)
        assert running.end() == 0


@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: apt install chromium")
def test_drag_plan_move_and_servo(used):
    with Browser(used.address) as browser:
        browser.wait_for(lambda: "shoulder_pan" in browser.text, "the page")
        browser.wait_for(lambda: browser.evaluate("!!document.querySelector('canvas')"), "the scene")
        before, q = used.tip(), used.q()
        axis = best_axis(browser, before)
        drag_gizmo(browser, before, axis, -0.12)
        wanted = before[:3, 3] - 0.12 * before[:3, axis]
        browser.click("Plan")
        browser.wait_for(lambda: "a motion of" in browser.text, "the plan")
        np.testing.assert_allclose(used.q(), q, atol=2e-3)  # planned, not moved
        browser.click("Move")
        browser.wait_for(lambda: "arrived" in browser.text, "the end of the motion")
        moved = used.tip()
        assert np.linalg.norm(moved[:3, 3] - before[:3, 3]) > 0.05
        assert np.linalg.norm(moved[:3, 3] - wanted) < 0.04  # a mouse is not exact

        browser.click_input("Servo")
        time.sleep(1.0)
        drag_gizmo(browser, moved, axis, 0.1)
        used.wait_at(moved[:3, 3] + 0.1 * moved[:3, axis])
        assert not browser.errors


def test_the_page_is_updated_at_twenty_hertz(used):
    with PageSocket(used.address) as page:
        used.peer.wait_for(lambda: any(b"/arm/" in text for _, text in page.messages()), "the arm on the page")
        rate = page.rate(b"/arm/", 5.0)
    print(f"{rate:.1f} updates of the arm per second")
    assert rate >= LEAST_RATE
