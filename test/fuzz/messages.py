"""Random messages to every service, topic and action of running nodes: python -m fuzz.messages [--seconds 120].

A node must stay alive, answer, write no traceback and not grow by a gibibyte; the arm must stay within its limits.
"""

from __future__ import annotations

import argparse
import array
import random
import sys
import time
from importlib import import_module
from typing import Any

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile

from faults.judge import peak_ratio
from faults.rig import UR5, Rig, rig
from ros.conftest import NodeProcess
from ros_arm import bring_up

from .mutations import WORDS

NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-308, 1e308, -1e308, float("nan"), float("inf"), float("-inf"), 1e17, 0.5, 3.2e5)
SPARED = ("change_state", "cancel_goal", "get_type_description")
"""Services that end a node by design, or have no effect."""
MAX_MEMORY = 1 << 30
"""[B]"""
NODES = ("model_server", "planner")
ANY_SUBSCRIBER = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Of a publisher to which subscribers of every reliability and durability connect."""


def random_message(kind: type, rng: random.Random, depth: int = 0) -> Any:
    """A message with random fields of the right types."""
    message = kind()
    for field, text in message.get_fields_and_field_types().items():
        if rng.random() < 0.85:
            setattr(message, field, _value(text, rng, depth, getattr(message, field)))
    return message


def _value(text: str, rng: random.Random, depth: int, default: Any) -> Any:
    if text.startswith("sequence<"):
        inner = text[len("sequence<") : -1].split(",")[0]
        most = 3 if "/" in inner else rng.choice((3, 8, 8, 500))
        return _array(inner, [_value(inner, rng, depth + 1, None) for _ in range(rng.randint(0, most))])
    if "[" in text:
        inner, _, count = text[:-1].partition("[")
        values = [_value(inner, rng, depth + 1, None) for _ in range(int(count))]
        return np.array(values, dtype=default.dtype) if isinstance(default, np.ndarray) else values
    if "/" in text:
        return random_message(_message_type(*text.split("/")), rng, depth + 1)
    return _scalar(text, rng)


def _message_type(package: str, name: str) -> type:
    """A message, or the goal, result or feedback of an action."""
    messages = import_module(f"{package}.msg")
    if hasattr(messages, name):
        return getattr(messages, name)
    action, _, part = name.rpartition("_")
    return getattr(getattr(import_module(f"{package}.action"), action), part)


def _array(inner: str, values: list[Any]) -> Any:
    codes = {"double": "d", "float": "f", "uint8": "B", "int32": "i", "uint32": "I", "int64": "q"}
    return array.array(codes[inner], values) if inner in codes else values


def _scalar(text: str, rng: random.Random) -> Any:
    if text == "boolean":
        return rng.random() < 0.5
    if text.startswith(("string", "wstring")):
        return rng.choice((*WORDS, *UR5.joints, "base_link", "tool0", "arm")).replace("\0", "")
    if text in ("double", "float"):
        value = rng.choice(NUMBERS) if rng.random() < 0.4 else rng.gauss(0.0, 2.0)
        return value if text == "double" or abs(value) < 3e38 or value != value or abs(value) == np.inf else 1e38
    if text == "octet":
        return bytes([rng.randrange(256)])
    bits = int("".join(filter(str.isdigit, text)) or 8)
    low, high = (
        (0, 2**bits - 1)
        if text.startswith("u") or text in ("char", "byte")
        else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    )
    return rng.choice((0, 1, 2, low, high, rng.randint(low, high), rng.randint(0, min(high, 20))))


class Doors:
    """Clients of every service and publishers of every topic that nodes take."""

    def __init__(self, made: Rig, nodes: list[NodeProcess]):
        self._peer, node = made.peer, made.peer.node
        self.services: list[tuple[str, Any, type]] = []
        self.topics: list[tuple[str, Any, type]] = []
        known = set()
        for process in nodes:
            name, namespace = process.full_name.rpartition("/")[2], made.namespace
            for service, kinds in node.get_service_names_and_types_by_node(name, namespace):
                if service not in known and not service.endswith(SPARED):
                    known.add(service)
                    self._add_service(node, service, kinds[0])
            for topic, kinds in node.get_subscriber_names_and_types_by_node(name, namespace):
                if topic not in known and not topic.endswith(("/clock", "parameter_events")):
                    known.add(topic)
                    kind = _type(kinds[0])
                    self.topics.append((topic, node.create_publisher(kind, topic, ANY_SUBSCRIBER), kind))

    def _add_service(self, node: Any, service: str, kind: str) -> None:
        found = _type(kind)
        if not hasattr(found, "Request"):
            return
        self.services.append((service, node.create_client(found, service), found.Request))


def _type(name: str) -> type:
    package, folder, kind = name.split("/")
    module = import_module(f"{package}.{folder}")
    if folder == "action" and "_" in kind:
        action, _, part = kind.rpartition("_")
        return getattr(
            getattr(module, action).Impl, {"SendGoal": "SendGoalService", "GetResult": "GetResultService"}[part]
        )
    return getattr(module, kind)


def memory(process: NodeProcess) -> int:
    """Resident memory [B]."""
    with open(f"/proc/{process.process.pid}/statm", encoding="ascii") as file:
        return 4096 * int(file.read().split()[1])


def judge(made: Rig, nodes: list[NodeProcess], before: dict[str, int], last: str) -> list[str]:
    """What is wrong now."""
    found = []
    for process in nodes:
        if not process.is_running:
            found.append(f"{process.full_name} has ended; last: {last}")
            continue
        if "Traceback" in process.printed:
            at = process.printed.index("Traceback")
            found.append(f"{process.full_name}: {process.printed[at : at + 800]}")
        if memory(process) - before[process.full_name] > MAX_MEMORY:
            found.append(f"{process.full_name} has grown to {memory(process) >> 20} MiB")
        try:
            made.peer.state(process)
        except AssertionError as error:
            found.append(f"{process.full_name} does not answer: {error}; last: {last}")
    return found


def main() -> int:
    """Sends messages until the time is over or something is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, sent, answered = random.Random(options.seed), 0, 0
    with rig(UR5) as made:
        common = ["-p", "robot:=ur5", "-p", "base_link:=base_link", "-p", "tip_link:=tool0"]
        nodes = [made.start(name, *common, namespace=made.namespace) for name in NODES]
        for process in nodes:
            bring_up(made.peer, process)
        nodes += [made.arm.bridge, made.arm.controller]
        made.peer.spin_for(3.0)
        doors, before = Doors(made, nodes), {process.full_name: memory(process) for process in nodes}
        made.peer.spin_for(2.0)
        began, end, findings, last = time.monotonic(), time.monotonic() + options.seconds, [], ""
        pending: list[Any] = []
        while time.monotonic() < end and not findings:
            for _ in range(200):
                if rng.random() < 0.7 and doors.topics:
                    last, publisher, kind = rng.choice(doors.topics)
                    publisher.publish(random_message(kind, rng))
                else:
                    last, client, kind = rng.choice(doors.services)
                    pending.append((client, client.call_async(random_message(kind, rng))))
                sent += 1
                made.peer.spin_for(0.0005)
            answered += sum(future.done() for _, future in pending)
            for client, future in pending[:-50]:
                if not future.done():
                    client.remove_pending_request(future)
            pending = [(client, future) for client, future in pending[-50:] if not future.done()]
            findings = judge(made, nodes, before, last)
        truth = made.truth_since(began)
        peak = peak_ratio(UR5.chain, truth)
    if peak > 1.05 or not np.isfinite(truth.q).all():
        findings.append(f"the arm reached {100 * peak:.0f} % of its velocity limit")
    print("\n".join(findings))
    print(
        f"{sent} messages to {len(doors.topics)} topics and {len(doors.services)} services, {answered} answers, "
        f"{len(findings)} findings; the arm reached {100 * peak:.0f} % of its velocity limit"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
