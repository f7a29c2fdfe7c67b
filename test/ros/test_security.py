"""Where security is enabled and the middleware has none, nothing starts; keys are not made that nothing would use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from manipapy_ros.common import security

secured = not security.missing_security()
MANIPAPY = (sys.executable, "-c", "from manipapy_core.cli import main; main()")


@pytest.mark.skipif(secured, reason="this Fast DDS has DDS security")
@pytest.mark.parametrize(
    "command",
    [(sys.executable, "-m", "manipapy_ros.model_server.node"), (*MANIPAPY, "state"), (*MANIPAPY, "up")],
    ids=["node", "state", "up"],
)
def test_missing_security_is_refused(command):
    """ROS alone would run unprotected with this strategy, its default."""
    environment = {**os.environ, security.ENABLE: "true", security.STRATEGY: "Permissive"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "built without DDS security" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(secured, reason="this Fast DDS has DDS security")
def test_no_keys_are_made_without_security(tmp_path):
    command = (*MANIPAPY, "secure", str(tmp_path / "keys"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and "built without DDS security" in done.stderr
    assert not (tmp_path / "keys").exists()
