"""Nodes with a loop talk over UDP alone: shared memory would hold the loop up whenever somebody new listens.

Fast DDS opens the shared memory of a newcomer when the first message goes to it, in the thread that publishes. If the
newcomer's last sign of life was counted already, as happens in about every fourth case, that thread sleeps for a third
of a second and looks again. rclpy keeps the interpreter meanwhile, so a loop stands still whichever thread published:
to open RViz was enough to make a moving arm hold. Datagrams have no such thing, nor locks that a killed process leaves
behind, and a tick takes as long with them. Whoever brings a profile of Fast DDS has chosen for themselves.
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

KNOWN = "7."
"""Versions of rclpy (Jazzy) that this was tried with. An unread profile would undo LOCALHOST, so others are let be."""
PROFILE_VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
DEFAULT_PROFILES = ("DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml")
"""Fast DDS reads these in the working directory."""
RANGE, PEERS, LOCALHOST_ONLY = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS", "ROS_LOCALHOST_ONLY"
PARTICIPANTS = 32
"""Most processes that can find each other on one machine, as rmw_fastrtps has it for LOCALHOST."""

_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<dds xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles">
  <profiles>
    <transport_descriptors>
      <transport_descriptor>
        <transport_id>datagrams</transport_id>
        <type>UDPv4</type>
        <maxInitialPeersRange>{participants}</maxInitialPeersRange>
      </transport_descriptor>
    </transport_descriptors>
    <participant profile_name="manipapy_loop" is_default_profile="true">
      <rtps>
        <useBuiltinTransports>false</useBuiltinTransports>
        <userTransports><transport_id>datagrams</transport_id></userTransports>
        {discovery}
      </rtps>
    </participant>
  </profiles>
</dds>
"""


@contextmanager
def use_udp_transport() -> Iterator[None]:
    """ROS is started and the first node made meanwhile; the environment is as before afterwards."""
    reason = fallback_reason()
    if reason:
        get_logger("udp_transport").warning(f"shared memory stays in use beside UDP: {reason}")
        yield
        return
    changes: dict[str, str | None] = {}
    discovery = ""
    if _stays_on_this_machine():
        # rmw_fastrtps always adds shared memory for LOCALHOST. So it is left out, and the profile does the rest of it.
        discovery = _on_this_machine(os.environ.get(PEERS, ""))
        changes = {RANGE: "SYSTEM_DEFAULT", LOCALHOST_ONLY: None}
    with ExitStack() as stack:
        file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="manipapy-"))) / "datagrams.xml"
        file.write_text(_PROFILE.format(participants=PARTICIPANTS, discovery=discovery), encoding="utf-8")
        stack.enter_context(_environment(changes | dict.fromkeys(PROFILE_VARIABLES, str(file))))
        yield


def fallback_reason() -> str:
    """Why the transport of the middleware is left as it is; empty if UDP alone can be chosen."""
    try:
        installed = version("rclpy")
    except PackageNotFoundError:
        return "the version of rclpy is not known"
    if not installed.startswith(KNOWN):
        return f"rclpy is {installed}, and this was tried with {KNOWN}x"
    implementation = rclpy.get_rmw_implementation_identifier()
    if not implementation.startswith("rmw_fastrtps"):
        return f"the middleware is {implementation}, not Fast DDS"
    chosen = [name for name in PROFILE_VARIABLES if os.environ.get(name)]
    chosen += [name for name in DEFAULT_PROFILES if Path(name).exists()]
    return f"a profile of Fast DDS is given by {chosen[0]}" if chosen else ""


def _stays_on_this_machine() -> bool:
    return os.environ.get(LOCALHOST_ONLY) == "1" or os.environ.get(RANGE, "").upper() == "LOCALHOST"


def _on_this_machine(static_peers: str) -> str:
    """No multicast, and announcements to this machine and to the static peers, which rmw_fastrtps would add."""
    names = [name.strip() for name in static_peers.split(";") if name.strip()]
    peers = "".join(
        f"<locator><udpv4><address>{escape(name)}</address></udpv4></locator>" for name in [*names, "127.0.0.1"]
    )
    return (
        "<builtin><metatrafficUnicastLocatorList><locator/></metatrafficUnicastLocatorList>"
        f"<initialPeersList>{peers}</initialPeersList></builtin>"
    )


@contextmanager
def _environment(changes: dict[str, str | None]) -> Iterator[None]:
    """Other values for a while; None: not set."""
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
