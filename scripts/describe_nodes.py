"""Writes docs/nodes/*.md: one page per node, from what the node itself declares and creates.

    python scripts/describe_nodes.py            write all pages
    python scripts/describe_nodes.py --check    fail if a page and the node differ

Every node is started once in this process with the parameters of the bundled UR5, and configured. Parameters come from
its table, topics, services and actions with their types and QoS from the entities that it has created then. What rclpy
creates for every lifecycle node, and the diagnostics, are found on a node that does nothing, and listed once.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import inspect
import json
import math
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/nodes"
NODES = (
    "model_server",
    "planner",
    "controller",
    "collision_monitor",
    "servo",
    "perception",
    "capability",
    "viewer",
    "sim_bridge",
    "mock_hardware",
)
ARGUMENTS = ("--params-file", str(ROOT / "config/ur5.yaml"))
TYPES = {bool: "bool", int: "integer", float: "double", str: "string"}
KINDS = ("Publishes", "Subscribes to", "Services", "Actions")


@dataclass
class Interface:
    """What one ROS node offers: rows of (name, type, QoS) by kind."""

    name: str
    rows: dict[str, set[tuple[str, str, str]]] = field(default_factory=lambda: {kind: set() for kind in KINDS})

    def without(self, common: Interface) -> Interface:
        """The rest, without what every node has."""
        return Interface(self.name, {kind: self.rows[kind] - common.rows[kind] for kind in KINDS})


def type_name(kind: Any) -> str:
    """`sensor_msgs/msg/JointState` for the class."""
    package, inner = kind.__module__.split(".")[:2]
    return f"{package}/{inner}/{kind.__name__}"


def qos_text(profile: Any) -> str:
    """The policies that decide whether two sides match, and the depth."""
    words = [profile.reliability.name.lower().replace("_", " ")]
    words.append("latched" if profile.durability.name == "TRANSIENT_LOCAL" else "volatile")
    words.append("keep all" if profile.history.name == "KEEP_ALL" else f"depth {profile.depth}")
    return ", ".join(words)


def interface_of(node: Any) -> Interface:
    """Everything that a node has created; names below its own are written with `~`."""
    own = node.get_fully_qualified_name()
    found = Interface(re.sub(r"_\d+$", "", node.get_name()))  # clients add the process id

    def short(name: str) -> str:
        private = name.startswith(own + "/")
        return "~" + name[len(own) :] if private else name.lstrip("/") if name != "/diagnostics" else name

    def add(kind: str, name: str, interface: str, qos: Any = None) -> None:
        if "/_action/" not in name:
            found.rows[kind].add((short(name), interface, "" if qos is None else qos_text(qos)))

    for publisher in node.publishers:
        add("Publishes", publisher.topic_name, type_name(publisher.msg_type), publisher.qos_profile)
    for subscription in node.subscriptions:
        add("Subscribes to", subscription.topic_name, type_name(subscription.msg_type), subscription.qos_profile)
    for service in node.services:
        add("Services", service.service_name, type_name(service.srv_type))
    for name, type_ in action_servers(node):
        add("Actions", name, type_)
    return found


def action_servers(node: Any) -> list[tuple[str, str]]:
    """Names and types of the actions of a node, from the ROS graph: rclpy's servers do not tell their names."""
    from rclpy.action import ActionServer, get_action_server_names_and_types_by_node

    wanted = sum(isinstance(waitable, ActionServer) for waitable in node.waitables)
    deadline = time.monotonic() + 10.0
    while True:
        found = get_action_server_names_and_types_by_node(node, node.get_name(), node.get_namespace())
        if len(found) == wanted:
            return [(name, types[0]) for name, types in found]
        if time.monotonic() > deadline:
            raise SystemExit(f"{len(found)} of {wanted} actions of {node.get_name()} are in the ROS graph after 10 s")
        time.sleep(0.02)


def configured(make_node: Any) -> tuple[list[Interface], Any]:
    """Interfaces of a node, and of the further nodes that it creates, once it is configured."""
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.lifecycle import TransitionCallbackReturn
    from rclpy.node import Node

    def present() -> list[Any]:
        return [found for found in gc.get_objects() if isinstance(found, Node)]

    before = present()
    node, executor = make_node(), SingleThreadedExecutor()
    executor.add_node(node)
    try:
        if node.trigger_configure() is not TransitionCallbackReturn.SUCCESS:
            raise SystemExit(f"{node.get_name()} cannot be configured; its log has the reason")
        others = [other for other in present() if other is not node and not any(other is old for old in before)]
        return [interface_of(other) for other in (node, *sorted(others, key=lambda other: other.get_name()))], node
    finally:
        node.shut_down()
        executor.shutdown()
        node.destroy_node()


