"""Settings of every test, and the folders that this environment cannot run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hypothesis import settings

# The first call of a function compiles it: no deadline for single examples. Same examples on every run.
settings.register_profile("manipapy", deadline=None, derandomize=True)
settings.load_profile("manipapy")

HAS_ROS = importlib.util.find_spec("rclpy") is not None

collect_ignore = [] if HAS_ROS else ["ros"]


def pytest_report_header() -> str | None:
    return None if HAS_ROS else "test/ros is left out: this environment has no rclpy; make setup installs it"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Names of tests must be the same in every process: parallel workers refuse to run otherwise."""
    wrong = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if wrong:
        raise pytest.UsageError(f"give these parameters `ids`, theirs are addresses in memory: {', '.join(wrong)}")


@pytest.fixture(scope="session")
def project() -> Path:
    """The top folder of the source tree."""
    return Path(__file__).resolve().parents[1]
