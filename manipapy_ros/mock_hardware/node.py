"""The node `mock_hardware`: a mock of a robot behind ros2_control, for tests and for work without hardware.

Publishes `joint_states` as joint_state_broadcaster does and accepts trajectories as joint_trajectory_controller does,
by action and by topic, under that controller's name. It follows them exactly: no dynamics, no contact, no noise.
"""

from __future__ import annotations

import array
import time
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from control_msgs.msg import JointTrajectoryControllerState
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from manipapy_core.control import ArmController, ControllerSettings, GuardSettings, LoopSettings, PeriodicLoop
from manipapy_core.errors import InputError
from manipapy_core.model import Chain
from manipapy_core.typing import Array

from ..common import qos
from ..common.names import TRAJECTORY_CONTROLLER
from ..common.node import ManagedNode
from ..common.params import Param, Values
from ..common.process import end_process, run
from ..common.robot_loader import ROBOT_PARAMETERS
from ..controller.trajectory_messages import point
from .controller_goals import ControllerGoals

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Param(
        "initial_positions", [], "Initial joint positions [rad or m]; empty: zeros", kind=Parameter.Type.DOUBLE_ARRAY
    ),
    Param("update_rate", 250.0, "Joint states per second [Hz]", minimum=10.0, maximum=1000.0),
    Param(
        "decelerate_on_cancel",
        False,
        "Brake the arm when its goal is cancelled; else it stops at once, as ros2_control's does",
    ),
    Param("state_publish_rate", 25.0, "Messages on controller_state per second [Hz]", minimum=0.1, maximum=100.0),
)

TOLERANT_GUARD = GuardSettings(
    state_hold_after=2.0, state_stop_after=3.0, late_slow=1.0, late_hold=2.0, longest_tick=5.0, contact_threshold=0.0
)
"""A busy machine does not make a mocked arm hold, nor do efforts that do not move it."""


class _ControllerNode(Node):
    """The mocked joint_trajectory_controller, spun by the executor of the mock."""

    def __init__(self, mock: ManagedNode):
        super().__init__(
            TRAJECTORY_CONTROLLER, namespace=mock.get_namespace(), context=mock.context, use_global_arguments=False
        )
        assert mock.executor is not None, "a node is configured by its executor"
        self._mock = mock
        mock.executor.add_node(self)

    def destroy(self) -> None:
        """Leave the executor and the graph."""
        if self._mock.executor is not None:
            self._mock.executor.remove_node(self)
        self.destroy_node()


class PerfectArm:
    """An arm that follows its trajectory exactly, on a thread of its own.

    Args:
        node: Whose clock stamps the joint states and whose topic they go to.
        chain: The arm.
        q: Where it starts [rad or m], shape (n,).
        rate: Joint states per second [Hz].
    """

    def __init__(self, node: Node, chain: Chain, q: Array, rate: float):
        self._chain, self._control = chain, ControllerSettings(period=1.0 / rate, guard=TOLERANT_GUARD)
        self.controller = ArmController(chain, self._control)
        self.stamp = Time()
        """Of the last joint state."""
        self._node = node
        self._q, self._qd = np.array(q, dtype=np.float64), np.zeros(chain.n)
        self._publisher = node.create_publisher(JointState, "joint_states", qos.STATE)
        # joint_state_broadcaster has the joints in the order of the alphabet.
        self._order = sorted(range(chain.n), key=chain.joint_names.__getitem__)
        self._message = JointState(name=[chain.joint_names[i] for i in self._order])
        settings = LoopSettings(period=1.0 / rate, spin=0.0, priority=None, lock_memory=False)
        self._settings = settings
        self._loop: PeriodicLoop | None = None
        self._at_rest: ArmController | None = None
        """Takes over in the next cycle, with the arm at rest."""
        self._reached: float | None = None
        """Time of the loop at which the arm is at its position [s]."""

    def start(self) -> None:
        """Begins to publish and to move."""
        self._reached = None
        self._loop = PeriodicLoop(self._tick, self._settings, on_failure=self.controller.fail, name="mock")
        self._loop.start()

    def stop(self) -> None:
        """Freezes the arm."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def halt(self) -> None:
        """Stops the arm where it is within a cycle; goals are the caller's to end."""
        self._at_rest = ArmController(self._chain, self._control)

    def destroy(self) -> None:
        """Takes the topic away."""
        self.stop()
        self._node.destroy_publisher(self._publisher)

    def loop_time(self, stamp: float) -> float:
        """A ROS time [s] on the clock of the loop."""
        return stamp - 1e-9 * self._node.get_clock().now().nanoseconds + time.monotonic()

    def _stamp(self, now: float) -> Time:
        """A time of the loop [s] as ROS time."""
        age = time.monotonic_ns() - round(now * 1e9)
        return (self._node.get_clock().now() - Duration(nanoseconds=age)).to_msg()

    def _tick(self, now: float) -> None:
        if not self._node.context.ok():
            return
        # The time for which the positions hold: this thread may wait for a processor before it publishes them.
        self.stamp = self._stamp(now)
        if self._at_rest is not None:
            self.controller, self._at_rest = self._at_rest, None
            self._qd[:] = 0.0
        # The arm is still where the cycle before left it; cycles are not equally long.
        before, self._reached = now if self._reached is None else self._reached, now
        self.controller.tick(now, self._q, self._qd, before)
        status = self.controller.status()
        np.copyto(self._q, status.q_ref)
        np.copyto(self._qd, status.qd_ref)
        self._message.header.stamp = self.stamp
        self._message.position = array.array("d", self._q[self._order].tobytes())
        self._message.velocity = array.array("d", self._qd[self._order].tobytes())
        self._message.effort = array.array("d", status.tau[self._order].tobytes())
        self._publisher.publish(self._message)


class MockHardwareNode(ManagedNode):
    """Driver and trajectory controller of a robot that does not exist."""

    udp_transport = True

    def __init__(self) -> None:
        super().__init__("mock_hardware", PARAMETERS)

    def configure(self, values: Values) -> None:
        """Create the arm and the node that takes trajectories for it."""
        model = self.load_robot(values)
        chain = self._chain = model.chain
        q = list(values["initial_positions"]) or [0.0] * chain.n
        if len(q) != chain.n:
            raise InputError(f"initial_positions has {len(q)} numbers for {chain.n} joints; give one each")
        self._arm = self.own(PerfectArm(self, chain, np.array(q), float(values["update_rate"])))
        # In ros2_control every controller is a node; so it is here, in the same process.
        self._controller = self.own(_ControllerNode(self))
        self._goals = self.own(
            ControllerGoals(
                self._controller,
                self._arm,
                lambda: self.is_active,
                decelerate=bool(values["decelerate_on_cancel"]),
            )
        )
        self._states = self._controller.create_publisher(
            JointTrajectoryControllerState, "~/controller_state", qos.STATE
        )
        period = 1.0 / float(values["state_publish_rate"])
        self._controller.create_timer(period, self._publish_state, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(f"mock of {model}")

    def activate(self) -> None:
        """Publish joint states."""
        self._arm.start()

    def deactivate(self) -> None:
        """Freeze."""
        self._goals.abandon("the mocked controller was deactivated")
        self._arm.stop()

    def _publish_state(self) -> None:
        if not self.is_active:
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
    end_process(main())
