"""The node `controller`: follows joint trajectories by torques a thousand times a second and never lets go.

Takes `joint_states`, publishes `forward_effort_controller/commands` (or `forward_position_controller/commands`),
`~/controller_state` and `~/status`. Offers the action `~/follow_joint_trajectory`, the topic `~/joint_trajectory` and
the services `~/hold`, `~/reset`, `~/set_mode`. Law, gains and speed are parameters that may change at any time. A goal
that somebody watches over by heartbeats on `~/watch` ends when they stop.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from control_msgs.msg import JointTrajectoryControllerState
from manipapy_msgs.msg import ControllerStatus
from manipapy_msgs.srv import SetMode
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from manipapy_core import Robot
from manipapy_core.control import Action, ArmController, ControllerBusy, GoalPhase, Status
from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.model.chain import Chain

from ..common import params
from ..common.diagnostics import Diagnostics
from ..common.node import ManagedNode, NotActive, at_low_priority, below_loop, run
from ..common.params import Value
from .control_thread import ControlMode, ControlThread
from .live_law import LiveLaw
from .settings import PARAMETERS, PAYLOAD, controller_settings, loop_settings, payload_of, watcher_silence
from .status import StateMessages, diagnosis, status_message
from .trajectory_action import TrajectoryGoals

SETTLE_RATE = 50.0
"""How often outcomes of goals are looked for and feedback is sent, at least [Hz]."""
REST = 0.6
"""How long a deactivation waits for the arm to come to rest [s]."""


class ControllerNode(ManagedNode):
    """One arm, from configure to cleanup; it is controlled while the node is active."""

    prompt = True
    frugal = True
    datagrams = True

    def __init__(self) -> None:
        super().__init__("controller", PARAMETERS)

    def configure(self, values: dict[str, Value]) -> None:
        """Compile the law and open all topics."""
        robot = Robot.from_urdf(str(values["robot"]), check_meshes=False)
        chain = robot.chain(str(values["base_link"]) or robot.root, str(values["tip_link"]))
        if chain.n == 0:
            raise InputError(
                f"no joint moves between {chain.base!r} and {chain.tip!r}; "
                "set base_link and tip_link to the two ends of the arm"
            )
        self._simulated = bool(self.get_parameter("use_sim_time").value)
        self.executor_priority = below_loop(int(values["priority"]) or None)
        controller, mode = self._controller(chain, values), _mode(str(values["mode"]))
        self._thread = ControlThread(self, controller, loop_settings(values), simulated=self._simulated, mode=mode)
        silence = watcher_silence(values, self._simulated)
        self._goals = TrajectoryGoals(self, self._thread, lambda: self.is_active, watcher_silence=silence)
        self._law = LiveLaw(self, values, lambda: self._thread.controller)
        self.add_on_set_parameters_callback(self._check_live)
        self.add_post_set_parameters_callback(self._take_up_live)
        self._state_publisher = self.create_lifecycle_publisher(JointTrajectoryControllerState, "~/controller_state", 1)
        self._state_messages = StateMessages(chain.joint_names)
        self._status_publisher = self.create_lifecycle_publisher(ControllerStatus, "~/status", 1)
        self._last_status: ControllerStatus | None = None
        self._said = Action.OK
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        # One timer for goals and state: every time an executor wakes costs a millisecond of the interpreter.
        ticks = max(float(values["state_rate"]), SETTLE_RATE)
        self._state_every, self._state_due = max(1, round(ticks / float(values["state_rate"]))), 0
        self._timers_made = [
            self.create_timer(1.0 / ticks, self._settle_and_publish, clock=steady),
            self.create_timer(1.0 / float(values["status_rate"]), self._publish_status, clock=steady),
        ]
        self._services_offered = [
            self.create_service(Trigger, "~/hold", self._on_hold),
            self.create_service(Trigger, "~/reset", self._on_reset),
            self.create_service(SetMode, "~/set_mode", self._on_set_mode),
        ]
        self._diagnostics = Diagnostics(self, robot.name, lambda: diagnosis(self._last_status))
        self.get_logger().info(f"{robot.name}: {values['law']} on {', '.join(chain.joint_names)}")

    def activate(self) -> None:
        """Take the arm over where it is, with nothing remembered from an earlier time."""
        values = dict(params.read(self, self.table))
        self._thread.start(self._controller(self._thread.controller.chain, values))

    def deactivate(self) -> None:
        """Bring the arm to rest, then let go; the far side holds it by its own timeout."""
        controller = self._thread.controller
        if self._thread.silence < 0.1:
            controller.hold()
            deadline = time.monotonic() + REST
            with contextlib.suppress(ControllerBusy):
                while controller.status().phase is not GoalPhase.HOLDING and time.monotonic() < deadline:
                    time.sleep(0.01)
        self._thread.stop()
        self._goals.abandon("the controller was deactivated")
        self._last_status = None

    def cleanup(self) -> None:
        """Give everything back."""
        self._goals.destroy()
        self._law.destroy()
        self.remove_on_set_parameters_callback(self._check_live)
        self.remove_post_set_parameters_callback(self._take_up_live)
        self._diagnostics.destroy()
        for timer in self._timers_made:
            self.destroy_timer(timer)
        for service in self._services_offered:
            self.destroy_service(service)
        for publisher in (self._state_publisher, self._status_publisher):
            self.destroy_lifecycle_publisher(publisher)
        self._thread.destroy()

    def _controller(self, chain: Chain, values: dict[str, Value]) -> ArmController:
        controller = ArmController(chain, controller_settings(values, self._simulated))
        controller.set_speed(float(values["speed"]))
        return controller

    def _status(self) -> Status | None:
        """None if the node is not active, or its loop got no processor for so long that there is none to be had."""
        if not self.is_active:
            return None
        try:
            return self._thread.controller.status()
        except ControllerBusy as busy:
            self.get_logger().warning(str(busy))
            return None

    def _settle_and_publish(self) -> None:
        self._goals.settle()
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
        self._last_status = message
        self._status_publisher.publish(message)
        if message.seeded:
            self._tell(Action(message.verdict), message.reason)

    def _tell(self, action: Action, reason: str) -> None:
        """Says once that the arm is held or stopped, and once that it is free again."""
        held = action if action >= Action.HOLD else Action.OK
        if held is self._said:
            return
        self._said = held
        if held is Action.OK:
            self.get_logger().info("the arm is free again")
        else:
            self.get_logger().warning(reason)

    def _on_hold(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, self._hold)

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer(response, self._reset)

    def _on_set_mode(self, request: SetMode.Request, response: SetMode.Response) -> SetMode.Response:
        response = self._answer(response, lambda: self._set_mode(request))
        response.mode = str(self.get_parameter("mode").value)
        response.law = str(self.get_parameter("law").value)
        return response

    def _answer(self, response: Any, act: Callable[[], str]) -> Any:
        """Fills in success and message; the user's mistakes become answers that say why."""
        try:
            if not self.is_active:
                raise NotActive(self.get_fully_qualified_name())
            response.message = act()
            response.success = True
        except ManipapyError as error:
            response.success, response.message = False, str(error)
        return response

    def _hold(self) -> str:
        self._thread.controller.hold()
        return "the arm comes to rest and stays there until the next goal"

    def _reset(self) -> str:
        silence = self._thread.silence
        if silence > self._thread.controller.settings.guard.state_stop_after:
            since = "has arrived yet" if silence == math.inf else f"for {silence:.1f} s"
            raise InputError(f"no joint state {since}: the arm would stop again at once; bring its source back first")
        self._thread.controller.reset()
        return "stop ended; what is still wrong will stop the arm again"

    def _set_mode(self, request: SetMode.Request) -> str:
        wanted = {"mode": request.mode, "law": request.law}
        changes = [Parameter(name, value=value) for name, value in wanted.items() if value]
        if not changes:
            raise InputError("neither mode nor law is given; fill in at least one")
        result = self.set_parameters_atomically(changes)
        if not result.successful:
            raise InputError(result.reason)
        return "taken up without a jump"

    def _require_rest(self) -> None:
        status = self._thread.controller.status()
        if self.is_active and status.held is not None and status.held.action is Action.STOP:
            raise InputError(f"the arm is stopped ({status.held.text}); reset it before changing the mode")
        if self.is_active and (status.goal is not None or status.phase is not GoalPhase.HOLDING):
            raise InputError("the arm moves; let the goal end, or hold the arm, before changing the mode")

    def _check_live(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        try:
            for parameter in parameters:
                if parameter.name == "mode" and _mode(str(parameter.value)) is not self._thread.mode:
                    self._require_rest()
            payload_of(self._with(parameters))
        except ManipapyError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _take_up_live(self, parameters: Sequence[Parameter]) -> None:
        for parameter in parameters:
            if parameter.name == "mode" and _mode(str(parameter.value)) is not self._thread.mode:
                fresh = self._controller(self._thread.controller.chain, dict(params.read(self, self.table)))
                self._thread.change(_mode(str(parameter.value)), fresh)
            elif parameter.name == "speed":
                self._thread.controller.set_speed(float(parameter.value))
        if any(parameter.name in PAYLOAD for parameter in parameters):
            with at_low_priority():
                self._thread.controller.set_payload(payload_of(self._with(parameters)))

    def _with(self, parameters: Sequence[Parameter]) -> dict[str, Value]:
        """All values, with those that are about to change or have just done so."""
        return {**params.read(self, self.table), **{parameter.name: parameter.value for parameter in parameters}}


def _mode(name: str) -> ControlMode:
    try:
        return ControlMode(name)
    except ValueError:
        raise InputError(f"no mode {name!r}; there are: {', '.join(mode.value for mode in ControlMode)}") from None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(ControllerNode, argv)


if __name__ == "__main__":
    sys.exit(main())
