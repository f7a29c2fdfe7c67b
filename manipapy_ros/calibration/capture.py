"""Images of a board from topics, with the pose of the hand at that time, written into a folder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manipapy_msgs.msg import MotionRequest
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from manipapy_core import kinematics
from manipapy_core.calibration import Board, read_visits, save_camera, write_poses
from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.perception import as_gray
from manipapy_core.perception.stereo.images import opencv
from manipapy_core.typing import Array

from ..client.robot import RobotClient
from ..client.session import TIMEOUT
from ..common import qos
from ..common.conversions import to_nanoseconds
from ..perception.camera_topics import beside
from ..perception.image_messages import camera_of, image_of

SIDES = ("left", "right")
MAX_SKEW_NS = 20_000_000
"""Largest time difference of left and right image [ns]."""
AT_REST = 2e-4
"""Joint motion during an image that is accepted [rad or m]."""


class NoImage(ManipapyError):
    """A topic without images."""

    def __init__(self, topic: str, seconds: float):
        super().__init__(f"no images of one time on {topic} for {seconds:g} s; check topic, namespace and camera")
        self.topic = topic


class Capture:
    """Takes images from one or two topics.

    Args:
        folder: Existing folder to write to.
        topics: One, or left and right.
        transport: raw or compressed.
        board: Images that do not show it are not kept.
        with_hand: Also write the pose of the hand, for a hand-eye calibration.
    """

    def __init__(
        self, robot: RobotClient, folder: Path, topics: Sequence[str], transport: str, board: Board, *, with_hand: bool
    ):
        self.robot, self.folder, self.board, self.with_hand = robot, folder, board, with_hand
        self._topics = tuple(topics)
        self._newest: list[Any] = [None for _ in topics]
        self._infos: list[CameraInfo | None] = [None for _ in topics]
        self.names: list[str] = []
        self._poses: list[Array] = []
        node = robot.client.node
        kind = Image if transport == "raw" else CompressedImage
        for index, topic in enumerate(topics):
            full = topic if transport == "raw" else f"{topic}/{transport}"
            node.create_subscription(kind, full, lambda m, i=index: self._newest.__setitem__(i, m), qos.SENSOR)
            node.create_subscription(
                CameraInfo, beside(topic), lambda m, i=index: self._infos.__setitem__(i, m), qos.SENSOR
            )

    def take(self) -> bool:
        """Take the next image of every topic; False if the board is not in it, or the arm moved."""
        joints = self.robot.chain.joint_names if self.with_hand else ()
        before = self.robot.arm.positions(joints) if joints else None
        self._newest = [None for _ in self._topics]
        messages = self._wait()
        images = [as_gray(*image_of(message)) for message in messages]
        after = self.robot.arm.positions(joints) if joints else None
        if before is not None and after is not None and float(abs(after - before).max()) > AT_REST:
            print("  the arm moved; not kept")
            return False
        if any(self.board.detect(image) is None for image in images):
            print("  the board is not in the image; not kept")
            return False
        number = len(self.names)
        names = [f"{side}_{number:03}.png" for side in SIDES] if len(images) == 2 else [f"image_{number:03}.png"]
        for name, image in zip(names, images, strict=True):
            opencv().imwrite(str(self.folder / name), image)
        self.names.append(names[0])
        if after is not None:
            self._poses.append(kinematics.forward(self.robot.chain, after))
        print(f"  {', '.join(names)}")
        return True

    def _wait(self) -> list[Any]:
        """New messages of all topics, of one time."""
        found: list[Any] = []

        def complete() -> bool:
            found[:] = self._newest
            if any(message is None for message in found):
                return False
            times = [to_nanoseconds(message.header.stamp) for message in found]
            return max(times) - min(times) <= MAX_SKEW_NS

        if not self.robot.client.wait_until(complete, TIMEOUT):
            silent = [topic for topic, message in zip(self._topics, found, strict=True) if message is None]
            raise NoImage(", ".join(silent or self._topics), TIMEOUT)
        return found

    def finish(self) -> str:
        """Write the poses and the calibrations of the cameras; returns what was written."""
        written = [f"{len(self.names)} views in {self.folder}"]
        if self._poses:
            write_poses(self.folder, self.names, self._poses)
            written.append(f"hand {self.robot.chain.tip} in {self.robot.chain.base}")
        names = ["camera"] if len(self._infos) == 1 else list(SIDES)
        for name, info in zip(names, self._infos, strict=True):
            if info is not None and any(info.k):
                save_camera(camera_of(info), self.folder / f"{name}.yaml", name)
                written.append(f"{name}.yaml from its camera_info")
        return ", ".join(written)


def by_key(capture: Capture) -> None:
    """Take an image each time Enter is pressed; an empty line after q ends."""
    while True:
        answer = input(f"{len(capture.names)} views. Enter: take one, q and Enter: end > ")
        if answer.strip().lower() == "q":
            return
        capture.take()


def by_visits(capture: Capture, path: Path, speed: float, settle: float) -> None:
    """Drive to each pose of a file by the planner, and take an image there.

    Args:
        path: File of `manipapy calibrate poses`.
        speed: Share of the velocity and acceleration limits.
        settle: Rest before the image [s].
    """
    from ..client.goal_text import motion_request

    names, visits = read_visits(path)
    chain = capture.robot.chain
    missing = [name for name in chain.joint_names if name not in names]
    if missing:
        raise InputError(f"{path} has no positions of {', '.join(missing)}; it is of another arm")
    for number, q in enumerate(visits):
        print(f"pose {number + 1} of {len(visits)}")
        wanted = dict(zip(names, q.tolist(), strict=True))
        numbers = [wanted[name] for name in chain.joint_names]
        request: MotionRequest = motion_request(lambda: chain, numbers, True, False, "", False, speed, "")
        try:
            capture.robot.move(request, lambda phase, share: None)
        except ManipapyError as error:
            print(f"  not reached: {error}")
            continue
        time.sleep(settle)
        capture.take()
