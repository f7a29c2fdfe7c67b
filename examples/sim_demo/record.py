"""Records tracking, efforts and loop timing of the `make sim` demo."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from control_msgs.msg import JointTrajectoryControllerState
from manipapy_msgs.msg import ControllerStatus
from rclpy.node import Node
from rclpy.qos import QoSProfile

from manipapy_core.typing import Array
from manipapy_ros.common.conversions import to_seconds

QUEUE = QoSProfile(depth=200)
"""Deep enough that no message is lost while the figures are drawn."""


@dataclass(frozen=True)
class Summary:
    """Tracking error and loop timing over an interval."""

    duration: float
    """[s]"""
    rms_error: float
    """Over all joints and samples [rad or m]."""
    largest_error: float
    """[rad or m]"""
    rate: float
    """Of the control loop, mean [Hz]; nan before the first status."""
    jitter_p50: float
    """Median of the windows of 0.1 s [us]."""
    jitter_p99: float
    """Largest of the windows [us]."""
    overruns: int
    """Skipped cycles."""


class Recorder:
    """Subscribes to the controller and stores its messages.

    Args:
        node: Owner of the subscriptions; the caller spins it.
    """

    def __init__(self, node: Node):
        self.status: ControllerStatus | None = None
        """The latest status; None before the first."""
        self.joint_names: list[str] = []
        self._start = time.monotonic()
        self._samples: list[tuple[float, float, Array, Array, Array]] = []
        self._statuses: list[tuple[float, float, ControllerStatus]] = []
        """Arrival time [s], stamp [s] and message."""
        node.create_subscription(JointTrajectoryControllerState, "controller/controller_state", self._on_state, QUEUE)
        node.create_subscription(ControllerStatus, "controller/status", self._on_status, QUEUE)

    @property
    def now(self) -> float:
        """Time since the recorder was created [s], the clock of `summary`."""
        return time.monotonic() - self._start

    def arrays(self) -> tuple[Array, Array, Array, Array, Array]:
        """Arrivals and stamps [s], shape (m,), references and positions [rad or m] and efforts [N m or N], (m, n)."""
        samples = list(self._samples)
        if not samples:
            empty = np.zeros((0, len(self.joint_names)))
            return np.zeros(0), np.zeros(0), empty, empty, empty
        arrivals, stamps, *motion = (np.array(column) for column in zip(*samples, strict=True))
        references, positions, efforts = motion
        return arrivals, stamps, references, positions, efforts

    def save(self, path: Path) -> None:
        """Writes everything so far to a NumPy file: times [s], positions [rad or m], efforts [N m or N], loop [Hz, us].

        The times are message stamps, not arrival times.
        """
        _, stamps, reference, measured, effort = self.arrays()
        start = stamps[0] if len(stamps) else 0.0
        rows = [(stamp - start, status.rate, status.jitter_p99) for _, stamp, status in list(self._statuses)]
        loop = np.array(rows, dtype=np.float64).reshape(len(rows), 3)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(
            path,
            joint_names=np.array(self.joint_names),
            times=stamps - start,
            reference=reference,
            measured=measured,
            effort=effort,
            loop_times=loop[:, 0],
            loop_rate=loop[:, 1],
            loop_jitter=loop[:, 2],
        )

    def summary(self, begin: float, end: float) -> Summary:
        """Summary of the interval from `begin` to `end` [s]."""
        times, _, references, positions, _ = self.arrays()
        inside = (times >= begin) & (times <= end)
        error = np.abs(references[inside] - positions[inside])
        statuses = [status for arrival, _, status in list(self._statuses) if begin <= arrival <= end]
        return Summary(
            duration=end - begin,
            rms_error=float(np.sqrt(np.mean(error**2))) if error.size else float("nan"),
            largest_error=float(error.max()) if error.size else float("nan"),
            rate=float(np.mean([status.rate for status in statuses])) if statuses else float("nan"),
            jitter_p50=float(np.median([status.jitter_p50 for status in statuses])) if statuses else float("nan"),
            jitter_p99=float(np.max([status.jitter_p99 for status in statuses])) if statuses else float("nan"),
            overruns=sum(status.overruns for status in statuses),
        )

    def _on_state(self, message: JointTrajectoryControllerState) -> None:
        self.joint_names = list(message.joint_names)
        reference, feedback = np.array(message.reference.positions), np.array(message.feedback.positions)
        efforts = np.array(message.output.effort) if len(message.output.effort) else np.zeros(len(reference))
        if len(reference) == len(feedback) == len(self.joint_names):
            self._samples.append((self.now, to_seconds(message.header.stamp), reference, feedback, efforts))

    def _on_status(self, message: ControllerStatus) -> None:
        self.status = message
        self._statuses.append((self.now, to_seconds(message.header.stamp), message))
