"""The node `model_server`: knows the robot, tells others about it and answers questions about the arm.

Publishes `robot_description` (latched), `tf` and `tf_static`, unless a robot_state_publisher does. Offers
`~/compute_fk`, `~/compute_ik`, `~/jacobian`, `~/dynamics` and `~/manipulability` while active. A new description, by
parameter or by topic, is taken up at once; one that cannot be used changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from manipapy_msgs.srv import ComputeDynamics, ComputeFK, ComputeIK, ComputeJacobian, ComputeManipulability
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from manipapy_core.errors import ManipapyError

from ..common import qos
from ..common.node import ManagedNode, NotActive, run
from ..common.params import Param, Value, read
from ..common.robot_loader import (
    DESCRIPTION_PARAMETERS,
    LoadedRobot,
    NoDescription,
    compile_kernels,
    from_parameters,
    from_text,
)
from ..realtime.polled_topics import PolledSubscription
from . import answers

PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    Param("publish_description", True, "Publish robot_description, as long as nobody else does"),
    Param("publish_tf", True, "Publish tf and tf_static, as long as nobody else publishes robot_description"),
    Param("publish_frequency", 50.0, "Messages on tf per second [Hz]", minimum=1.0, maximum=1000.0),
    Param("frame_prefix", "", "Put before every frame name on tf, to tell robots apart"),
)
LOOK_AROUND = 1.0
"""How often the node looks whether a robot_state_publisher has come or gone [s]."""


class ModelServerNode(ManagedNode):
    """One robot, one arm of it, from configure to cleanup."""

    def __init__(self) -> None:
        super().__init__("model_server", PARAMETERS)
        self._model: LoadedRobot | None = None
        self._announced: Any = None
        """Publisher of the description while it is ours to publish."""
        self._frames: Any = None
        """The `Frames`, likewise; of any type because tf2_msgs may be missing."""
        self.add_on_set_parameters_callback(self._on_parameters)

    def configure(self, values: dict[str, Value]) -> None:
        """Read the description and compile what services need, so that no answer is slow."""
        self._values = values
        self._latest: JointState | None = None
        self._model = None
        model = from_parameters(values)
        if model is not None:
            self._take(model)
        self._states = PolledSubscription(self, JointState, "joint_states", qos.NEWEST)
        self._texts = self.create_subscription(String, "robot_description", self._on_text, qos.ROBOT_DESCRIPTION)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._own_timers = [
            self.create_timer(1.0 / float(values["publish_frequency"]), self._publish_frames, clock=steady),
            self.create_timer(LOOK_AROUND, self._look_around, clock=steady),
        ]
        offered = (
            (ComputeFK, "~/compute_fk", answers.forward_kinematics),
            (ComputeIK, "~/compute_ik", self._inverse_kinematics),
            (ComputeJacobian, "~/jacobian", answers.jacobian),
            (ComputeDynamics, "~/dynamics", answers.dynamic_terms),
            (ComputeManipulability, "~/manipulability", answers.manipulability),
        )
        self._offered = [self.create_service(kind, name, self._answering(answer)) for kind, name, answer in offered]
        if model is None:
            self.get_logger().info(f"waiting for a description on {self._texts.topic_name}")

    def activate(self) -> None:
        """Publish what is ours to publish."""
        self._look_around(activating=True)

    def deactivate(self) -> None:
        """Be silent."""
        self._withdraw()

    def cleanup(self) -> None:
        """Take topics and services away."""
        self._withdraw()
        self._states.destroy()
        self.destroy_subscription(self._texts)
        for timer in self._own_timers:
            self.destroy_timer(timer)
        for service in self._offered:
            self.destroy_service(service)
        self._model = None

    # The robot.

    def _take(self, model: LoadedRobot) -> None:
        """Work with this robot from now on."""
        compile_kernels(model)
        for warning in model.robot.warnings:
            self.get_logger().warning(warning)
        chain = model.chain
        self.get_logger().info(f"{model.robot.name}: {chain.base} → {chain.tip}, joints {', '.join(chain.joint_names)}")
        self._model = model
        if self.is_active:
            self._withdraw()
            self._look_around()

    def _on_parameters(self, changed: list[Parameter]) -> SetParametersResult:
        """Refuses parameters that lead to no robot; otherwise the new robot is there when the call returns."""
        about_robot = {row.name for row in DESCRIPTION_PARAMETERS}
        if not self.is_configured or not any(parameter.name in about_robot for parameter in changed):
            return SetParametersResult(successful=True)
        values = {**read(self, self.table), **{parameter.name: parameter.value for parameter in changed}}
        try:
            model = from_parameters(values)
            if model is not None:
                self._take(model)
        except ManipapyError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._values = values
        return SetParametersResult(successful=True)

    def _on_text(self, message: String) -> None:
        """A description came by topic: ours if the parameters leave it to the topic."""
        if self._model is not None and message.data == self._model.robot.urdf:
            return
        if self._values["robot"] or self._values["robot_description"]:
            self.get_logger().warning(
                f"{self._texts.topic_name} brings another robot than the parameters; theirs is used. Set the parameter "
                "robot to '' to follow the topic",
                once=True,
            )
            return
        try:
            self._take(from_text(message.data, self._values))
        except ManipapyError as error:
            self.get_logger().error(f"the description on {self._texts.topic_name} cannot be used: {error}")

    # What is published.

    def _look_around(self, activating: bool = False) -> None:
        """Publish description and frames as long as nobody else does."""
        if self._model is None or not (self.is_active or activating):
            return
        if self._somebody_else_describes():
            if self._announced is not None or self._frames is not None:
                self.get_logger().info("a robot_state_publisher has come: robot_description and tf are left to it")
            self._withdraw()
            return
        if self._announced is None and self._values["publish_description"]:
            self._announced = self.create_publisher(String, "robot_description", qos.ROBOT_DESCRIPTION)
            self._announced.publish(String(data=self._model.robot.urdf))
        if self._frames is None and self._values["publish_tf"]:
            self._open_frames(self._model)

    def _open_frames(self, model: LoadedRobot) -> None:
        try:
            from .frames import Frames
        except ModuleNotFoundError as missing:
            self.get_logger().warning(
                f"no {missing.name}: tf and tf_static are not published; run make setup, or start a "
                "robot_state_publisher",
                once=True,
            )
            return
        self._frames = Frames(self, model.robot, str(self._values["frame_prefix"]))

    def _somebody_else_describes(self) -> bool:
        publishers = self.get_publishers_info_by_topic(self._texts.topic_name)
        # A publisher is found a moment before the name of its node; it will be looked at again.
        ours = {(self.get_name(), self.get_namespace()), ("_NODE_NAME_UNKNOWN_", "_NODE_NAMESPACE_UNKNOWN_")}
        return any((info.node_name, info.node_namespace) not in ours for info in publishers)

    def _withdraw(self) -> None:
        if self._announced is not None:
            self.destroy_publisher(self._announced)
        if self._frames is not None:
            self._frames.destroy()
        self._announced = self._frames = None

    def _publish_frames(self) -> None:
        newest = self._states.newest()
        if newest is None:
            return
        self._latest = newest
        if self.is_active and self._frames is not None:
            self._frames.publish(newest)

    # Services.

    def _inverse_kinematics(self, model: LoadedRobot, request: ComputeIK.Request, response: ComputeIK.Response) -> None:
        answers.inverse_kinematics(model, request, response, self._latest)

    def _answering(self, answer: Callable[[LoadedRobot, Any, Any], None]) -> Callable[[Any, Any], Any]:
        """A service callback that turns the user's mistakes into answers that say why."""

        def respond(request: Any, response: Any) -> Any:
            try:
                if not self.is_active:
                    raise NotActive(self.get_fully_qualified_name())
                if self._model is None:
                    raise NoDescription(self._texts.topic_name)
                answer(self._model, request, response)
            except ManipapyError as error:
                response = type(response)(success=False, message=str(error))
            return response

        return respond


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(ModelServerNode, argv)


if __name__ == "__main__":
    sys.exit(main())
