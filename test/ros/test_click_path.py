"""The page of a running arm as a person uses it: drag the gizmo, Plan, Move, and the arm is there; then servo.

The browser draws without a graphics card, a frame in seconds beside other tests: its tests are among the slow ones, and
so are those of the simulated arm at 1 kHz. `test/draw/test_arm_view.py` clicks in every run.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest

pytest.importorskip("viser", reason="the extra viewer is not installed")

from draw.browser import Browser, chromium
from draw.page_socket import PageSocket
from draw.pointing import best_axis, drag_gizmo
from manipapy_core import Robot, kinematics
from ros.suites import MANIPAPY, suite
from ros_arm import JOINTS, StateWatch

CHAIN = Robot.from_urdf("ur5").chain("base_link", "tool0")
LEAST_RATE = 20.0
"""Updates of the arm on the page per second [Hz]."""
WINDOW = (960, 600)
"""Small, because without a graphics card the time of a frame grows with it [pixels]."""
BROWSER_TIMEOUT = 300.0
"""For the browser [s]."""
DRAGGED = 0.12
"""[m]"""
CORES = 4
TRIES = 4
"""A servo that is held up for a while stops the arm; it continues when the gizmo is dragged again."""


class Used:
    """A running arm with its page."""

    def __init__(self, peer, namespace: str, address: str):
        self.peer, self.namespace, self.address = peer, namespace, address
        self._states = StateWatch(peer, namespace)

    def q(self) -> np.ndarray:
        state = self._states.next()
        return np.array([state.position[state.name.index(name)] for name in JOINTS])

    def tip(self) -> np.ndarray:
        return kinematics.forward(CHAIN, self.q())


@pytest.fixture(scope="module", params=["mock", pytest.param("sim", marks=pytest.mark.slow)])
def used(request, domain, peer):
    namespace = f"/clicked_{request.param}"
    options = ("--mode", request.param, "--namespace", namespace, "--scene", "", "--servo", "--viewer")
    with suite(*options, domain=domain) as running:
        running.wait_until_up()
        address = re.findall(r"http://127\.0\.0\.1:\d+/\?token=\S+", running.output)[0]
        yield Used(peer, namespace, address)
        running.process.send_signal(signal.SIGINT)
        assert running.end() == 0


@pytest.mark.slow
@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: apt install chromium")
def test_drag_plan_move_and_servo(used):
    if "sim" in used.namespace and len(os.sched_getaffinity(0)) < CORES:
        pytest.skip(f"a simulation at 1 kHz and a browser that draws without a graphics card need {CORES} cores")
    with Browser(used.address, size=WINDOW, timeout=BROWSER_TIMEOUT) as browser:
        browser.wait_for(lambda: "shoulder_pan" in browser.text, "the page")
        browser.wait_for(lambda: browser.evaluate("!!document.querySelector('canvas')"), "the scene")
        time.sleep(2.0)  # the first frames
        before, q = used.tip(), used.q()
        axis = best_axis(browser, before)
        drag_gizmo(browser, before, axis, -DRAGGED)
        browser.click("Plan")
        browser.wait_for(lambda: "a motion of" in browser.text, "the plan")
        np.testing.assert_allclose(used.q(), q, atol=2e-3)  # planned, not moved
        browser.click("Move")
        browser.wait_for(lambda: "arrived" in browser.text, "the end of the motion")
        moved = used.tip()
        wanted = before[:3, 3] - DRAGGED * before[:3, axis]
        assert np.linalg.norm(moved[:3, 3] - wanted) < 0.02  # a mouse is not exact

        browser.click_input("Servo")
        for _ in range(TRIES):
            time.sleep(2.0)  # until the gizmo is where the tip is
            drag_gizmo(browser, used.tip(), axis, 0.5 * DRAGGED)
            time.sleep(6.0)  # the pose is sent until some seconds after the gizmo was dragged
            way = (used.tip() - moved)[:3, 3] @ moved[:3, axis]
            if way > 0.5 * DRAGGED:
                break
        assert way > 0.3 * DRAGGED, "the arm follows the gizmo"
        assert not browser.errors


def test_the_page_is_updated_at_twenty_hertz_while_the_arm_moves(used):
    goal = ["0.8", "-1.57", "1.57", "-1.57", "-1.57", "0.4"]
    words = ["move", "--namespace", used.namespace, "--speed", "0.05", "--joints", *goal]
    with PageSocket(used.address) as page, subprocess.Popen([*MANIPAPY, *words], stdout=subprocess.DEVNULL) as moving:
        start = used.q()
        used.peer.wait_for(lambda: np.abs(used.q() - start).max() > 0.02, "the arm to move")
        rate = page.rate(b"/arm/", 4.0)
        moving.send_signal(signal.SIGINT)
        moving.wait(60.0)
    print(f"{rate:.1f} updates of the arm per second")
    assert rate >= LEAST_RATE
