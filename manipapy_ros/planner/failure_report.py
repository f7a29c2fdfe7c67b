"""Reports of failed motions: request, world, start and reason in one file, which is planned again offline."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from manipapy_msgs.msg import MotionRequest
from manipapy_msgs.msg import World as WorldMessage
from rclpy.serialization import deserialize_message, serialize_message

from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.geometry import Checker, RobotBody, World, WorldSnapshot
from manipapy_core.model.urdf.write import urdf_text
from manipapy_core.motion import PlanResult, PlanStatus
from manipapy_core.typing import Array

from ..common.params import Values
from ..common.robot_loader import ROBOT_PARAMETERS, LoadedRobot, robot_from_parameters, robot_from_text
from ..common.world_messages import message_from_world, world_from_message
from .requests import Defaults, Requests

AUTO = "auto"
"""Folder of the reports: `failures` in the state folder of the user."""
KIND = "manipapy failure report"
KEPT = 20
"""Reports in the folder; the oldest are removed."""


def report_folder(text: str) -> Path | None:
    """The folder that a parameter names; None for none."""
    if not text:
        return None
    if text != AUTO:
        return Path(text).expanduser()
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "manipapy" / "failures"


@dataclass(eq=False)
class FailureReports:
    """Writes reports of one planner.

    A report that cannot be written is a warning: it must not make a motion fail in another way.
    """

    folder: Path
    requests: Requests
    values: Values
    """Parameters of the node; those of the robot are part of the report."""
    log: Callable[[str], object]

    def write(
        self, request: MotionRequest, start: Array | None, world: WorldSnapshot, reason: str, status: str
    ) -> None:
        """Write a report.

        Args:
            start: Joint positions [rad or m], shape (n,); None if they are not known.
            reason: Text of the result.
            status: Of planning; empty for a reason outside of it.
        """
        requests, chain = self.requests, self.requests.model.chain
        robot = {row.name: self.values[row.name] for row in ROBOT_PARAMETERS if row.name in self.values}
        if not robot.get("robot") and not robot.get("robot_description"):
            robot["robot_description"] = urdf_text(requests.model.robot)  # it came by topic
        content = {
            "kind": KIND,
            "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "reason": reason,
            "status": status,
            "joint_names": list(chain.joint_names),
            "start": None if start is None else np.asarray(start).tolist(),
            "objects": [*world.objects, *world.attached],
            "request_text": str(request),
            "robot": robot,
            "defaults": asdict(requests.defaults),
            "named": {name: q.tolist() for name, q in requests.named.items()},
            "request": _text(request),
            "world": _text(message_from_world(world, chain.base, 0)),
        }
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{time.monotonic_ns() % 1_000_000_000:09d}.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / name
            path.write_text(json.dumps(content, indent=1, default=list), encoding="utf-8")
            for old in sorted(self.folder.glob("*.json"))[:-KEPT]:
                old.unlink(missing_ok=True)
        except OSError as error:
            self.log(f"no report of the failed motion: {self.folder}: {error.strerror}")
            return
        self.log(f"report of the failed motion; plan it again with: manipapy replay {path}")


@dataclass(frozen=True, eq=False)
class Reproduction:
    """A failed motion, planned again."""

    reason: str
    """Of the failure, as it was reported."""
    status: str
    """Of planning then; empty for a reason outside of it."""
    start: Array
    """[rad or m], shape (n,)."""
    result: PlanResult | None
    """Of planning now; None if the request is refused."""
    text: str
    """Of planning now."""

    @property
    def same(self) -> bool:
        """Whether planning ends as it did then."""
        return (self.result.status.text if self.result is not None else "") == self.status


def is_report(path: Path) -> bool:
    """Whether a file is such a report."""
    try:
        return path.suffix == ".json" and json.loads(path.read_text(encoding="utf-8")).get("kind") == KIND
    except (OSError, ValueError, AttributeError):
        return False


def reproduce(path: Path) -> Reproduction:
    """Plan the motion of a report again, without nodes.

    Raises:
        InputError: The file is no report, or lacks the start.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        values, start = content["robot"], content["start"]
        request = deserialize_message(base64.b64decode(content["request"]), MotionRequest)
        world = world_from_message(deserialize_message(base64.b64decode(content["world"]), WorldMessage))
        defaults = Defaults(**content["defaults"])
        named = {name: np.array(q, dtype=np.float64) for name, q in content["named"].items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is no report of a failed motion ({error})") from None
    if start is None:
        raise InputError(f"{path}: {content['reason']}; joint positions were not known, so it cannot be planned again")
    robot = robot_from_parameters(values) or robot_from_text(str(values["robot_description"]), values)
    model = LoadedRobot.of(robot, values)
    requests = Requests(model, Checker(RobotBody.build(model.robot, model.chain), World()), defaults, named)
    q, result, text = np.array(start, dtype=np.float64), None, ""
    try:
        result = requests.plan(request, q, world, lambda: False, lambda phase, cost: None)
        text = result.message or result.status.text
    except ManipapyError as error:
        text = str(error)
    return Reproduction(content["reason"], content["status"], q, result, text)


def status_text(status: PlanStatus | None) -> str:
    """Text of a status; empty for none."""
    return "" if status is None else status.text


def _text(message: Any) -> str:
    return base64.b64encode(serialize_message(message)).decode()
