"""QoS profiles of shared topics, each with the reason for its settings."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

ROBOT_DESCRIPTION = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""Latched: late subscribers get the description. RViz and ros2_control subscribe with the same profile."""

STATE = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""Joint states as drivers publish them: reliable, which matches every subscriber."""

NEWEST = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For loops that need only the newest message: no retransmission, and matches every publisher."""

STATES = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=16, reliability=ReliabilityPolicy.BEST_EFFORT)
"""As NEWEST, where several nodes may publish: a second one does not push out the messages of the first."""

RECENT = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=500, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For a history of half a second of joint states, read late."""

COMMAND = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""Commands: only the newest; reliable, because the controllers of ros2_control subscribe so."""

LATCHED = ROBOT_DESCRIPTION
"""For data that rarely changes, such as static transforms."""

SENSOR = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=8, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Images and point clouds: no retransmission, matches every publisher; a few wait for their counterparts."""

CHANGES = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""Numbered changes of latched data: a late subscriber also gets those since the data was last published whole."""
