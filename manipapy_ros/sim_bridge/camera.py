"""The stereo camera of the simulation: requests frames at its rate; a worker process renders and publishes them.

Rendering takes tens of milliseconds and would stop the physics for as long, and so would copying images through the
process of the physics. This side only sends the poses of all bodies; `camera_worker` does the rest.
"""

from __future__ import annotations

import sys

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter

from manipapy_core.errors import InputError, UnknownLink
from manipapy_core.sim import Pinhole, RenderError, SimRobot, SimWorld, StereoCamera, StereoProcess, look_at

from ..common.params import Param, Values

ENCODINGS = ("rgb8", "mono8")
CAMERA_PARAMETERS = (
    Param("camera.enabled", False, "Render a stereo camera: left and right image_rect, camera_info, left depth"),
    Param("camera.name", "stereo", "Frames are <name>_left_optical_frame and <name>_right_optical_frame"),
    Param("camera.width", 320, "[pixels]", minimum=16, maximum=1920),
    Param("camera.height", 240, "[pixels]", minimum=16, maximum=1080),
    Param("camera.field_of_view", 1.2, "Horizontal field of view [rad]", minimum=0.1, maximum=2.8),
    Param("camera.baseline", 0.1, "Distance between the two cameras [m]", minimum=0.001, maximum=2.0),
    Param("camera.rate", 8.0, "Image pairs per second, at most [Hz]", minimum=0.1, maximum=60.0),
    Param("camera.encoding", "rgb8", f"Of the images: {', '.join(ENCODINGS)}; mono8 is sent faster"),
    Param("camera.link", "", "Link that carries the camera; empty: it is fixed in the world"),
    Param("camera.position", [1.4, 0.0, 0.9], "Position of the left camera in the link or the world [m]",
          kind=Parameter.Type.DOUBLE_ARRAY),
    Param("camera.target", [0.4, 0.0, 0.1], "Point it is aimed at, in the same frame [m]",
          kind=Parameter.Type.DOUBLE_ARRAY),
)  # fmt: skip


def optical_frames(name: str) -> tuple[str, str]:
    """Names of the left and the right optical frame."""
    return f"{name}_left_optical_frame", f"{name}_right_optical_frame"


def stereo_camera(robot: SimRobot, values: Values) -> StereoCamera:
    """The stereo camera that the parameters describe.

    Raises:
        InputError: An invalid parameter, by name.
    """
    width, height = int(values["camera.width"]), int(values["camera.height"])
    pinhole = Pinhole.from_field_of_view(width, height, float(values["camera.field_of_view"]))
    if values["camera.encoding"] not in ENCODINGS:
        raise InputError(f"camera.encoding is {values['camera.encoding']!r}; choose one of {', '.join(ENCODINGS)}")
    points = {}
    for name in ("camera.position", "camera.target"):
        points[name] = list(values[name])
        if len(points[name]) != 3:
            raise InputError(f"{name} is {points[name]}; give three numbers [m]")
    link = str(values["camera.link"]) or None
    if link is not None and link not in robot.robot.links:
        raise UnknownLink(link, tuple(robot.robot.links))
    return StereoCamera(
        pinhole,
        float(values["camera.baseline"]),
        look_at(points["camera.position"], points["camera.target"]),
        robot=robot.name if link is not None else None,
        link=link,
    )


class SimCamera:
    """Requests frames from the worker process while the node is active.

    Args:
        node: The bridge.
        world: To be rendered.
        robot: Its link may carry the camera.
        values: Parameters of the node.
    """

    def __init__(self, node: Node, world: SimWorld, robot: SimRobot, values: Values):
        self._node, self._world = node, world
        self.description = stereo_camera(robot, values)
        self._active = False
        command = [
            *(sys.executable, "-m", "manipapy_ros.sim_bridge.camera_worker"),
            *("--ros-args", "-r", f"__ns:={node.get_namespace()}", "-r", f"__node:={node.get_name()}_camera"),
            *("-p", f"name:={values['camera.name']}", "-p", f"encoding:={values['camera.encoding']}", "--"),
        ]
        self._process = StereoProcess(self.description, command=command)
        self._timer = node.create_timer(
            1.0 / float(values["camera.rate"]), self._request, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )

    def start(self) -> None:
        """Request frames."""
        self._active = True

    def stop(self) -> None:
        """Stop requesting frames."""
        self._active = False

    def close(self) -> None:
        """End the process."""
        self._node.destroy_timer(self._timer)
        self._process.close()

    def _request(self) -> None:
        if not self._active:
            return
        try:
            self._process.poll()
            self._process.submit(self._world)
        except RenderError as error:
            self._active = False
            self._node.get_logger().error(f"the camera has stopped: {error}")
