"""The node `mock_hardware`: a stand-in for a robot behind ros2_control, for tests and for people without one.

Publishes `joint_states` as joint_state_broadcaster does and takes trajectories as joint_trajectory_controller does, by
action and by topic, under that controller's name. It follows them exactly: no dynamics, no contact, no noise.
"""

from __future__ import annotations

import array
import sys
import time
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from control_msgs.msg import JointTrajectoryControllerState
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from manipapy_core.control import ArmController, ControllerSettings, GuardSettings, LoopSettings, PeriodicLoop
from manipapy_core.errors import InputError
from manipapy_core.model import Chain
from manipapy_core.typing import Array

from ..common import qos
from ..common.names import TRAJECTORY_CONTROLLER
from ..common.node import ManagedNode, run
from ..common.params import Param, Value
from ..common.robot_loader import DESCRIPTION_PARAMETERS, from_parameters
from ..controller.settings import WATCHER_SILENCE
from ..controller.trajectory_action import TrajectoryGoals
from ..controller.trajectory_messages import point

PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    Param("initial_positions", [], "Where the arm starts [rad or m]; empty: zeros", kind=Parameter.Type.DOUBLE_ARRAY),
    Param("update_rate", 250.0, "Joint states per second [Hz]", minimum=10.0, maximum=1000.0),
    Param("state_publish_rate", 25.0, "Messages on controller_state per second [Hz]", minimum=0.1, maximum=100.0),
)

NOT_PICKY = GuardSettings(late_slow=1.0, late_hold=2.0, longest_tick=5.0)
"""Nothing can break here, so a busy machine does not make the arm hold."""


class PerfectArm:
    """An arm that is always exactly where its trajectory wants it, on a thread of its own.

    Args:
        node: Whose clock stamps the joint states and whose topic they go to.
        chain: The arm.
        q: Where it starts [rad or m], shape (n,).
        rate: Joint states per second [Hz].
    """

    def __init__(self, node: Node, chain: Chain, q: Array, rate: float):
        self.controller = ArmController(chain, ControllerSettings(period=1.0 / rate, guard=NOT_PICKY))
        self.stamp = Time()
        """Of the last joint state."""
        self._node = node
        self._q, self._qd = np.array(q, dtype=np.float64), np.zeros(chain.n)
        self._publisher = node.create_publisher(JointState, "joint_states", qos.STATE)
        self._message = JointState(name=list(chain.joint_names))
        settings = LoopSettings(period=1.0 / rate, spin=0.0, priority=None, lock_memory=False)
        self._settings = settings
        self._loop: PeriodicLoop | None = None

    def start(self) -> None:
        """Begins to publish and to move."""
        self._loop = PeriodicLoop(self._tick, self._settings, on_failure=self.controller.fail, name="mock")
        self._loop.start()

    def stop(self) -> None:
        """Freezes the arm."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def destroy(self) -> None:
        """Takes the topic away."""
        self.stop()
        self._node.destroy_publisher(self._publisher)

    def loop_time(self, stamp: float) -> float:
        """A ROS time [s] on the clock of the loop."""
        return stamp - 1e-9 * self._node.get_clock().now().nanoseconds + time.monotonic()

    def _tick(self, now: float) -> None:
        if not self._node.context.ok():
            return
        self.controller.tick(now, self._q, self._qd, now)
        status = self.controller.status()
        np.copyto(self._q, status.q_ref)
        np.copyto(self._qd, status.qd_ref)
        self.stamp = self._message.header.stamp = self._node.get_clock().now().to_msg()
        self._message.position = array.array("d", self._q.tobytes())
        self._message.velocity = array.array("d", self._qd.tobytes())
        self._message.effort = array.array("d", status.tau.tobytes())
        self._publisher.publish(self._message)


class MockHardwareNode(ManagedNode):
    """Driver and trajectory controller of a robot that does not exist."""

    datagrams = True

    def __init__(self) -> None:
        super().__init__("mock_hardware", PARAMETERS)
        self._arm: PerfectArm | None = None

    def configure(self, values: dict[str, Value]) -> None:
        """Make the arm and the node that takes trajectories for it."""
        model = from_parameters(values)
        if model is None:
            raise InputError("the mock needs a robot: set the parameter robot or robot_description")
        chain = model.chain
        q = list(values["initial_positions"]) or [0.0] * chain.n
        if len(q) != chain.n:
            raise InputError(f"initial_positions has {len(q)} numbers for {chain.n} joints; give one each")
        self._chain = chain
        self._arm = PerfectArm(self, chain, np.array(q), float(values["update_rate"]))
        # In ros2_control every controller is a node; so it is here, in the same process.
        self._controller = Node(
            TRAJECTORY_CONTROLLER, namespace=self.get_namespace(), context=self.context, use_global_arguments=False
        )
        self._goals = TrajectoryGoals(
            self._controller, self._arm, lambda: self.is_active, watcher_silence=WATCHER_SILENCE
        )
        self._states = self._controller.create_publisher(
            JointTrajectoryControllerState, "~/controller_state", qos.STATE
        )
        period = 1.0 / float(values["state_publish_rate"])
        self._controller.create_timer(period, self._publish_state, clock=Clock(clock_type=ClockType.STEADY_TIME))
        assert self.executor is not None
        self.executor.add_node(self._controller)
        self.get_logger().info(f"{model.robot.name} is mocked: joints {', '.join(chain.joint_names)}")

    def activate(self) -> None:
        """Begin to publish joint states."""
        assert self._arm is not None
        self._arm.start()

    def deactivate(self) -> None:
        """Freeze."""
        assert self._arm is not None
        self._goals.abandon("the mocked controller was deactivated")
        self._arm.stop()

    def cleanup(self) -> None:
        """Give everything back."""
        assert self._arm is not None
        self._goals.destroy()
        if self.executor is not None:
            self.executor.remove_node(self._controller)
        self._controller.destroy_node()
        self._arm.destroy()
        self._arm = None

    def destroy_node(self) -> None:
        """Leave no thread behind, whatever the state."""
        if self._arm is not None:
            self.deactivate()
            self.cleanup()
        super().destroy_node()

    def _publish_state(self) -> None:
        if not self.is_active or self._arm is None:
            return
        self._goals.settle()
        status = self._arm.controller.status()
        message = JointTrajectoryControllerState(
            joint_names=list(self._chain.joint_names),
            reference=point(status.q_ref, status.qd_ref, status.qdd_ref),
            feedback=point(status.q, status.qd),
            error=point(status.error, status.qd_ref - status.qd),
            speed_scaling_factor=1.0,
        )
        message.header.stamp = self._arm.stamp
        self._states.publish(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(MockHardwareNode, argv)


if __name__ == "__main__":
    sys.exit(main())
