"""Messages of the controller: state as joint_trajectory_controller publishes it, status, and diagnostics."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from control_msgs.msg import JointTrajectoryControllerState
from manipapy_msgs.msg import ControllerStatus

from manipapy_core.control import Action, Check, LoopReport, Status
from manipapy_core.control.loop import Spread

from ..common.conversions import to_seconds
from ..common.diagnostics import DiagnosticReport, Level
from ..realtime.cdr_templates import Marks, MessageTemplate, motion_bytes, time_bytes
from .control_thread import ControlThread
from .trajectory_messages import point

CLOCK_MISMATCH = 10.0
"""A larger difference between a stamp and the clock of this node means that use_sim_time differs [s]."""


class StateMessages:
    """Serialized messages with reference, feedback, error and output.

    Args:
        joint_names: Of the arm.
    """

    def __init__(self, joint_names: Sequence[str]):
        n, marks = len(joint_names), Marks()
        message = JointTrajectoryControllerState(joint_names=list(joint_names))
        message.header.stamp = marks.time()
        message.reference = point(*(marks.numbers(n) for _ in range(3)))
        message.feedback = point(marks.numbers(n), marks.numbers(n))
        message.error = point(marks.numbers(n), marks.numbers(n))
        message.output = point(effort=marks.numbers(n))
        message.speed_scaling_factor = float(marks.numbers(1)[0])
        self._template = MessageTemplate(message, marks.changing)

    def of(self, status: Status, stamp: Time) -> bytes:
        """The message of one tick."""
        return self._template.filled(
            time_bytes(stamp.sec, stamp.nanosec),
            *motion_bytes(status),
            status.tau.tobytes(),
            np.float64(status.rate).tobytes(),
        )


def status_message(thread: ControlThread, status: Status, loop: LoopReport | None) -> ControllerStatus:
    """Verdict of the guard with its reason, and timing of the loop."""
    seeded = np.isfinite(thread.silence)
    message = ControllerStatus(law=status.law, mode=thread.mode.value, phase=status.phase.value, seeded=bool(seeded))
    message.header.stamp = thread.stamp
    verdict = status.held or status.verdict
    message.verdict = int(verdict.action)
    if not seeded:
        message.verdict = ControllerStatus.HOLD
        message.check, message.reason = Check.FRESH.value, _no_state_text(thread)
    elif verdict.action is not Action.OK:
        message.check, message.reason = verdict.check.value, verdict.text + _hint(thread, verdict.check)
    worst = int(np.argmax(np.abs(status.error)))
    message.tracking_error = float(abs(status.error[worst]))
    message.tracking_joint = thread.controller.chain.joint_names[worst]
    message.state_age = float(min(thread.silence, 1e9))
    message.speed_scaling, message.ticks = float(status.rate), status.ticks
    _add_forecast(message, thread, status)
    if loop is not None:
        message.rate, message.overruns, message.late_ticks = loop.rate, loop.missed, loop.late_ticks
        message.jitter_p50, message.jitter_p99, message.jitter_max = _spread(loop.lateness)
        message.compute_p50, message.compute_p99, message.compute_max = _spread(thread.compute())
        message.work_p50, message.work_p99, message.work_max = _spread(loop.work)
        if loop.realtime is not None:
            message.scheduler, message.refused = loop.realtime.scheduler, list(loop.realtime.refused)
    return message


def _add_forecast(message: ControllerStatus, thread: ControlThread, status: Status) -> None:
    if thread.forecasts is None:
        message.collision_forecast, message.collision_speed, message.collision_age = "off", 1.0, math.inf
        return
    ahead = thread.forecasts.ahead
    message.collision_forecast, message.collision_speed = ahead.policy.value, float(ahead.speed)
    message.collision_age, message.collision_warning = float(ahead.age(status.time)), ahead.warning(status.time)


def diagnosis(status: ControllerStatus | None) -> DiagnosticReport:
    """The last status as a diagnostic report."""
    if status is None:
        return DiagnosticReport(Level.OK, "inactive")
    values = {
        "law": status.law,
        "mode": status.mode,
        "phase": status.phase,
        "rate [Hz]": f"{status.rate:.1f}",
        "overruns": str(status.overruns),
        "jitter p99 [us]": f"{status.jitter_p99:.0f}",
        "compute p99 [us]": f"{status.compute_p99:.0f}",
        "work p99 [us]": f"{status.work_p99:.0f}",
        "tracking error [rad or m]": f"{status.tracking_error:.5f}",
        "collision forecast": status.collision_warning or status.collision_forecast,
        "scheduler": status.scheduler,
        "refused by the system": "; ".join(status.refused),
    }
    levels = {ControllerStatus.OK: Level.OK, ControllerStatus.SLOW: Level.WARN, ControllerStatus.HOLD: Level.WARN}
    level = levels.get(status.verdict, Level.ERROR)
    if level is Level.OK and status.collision_warning:
        return DiagnosticReport(Level.WARN, status.collision_warning, values)
    return DiagnosticReport(level, status.reason or status.phase, values)


def _no_state_text(thread: ControlThread) -> str:
    if thread.reader.problem:
        return thread.reader.problem
    if thread.states.disputed:
        return _dispute(thread)
    if thread.states.publishers:
        return "no joint state has arrived yet, although there is a publisher; is it active, and not paused?"
    return "no joint state has arrived yet, and there is no publisher; start the simulation or the driver"


def _hint(thread: ControlThread, check: Check) -> str:
    """Hint on the cause of a stale joint state or a clock error."""
    if check is Check.SOURCE:
        return "; " + _dispute(thread)
    if check not in (Check.FRESH, Check.CLOCK):
        return ""
    if thread.reader.problem:
        return f"; {thread.reader.problem}"
    if check is Check.FRESH and thread.silence > 0.5:
        cause = "its publisher is silent" if thread.states.publishers else "its publisher has gone"
        cure = "bring the simulation or the driver back, then ~/reset"
        return f"; no joint state for {thread.silence:.1f} s: {cause}; {cure}"
    if abs(to_seconds(thread.stamp) - thread.ros_time()) > CLOCK_MISMATCH:
        return "; joint states and this node use different clocks: set use_sim_time alike for all nodes"
    return ""


def _dispute(thread: ControlThread) -> str:
    names, cure = (
        thread.states.other_publishers(),
        "stop all but one, or give each robot its own namespace or ROS_DOMAIN_ID",
    )
    return f"joint states of this arm come from {' and '.join(names) or 'several nodes'}: {cure}"


def _spread(spread: Spread) -> tuple[float, float, float]:
    return float(spread.p50), float(spread.p99), float(spread.largest)
