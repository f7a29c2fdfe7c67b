"""The node `controller`: executes joint trajectories by efforts or positions, at 1 kHz, with a safety guard.

Takes `joint_states`, publishes `forward_effort_controller/commands` (or `forward_position_controller/commands`),
`~/controller_state` and `~/status`. Offers the action `~/follow_joint_trajectory`, the topics `~/joint_trajectory` and
`~/joint_stream` (short trajectories of a servo, each in place of the one before) and the services `~/hold`, `~/reset`,
`~/set_mode`. Law, gains and speed are parameters that may change at any time. A goal that a planner monitors by
heartbeats on `~/watch` ends when they stop.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence

from control_msgs.msg import JointTrajectoryControllerState
from manipapy_msgs.msg import ControllerStatus
from manipapy_msgs.srv import SetMode
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from manipapy_core.control import Action, ArmController, ControllerBusy, GoalPhase, Status, law_class
from manipapy_core.errors import InputError
from manipapy_core.model.arms import gravity_in_base
from manipapy_core.model.chain import Chain
from manipapy_core.trajectory import BrakingLimits

from ..common.diagnostics import DiagnosticReport
from ..common.node import ManagedNode
from ..common.params import Values
from ..common.process import at_low_priority, below_loop, end_process, run
from .collision import ForecastInput, PathPublisher
from .control_thread import ControlMode, ControlThread
from .live_law import LiveLaw
from .settings import (
    PARAMETERS,
    PAYLOAD,
    collision_ahead,
    controller_settings,
    heartbeat_timeout,
    loop_settings,
    payload_of,
)
from .status import StateMessages, diagnosis, status_message
from .trajectory_action import TrajectoryGoals

GOAL_RATE = 50.0
"""Lowest rate at which goals are polled for outcomes and feedback is sent [Hz]."""
REST_TIMEOUT = 0.6
"""How long a deactivation waits for the arm to come to rest [s]."""


class ControllerNode(ManagedNode):
    """Controls one arm while the node is active."""

    realtime = True
    lean_executor = True
    udp_transport = True

    def __init__(self) -> None:
        super().__init__("controller", PARAMETERS)

    def configure(self, values: Values) -> None:
        """Compile the law and open all topics."""
        model = self.load_robot(values)
        chain = model.chain
        self._simulated = bool(self.get_parameter("use_sim_time").value)
        assumed = [a.subject for a in model.robot.assumptions if a.quantity == "mass"]
        if assumed and not self._simulated:
            raise InputError(
                f"the description gives no mass of {', '.join(assumed)}; efforts for a real arm need it: write "
                "<inertial> elements, or send trajectories to the arm's own controller (hand_off trajectory)"
            )
        self.executor_priority = below_loop(int(values["priority"]) or None)
        if not values["gravity"]:
            values = self.values = {**values, "gravity": gravity_in_base(model.robot, chain).tolist()}
        controller, mode = self._controller(chain, values), _mode(str(values["mode"]))
        ahead = collision_ahead(values, self._simulated)
        forecasts = None if ahead is None else self.own(ForecastInput(self, ahead))
        self._path = None if ahead is None else self.own(PathPublisher(self, BrakingLimits.of(chain)))
        self._thread = self.own(
            ControlThread(
                self, controller, loop_settings(values), simulated=self._simulated, mode=mode, forecasts=forecasts
            )
        )
        timeout = heartbeat_timeout(values, self._simulated)
        self._goals = self.own(TrajectoryGoals(self, self._thread, lambda: self.is_active, heartbeat_timeout=timeout))
        self._law = LiveLaw(lambda: self._thread.controller)
        self._state_publisher = self.own(
            self.create_lifecycle_publisher(JointTrajectoryControllerState, "~/controller_state", 1)
        )
        self._state_messages = StateMessages(chain.joint_names)
        self._status_publisher = self.own(self.create_lifecycle_publisher(ControllerStatus, "~/status", 1))
        self._last_status: ControllerStatus | None = None
        self._logged, self._payload_share = Action.OK, 1.0
        # One timer for goals and state: every wake-up of an executor takes a millisecond of interpreter time.
        ticks = max(float(values["state_rate"]), GOAL_RATE)
        self._state_every, self._state_due = max(1, round(ticks / float(values["state_rate"]))), 0
        self.every(1.0 / ticks, self._settle_and_publish)
        self.every(1.0 / float(values["status_rate"]), self._publish_status)
        self.offer(Trigger, "~/hold", self._hold)
        self.offer(Trigger, "~/reset", self._reset)
        self.offer(SetMode, "~/set_mode", self._set_mode, complete=self._add_mode)
        self.get_logger().info(f"{model}; law {values['law']}")

    def activate(self) -> None:
        """Start control at the measured state, with a new controller."""
        self._thread.start(self._controller(self._thread.controller.chain, self.values))

    def deactivate(self) -> None:
        """Bring the arm to rest, then stop sending commands; the far side holds it by its own timeout."""
        controller = self._thread.controller
        if self._thread.silence < 0.1:
            controller.hold()
            deadline = time.monotonic() + REST_TIMEOUT
            with contextlib.suppress(ControllerBusy):
                while controller.status().phase is not GoalPhase.HOLDING and time.monotonic() < deadline:
                    time.sleep(0.01)
        self._thread.stop()
        self._goals.abandon("the controller was deactivated")
        self._last_status = None

    def diagnose(self) -> DiagnosticReport:
        """The last status."""
        return diagnosis(self._last_status)

    def _controller(self, chain: Chain, values: Values) -> ArmController:
        controller = ArmController(chain, controller_settings(values, self._simulated))
        controller.set_speed(float(values["speed"]))
        return controller

    def _status(self) -> Status | None:
        """Status of the controller; None if the node is not active or no tick ended in time."""
        if not self.is_active:
            return None
        try:
            return self._thread.controller.status()
        except ControllerBusy as busy:
            self.get_logger().warning(str(busy))
            return None

    def _settle_and_publish(self) -> None:
        self._goals.settle()
        if self._path is not None and self.is_active:
            self._path.publish(self._thread.controller, self._thread.stamp)
        self._state_due -= 1
        if self._state_due > 0:
            return
        self._state_due = self._state_every
        status = self._status()
        if status is not None:
            self._state_publisher.publish(self._state_messages.of(status, self._thread.stamp))

    def _publish_status(self) -> None:
        status = self._status()
        if status is None:
            return
        message = status_message(self._thread, status, self._thread.report())
        if status.payload_share < 1.0 and self._payload_share == status.payload_share:
            self.get_logger().warning(
                f"{100 * status.payload_share:.0f} % of the change of payload.mass are compensated: the arm does not "
                "feel more of it; is the mass right, and does the arm carry it?",
                throttle_duration_sec=10.0,
            )
        self._payload_share = status.payload_share
        self._last_status = message
        self._status_publisher.publish(message)
        if message.seeded:
            self._log_verdict(Action(message.verdict), message.reason)

    def _log_verdict(self, action: Action, reason: str) -> None:
        """Logs once that the arm is held or stopped, and once that it is free again."""
        held = action if action >= Action.HOLD else Action.OK
        if held is self._logged:
            return
        self._logged = held
        if held is Action.OK:
            self.get_logger().info("the arm is free again")
        else:
            self.get_logger().warning(reason)

    def _hold(self, _: Trigger.Request, __: Trigger.Response) -> str:
        self._thread.controller.hold()
        return "the arm comes to rest and stays there until the next goal"

    def _reset(self, _: Trigger.Request, __: Trigger.Response) -> str:
        silence = self._thread.silence
        if silence > self._thread.controller.settings.guard.state_stop_after:
            since = "has arrived yet" if silence == math.inf else f"for {silence:.1f} s"
            raise InputError(f"no joint state {since}: the arm would stop again at once; bring its source back first")
        self._thread.controller.reset()
        return "stop ended; a fault that persists will stop the arm again"

    def _set_mode(self, request: SetMode.Request, _: SetMode.Response) -> str:
        requested = {"mode": request.mode, "law": request.law}
        changes = [Parameter(name, value=value) for name, value in requested.items() if value]
        if not changes:
            raise InputError("neither mode nor law is given; fill in at least one")
        result = self.set_parameters_atomically(changes)
        if not result.successful:
            raise InputError(result.reason)
        return "changed without a jump"

    def _add_mode(self, response: SetMode.Response) -> None:
        response.mode, response.law = str(self.values["mode"]), str(self.values["law"])

    def _require_rest(self, what: str) -> None:
        status = self._thread.controller.status()
        if self.is_active and status.held is not None and status.held.action is Action.STOP:
            raise InputError(f"the arm is stopped ({status.held.text}); reset it before changing the {what}")
        if self.is_active and (status.goal is not None or status.phase is not GoalPhase.HOLDING):
            raise InputError(f"the arm moves; let the goal end, or hold the arm, before changing the {what}")

    def check_parameters(self, values: Values, changed: frozenset[str]) -> None:
        """Refuse an invalid law, gain or payload; while the arm moves, another mode and a law that follows no goals."""
        if "mode" in changed and _mode(str(values["mode"])) is not self._thread.mode:
            self._require_rest("mode")
        if "law" in changed and not law_class(str(values["law"])).follows:
            self._require_rest(f"law to {values['law']}, under which a moving arm coasts")
        payload_of(values)
        self._law.check(values, changed)

    def apply_parameters(self, values: Values, changed: frozenset[str]) -> None:
        """Change mode, law, gains, speed and payload without a jump."""
        if "mode" in changed:
            fresh = self._controller(self._thread.controller.chain, values)
            self._thread.change(_mode(str(values["mode"])), fresh)
        else:
            self._law.apply(values, changed)
        if "speed" in changed:
            self._thread.controller.set_speed(float(values["speed"]))
        if any(name in PAYLOAD for name in changed):
            with at_low_priority():
                self._thread.controller.set_payload(payload_of(values))


def _mode(name: str) -> ControlMode:
    try:
        return ControlMode(name)
    except ValueError:
        raise InputError(f"no mode {name!r}; there are: {', '.join(mode.value for mode in ControlMode)}") from None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(ControllerNode, argv)


if __name__ == "__main__":
    end_process(main())
