"""Quality of service of the topics that several nodes share, each with the reason for its settings."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

ROBOT_DESCRIPTION = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""Latched: whoever comes later still gets the one description. RViz and ros2_control subscribe with the same."""

STATE = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Joint states as drivers publish them: reliable, so that every kind of subscriber matches."""

NEWEST = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For loops that only want the newest message: never waits for a lost one, and matches every publisher."""

RECENT = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=500, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For those who want to know what was half a second ago, even if they were kept from looking until now."""

COMMAND = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""Commands: the newest counts; reliable, because the controllers of ros2_control subscribe so."""

LATCHED = ROBOT_DESCRIPTION
"""For what rarely changes, such as static transforms."""

SENSOR = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=8, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Pictures and points: a lost one is not sent again, and matches every publisher; a few wait for their partners."""
