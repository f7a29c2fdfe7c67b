"""A process that is a stereo camera: a wall far away, with noise; it fails in the way that it is told.

python -m faults.camera
A line of the input names what it does from now on: `sees`, `silent`, `black`, `stuck` (the same image with its stamp),
`frozen` (the same image with new stamps) or `apart` (the right image half a second after the left one).
"""

from __future__ import annotations

import argparse
import array
import os
import select
import sys
import time

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image

from manipapy_ros.common import qos

WIDTH, HEIGHT, FOCAL, BASELINE = 320, 240, 250.0, 0.1
"""Pixels, and [m]."""
DISPARITY = 8
"""Of the wall, which is FOCAL BASELINE / DISPARITY away [pixels]."""
RATE = 5.0
"""Pairs per second [Hz]."""
APART = 0.5
"""[s]"""
KINDS = ("sees", "silent", "black", "stuck", "frozen", "apart")


def pair(rng: np.random.Generator, wall: np.ndarray) -> list[np.ndarray]:
    """Left and right image of the wall."""
    views = (wall[:, :WIDTH], wall[:, DISPARITY : WIDTH + DISPARITY])
    return [np.clip(view + rng.integers(-2, 3, view.shape), 0, 255).astype(np.uint8) for view in views]


def info(baseline: float) -> CameraInfo:
    """Of a rectified camera."""
    message = CameraInfo(width=WIDTH, height=HEIGHT, distortion_model="plumb_bob")
    K = [FOCAL, 0.0, WIDTH / 2, 0.0, FOCAL, HEIGHT / 2, 0.0, 0.0, 1.0]
    message.d, message.k, message.r = [0.0] * 5, K, np.eye(3).ravel().tolist()
    message.p = [*K[:2], K[2], -FOCAL * baseline, *K[3:6], 0.0, *K[6:], 0.0]
    return message


def image(pixels: np.ndarray, stamp: Time) -> Image:
    message = Image(height=HEIGHT, width=WIDTH, encoding="mono8", step=WIDTH)
    message.data = array.array("B", pixels.tobytes())
    message.header.frame_id, message.header.stamp = "fault_camera", stamp
    return message


def shifted(stamp: Time, seconds: float) -> Time:
    moved = stamp.sec * 10**9 + stamp.nanosec + round(1e9 * seconds)
    return Time(sec=moved // 10**9, nanosec=moved % 10**9)


def main() -> None:
    """Publishes pairs until it is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--namespace", default="")
    options = parser.parse_args()
    rclpy.init(args=[])
    node = Node("fault_camera", namespace=options.namespace)
    now = Time()

    def on_clock(message: Clock) -> None:
        nonlocal now
        now = message.clock

    node.create_subscription(Clock, "clock", on_clock, qos.NEWEST)
    images = [node.create_publisher(Image, f"{side}/image_rect", qos.SENSOR) for side in ("left", "right")]
    infos = [node.create_publisher(CameraInfo, f"{side}/camera_info", qos.SENSOR) for side in ("left", "right")]
    rng = np.random.default_rng(0)
    wall = rng.integers(20, 236, (HEIGHT, WIDTH + DISPARITY))
    views, stamp, kind, due = pair(rng, wall), now, "sees", 0.0
    print("ready", flush=True)
    while True:
        rclpy.spin_once(node, timeout_sec=0.01)
        if select.select([sys.stdin], [], [], 0.0)[0]:
            line = sys.stdin.readline().strip()
            if not line:
                os._exit(0)
            kind = line
            print(time.monotonic(), flush=True)
        if time.monotonic() < due or kind == "silent":
            continue
        due = time.monotonic() + 1.0 / RATE
        if kind != "stuck":
            stamp = now
        if kind not in ("stuck", "frozen"):
            views = pair(rng, wall if kind != "black" else 0 * wall)
        stamps = (stamp, shifted(stamp, APART if kind == "apart" else 0.0))
        for number, (pixels, when) in enumerate(zip(views, stamps)):
            calibration = info(number * BASELINE)
            calibration.header.stamp, calibration.header.frame_id = when, "fault_camera"
            infos[number].publish(calibration)
            images[number].publish(image(pixels, when))


if __name__ == "__main__":
    main()
