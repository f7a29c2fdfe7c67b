"""Checks of this machine: what manipapy can use, what is missing, and the cure."""

from __future__ import annotations

import enum
import importlib.util
import os
import platform
import resource
import shutil
import socket
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import requirements

VENV = ", in a virtual environment with --system-site-packages (docs/install.md)"


class CheckState(enum.Enum):
    """How good a finding is."""

    OK = "ok"
    ABSENT = "absent"
    """Not there, and not needed by everyone."""
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """Result of one check."""

    subject: str
    state: CheckState
    detail: str
    cure: str = ""
    """What to do about it; empty when there is nothing to do."""


EXTRA_PURPOSES = {
    "ros": "the ROS 2 nodes",
    "sim": "physics simulation",
    "ik": "all solutions of inverse kinematics in closed form",
    "perception": "stereo obstacle perception",
    "planning": "further planners and time laws",
    "collision": "exact distances between meshes",
    "capability": "twist following and polygons of base placement",
    "viewer": "the viewer in a browser",
    "gpu": "batches on an NVIDIA GPU",
    "plots": "plots",
    "recording": "recordings in MCAP files",
    "docs": "building the documentation",
    "notebooks": "opening the notebooks",
    "mjcf": "reading MJCF",
    "torch": "differentiable operations of PyTorch",
    "jax": "differentiable operations of JAX",
    "big": "large offline jobs",
    "test": "the references of the tests",
}
"""Per extra of the package, its purpose."""
EXTRA_MODULES = {"ros": "rclpy", "mjcf": "mujoco", "docs": "sphinx", "notebooks": "notebook", "test": "pinocchio"}
"""Of extras without a package of `requirements`: the module that shows whether they are installed."""
ROS_INTERFACES = (
    "action_msgs", "builtin_interfaces", "control_msgs", "diagnostic_msgs", "geometry_msgs", "lifecycle_msgs",
    "moveit_msgs", "octomap_msgs", "rcl_interfaces", "rosgraph_msgs", "sensor_msgs", "shape_msgs", "std_msgs",
    "std_srvs", "stereo_msgs", "tf2_msgs", "trajectory_msgs", "unique_identifier_msgs", "visualization_msgs",
)  # fmt: skip
"""Message packages of package.xml."""


def examine() -> Iterator[Finding]:
    """Every finding, the essential ones first. Of the heavy packages only CuPy is imported, if there is one."""
    yield _python()
    yield from _core_packages()
    yield from _compilers()
    yield _ros()
    yield _interfaces()
    yield from _messages()
    yield _realtime()
    yield _discovery()
    yield _ports()
    yield _gpu()
    yield from _extras()


def _python() -> Finding:
    # An older Python than 3.10 does not get this far: neither pip nor make setup installs there.
    return Finding("Python", CheckState.OK, f"{platform.python_version()} at {sys.executable}")


def _core_packages() -> Iterator[Finding]:
    for item in requirements.ALWAYS:
        if not item.installed:
            yield Finding(item.package, CheckState.PROBLEM, f"missing: {item.purpose}", item.cure)
        elif item.too_old:
            yield Finding(
                item.package, CheckState.PROBLEM, f"{item.version} is older than {item.minimum}", f"{item.cure}{VENV}"
            )
        else:
            yield Finding(item.package, CheckState.OK, item.version or "version unknown")


def _compilers() -> Iterator[Finding]:
    purpose = "only needed to build the ROS interfaces with pip"
    for tool in ("gcc", "g++"):
        path = shutil.which(tool)
        if path is None:
            yield Finding(tool, CheckState.ABSENT, purpose, "apt install build-essential")
        else:
            yield Finding(tool, CheckState.OK, path)
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if header.exists():
        yield Finding("Python headers", CheckState.OK, str(header))
    else:
        yield Finding("Python headers", CheckState.ABSENT, purpose, "apt install python3-dev")


def _ros() -> Finding:
    spec = importlib.util.find_spec("rclpy")
    if spec is None or spec.origin is None:
        detail = "no rclpy: the library works, the nodes do not"
        return Finding("ROS 2", CheckState.ABSENT, detail, "make setup, or source the setup.bash of a ROS 2 Jazzy")
    in_environment = Path(spec.origin).is_relative_to(sys.prefix)
    distribution = os.environ.get("ROS_DISTRO")
    if in_environment and distribution:
        detail = f"the ROS wheels of this environment and the distribution {distribution} are both in reach"
        cure = "a terminal without ROS for the wheels, or make distclean setup with ROS sourced"
        return Finding("ROS 2", CheckState.PROBLEM, detail, cure)
    return Finding("ROS 2", CheckState.OK, "from PyPI" if in_environment else f"distribution {distribution}")


def _interfaces() -> Finding:
    # The source folder of that name is importable as a namespace from the top of the clone; only a built one has srv.
    if _installed("manipapy_msgs") and importlib.util.find_spec("manipapy_msgs.srv") is not None:
        return Finding("manipapy_msgs", CheckState.OK, "built")
    cure = "make setup, or colcon build --base-paths . manipapy_msgs"
    return Finding("manipapy_msgs", CheckState.ABSENT, "not built: the nodes need it", cure)


