"""Interfaces that are built here because PyPI has none are the public ones, so that other programs know them."""

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
    "control_msgs/action/GripperCommand": "e17c0e644eccf14bea84a0a93e0977182872c2eb7873ca6694900059b46dbc84",
    "control_msgs/msg/JointJog": "ba249455a20f70168a1acb7bf43b776b72ff1f7eb5fc4cfea443f749e963c6e7",
    "moveit_msgs/action/ExecuteTrajectory": "e1ed3386f275fc8cea91cc78701074f892e78e583be2f8063eea5616dd1065fc",
    "moveit_msgs/action/MoveGroup": "8c41d70908a2d26b564ddac31e9710f697a753bbd2a4d229542f76271daefc0b",
    "moveit_msgs/msg/DisplayRobotState": "ee204079ceb1e109a4b92a2a323427daefaf6d920672e105f4d9a8e821bf6376",
    "moveit_msgs/msg/DisplayTrajectory": "dd351cbd6d9986eb019306910ec09236a136a02dbc0b3465707cb62f2d56e22b",
    "moveit_msgs/msg/ServoStatus": "882a75f7648d6f8a9bf528e4787f51c58f2d5d88b702e450443d99f270e6936b",
    "moveit_msgs/srv/ApplyPlanningScene": "8e6134783db0987c0acedbfd2f16f608a8f7a54e83a7bbb372e851af419f4d72",
    "moveit_msgs/srv/GetCartesianPath": "b19f501df5d378141d918199894c3ad24533e76021a880b15dc5d62fec8d7b1a",
    "moveit_msgs/srv/GetMotionPlan": "0e118e1d8d53d5fea8eea309fc06a58239fa0e617864127e7de8399ab7335b27",
    "moveit_msgs/srv/GetPlannerParams": "770299091d17ec6f49840b0c5f9fee51a51508c0d5c4b5b561ec3b878fbbfa42",
    "moveit_msgs/srv/GetPlanningScene": "7ed7e96238b902174d985b0eb739ea08c95377e8e46a6a9014c22497faf79cd2",
    "moveit_msgs/srv/GetPositionFK": "2f16ec361a135d84b85a29385abeb9eeb025e39c09038bd6b2826645edc7edad",
    "moveit_msgs/srv/GetPositionIK": "054ed6f6f71a09b01b5246c5d80beb4dacc6f444f58df039849c76292933e9e3",
    "moveit_msgs/srv/GetStateValidity": "e9fcd24ae0fd8c2f16d4afe397efaf03427d1f899fe91ecf6cb7f7f1c6ca8720",
    "moveit_msgs/srv/QueryPlannerInterfaces": "c7550fca36d2ac8b3463b25c723baaf7ecd313d659d23d519c021b519e07b431",
    "moveit_msgs/srv/ServoCommandType": "2065f4daf271249330596d344ecd48f5c2d2a52e3b21b1fc56d99c52b8eeae22",
    "moveit_msgs/srv/SetPlannerParams": "ad1d0693c449aaa77e5b55619af75e1b34bdcac05acbfcbcffd62819f9ac817d",
    "octomap_msgs/msg/Octomap": "9891a19a05b70ec20aa8f45db3f8300b9ab80afff32c61c549d25087da9625b0",
    "octomap_msgs/msg/OctomapWithPose": "e65f8760aa96a2acef86b6d206175cfc78420082b6159dd3fa6ebf93f5f81979",
    "tf2_msgs/msg/TFMessage": "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
}
"""Of Jazzy, without the prefix RIHS01_; those of moveit_msgs by rosidl from the files of version 2.6.0. A hash covers
the messages within."""


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


PACKAGES = (
    "manipapy_msgs",
    "interfaces/control_msgs",
    "interfaces/moveit_msgs",
    "interfaces/object_recognition_msgs",
    "interfaces/octomap_msgs",
    "interfaces/tf2_msgs",
)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_interface_is_built(project, package):
    folder = project / package
    listed = (folder / "CMakeLists.txt").read_text()
    paths = [path for kind in ("msg", "srv", "action") for path in (folder / kind).glob("*.*")]
    assert paths
    for path in paths:
        assert f'"{path.parent.name}/{path.name}"' in listed
        assert hasattr(importlib.import_module(f"{folder.name}.{path.parent.name}"), path.stem)


def test_verdicts_have_the_numbers_of_the_guard():
    from manipapy_msgs.msg import ControllerStatus

    from manipapy_core.control import Action

    for action in Action:
        assert getattr(ControllerStatus, action.name) == action
