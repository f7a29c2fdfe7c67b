"""UDP-only transport for nodes with a real-time loop: shared memory blocks the loop when a new subscriber appears.

Fast DDS opens the shared memory of a new subscriber in the publishing thread, with the first message to it. If the last
liveliness sign of the subscriber was counted already, as in about every fourth case, that thread sleeps for a third of
a second and tries again. rclpy holds the interpreter lock (GIL) meanwhile, so the loop stops whichever thread
published: opening RViz made a moving arm hold. UDP has no such wait and no locks that a killed process leaves behind,
and a tick takes as long with it. A Fast DDS profile set by the user is not changed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from xml.sax.saxutils import escape

import rclpy
from rclpy.logging import get_logger

TESTED_VERSION = "7."
"""Version of rclpy (Jazzy) that this was tested with. Others keep their transport, because a profile that is not
read would undo LOCALHOST."""
PROFILE_VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
DEFAULT_PROFILES = ("DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml")
"""Fast DDS reads these in the working directory."""
RANGE, PEERS, LOCALHOST_ONLY = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS", "ROS_LOCALHOST_ONLY"
PARTICIPANTS = 32
"""Largest number of processes that can discover each other on one machine, as in rmw_fastrtps for LOCALHOST."""

_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles">
  <profiles>
    <transport_descriptors>
      <transport_descriptor>
        <transport_id>udp_only</transport_id>
        <type>UDPv4</type>
        <maxInitialPeersRange>{participants}</maxInitialPeersRange>
        {interfaces}
      </transport_descriptor>
      {shared_memory}
    </transport_descriptors>
    <participant profile_name="manipapy_loop" is_default_profile="true">
      <rtps>
        <useBuiltinTransports>false</useBuiltinTransports>
        <userTransports><transport_id>udp_only</transport_id>{also}</userTransports>
        {discovery}
      </rtps>
    </participant>
  </profiles>
</dds>
"""


_LOOPBACK = "<interfaceWhiteList><address>127.0.0.1</address></interfaceWhiteList>"
_SHARED_MEMORY = (
    "<transport_descriptor><transport_id>shared</transport_id><type>SHM</type></transport_descriptor>",
    "<transport_id>shared</transport_id>",
)


@contextmanager
def use_udp_transport(*, shared_memory: bool = False) -> Iterator[None]:
    """Context in which ROS is initialised and the first node created; restores the environment afterwards.

    With LOCALHOST, and without static peers on other machines, sockets are bound to the loopback interface only.

    Args:
        shared_memory: Keep shared memory beside UDP, for nodes without a loop. These change nothing without LOCALHOST.
    """
    if shared_memory and not _stays_on_this_machine():
        yield
        return
    reason = fallback_reason()
    if reason:
        if not shared_memory:
            get_logger("udp_transport").warning(f"shared memory stays in use beside UDP: {reason}")
        yield
        return
    changes: dict[str, str | None] = {}
    discovery = interfaces = ""
    if _stays_on_this_machine():
        # rmw_fastrtps always adds shared memory for LOCALHOST. So LOCALHOST is unset and the profile does the same.
        discovery = _on_this_machine(os.environ.get(PEERS, ""))
        interfaces = "" if _peers_elsewhere(os.environ.get(PEERS, "")) else _LOOPBACK
        changes = {RANGE: "SYSTEM_DEFAULT", LOCALHOST_ONLY: None}
    with ExitStack() as stack:
        file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manipapy-"))) / "udp_only.xml"
        descriptor, also = _SHARED_MEMORY if shared_memory else ("", "")
        text = _PROFILE.format(
            participants=PARTICIPANTS,
            discovery=discovery,
            interfaces=interfaces,
            shared_memory=descriptor,
            also=also,
        )
        file.write_text(text, encoding="utf-8")
        stack.enter_context(_environment(changes | dict.fromkeys(PROFILE_VARIABLES, str(file))))
        yield


def fallback_reason() -> str:
    """Why the transport of the middleware is not changed; empty if UDP only can be used."""
    reason = untested_middleware()
    if reason:
        return reason
    chosen = [name for name in PROFILE_VARIABLES if os.environ.get(name)]
    chosen += [name for name in DEFAULT_PROFILES if Path(name).exists()]
    return f"a Fast DDS profile is set by {chosen[0]}" if chosen else ""


def untested_middleware() -> str:
    """Which part of the middleware this was not tested with; empty if none."""
    installed = rclpy_version()
    if not installed.startswith(TESTED_VERSION):
        return f"rclpy is {installed}, and this was tested with {TESTED_VERSION}x"
    implementation = rclpy.get_rmw_implementation_identifier()
    return "" if implementation.startswith("rmw_fastrtps") else f"the middleware is {implementation}, not Fast DDS"


def rclpy_version() -> str:
    """Version of rclpy; "unknown" if its package does not tell."""
    try:
        return version("rclpy")
    except PackageNotFoundError:
        return "unknown"


def _stays_on_this_machine() -> bool:
    return os.environ.get(LOCALHOST_ONLY) == "1" or os.environ.get(RANGE, "").upper() == "LOCALHOST"


def _names(static_peers: str) -> list[str]:
    return [name.strip() for name in static_peers.split(";") if name.strip()]


def _peers_elsewhere(static_peers: str) -> bool:
    return any(name != "localhost" and not name.startswith("127.") for name in _names(static_peers))


def _on_this_machine(static_peers: str) -> str:
    """Discovery settings: no multicast, announcements only to this machine and the static peers."""
    names = _names(static_peers)
    peers = "".join(
        f"<locator><udpv4><address>{escape(name)}</address></udpv4></locator>" for name in [*names, "127.0.0.1"]
    )
    return (
        "<builtin><metatrafficUnicastLocatorList><locator/></metatrafficUnicastLocatorList>"
        f"<initialPeersList>{peers}</initialPeersList></builtin>"
    )


@contextmanager
def _environment(changes: dict[str, str | None]) -> Iterator[None]:
    """Context with changed environment variables; None: not set."""
    before = {name: os.environ.get(name) for name in changes}
    try:
        _set(changes)
        yield
    finally:
        _set(before)


def _set(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
