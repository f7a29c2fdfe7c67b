"""An executor for processes whose interpreter belongs to a loop: it waits and calls back in a few steps of Python.

rclpy's executor goes through every entity of a node several times whenever one of them has something to do, and wakes
once more after each callback: a millisecond and a half of the interpreter, which the loop of the same process waits
for. This one waits in one go and calls timers and subscriptions directly. Services, clients, actions and tasks are left
to rclpy, which is started only when one of them has work. Messages on `clock` come forty times a second and more; they
wake nobody and are taken along. This file is the only one that knows the executor's inside, as it is in rclpy 7.1 of
Jazzy; where it is another, rclpy's own executor does the work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rclpy.context import Context
from rclpy.event_handler import EventHandler
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.logging import get_logger
from rclpy.subscription import Subscription
from rclpy.waitable import NumberOfEntities
from rosgraph_msgs.msg import Clock

EXECUTOR_INTERNALS = ("_guard", "_sigint_gc", "_tasks", "can_execute")
FULL_LOOK = 5.0
"""How often rclpy looks at everything, also without a reason [s]: at warnings about topics that do not match."""


def lean_executor() -> SingleThreadedExecutor:
    """The lean executor, or rclpy's own where the internals of rclpy are not those that this file uses."""
    plain = SingleThreadedExecutor()
    missing = [name for name in EXECUTOR_INTERNALS if not hasattr(plain, name)]
    others = ((Subscription, "CallbackType"), (_rclpy, "WaitSet"))
    missing += [name for owner, name in others if not hasattr(owner, name)]
    plain.shutdown()
    if not missing:
        return LeanExecutor()
    text = f"rclpy's own executor is used, at a higher load: rclpy has no {', '.join(missing)}"
    get_logger("lean_executor").warning(text)
    return SingleThreadedExecutor()


class LeanExecutor(SingleThreadedExecutor):
    """Spins nodes whose timers and subscriptions have plain functions as callbacks, in one thread.

    Args:
        context: Of the nodes; the default one if not given.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        self._crowd: _Crowd | None = None
        self._full_look = time.monotonic()

    def wake(self) -> None:
        """Nodes call this whenever entities come or go."""
        self._crowd = None
        super().wake()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Waits until something has work to do, and lets it.

        Raises:
            ExternalShutdownException: The context was shut down.
        """
        if self._wait(timeout_sec) or time.monotonic() - self._full_look > FULL_LOOK:
            self._full_look = time.monotonic()
            super().spin_once(timeout_sec=0.0)

    def _wait(self, timeout: float | None) -> bool:
        """Calls back what can be called directly; True: there is work of another kind."""
        self._check_context()
        crowd = self._crowd
        if crowd is None:
            # What changes from here on wakes the executor again.
            crowd = self._crowd = _Crowd.of(self)
        if any(not task.done() for task, *_ in self._tasks):
            return True
        try:
            timers, subscriptions, others = crowd.wait(-1 if timeout is None else round(timeout * 1e9))
        except InvalidHandle:
            # Destroyed by another thread; what is left is gathered anew.
            self._crowd = None
            return False
        self._check_context()
        for subscription in subscriptions:
            _call_subscription(subscription)
        for timer in timers:
            _call_timer(timer)
        return others

    def _check_context(self) -> None:
        if not self.context.ok():
            raise ExternalShutdownException()


