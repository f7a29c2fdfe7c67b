"""The ROS side of a program that is not a node itself: it asks services, listens to topics and waits with patience."""

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
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from manipapy_core.errors import ManipapyError

from ..common.names import absolute_namespace, local_discovery

PATIENCE = 10.0
"""How long something may take that should be there already [s]; a busy machine finds nodes slowly."""
LOOK_UP = 0.01
"""How often a waiting program looks whether what it waits for has come [s]."""
FIRST_LOOK, SLOWER = 5e-4, 0.1
"""Most answers come soon: the first looks are sooner [s], then each after a share of the time waited so far."""


ASK_AGAIN = 3.0
"""After how long a question to a lifecycle node is repeated [s]."""
GOAL_STATE = {
    Transition.TRANSITION_CONFIGURE: State.PRIMARY_STATE_INACTIVE,
    Transition.TRANSITION_ACTIVATE: State.PRIMARY_STATE_ACTIVE,
}
"""Where a transition leads."""


class NoAnswer(ManipapyError):
    """A service that does not exist, or does not answer."""

    def __init__(self, name: str, seconds: float, exists: bool):
        what = "does not answer" if exists else "is not there"
        cure = "is it stuck?" if exists else "is the suite running, with the same ROS_DOMAIN_ID? Start it: manipapy up"
        super().__init__(f"{name} {what} (waited {seconds:g} s); {cure}")
        self.name, self.seconds, self.exists = name, seconds, exists


class Refused(ManipapyError):
    """A node that answered, but will not do it."""

    def __init__(self, name: str, reason: str):
        super().__init__(f"{name}: {reason or 'refused without a reason; its output says more'}")
        self.name, self.reason = name, reason


class GivenUp(ManipapyError):
    """Waiting made no sense any more: what was waited for has died, or the user wants to stop."""


class RosSession:
    """A node in a context of its own, spun by a thread of its own. Use it in a `with` statement.

    Signals are left to the program. Callbacks of the node's subscriptions run on the thread.

    Args:
        name: Of the node; the number of the process is added, so that several do not collide.
        namespace: In which relative names are looked up.
    """

    def __init__(self, name: str, namespace: str = ""):
        for key, value in local_discovery().items():
            os.environ.setdefault(key, value)
        self.namespace = absolute_namespace(namespace)
        self._context = Context()
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
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    def on_thread(self, function: Callable[[], Any]) -> Any:
        """What a function returns that runs between callbacks.

        Requests must be sent so: rclpy notes whom an answer is for after it has sent the question, and its action
        client loses an answer that another thread handles before that.
        """
        task = self._executor.create_task(function)
        if not self.wait_until(task.done, PATIENCE):
            raise GivenUp("the thread that listens to ROS is stuck in a callback")
        return task.result()

    def wait_until(
        self, condition: Callable[[], bool], seconds: float, *, give_up: Callable[[], bool] = lambda: False
    ) -> bool:
        """Whether the condition came true in time [s].

        Raises:
            GivenUp: `give_up` was true before.
        """
        began = time.monotonic()
        while not condition():
            if give_up():
                raise GivenUp("given up waiting")
            if not self._thread.is_alive():
                raise GivenUp("the thread that listens to ROS has died; its traceback is above")
            waited = time.monotonic() - began
            if waited > seconds:
                return False
            time.sleep(min(LOOK_UP, FIRST_LOOK + SLOWER * waited))
        return True

    def look_for(self, service_type: type, name: str) -> Any:
        """Have a service found already when it is needed in a hurry; the name is relative to the namespace."""
        full_name = f"{self.namespace}/{name}"
        if full_name not in self._clients:
            self._clients[full_name] = self.node.create_client(service_type, full_name)
        return self._clients[full_name]

    def ask(
        self,
        service_type: type,
        name: str,
        request: Any,
        *,
        seconds: float = PATIENCE,
        give_up: Callable[[], bool] = lambda: False,
    ) -> Any:
        """The answer of a service.

        Args:
            name: Relative to the namespace.
            seconds: How long to wait for the service, and then for its answer.
            give_up: Ends the waiting early.

        Raises:
            NoAnswer: It is not there, or says nothing.
        """
        client, full_name = self.look_for(service_type, name), f"{self.namespace}/{name}"
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

    def transition(self, node: str, transition: int, *, seconds: float, give_up: Callable[[], bool]) -> None:
        """Bring a lifecycle node to another state.

        A node that was killed still seems to be there for some seconds, so that a request may be lost to it; the node
        is therefore asked for its state, which does no harm when repeated, and told again if need be.

        Args:
            node: Its name, relative to the namespace.
            transition: TRANSITION_CONFIGURE or TRANSITION_ACTIVATE of `lifecycle_msgs.msg.Transition`.
            seconds: How long all of it may take.

        Raises:
            NoAnswer: The node is not there, or takes too long.
            Refused: The transition failed; the node has logged why.
        """
        request = ChangeState.Request(transition=Transition(id=transition))
        deadline = time.monotonic() + seconds
        name, exists = f"{self.namespace}/{node}", False
        while time.monotonic() < deadline:
            try:
                state = self.ask(GetState, f"{node}/get_state", GetState.Request(), seconds=ASK_AGAIN, give_up=give_up)
                if state.current_state.id == GOAL_STATE[transition]:
                    return
                exists = True
                answer = self.ask(ChangeState, f"{node}/change_state", request, seconds=ASK_AGAIN, give_up=give_up)
            except NoAnswer:
                continue  # it is still on its way up, or busy with the transition
            if not answer.success:
                raise Refused(name, "the transition failed; the lines above say why")
            return
        raise NoAnswer(name, seconds, exists)
