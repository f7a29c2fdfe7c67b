"""Interfaces that are built here because PyPI has none must be the public ones, or nobody else understands them."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

import pytest

PUBLIC_HASHES = {
    "control_msgs/action/FollowJointTrajectory": "738ebcb7a2d7cfa42f9f1001cc99ce3a4383d1cfe508015d9be8485e4b1c66f6",
    "control_msgs/msg/JointTolerance": "c254f9cece0f3b733017b6990fd46d1326e25242d6b8844398c97d9a88e7d648",
    "control_msgs/msg/JointComponentTolerance": "739ea7566931944d33830fa10f1bf5e7a7fbdc3172bce7a7eaac642bd6e3ffa4",
    "control_msgs/msg/JointTrajectoryControllerState": (
        "51d8dd89cc624cbe9daaeeb4d80d6de9b86168ffdc3be41fefc0953e3c26e480"
    ),
    "tf2_msgs/msg/TFMessage": "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
}
"""Of Jazzy, without the prefix RIHS01_."""


def description(name: str) -> dict:
    """The type description that the build installed."""
    package, kind, interface = name.split("/")
    for prefix in (sys.prefix, *os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        path = Path(prefix) / "share" / package / kind / f"{interface}.json"
        if path.is_file():
            return json.loads(path.read_text())
    raise FileNotFoundError(f"no type description of {name}")


@pytest.mark.parametrize("name", PUBLIC_HASHES)
def test_type_hashes_are_the_public_ones(name):
    hashes = {entry["type_name"]: entry["hash_string"] for entry in description(name)["type_hashes"]}
    assert hashes[name] == f"RIHS01_{PUBLIC_HASHES[name]}"


def test_result_codes_are_the_public_ones():
    from control_msgs.action import FollowJointTrajectory

    from manipapy_core.control import ErrorCode

    for code in ErrorCode:
        assert getattr(FollowJointTrajectory.Result, code.name) == code


def interfaces(project: Path) -> list[Path]:
    return sorted(
        path for folder in ("msg", "srv", "action") for path in (project / "manipapy_msgs" / folder).glob("*.*")
    )


def test_every_interface_of_ours_is_built(project):
    listed = (project / "manipapy_msgs/CMakeLists.txt").read_text()
    for path in interfaces(project):
        assert f'"{path.parent.name}/{path.name}"' in listed
        assert hasattr(importlib.import_module(f"manipapy_msgs.{path.parent.name}"), path.stem)


def test_verdicts_have_the_numbers_of_the_guard():
    from manipapy_msgs.msg import ControllerStatus

    from manipapy_core.control import Action

    for action in Action:
        assert getattr(ControllerStatus, action.name) == action
