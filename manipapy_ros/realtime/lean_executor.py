"""Lean executor for processes with a real-time loop: few Python steps per wake-up.

rclpy's executor iterates over all entities of a node several times for each callback, and wakes up once more after it:
1.5 ms in which the loop of the same process waits for the interpreter lock (GIL). This one waits once and calls timers
and subscriptions directly. Services, clients, actions and tasks are left to rclpy, which runs only when one of them is
ready. Messages on `clock` arrive forty times a second and more; they do not wake the executor and are taken with the
next wake-up. Only this file uses internals of rclpy's executor, as in rclpy 7.1 (Jazzy); with other internals rclpy's
own executor is used.
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
FULL_SPIN_PERIOD = 5.0
"""Time between full spins of rclpy [s], which also handle events such as incompatible QoS."""


def lean_executor() -> SingleThreadedExecutor:
    """The lean executor, or rclpy's own if the internals of rclpy differ."""
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
        self._entities: _Entities | None = None
        self._last_full_spin = time.monotonic()

    def wake(self) -> None:
        """Called by nodes whenever entities are created or destroyed."""
        self._entities = None
        super().wake()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Waits until an entity is ready, and executes its callback.

        Raises:
            ExternalShutdownException: The context was shut down.
        """
        if self._wait(timeout_sec) or time.monotonic() - self._last_full_spin > FULL_SPIN_PERIOD:
            self._last_full_spin = time.monotonic()
            super().spin_once(timeout_sec=0.0)

    def _wait(self, timeout: float | None) -> bool:
        """Executes timers and subscriptions that are ready; True: other entities are ready, too."""
        self._check_context()
        entities = self._entities
        if entities is None:
            # Later changes wake the executor again.
            entities = self._entities = _Entities.of(self)
        if any(not task.done() for task, *_ in self._tasks):
            return True
        try:
            timers, subscriptions, others = entities.wait(-1 if timeout is None else round(timeout * 1e9))
        except InvalidHandle:
            # An entity was destroyed by another thread; collect the entities again.
            self._entities = None
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
class _Entities:
    """The entities that an executor waits for, until one is created or destroyed."""

    wait_set: Any
    handles: tuple[Any, ...]
    """Handles of all entities, which must not be destroyed during a wait."""
    additions: tuple[tuple[Callable[[Any], None], Any], ...]
    """Functions that fill the wait set, with their arguments."""
    timers: dict[int, Any]
    """By the addresses of their handles, which the wait set returns."""
    subscriptions: dict[int, Any]
    guards: dict[int, Any]
    actions: tuple[Any, ...]
    clocks: tuple[Any, ...]
    """Subscriptions that are not waited for but polled after every wait."""

    @classmethod
    def of(cls, executor: SingleThreadedExecutor) -> _Entities:
        nodes, may = executor.get_nodes(), executor.can_execute

        def of_all(kind: str) -> list[Any]:
            return [entity for node in nodes for entity in getattr(node, kind) if may(entity)]

        timers, services, clients, guards = (of_all(kind) for kind in ("timers", "services", "clients", "guards"))
        clocks = tuple(entity for entity in of_all("subscriptions") if entity.msg_type is Clock)
        subscriptions = [entity for entity in of_all("subscriptions") if entity not in clocks]
        actions = tuple(waitable for waitable in of_all("waitables") if not isinstance(waitable, EventHandler))
        # These two have no callback: they only wake the executor.
        wake_conditions = [executor._guard, executor._sigint_gc]
        count = NumberOfEntities(
            len(subscriptions), len(guards) + len(wake_conditions), len(timers), len(clients), len(services)
        )
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
            (wait_set.add_guard_condition, [*guards, *wake_conditions]),
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
        """Waits; returns the timers and subscriptions that are ready, and whether other entities are.

        Args:
            nanoseconds: Timeout; −1: none.

        Raises:
            InvalidHandle: An entity was destroyed.
        """
        used = []
        try:
            for handle in self.handles:
                handle.__enter__()
                used.append(handle)
            # A wait removes entities that are not ready from the set.
            self.wait_set.clear_entities()
            for add, argument in self.additions:
                add(argument)
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
                # The next wait, also that of rclpy, clears the trigger.
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
