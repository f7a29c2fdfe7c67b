"""The worker process that renders and publishes the stereo camera of `sim_bridge`.

Topics as of stereo_image_proc: `left/image_rect`, `left/camera_info`, `right/image_rect`, `right/camera_info`
(rgb8 or mono8; the baseline is in P of the right one), and, if subscribed to, the true `left/depth` (32FC1, metres,
inf where there is no surface).
"""

from __future__ import annotations

import array
import sys
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image

from manipapy_core.sim import StereoCamera, StereoFrame
from manipapy_core.sim.render.stereo_worker import connection_from_arguments, serve

from ..common import qos
from ..common.conversions import time_message
from ..common.process import end_process
from .camera import optical_frames


class StereoPublisher(Node):
    """Publishes rendered frames."""

    def __init__(self) -> None:
        super().__init__("sim_camera")
        self.declare_parameter("name", "stereo")
        self.declare_parameter("encoding", "rgb8")
        self._frames = optical_frames(self.get_parameter("name").value)
        self._encoding: str = self.get_parameter("encoding").value
        sides = ("left", "right")
        self._images = [self.create_publisher(Image, f"{side}/image_rect", qos.STATE) for side in sides]
        self._infos = [self.create_publisher(CameraInfo, f"{side}/camera_info", qos.STATE) for side in sides]
        self._depth = self.create_publisher(Image, "left/depth", qos.STATE)

    def publish(self, frame: StereoFrame, camera: StereoCamera) -> None:
        """Publish both images and the depth, with the stamp of the simulated time they show."""
        stamp = time_message(frame.time_ns)
        images = (frame.left, frame.right) if self._encoding == "rgb8" else (_grey(frame.left), _grey(frame.right))
        projections = (camera.P_left, camera.P_right)
        for side in range(2):
            self._infos[side].publish(_info(camera, projections[side], self._frames[side], stamp))
            self._images[side].publish(_image(images[side], self._encoding, self._frames[side], stamp))
        if self._depth.get_subscription_count():
            self._depth.publish(_image(frame.depth, "32FC1", self._frames[0], stamp))


def _grey(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Luma of Rec. 601: 0.299 R + 0.587 G + 0.114 B, in 256ths."""
    weighted = image @ np.array([77, 150, 29], np.uint16)
    return (weighted >> 8).astype(np.uint8)


def _image(pixels: NDArray[np.uint8] | NDArray[np.float32], encoding: str, frame: str, stamp: Time) -> Image:
    rows: NDArray[Any] = np.ascontiguousarray(pixels)
    # Other ways to fill the field take milliseconds.
    data = array.array("B")
    data.frombytes(rows.data.cast("B"))
    message = Image(height=rows.shape[0], width=rows.shape[1], encoding=encoding, step=rows.strides[0], data=data)
    message.is_bigendian = int(sys.byteorder == "big")
    message.header.frame_id, message.header.stamp = frame, stamp
    return message


def _info(camera: StereoCamera, P: NDArray[np.float64], frame: str, stamp: Time) -> CameraInfo:
    pinhole = camera.pinhole
    message = CameraInfo(width=pinhole.width, height=pinhole.height, distortion_model="plumb_bob", d=[0.0] * 5)
    message.k, message.r, message.p = pinhole.K.ravel(), np.eye(3).ravel(), P.ravel()
    message.header.frame_id, message.header.stamp = frame, stamp
    return message


def main() -> int:
    """Serve the bridge until it closes the connection."""
    # The last argument is the file descriptor of the connection and not for ROS.
    rclpy.init(args=sys.argv[:-1], signal_handler_options=rclpy.SignalHandlerOptions.NO)
    node = StereoPublisher()
    try:
        serve(connection_from_arguments(), node.publish)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    end_process(main())
