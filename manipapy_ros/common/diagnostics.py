"""Diagnostics of a node, published once a second on /diagnostics."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

PERIOD = 1.0
"""[s]"""


class Level(enum.Enum):
    """Levels of diagnostic_msgs/DiagnosticStatus."""

    OK = DiagnosticStatus.OK
    WARN = DiagnosticStatus.WARN
    ERROR = DiagnosticStatus.ERROR


@dataclass(frozen=True)
class DiagnosticReport:
    """A message and key-value pairs."""

    level: Level
    message: str
    values: Mapping[str, str] = field(default_factory=dict)
    """By name, with the unit in the name."""


class Diagnostics:
    """Publishes reports until it is destroyed.

    Args:
        node: The node that is diagnosed.
        hardware: Name of the robot, to distinguish several arms.
        report: Called once a second by the node's executor.
    """

    def __init__(self, node: Node, hardware: str, report: Callable[[], DiagnosticReport]):
        self._node, self._hardware, self._report = node, hardware, report
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        # On the steady clock: simulated time may be paused.
        self._timer = node.create_timer(PERIOD, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        report = self._report()
        status = DiagnosticStatus(
            level=report.level.value,
            name=self._node.get_fully_qualified_name().lstrip("/"),
            message=report.message,
            hardware_id=self._hardware,
            values=[KeyValue(key=key, value=value) for key, value in report.values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def destroy(self) -> None:
        """Stop publishing."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)
