"""Where points of the scene are in the window of a browser, to drag them with the mouse."""

from __future__ import annotations

import numpy as np

from draw.browser import Browser
from manipapy_core import Robot
from manipapy_core.draw.web_view import FIELD_OF_VIEW, camera_for

CAMERA, LOOK_AT = camera_for(Robot.from_urdf("ur5").chain("base_link", "tool0"))
SHAFT = 0.6
"""Share of the size of a gizmo at which the shafts of its arrows are taken."""


def pixel_of(browser: Browser, point: np.ndarray) -> tuple[float, float]:
    """Place of a point [m], shape (3,), in the window [pixels], while the camera is where the page put it."""
    left, top, width, height = browser.evaluate(
        "(() => { const r = document.querySelector('canvas').getBoundingClientRect();"
        " return [r.x, r.y, r.width, r.height]; })()"
    )
    eye = CAMERA
    forward = LOOK_AT - eye
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    x, y, depth = (axis @ (point - eye) for axis in (right, down, forward))
    focal = 0.5 * height / np.tan(0.5 * FIELD_OF_VIEW)
    return float(left + 0.5 * width + focal * x / depth), float(top + 0.5 * height + focal * y / depth)


def drag_gizmo(browser: Browser, T_base_gizmo: np.ndarray, axis: int, distance: float, *, size: float = 0.25) -> None:
    """Drag an arrow of a gizmo along its axis.

    Args:
        T_base_gizmo: Pose, shape (4, 4).
        axis: 0, 1 or 2: x, y or z of the gizmo.
        distance: [m]
    """
    direction = T_base_gizmo[:3, axis]
    start = T_base_gizmo[:3, 3] + SHAFT * size * direction
    browser.drag(pixel_of(browser, start), pixel_of(browser, start + distance * direction), steps=12)


def best_axis(browser: Browser, T_base_gizmo: np.ndarray) -> int:
    """Axis of a gizmo that is longest in the window."""
    at = T_base_gizmo[:3, 3]
    origin = np.array(pixel_of(browser, at))
    lengths = [np.linalg.norm(pixel_of(browser, at + 0.1 * T_base_gizmo[:3, i]) - origin) for i in range(3)]
    return int(np.argmax(lengths))