def parameter_rows(table: Iterable[Any]) -> Iterator[str]:
    """The parameter table of a node in Markdown."""
    yield "| parameter | type | default | range | change | description |"
    yield "|---|---|---|---|---|---|"
    for row in table:
        kind = TYPES.get(type(row.default)) if row.kind is None else row.kind.name.lower().replace("_", " ")
        limits = [f"≥ {row.minimum:g}" if math.isfinite(row.minimum) else ""]
        limits.append(f"≤ {row.maximum:g}" if math.isfinite(row.maximum) else "")
        change = "at start" if row.read_only else "any time" if row.live else "unconfigured"
        default = "empty" if row.default in ("", []) else f"`{json.dumps(row.default, ensure_ascii=False)}`"
        text = row.text.replace("|", "\\|").replace("\n", " ")
        yield f"| `{row.name}` | {kind} | {default} | {', '.join(filter(None, limits))} | {change} | {text} |"


def interface_rows(interface: Interface) -> Iterator[str]:
    """Topics, services and actions of one node in Markdown."""
    for kind in KINDS:
        rows = sorted(interface.rows[kind])
        if not rows:
            continue
        quality = kind in KINDS[:2]
        yield f"\n### {kind}\n"
        yield "| name | type | QoS |\n|---|---|---|" if quality else "| name | type |\n|---|---|"
        for name, type_, qos in rows:
            yield f"| `{name}` | `{type_}` |" + (f" {qos} |" if quality else "")


def page(name: str, text: str, interfaces: Sequence[Interface], table: Iterable[Any]) -> str:
    """A whole page."""
    lines = [f"# {name}\n", text.strip(), "\n*Written by `scripts/describe_nodes.py` from the running node.*"]
    for interface in interfaces:
        also = "" if interface.name == name else f" of its further node `{interface.name}`"
        lines.append(f"\n## Interfaces{also}")
        lines += interface_rows(interface)
    lines += ["\n## Parameters\n", *parameter_rows(table)]
    return "\n".join(lines) + "\n"


def index(common: Interface, summaries: dict[str, str]) -> str:
    """The page that lists the nodes, and what all of them have."""
    lines = ["# Nodes\n"]
    lines.append(
        "All are lifecycle nodes with relative names, started by `manipapy up`, by the launch files, or alone: "
        "`ros2 run manipapy <node>`. Parameters that change `unconfigured` are read when the node is configured, those "
        "that change `any time` take effect at once. Topics are those with the default parameters; a `~` stands for "
        "the node's own name.\n"
    )
    lines += ["| node | |", "|---|---|", *(f"| [{name}]({name}.md) | {text} |" for name, text in summaries.items())]
    lines += ["\n```{toctree}", ":hidden:\n", *NODES, "```\n", "## What every node has"]
    lines += interface_rows(common)
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Text of every page by file name; starts and configures every node."""
    import rclpy

    from manipapy_ros.common.node import ManagedNode
    from manipapy_ros.sim_bridge.camera_worker import StereoPublisher

    rclpy.init(args=["--ros-args", *ARGUMENTS, "--log-level", "warn"])
    found = {}
    try:
        (common,), _ = configured(lambda: ManagedNode("any", ()))
        summaries = {}
        for name in NODES:
            module = importlib.import_module(f"manipapy_ros.{name}.node")
            make = next(
                kind
                for _, kind in inspect.getmembers(module, inspect.isclass)
                if issubclass(kind, ManagedNode) and kind.__module__ == module.__name__
            )
            interfaces, node = configured(make)
            if name == "sim_bridge":
                camera = StereoPublisher()
                interfaces.append(interface_of(camera))
                camera.destroy_node()
            text = re.sub(r"^The node `\w+`: (\w)", lambda match: match[1].upper(), inspect.getdoc(module) or "")
            summaries[name] = text.partition("\n")[0]
            own = [interface.without(common) for interface in interfaces]
            found[f"{name}.md"] = page(name, text, own, node.table)
    finally:
        rclpy.try_shutdown()
    found["index.md"] = index(common, summaries)
    return found


def main() -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description="Pages of the nodes, from the nodes.")
    parser.add_argument("--check", action="store_true", help="only compare")
    asked = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    differing = []
    for name, text in pages().items():
        path = FOLDER / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        differing.append(name)
        if not asked.check:
            path.write_text(text, encoding="utf-8")
    if asked.check and differing:
        print(f"docs/nodes differs from the nodes: {', '.join(differing)}; run python scripts/describe_nodes.py")
        return 1
    print(f"docs/nodes: {', '.join(differing) + ' written' if differing else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