def _messages() -> Iterator[Finding]:
    """The message packages of a ROS installation, in one line if all are there."""
    if not _installed("rclpy"):
        return
    missing = [name for name in ROS_INTERFACES if not _installed(name)]
    if not missing:
        yield Finding("messages", CheckState.OK, f"all {len(ROS_INTERFACES)} packages of package.xml")
    distribution = os.environ.get("ROS_DISTRO")
    for name in missing:
        cure = f"apt install ros-{distribution}-{name.replace('_', '-')}" if distribution else "make setup"
        yield Finding(name, CheckState.PROBLEM, "missing: the nodes need it", cure)


REALTIME_PRIORITY = 80
"""What the control loop requests."""
DISCOVERY_PORT, PORTS_PER_DOMAIN, PORTS_PER_PROCESS = 7400, 250, 2
"""DDS counts its UDP ports from here: per ROS_DOMAIN_ID, and in each domain per process (RTPS 2.2, 9.6.1)."""
LAST_SAFE_DOMAIN = 101
"""Ports of higher domains are also assigned by Linux to other programs."""


def _realtime() -> Finding:
    """Whether the control loop may have the processor when it is due."""
    refused = [] if _may_be_realtime() else [f"SCHED_FIFO {REALTIME_PRIORITY}"]
    if resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] != resource.RLIM_INFINITY and os.geteuid() != 0:
        refused.append("memory locking")
    if not refused:
        return Finding("real time", CheckState.OK, f"SCHED_FIFO {REALTIME_PRIORITY} and memory locking are permitted")
    cure = (
        f"`@robots - rtprio {REALTIME_PRIORITY}` and `@robots - memlock unlimited` in /etc/security/limits.conf, "
        "join the group robots, log in again"
    )
    detail = f"not permitted: {' and '.join(refused)}; the 1 kHz loop works, but is late more often on a busy machine"
    return Finding("real time", CheckState.ABSENT, detail, cure)


def _may_be_realtime() -> bool:
    """By trying: limits, capabilities and containers all matter."""
    policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    except OSError:
        return False
    os.sched_setscheduler(0, policy, param)
    return True


def _discovery() -> Finding:
    """Whether nodes on this machine can find each other, and who else can."""
    try:
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        ):
            receiver.bind(("127.0.0.1", 0))
            receiver.settimeout(1.0)
            sender.sendto(b"manipapy", receiver.getsockname())
            receiver.recv(16)
    except OSError as error:
        cure = "bring it up: ip link set lo up; and let the firewall pass UDP on 127.0.0.1"
        return Finding("discovery", CheckState.PROBLEM, f"no UDP over the loopback interface ({error})", cure)
    reach = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    if os.environ.get("ROS_LOCALHOST_ONLY") == "1":
        reach = "LOCALHOST"
    if reach in ("LOCALHOST", "OFF"):
        return Finding("discovery", CheckState.OK, "loopback works; nodes are found on this machine only (LOCALHOST)")
    cure = "unset ROS_AUTOMATIC_DISCOVERY_RANGE, unless other machines are to take part"
    return Finding("discovery", CheckState.OK, f"loopback works; nodes are found over the network, too ({reach})", cure)


def _ports() -> Finding:
    """How full the ROS domain is."""
    text = os.environ.get("ROS_DOMAIN_ID", "0")
    if not text.isdecimal() or int(text) > 232:
        return Finding(
            "ports", CheckState.PROBLEM, f"ROS_DOMAIN_ID is {text!r}", f"a number from 0 to {LAST_SAFE_DOMAIN}"
        )
    domain = int(text)
    if domain > LAST_SAFE_DOMAIN:
        cure = f"export ROS_DOMAIN_ID with a number from 0 to {LAST_SAFE_DOMAIN}"
        return Finding("ports", CheckState.PROBLEM, f"Linux hands out ports of domain {domain} to others", cure)
    # Port 10 of a domain is the first process's, port 12 the second's, …
    first = DISCOVERY_PORT + PORTS_PER_DOMAIN * domain + 10
    taken = 0
    while taken < 100 and not _is_free(first + PORTS_PER_PROCESS * taken):
        taken += 1
    who = f"{taken} ROS process{'' if taken == 1 else 'es'} there now" if taken else "no ROS process there now"
    return Finding("ports", CheckState.OK, f"domain {domain}, UDP ports from {first} on; {who}")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def _gpu() -> Finding:
    from ..compiler.cuda.diagnosis import diagnose, look

    diagnosis = diagnose(look())
    state, word = (CheckState.OK, "used") if diagnosis.used else (CheckState.ABSENT, "not used")
    return Finding("GPU", state, f"{word}: {diagnosis.reason}", diagnosis.cure)


def _extras() -> Iterator[Finding]:
    for extra, purpose in EXTRA_PURPOSES.items():
        packages = [item for item in requirements.OPTIONAL if item.extra == extra]
        missing = [item for item in packages if not item.installed]
        if extra in EXTRA_MODULES and not _installed(EXTRA_MODULES[extra]):
            yield Finding(f"[{extra}]", CheckState.ABSENT, purpose, f"make setup EXTRAS={extra},test")
        elif not missing:
            yield Finding(f"[{extra}]", CheckState.OK, purpose)
        elif extra == "sim" and len(missing) < len(packages) and missing[0].module == "pybullet":
            yield Finding(f"[{extra}]", CheckState.OK, f"{purpose} by MuJoCo; PyBullet is not installed")
        else:
            names = ", ".join(item.package for item in missing)
            cure = "; ".join(item.cure for item in missing)
            yield Finding(f"[{extra}]", CheckState.ABSENT, f"{purpose}; missing: {names}", cure)


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
