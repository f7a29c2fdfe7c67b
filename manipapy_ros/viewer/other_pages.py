"""Pages of the other robots on this network, from the diagnostics of their viewers."""

from __future__ import annotations

import time
from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

from ..realtime.polled_topics import PolledSubscription

PAGE = "page"
"""Key of the address of a page in the diagnostics of a viewer."""
GONE_AFTER = 5.0
"""A viewer that has been silent for so long is gone [s]; it reports once a second."""
# All nodes of all robots report here, once a second each.
DIAGNOSTICS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)


class OtherPages:
    """Addresses of the other pages; polled by one thread.

    Args:
        node: Owner of the subscription.
        own: Address of the own page, which is left out.
    """

    def __init__(self, node: Node, own: str):
        self._own = own
        self._found: dict[str, tuple[str, str, float]] = {}
        self._reports = PolledSubscription(node, DiagnosticArray, "/diagnostics", DIAGNOSTICS)

    def addresses(self) -> Mapping[str, str]:
        """Address by the name of a robot: its namespace, and what it is."""
        now = time.monotonic()
        for report in self._reports.all_new():
            for status in report.status:
                address = next((pair.value for pair in status.values if pair.key == PAGE), self._own)
                if address != self._own and address.startswith(("http://", "https://")):
                    namespace = status.name.strip("/").rpartition("/")[0]
                    label = f"{namespace} ({status.hardware_id})" if namespace else status.hardware_id
                    self._found[status.name] = label, address, now
        self._found = {name: found for name, found in self._found.items() if now - found[2] < GONE_AFTER}
        return {label: address for label, address, _ in sorted(self._found.values())}

    def destroy(self) -> None:
        """Unsubscribes."""
        self._reports.destroy()
