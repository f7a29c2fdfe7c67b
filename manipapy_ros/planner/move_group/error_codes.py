"""Error codes of MoveIt for what goes wrong here, each with the sentence that says why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from moveit_msgs.msg import MoveItErrorCodes

from manipapy_core.errors import InputError, ManipapyError, UnknownJoint, UnknownLink
from manipapy_core.geometry import UnknownObject
from manipapy_core.motion import PlanResult, PlanStatus
from manipapy_core.motion.deadline import Stopped

from ...client.arm import MotionFailed
from ...client.session import GivenUp, NoAnswer, Refused
from ...common.conversions import MalformedJointState, MissingJoints
from ...common.tf_buffer import NoTransform

SOURCE = "manipapy planner"
CODES: tuple[tuple[type[ManipapyError], int], ...] = (
    (UnknownLink, MoveItErrorCodes.INVALID_LINK_NAME),
    (UnknownJoint, MoveItErrorCodes.INVALID_ROBOT_STATE),
    (UnknownObject, MoveItErrorCodes.INVALID_OBJECT_NAME),
    (NoTransform, MoveItErrorCodes.FRAME_TRANSFORM_FAILURE),
    (MissingJoints, MoveItErrorCodes.INVALID_ROBOT_STATE),
    (MalformedJointState, MoveItErrorCodes.INVALID_ROBOT_STATE),
    (GivenUp, MoveItErrorCodes.PREEMPTED),
    (NoAnswer, MoveItErrorCodes.COMMUNICATION_FAILURE),
    (MotionFailed, MoveItErrorCodes.CONTROL_FAILED),
    (Refused, MoveItErrorCodes.CONTROL_FAILED),
)
"""For errors without a code of their own, the first that fits."""


class RequestRefused(InputError):
    """A request that cannot be answered, with MoveIt's code for the reason."""

    def __init__(self, code: int, reason: str):
        super().__init__(reason)
        self.code, self.reason = code, reason


@contextmanager
def refused_as(code: int) -> Iterator[None]:
    """Errors of the input within get this code, unless they have one of their own."""
    try:
        yield
    except RequestRefused:
        raise
    except InputError as error:
        if any(isinstance(error, kind) for kind, _ in CODES):
            raise
        raise RequestRefused(code, str(error)) from error


def error_code(value: int, text: str) -> MoveItErrorCodes:
    """A code with its sentence."""
    return MoveItErrorCodes(val=value, message=text, source=SOURCE)


def code_of_error(error: ManipapyError) -> MoveItErrorCodes:
    """The code and sentence of an error."""
    if isinstance(error, RequestRefused):
        return error_code(error.code, str(error))
    if isinstance(error, Stopped):
        return code_of_status(error.status, str(error))
    for kind, value in CODES:
        if isinstance(error, kind):
            return error_code(value, str(error))
    return error_code(MoveItErrorCodes.FAILURE, str(error))


def code_of_status(status: PlanStatus | None, text: str) -> MoveItErrorCodes:
    """The code of a plan or motion; without a status, something outside planning went wrong."""
    return error_code(MoveItErrorCodes.CONTROL_FAILED if status is None else status.moveit_code, text)


def code_of_plan(result: PlanResult) -> MoveItErrorCodes:
    """The code and sentence of a plan."""
    return code_of_status(result.status, result.message)
