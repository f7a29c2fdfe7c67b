"""The node `perception`: images in, tracked obstacles out.

Subscribes to `left/image_rect`, `right/image_rect` and their `camera_info` (or `image_raw` with the parameter rectify;
or, by the parameter input, `depth/image_rect` or `points`; or to the topics of the parameters `camera.…`, compressed
ones as well), `joint_states`, `tf`, and the planner's world, whose attached objects are filtered out like the robot.
Publishes `disparity`, `points2`, `~/obstacle_markers`, `obstacles`, tables, floors and walls on `surfaces`, with
`space.enabled` the `unknown_space`, and with `camera.pose` the camera on `tf_static`. Of the frames received during
processing only the newest is kept.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from manipapy_msgs.msg import ObstacleArray
from sensor_msgs.msg import JointState, PointCloud2
from stereo_msgs.msg import DisparityImage
from visualization_msgs.msg import MarkerArray

from manipapy_core import kinematics
from manipapy_core.control.loop import enter_realtime
from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.geometry import AttachedObject, RobotBody
from manipapy_core.perception import (
    CameraPose,
    CloudAxes,
    DepthImage,
    Frame,
    JointHistory,
    PerceptionPipeline,
    PerceptionResult,
    PointSet,
    StereoModel,
    StereoPair,
    SurfaceKeeper,
    to_optical,
)
from manipapy_core.perception.pipeline import warm_up
from manipapy_core.perception.stereo.images import opencv
from manipapy_core.typing import Array

from ..common import qos
from ..common.conversions import positions_by_name, to_nanoseconds
from ..common.diagnostics import DiagnosticReport, Level
from ..common.node import ManagedNode
from ..common.params import Param, Values
from ..common.point_clouds import points_of
from ..common.process import end_process, run
from ..common.robot_loader import ROBOT_PARAMETERS, reach_of
from ..common.tf_buffer import TfBuffer
from ..common.world_follower import WORLD_PARAMETERS, WorldFollower
from ..realtime.polled_topics import PolledSubscription
from .camera_mount import CameraMount
from .camera_topics import CAMERA_PARAMETERS, CameraTopics
from .frozen import FrozenImages
from .image_messages import camera_of, disparity_message, image_of, points_message
from .inputs import ImageSynchronizer, SynchronizedImages
from .messages import obstacle_markers, obstacles_message, surfaces_message
from .settings import LIVE_PARAMETERS, REACH_MARGIN, settings_of
from .space import SPACE_PARAMETERS, UnknownSpacePublisher

FROZEN_AFTER = 1.0
"""Default time for which a real camera may repeat an image [s]."""
PARAMETERS = (
    *ROBOT_PARAMETERS,
    *WORLD_PARAMETERS,
    *CAMERA_PARAMETERS,
    *SPACE_PARAMETERS,
    Param(
        "priority", 20, "SCHED_FIFO priority while active, where permitted; 0: normal scheduling", minimum=0, maximum=49
    ),
    Param(
        "camera.frozen_after",
        0.0,
        "Time for which the camera may repeat an image bit by bit [s], after which no "
        f"obstacles are published; 0: {FROZEN_AFTER:g}, simulated without limit",
        minimum=0.0,
        maximum=3600.0,
    ),
    Param("disable_self_filter", False, "Do not remove the robot from the points; for cameras that do not see it"),
    *(replace(row, live=True) for row in LIVE_PARAMETERS),
)
JOINT_STATE_PERIOD = 0.02
"""Period in which received joint states are processed [s]."""
LOG_PERIOD = 2.0
"""Minimum time between log messages about unusable frames [s]; the diagnostics report all of them."""
WAIT_PERIOD = 0.2
"""Period in which the processing thread checks for its end [s]."""


class PerceptionNode(ManagedNode):
    """Runs the perception pipeline on one camera input."""

    realtime = True  # obstacles must not be delayed by other computations

    def __init__(self) -> None:
        super().__init__("perception", PARAMETERS)

    def configure(self, values: Values) -> None:
        """Build the robot's collision model, create the pipeline and its topics."""
        model = self.load_robot(values)
        topics = CameraTopics.of(values)
        pose = CameraPose.parse(str(values["camera.pose"])) if values["camera.pose"] else None
        # Threads of OpenCV would compete with the control loops.
        opencv().setNumThreads(1)
        self._chain = model.chain
        body = None
        if not values["disable_self_filter"]:
            model.require_collision_meshes()
            body = RobotBody.build(model.robot, model.chain)
        self._reach = reach_of(model.chain)
        self._pipeline = PerceptionPipeline(body=body, settings=settings_of(values, self._reach))
        self._history = JointHistory()
        self._world = self.own(WorldFollower.of(self, values, model.chain.base))
        self._attached: tuple[AttachedObject, ...] = ()
        self._calibration: Any = None
        simulated = bool(self.get_parameter("use_sim_time").value)
        allowed = float(values["camera.frozen_after"]) or (math.inf if simulated else FROZEN_AFTER)
        self._frozen = FrozenImages(allowed)
        self._problem, self._finished = "no image received yet", -np.inf
        self._last: PerceptionResult | None = None
        self._latency, self._age = 0.0, 0.0
        self._drawn: frozenset[int] = frozenset()
        self._work, self._ending = threading.Event(), False
        self._mount = self.own(CameraMount(self, pose, self.own(TfBuffer(self)), model.chain.base))
        axes = str(values["camera.axes"])
        self._axes = None if axes == "auto" else CloudAxes(axes)
        self._states: PolledSubscription[JointState] = self.own(
            PolledSubscription(self, JointState, "joint_states", qos.RECENT)
        )
        self._input = self.own(
            ImageSynchronizer(
                self, topics.kind, topics.images, topics.infos, float(values["sync_tolerance"]), self._work.set
            )
        )
        self._image_publishers = {
            kind: self.own(self.create_publisher(kind, name, qos.STATE))
            for kind, name in ((DisparityImage, "disparity"), (PointCloud2, "points2"))
        }
        self._obstacles = self.own(self.create_publisher(ObstacleArray, "obstacles", qos.STATE))
        self._surfaces = self.own(self.create_publisher(ObstacleArray, "surfaces", qos.STATE))
        self._kept_surfaces = SurfaceKeeper()
        self._markers = self.own(self.create_publisher(MarkerArray, "~/obstacle_markers", qos.STATE))
        self._space: UnknownSpacePublisher | None = None
        if values["space.enabled"]:
            reach = self._reach + REACH_MARGIN
            self._space = self.own(UnknownSpacePublisher(self, values, body, model.chain.base, reach))
        self._threads: list[threading.Thread] = []
        warm_up(body)

    def activate(self) -> None:
        """Start processing."""
        self._ending = False
        self._pipeline.reset()
        self._kept_surfaces.reset()
        if self._space is not None:
            self._space.reset()
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True)
            for work, name in ((self._process, "perception"), (self._record_joints, "joints"))
        ]
        for thread in self._threads:
            thread.start()

    def deactivate(self) -> None:
        """Stop processing."""
        self._ending = True
        self._work.set()
        for thread in self._threads:
            self.join(thread)

    # Parameters.

    def check_parameters(self, values: Values, changed: frozenset[str]) -> None:
        """Refuse values that do not go together."""
        settings_of(values, self._reach)

    def apply_parameters(self, values: Values, changed: frozenset[str]) -> None:
        """Use the new settings from the next frame on."""
        self._pipeline.configure(settings_of(values, self._reach))

    # Threads.

    def _record_joints(self) -> None:
        """Record joint positions for the self filter."""
        self._enter_realtime()
        while not self._ending:
            for state in self._states.all_new():
                time_ns = to_nanoseconds(state.header.stamp)
                if not self._history.needs_sample(time_ns):
                    continue
                try:
                    self._history.add(time_ns, positions_by_name(state, self._chain.joint_names))
                except InputError as error:
                    self.get_logger().warning(f"joint state not used: {error}", throttle_duration_sec=5.0)
            time.sleep(JOINT_STATE_PERIOD)

    def _enter_realtime(self) -> None:
        """Real-time scheduling for this thread, where permitted: below the control loops, above other computations."""
        if self.values["priority"]:
            enter_realtime(int(self.values["priority"]), lock_memory=False)

    def _process(self) -> None:
        self._enter_realtime()
        while not self._ending:
            self._work.wait(WAIT_PERIOD)
            self._work.clear()
            images = self._input.take()
            if images is None or self._ending:
                continue
            began = time.monotonic()
            try:
                self._follow_world()
                frozen = self._frozen.problem(images.messages[0])
                frame, frame_id = self._frame(images)
                result = self._pipeline.feed(frame)
                if frozen and result.sees:  # whatever else is wrong is said first
                    raise InputError(frozen)
            except ManipapyError as error:
                if str(error) != self._problem:
                    # Values in the text change from image to image, and two problems may alternate.
                    self.get_logger().warning(f"frame not used: {error}", throttle_duration_sec=LOG_PERIOD)
                self._problem = str(error)
                continue
            self._problem, self._last, self._finished = "", result, time.monotonic()
            if not result.sees and result.reasons:
                self.get_logger().warning(
                    f"no obstacles are published: {'; '.join(reason.value for reason in result.reasons)}",
                    throttle_duration_sec=LOG_PERIOD,
                )
            self._latency = self._finished - began
            self._publish(result, frame, images.messages[0].header, frame_id)
            if self._space is not None:
                self._space.update(result, frame, images.messages[0].header.stamp)
            # Joint states have the same clock, with a finer resolution than simulated time.
            newest_ns = self._history.newest_ns
            self._age = 0.0 if newest_ns is None else 1e-9 * (newest_ns - result.time_ns)

    def _follow_world(self) -> None:
        """Filter out what the arm carries now; objects on other arms are left to the camera."""
        attached = tuple(
            item for item in self._world.snapshot().attached.values() if item.link in self._chain.link_names
        )
        if attached != self._attached:
            self._attached = attached
            self._pipeline.carry(attached)

    def _frame(self, images: SynchronizedImages) -> tuple[Frame, str]:
        first = images.messages[0]
        time_ns, frame_id = to_nanoseconds(first.header.stamp), first.header.frame_id
        T = self._mount.at(frame_id, time_ns)
        q: Array | None = None if self.values["disable_self_filter"] else self._history.at(time_ns)
        if self.values["input"] == "points":
            return self._point_set(first, T, q), frame_id
        pixels, encoding = image_of(first)
        if self.values["input"] == "depth":
            camera, raw = camera_of(images.infos[0]), bool(self.values["rectify"])
            return DepthImage(time_ns, T, pixels, camera, q, encoding, raw=raw), frame_id
        self._calibrate(images)
        second = images.messages[1]
        right, right_encoding = image_of(second)
        if right_encoding != encoding:
            raise InputError(f"left is {encoding}, right is {right_encoding}; both cameras must agree")
        pair = StereoPair(
            time_ns,
            T,
            pixels,
            right,
            q,
            encoding,
            to_nanoseconds(second.header.stamp),
            max(1, round(float(self.values["sync_tolerance"]) * 1e9)),
        )
        return pair, frame_id

    def _point_set(self, message: PointCloud2, T: Array, q: Array | None) -> PointSet:
        """Points in optical axes; clouds with x forward are converted."""
        points = points_of(message)
        frame = message.header.frame_id
        if self._axes is None:
            self._axes = CloudAxes.of(points, frame)
            if self._axes is CloudAxes.FORWARD:
                self.get_logger().info(f"the points of {frame!r} have x forward: converted to optical axes")
        if self._axes is CloudAxes.FORWARD:
            points, T = to_optical(points, T)
        return PointSet(to_nanoseconds(message.header.stamp), T, points, q)

    def _calibrate(self, images: SynchronizedImages) -> None:
        """Apply changed calibrations."""
        key = tuple((info.width, info.height, *info.k, *info.p, *info.d, *info.r) for info in images.infos)
        if key == self._calibration:
            return
        self._pipeline.stereo = StereoModel(*(camera_of(info) for info in images.infos))
        self._pipeline.configure(self._pipeline.settings)
        self._calibration = key

    def _publish(self, result: PerceptionResult, frame: Frame, header: Any, optical: str) -> None:
        base, stamp = self._chain.base, header.stamp
        covered = result.covered
        if result.sees:  # silence tells the planner that nobody sees what is in the way
            self._obstacles.publish(obstacles_message(covered, base, stamp))
        surfaces = self._kept_surfaces.update(
            result.planes, frame.T_base_optical[:3, 3], max_thickness=float(self.values["surfaces.thickness"])
        )
        self._surfaces.publish(surfaces_message(surfaces, base, stamp))
        ids = frozenset(obstacle.id for obstacle in covered)
        tip = np.zeros(3) if frame.q is None else kinematics.forward(self._chain, frame.q)[:3, 3]
        self._markers.publish(obstacle_markers(covered, self._drawn - ids, tip, base, stamp))
        self._drawn = ids
        # Large messages are created only if there are subscribers.
        if result.disparity is not None and self._image_publishers[DisparityImage].get_subscription_count():
            self._image_publishers[DisparityImage].publish(disparity_message(result.disparity, optical, stamp))
        if self._image_publishers[PointCloud2].get_subscription_count() and result.points is not None:
            self._image_publishers[PointCloud2].publish(points_message(result.points, base, stamp))

    def diagnose(self) -> DiagnosticReport:
        """Latency, dropped frames, and missing inputs."""
        missing = self._input.missing()
        last, silence = self._last, time.monotonic() - self._finished
        numbers = {
            "dropped frames": str(self._input.dropped),
            "latency [ms]": f"{1e3 * self._latency:.1f}",
            "camera to obstacle [ms]": f"{1e3 * self._age:.1f}",
            "carried objects": str(len(self._attached)),
            "world": self._world.problem or "up to date",
        }
        if self._space is not None:
            numbers["unknown space [ms]"] = f"{1e3 * self._space.spent:.1f}"
        if last is not None:
            numbers |= {
                "obstacles": str(len(last.covered)),
                "planes": str(len(last.planes)),
                "valid pixels [%]": f"{100.0 * last.valid_share:.0f}",
                **{f"{stage} [ms]": f"{1e3 * spent:.1f}" for stage, spent in last.stage_times.items()},
            }
        if not self.is_active:
            return DiagnosticReport(Level.OK, "not active", numbers)
        if missing:
            return DiagnosticReport(Level.WARN, f"no messages on {missing}", numbers)
        if self._problem:
            return DiagnosticReport(Level.ERROR, self._problem, numbers)
        if silence > 1.0:
            return DiagnosticReport(Level.WARN, f"no image for {silence:.1f} s; obstacles are that old", numbers)
        if last is not None and not last.sees:
            reasons = "; ".join(reason.value for reason in last.reasons) or "no pixel has a depth"
            return DiagnosticReport(Level.ERROR, f"no obstacles are published: {reasons}", numbers)
        if last is not None and last.reasons:
            return DiagnosticReport(Level.WARN, "; ".join(reason.value for reason in last.reasons), numbers)
        return DiagnosticReport(Level.OK, "running", numbers)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(PerceptionNode, argv)


if __name__ == "__main__":
    end_process(main())
