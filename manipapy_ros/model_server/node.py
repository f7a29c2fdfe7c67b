"""The node `model_server`: publishes the robot and answers questions about its arm.

Publishes `robot_description` (latched), `tf` and `tf_static`, unless a robot_state_publisher does. Offers
`~/compute_fk`, `~/compute_ik`, `~/jacobian`, `~/dynamics` and `~/manipulability` while active. A new description, by
parameter or by topic, takes effect at once; one with errors is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from manipapy_msgs.srv import ComputeDynamics, ComputeFK, ComputeIK, ComputeJacobian, ComputeManipulability
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from manipapy_core import Robot
from manipapy_core.errors import ManipapyError
from manipapy_core.model.assumptions import summary

from ..common import qos, robot_loader
from ..common.diagnostics import DiagnosticReport, Level
from ..common.node import ManagedNode
from ..common.params import Param, Values
from ..common.process import end_process, run
from ..common.robot_loader import ROBOT_PARAMETERS, LoadedRobot, NoDescription, compile_kernels
from ..realtime.polled_topics import PolledSubscription
from . import answers

PARAMETERS = (
    *(replace(row, live=True) for row in ROBOT_PARAMETERS),
    Param("publish_description", True, "Publish robot_description while no other node does"),
    Param("publish_tf", True, "Publish tf and tf_static while no other node publishes robot_description"),
    Param("publish_frequency", 50.0, "Messages on tf per second [Hz]", minimum=1.0, maximum=1000.0),
    Param("frame_prefix", "", "Prefix of all frame names on tf, to distinguish robots"),
)
CHECK_PUBLISHERS = 1.0
"""Between two checks whether a robot_state_publisher has appeared or gone [s]."""


class ModelServerNode(ManagedNode):
    """One robot and one arm of it."""

    def __init__(self) -> None:
        super().__init__("model_server", PARAMETERS)
        self._model: LoadedRobot | None = None
        self._next_model: LoadedRobot | None = None
        """Of parameters that were checked and are about to be set."""
        self._description_publisher: Any = None
        """None while another node publishes the description."""
        self._frames: Any = None
        """The `FramePublisher`, likewise; untyped because tf2_msgs may be missing."""

    def configure(self, values: Values) -> None:
        """Read the description and compile what services need."""
        self._latest: JointState | None = None
        self._model = None
        robot = robot_loader.robot_from_parameters(values)
        if robot is not None:
            self._use(self._prepared(robot, values))
        self._states: PolledSubscription[JointState] = self.own(
            PolledSubscription(self, JointState, "joint_states", qos.NEWEST)
        )
        self._descriptions = self.own(
            self.create_subscription(String, robot_loader.TOPIC, self._on_description, qos.ROBOT_DESCRIPTION)
        )
        self.every(1.0 / float(values["publish_frequency"]), self._publish_frames)
        self.every(CHECK_PUBLISHERS, self._update_publishers)
        offered = (
            (ComputeFK, "~/compute_fk", answers.forward_kinematics),
            (ComputeIK, "~/compute_ik", self._inverse_kinematics),
            (ComputeJacobian, "~/jacobian", answers.jacobian),
            (ComputeDynamics, "~/dynamics", answers.dynamic_terms),
            (ComputeManipulability, "~/manipulability", answers.manipulability),
        )
        for kind, name, answer in offered:
            self.offer(kind, name, self._with_model(answer))
        if robot is None:
            self.get_logger().info(f"waiting for a description on {self._descriptions.topic_name}")

    def activate(self) -> None:
        """Publish description and frames."""
        self._update_publishers(activating=True)

    def deactivate(self) -> None:
        """Stop publishing."""
        self._close_publishers()

    def cleanup(self) -> None:
        """Forget the robot."""
        self._close_publishers()
        self._model = self._next_model = None

    def diagnose(self) -> DiagnosticReport:
        """Whether the robot is known."""
        if self._model is None:
            return DiagnosticReport(Level.WARN, f"waiting for a description on {self._descriptions.topic_name}")
        return super().diagnose()

    # The robot.

    def check_parameters(self, values: Values, changed: frozenset[str]) -> None:
        """Refuse parameters that describe no robot."""
        robot = robot_loader.robot_from_parameters(values)
        self._next_model = None if robot is None else self._prepared(robot, values)

    def apply_parameters(self, values: Values, changed: frozenset[str]) -> None:
        """Take the new robot into use; the one from the topic stays when the parameters leave it to the topic."""
        model, self._next_model = self._next_model, None
        if model is not None:
            self._use(model)

    def _prepared(self, robot: Robot, values: Values) -> LoadedRobot:
        model = LoadedRobot.of(robot, robot_loader.with_folder(values))
        compile_kernels(model)
        return model

    def _use(self, model: LoadedRobot) -> None:
        for warning in model.robot.warnings:
            self.get_logger().warning(warning)
        if model.robot.assumptions:
            self.get_logger().warning(f"{summary(model.robot.assumptions)}; manipapy new-robot writes them to a file")
        self.get_logger().info(str(model))
        self._model, self.hardware_id = model, model.robot.name
        if self.is_active:
            self._close_publishers()
            self._update_publishers()

    def _on_description(self, message: String) -> None:
        """Use a description from the topic if the parameters leave it to the topic."""
        if self._model is not None and message.data == self._model.robot.urdf:
            return
        if self.values["robot"] or self.values["robot_description"]:
            self.get_logger().warning(
                f"{self._descriptions.topic_name} describes another robot than the parameters, which take precedence; "
                "set the parameter robot to '' to follow the topic",
                once=True,
            )
            return
        try:
            self._use(self._prepared(robot_loader.robot_from_text(message.data, self.values), self.values))
        except ManipapyError as error:
            self.get_logger().error(f"the description on {self._descriptions.topic_name} is refused: {error}")

    # Publishers.

    def _update_publishers(self, activating: bool = False) -> None:
        """Publish description and frames while no other node publishes the description."""
        if self._model is None or not (self.is_active or activating):
            return
        if self._described_by_others():
            if self._description_publisher is not None or self._frames is not None:
                self.get_logger().info("another node publishes robot_description: it and tf are left to that node")
            self._close_publishers()
            return
        if self._description_publisher is None and self.values["publish_description"]:
            self._description_publisher = self.create_publisher(String, robot_loader.TOPIC, qos.ROBOT_DESCRIPTION)
            self._description_publisher.publish(String(data=self._model.robot.urdf))
        if self._frames is None and self.values["publish_tf"]:
            self._open_frames(self._model)

    def _open_frames(self, model: LoadedRobot) -> None:
        try:
            from .frames import FramePublisher
        except ModuleNotFoundError as missing:
            self.get_logger().warning(
                f"{missing.name} is not installed: tf and tf_static are not published; run make setup, or start a "
                "robot_state_publisher",
                once=True,
            )
            return
        self._frames = FramePublisher(self, model.robot, str(self.values["frame_prefix"]))

    def _described_by_others(self) -> bool:
        publishers = self.get_publishers_info_by_topic(self._descriptions.topic_name)
        # A publisher is discovered a moment before the name of its node; the next check finds it.
        ours = {(self.get_name(), self.get_namespace()), ("_NODE_NAME_UNKNOWN_", "_NODE_NAMESPACE_UNKNOWN_")}
        return any((info.node_name, info.node_namespace) not in ours for info in publishers)

    def _close_publishers(self) -> None:
        if self._description_publisher is not None:
            self.destroy_publisher(self._description_publisher)
        if self._frames is not None:
            self._frames.destroy()
        self._description_publisher = self._frames = None

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

    def _with_model(self, answer: Callable[[LoadedRobot, Any, Any], None]) -> Callable[[Any, Any], None]:
        """The answer about the current robot."""

        def respond(request: Any, response: Any) -> None:
            if self._model is None:
                raise NoDescription(self._descriptions.topic_name)
            answer(self._model, request, response)

        return respond


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(ModelServerNode, argv)


if __name__ == "__main__":
    end_process(main())
