"""DDS security (SROS2): whether the middleware has it, and keys for the nodes.

ROS runs without encryption if security is enabled and the middleware lacks it, unless the strategy is Enforce. Here a
node that is to be secured and cannot be refuses to start, whatever the strategy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import rclpy

from manipapy_core.errors import ManipapyError

ENABLE, STRATEGY, KEYSTORE, ENCLAVE = (
    "ROS_SECURITY_ENABLE",
    "ROS_SECURITY_STRATEGY",
    "ROS_SECURITY_KEYSTORE",
    "ROS_SECURITY_ENCLAVE_OVERRIDE",
)
OUR_ENCLAVE = "/manipapy"
"""One identity for all nodes of a suite."""
PLUGIN = b"dds.sec.auth"
"""Name of the authentication plugin, which a Fast DDS with security holds."""
_LIBRARIES = ("libfastdds.so", "libfastrtps.so")
TIMEOUT = 120.0
"""For `ros2 security` [s]."""


class NotSecured(ManipapyError):
    """Security was asked for, and this installation has none."""

    def __init__(self, reason: str):
        super().__init__(
            f"security is not possible here: {reason}; use a ROS 2 installation with DDS security (such as "
            f"ros-jazzy-desktop with ros-jazzy-sros2), or unset {ENABLE} and keep discovery on this machine"
        )
        self.reason = reason


def missing_security() -> str:
    """Why the middleware of this process cannot encrypt; empty if it can."""
    middleware = rclpy.get_rmw_implementation_identifier()
    if not middleware.startswith("rmw_fastrtps"):
        return ""  # others refuse by themselves
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        path = "/" + line.partition("/")[2]
        if path.rpartition("/")[2].startswith(_LIBRARIES):
            return "" if PLUGIN in Path(path).read_bytes() else "this Fast DDS was built without DDS security"
    return "the library of Fast DDS is not found"


def require_security() -> None:
    """Checks that a process that is to be secured can be.

    Raises:
        NotSecured: It cannot.
    """
    if os.environ.get(ENABLE, "").lower() != "true":
        return
    reason = missing_security()
    if reason:
        raise NotSecured(reason)


def make_keys(keystore: Path) -> dict[str, str]:
    """Makes a keystore with the enclave of the suite; returns the environment that secures its nodes.

    Args:
        keystore: A folder; made if there is none.

    Raises:
        NotSecured: The middleware or the tools have no security.
    """
    reason = missing_security()
    tool = shutil.which("ros2")
    if not reason and tool is None:
        reason = "there is no command ros2"
    if reason or tool is None:
        raise NotSecured(reason)
    steps = [["create_keystore", str(keystore)]] if not keystore.exists() else []
    for step in [*steps, ["create_enclave", str(keystore), OUR_ENCLAVE]]:
        done = subprocess.run([tool, "security", *step], capture_output=True, text=True, timeout=TIMEOUT, check=False)
        if done.returncode:
            raise NotSecured(f"ros2 security {step[0]} failed ({done.stderr.strip()[-200:] or done.returncode})")
    return {ENABLE: "true", STRATEGY: "Enforce", KEYSTORE: str(keystore.resolve()), ENCLAVE: OUR_ENCLAVE}
