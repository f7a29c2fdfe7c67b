"""docs/nodes: topics, services, actions and their QoS are those that the configured nodes create."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_pages_are_those_of_the_running_nodes(domain):
    """Cure: python scripts/describe_nodes.py."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/describe_nodes.py", "--check"], capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stdout + done.stderr
