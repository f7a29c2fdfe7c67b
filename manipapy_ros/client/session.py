"""A ROS node for programs that are not nodes themselves: service calls, topics, lifecycle transitions."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import rclpy
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from manipapy_core.errors import ManipapyError

from ..common.names import absolute_namespace, local_discovery
from ..common.security import require_security
from ..realtime.udp_transport import use_udp_transport

TIMEOUT = 10.0
"""Default timeout [s]; on a busy machine discovery is slow."""
POLL_PERIOD = 0.01
"""Longest time between two checks of a condition [s]."""
FIRST_POLL, POLL_GROWTH = 5e-4, 0.1
"""Most answers arrive soon: time to the first check [s], and its growth as a share of the time waited so far."""
LONGEST_STEP = 0.1
"""A longer time between two checks counts as this [s]: the process did not run."""
REPEAT_AFTER = 3.0
"""Time after which a request to a lifecycle node is repeated for the first time [s], then twice as long each time."""
MAX_REPEAT_AFTER = 30.0
"""Longest such time [s]."""
GOAL_STATE = {
    Transition.TRANSITION_CONFIGURE: State.PRIMARY_STATE_INACTIVE,
    Transition.TRANSITION_ACTIVATE: State.PRIMARY_STATE_ACTIVE,
}
"""State after a transition."""


class NoAnswer(ManipapyError):
    """A service or topic that does not exist, or does not respond."""

    def __init__(self, name: str, seconds: float, exists: bool):
        what = "does not answer" if exists else "does not exist"
        cure = (
            "is it stuck?" if exists else "are the nodes running, with the same ROS_DOMAIN_ID? Start them: manipapy up"
        )
        super().__init__(f"{name} {what} (waited {seconds:g} s); {cure}")
        self.name, self.seconds, self.exists = name, seconds, exists


class Refused(ManipapyError):
    """A request that a node refused."""

    def __init__(self, name: str, reason: str):
        super().__init__(f"{name}: {reason or 'refused without a reason; see its log'}")
        self.name, self.reason = name, reason


class GivenUp(ManipapyError):
    """A wait that was ended early: the other side has died, or the user stops the program."""


class RosSession:
    """A node in a context of its own, spun by a thread of its own. Use it in a `with` statement.

    Signals are left to the program. Subscription callbacks run on the thread.

    Args:
        name: Of the node; the process id is added, so that names are unique.
        namespace: Of relative names.
    """

    def __init__(self, name: str, namespace: str = ""):
        for key, value in local_discovery().items():
            os.environ.setdefault(key, value)
        require_security()
        self.namespace = absolute_namespace(namespace)
        self._context = Context()
        with use_udp_transport(shared_memory=True):
            rclpy.init(args=[], context=self._context, signal_handler_options=SignalHandlerOptions.NO)
            self.node = Node(
                f"{name}_{os.getpid()}",
                namespace=self.namespace or None,
                context=self._context,
                start_parameter_services=False,
            )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._clients: dict[str, Any] = {}
        self._closing = False
        self._thread = threading.Thread(target=self._spin, name=f"spin-{name}", daemon=True)
        self._thread.start()

    def __enter__(self) -> RosSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the graph; a second call does nothing."""
        if self._closing:
            return
        self._closing = True
        self._executor.wake()
        self._thread.join()
        self._executor.shutdown()
        destroy_node(self.node)
        rclpy.try_shutdown(context=self._context)

    def on_thread(self, function: Callable[[], Any]) -> Any:
        """Run a function between callbacks and return its result.

        Requests must be sent this way: rclpy records a request after sending it, and its action client loses a response
        that another thread handles before that.
        """
        task = self._executor.create_task(function)
        if not self.wait_until(task.done, TIMEOUT):
            raise GivenUp("the thread of the ROS session is stuck in a callback")
        return task.result()

    def wait_until(
        self, condition: Callable[[], bool], seconds: float, *, give_up: Callable[[], bool] = lambda: False
    ) -> bool:
        """Whether the condition became true in time [s].

        Raises:
            GivenUp: `give_up` returned True before.
        """
        waited, before = 0.0, time.monotonic()
        while not condition():
            if give_up():
                raise GivenUp("the wait was ended early")
            if not self._thread.is_alive():
                raise GivenUp("the thread of the ROS session has died; its traceback is above")
            # A process that was stopped for a while has not waited: what arrived meanwhile is still to be read.
            now = time.monotonic()
            waited, before = waited + min(now - before, LONGEST_STEP), now
            if waited > seconds:
                return False
            time.sleep(min(POLL_PERIOD, FIRST_POLL + POLL_GROWTH * waited))
        return True

    def service_client(self, service_type: type, name: str) -> Any:
        """The client of a service, created once; the name is relative to the namespace.

        Created early, it has discovered the service by the time it is needed.
        """
        full_name = f"{self.namespace}/{name}"
        if full_name not in self._clients:
            self._clients[full_name] = self.node.create_client(service_type, full_name)
        return self._clients[full_name]

    def call(
        self,
        service_type: type,
        name: str,
        request: Any,
        *,
        seconds: float = TIMEOUT,
        give_up: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Call a service and return its response.

        Args:
            name: Relative to the namespace.
            seconds: Timeout for the service to appear, and then for its response.
            give_up: Ends the wait early when it returns True.

        Raises:
            NoAnswer: The service does not exist, or does not respond.
        """
        client, full_name = self.service_client(service_type, name), f"{self.namespace}/{name}"
        if not self.wait_until(client.service_is_ready, seconds, give_up=give_up):
            raise NoAnswer(full_name, seconds, exists=False)
        answer = self.on_thread(lambda: client.call_async(request))
        if not self.wait_until(answer.done, seconds, give_up=give_up):
            client.remove_pending_request(answer)
            raise NoAnswer(full_name, seconds, exists=True)
        return answer.result()

    def _spin(self) -> None:
        while not self._closing:
            self._executor.spin_once(timeout_sec=0.2)

    def prepare_transitions(self, node: str) -> None:
        """Create the clients of a lifecycle node, whose transitions may then be made from any thread."""
        self.service_client(GetState, f"{node}/get_state")
        self.service_client(ChangeState, f"{node}/change_state")

    def transition(self, node: str, transition: int, *, seconds: float, give_up: Callable[[], bool]) -> None:
        """Make a lifecycle transition of a node.

        A killed node stays in the graph for some seconds, and a request may be lost to it. The state is therefore read
        first, which can be repeated, and the transition is requested again if needed.

        Args:
            node: Its name, relative to the namespace.
            transition: TRANSITION_CONFIGURE or TRANSITION_ACTIVATE of `lifecycle_msgs.msg.Transition`.
            seconds: Timeout for all of it.

        Raises:
            NoAnswer: The node does not exist, or takes too long.
            Refused: The transition failed; the node has logged the reason.
        """
        request = ChangeState.Request(transition=Transition(id=transition))
        deadline = time.monotonic() + seconds
        name, exists, wait = f"{self.namespace}/{node}", False, REPEAT_AFTER
        while time.monotonic() < deadline:
            try:
                state = self.call(GetState, f"{node}/get_state", GetState.Request(), seconds=wait, give_up=give_up)
                if state.current_state.id == GOAL_STATE[transition]:
                    return
                exists = True
                answer = self.call(ChangeState, f"{node}/change_state", request, seconds=wait, give_up=give_up)
            except NoAnswer:
                # It is still starting, or busy with the transition, or gets so little time that it answers late.
                wait = min(2.0 * wait, MAX_REPEAT_AFTER)
                continue
            if not answer.success:
                raise Refused(name, "the transition failed; the log above has the reason")
            return
        raise NoAnswer(name, seconds, exists)


def destroy_node(node: Node) -> None:
    """Destroy a node together with its action clients, which rclpy leaves.

    An action client keeps the DDS participant of its node, with its shared memory and its participant id. Once ids on
    one machine are above 32, processes that use discovery on this machine only do not find each other.
    """
    for action in [waitable for waitable in node.waitables if isinstance(waitable, ActionClient)]:
        action.destroy()
    node.destroy_node()