@dataclass(frozen=True, eq=False)
class _Crowd:
    """All that an executor waits for, until something comes or goes."""

    wait_set: Any
    handles: tuple[Any, ...]
    """Of everything: must not be destroyed during a wait."""
    additions: tuple[tuple[Callable[[Any], None], Any], ...]
    """What fills the wait set: functions and what they are called with."""
    timers: dict[int, Any]
    """By the addresses of their handles, as the wait set tells them."""
    subscriptions: dict[int, Any]
    guards: dict[int, Any]
    actions: tuple[Any, ...]
    clocks: tuple[Any, ...]
    """Subscriptions that are not waited for but looked at whenever something else had its time."""

    @classmethod
    def of(cls, executor: SingleThreadedExecutor) -> _Crowd:
        nodes, may = executor.get_nodes(), executor.can_execute

        def of_all(kind: str) -> list[Any]:
            return [entity for node in nodes for entity in getattr(node, kind) if may(entity)]

        timers, services, clients, guards = (of_all(kind) for kind in ("timers", "services", "clients", "guards"))
        clocks = tuple(entity for entity in of_all("subscriptions") if entity.msg_type is Clock)
        subscriptions = [entity for entity in of_all("subscriptions") if entity not in clocks]
        actions = tuple(waitable for waitable in of_all("waitables") if not isinstance(waitable, EventHandler))
        # That these two rang is all they have to say: something has changed.
        bells = [executor._guard, executor._sigint_gc]
        count = NumberOfEntities(len(subscriptions), len(guards) + len(bells), len(timers), len(clients), len(services))
        for action in actions:
            count += action.get_num_entities()
        wait_set = _rclpy.WaitSet(
            count.num_subscriptions,
            count.num_guard_conditions,
            count.num_timers,
            count.num_clients,
            count.num_services,
            count.num_events,
            executor.context.handle,
        )
        kinds = (
            (wait_set.add_subscription, subscriptions),
            (wait_set.add_client, clients),
            (wait_set.add_service, services),
            (wait_set.add_timer, timers),
            (wait_set.add_guard_condition, [*guards, *bells]),
        )
        additions = [(add, entity.handle) for add, entities in kinds for entity in entities]
        return cls(
            wait_set,
            (executor.context.handle, *(handle for _, handle in additions), *actions),
            (*additions, *((action.add_to_wait_set, wait_set) for action in actions)),
            _by_pointer(timers),
            _by_pointer(subscriptions),
            _by_pointer(guards),
            actions,
            clocks,
        )

    def wait(self, nanoseconds: int) -> tuple[list[Any], list[Any], bool]:
        """Timers and subscriptions with work to do, and whether anything else has some.

        Args:
            nanoseconds: How long at most; −1: for ever.

        Raises:
            InvalidHandle: Something is gone.
        """
        used = []
        try:
            for handle in self.handles:
                handle.__enter__()
                used.append(handle)
            # A wait leaves only what is ready in the set.
            self.wait_set.clear_entities()
            for add, what in self.additions:
                add(what)
            self.wait_set.wait(nanoseconds)
            return self._ready()
        finally:
            for handle in used:
                handle.__exit__(None, None, None)

    def _ready(self) -> tuple[list[Any], list[Any], bool]:
        found = self.wait_set.get_ready_entities
        timers = [self.timers[pointer] for pointer in found("timer") if pointer in self.timers]
        subscriptions = [
            self.subscriptions[pointer] for pointer in found("subscription") if pointer in self.subscriptions
        ]
        others = bool(found("service") or found("client"))
        for pointer in found("guard_condition"):
            if pointer in self.guards:
                # That it rang is forgotten by the next wait, rclpy's included.
                self.guards[pointer]._executor_triggered = others = True
        for action in self.actions:
            others = action.is_ready(self.wait_set) or others
        return timers, [*subscriptions, *self.clocks], others


def _call_timer(timer: Any) -> None:
    try:
        with timer.handle:
            if not timer.handle.is_timer_ready():
                return  # cancelled meanwhile
            timer.handle.call_timer()
    except InvalidHandle:
        return  # destroyed by a callback before it
    timer.callback()


def _call_subscription(subscription: Any) -> None:
    try:
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    except InvalidHandle:
        return  # destroyed by a callback before it
    if taken is None:
        return
    if subscription._callback_type is Subscription.CallbackType.MessageOnly:
        subscription.callback(taken[0])
    else:
        subscription.callback(*taken)


def _by_pointer(entities: Iterable[Any]) -> dict[int, Any]:
    return {entity.handle.pointer: entity for entity in entities}
