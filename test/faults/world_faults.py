"""Obstacles: boxes that the planner's world knows, boxes that appear on the path, and boxes that nobody knows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from lifecycle_msgs.msg import Transition
from manipapy_msgs.action import Move
from manipapy_msgs.msg import CollisionObject
from manipapy_msgs.srv import ChangeWorld, RemoveObject, SpawnObject
from rclpy.action import ActionClient

from manipapy_core import lie
from manipapy_ros.common.conversions import pose_from_matrix
from ros_planner import move as move_goal

from .case import Case, Expect, Inject, Prepare, Send, follow, stopped
from .impact import impact_alone
from .judge import Obstacle, tips
from .rig import Nodes, Rig

SIZE = np.full(3, 0.08)
"""Of a box on the path [m]."""
TABLE = np.array([0.3, 0.3, 0.05])
"""[m]"""
BELOW = 0.1
"""Height of the tip over the table at home [m]."""
HALF_WAY = 0.5
"""Share of the way at which boxes appear."""
WORLD_CHANGE = 0.05
"""Time for a change of the planner's world to reach the guard, beside the reaction to it [s]."""
NAME = "fault_box"


def move(where: str = "away", **fields: Any) -> Send:
    """A planned motion from home; fields of its request."""

    def send(rig: Rig) -> Any:
        rig.target = getattr(rig.bot, where)
        goal = move_goal(rig.target, **fields)
        goal.request.joints.name = list(rig.bot.joints)
        action = ActionClient(rig.peer.node, Move, f"{rig.namespace}/planner/move")
        rig.peer.wait_for(action.server_is_ready, "the planner")
        answer = action.send_goal_async(goal)
        rig.peer.wait_for(answer.done, "an answer to the goal")
        return answer.result()

    return send


def way(rig: Rig, share: float, where: str = "away") -> np.ndarray:
    """Configuration at a share of the way from home [rad], shape (n,)."""
    return rig.bot.home + share * (getattr(rig.bot, where) - rig.bot.home)


def box_ahead(distance: float, *, of: float = HALF_WAY) -> Prepare:
    """Places a box on the path of the tip, at a distance from the arm at a share of its way; nobody knows it yet."""

    def prepare(rig: Rig) -> None:
        q = way(rig, of)
        for share in np.arange(of, 1.6, 0.01):
            found = Obstacle(rig.bot.body, tips(rig.bot.chain, way(rig, share)), SIZE)
            if found.distance(q) >= distance:
                rig.objects = found
                return
        raise AssertionError(f"no place for a box {distance:g} m ahead")

    return prepare


def table_below(rig: Rig) -> None:
    """Places a table below the tip; nobody knows it yet."""
    at = tips(rig.bot.chain, rig.bot.home) - np.array([0.0, 0.0, BELOW + TABLE[2] / 2])
    rig.objects = Obstacle(rig.bot.body, at, TABLE)


def tell_planner(rig: Rig) -> float:
    """The planner's world gets the box; returns the time of its answer."""
    box = CollisionObject(id=NAME, type="box", dimensions=[float(size) for size in rig.objects.size])
    box.pose = pose_from_matrix(lie.pose(translation=rig.objects.at))
    request = ChangeWorld.Request(operation=ChangeWorld.Request.ADD, object=box)
    answer = rig.peer.call(ChangeWorld, rig.process("planner"), "change_world", request)
    assert answer.success, answer.message
    return time.monotonic()


def spawn(rig: Rig) -> None:
    """The box is in the simulation, and no other node knows of it."""
    request = SpawnObject.Request(name=NAME, type="box", dimensions=[float(size) for size in rig.objects.size])
    request.pose = pose_from_matrix(lie.pose(translation=rig.objects.at))
    answer = rig.peer.call(SpawnObject, rig.arm.bridge, "spawn", request)
    assert answer.success, answer.message


def remove_obstacles(rig: Rig) -> None:
    """After a case."""
    if rig.objects is None:
        return
    rig.objects = None
    rig.peer.call(RemoveObject, rig.arm.bridge, "remove", RemoveObject.Request(name=NAME))
    if "planner" in rig.others:
        request = ChangeWorld.Request(operation=ChangeWorld.Request.CLEAR)
        rig.peer.call(ChangeWorld, rig.process("planner"), "change_world", request)
        rig.peer.spin_for(0.3)


def known(place: Prepare) -> Prepare:
    """The planner's world knows the box before the motion."""

    def prepare(rig: Rig) -> None:
        place(rig)
        tell_planner(rig)
        rig.peer.spin_for(0.5)

    return prepare


def spawned(place: Prepare) -> Prepare:
    """The box stands in the simulation before the motion."""

    def prepare(rig: Rig) -> None:
        place(rig)
        spawn(rig)

    return prepare


def now(_: Rig) -> float:
    """The motion itself is the fault."""
    return time.monotonic()


def while_replanning(what: Inject) -> Inject:
    """A box ends the motion, and the fault comes as soon as the arm has stopped, while another path is planned."""

    def inject(rig: Rig) -> float:
        before = rig.process("planner").printed.count(PLANNER_STOPPED)
        tell_planner(rig)
        end = time.monotonic() + 3.0
        while rig.process("planner").printed.count(PLANNER_STOPPED) == before:
            assert time.monotonic() < end, "the planner did not plan again"
            rig.peer.spin_for(0.002)
        return what(rig)

    return inject


PLANNER_STOPPED = "stopped: the path is blocked"
"""Logged before another path is planned."""


def transition(node: str, number: int) -> Inject:
    """A lifecycle transition."""

    def inject(rig: Rig) -> float:
        rig.peer.state(rig.process(node))
        began = time.monotonic()
        rig.peer.transition(rig.process(node), number)
        return began

    return inject


def activate(node: str) -> Prepare:
    """Makes a node active again."""

    def restore(rig: Rig) -> None:
        rig.peer.transition(rig.process(node), Transition.TRANSITION_ACTIVATE)

    return restore


def blind(name: str, place: Prepare, seconds: float, where: str = "away") -> Case:
    """A trajectory into an object that is in the simulation only."""
    return Case(
        name, now, spawned(place), follow(seconds, where), "start", expect=Expect.REST, seconds=5.0,
        impact=lambda rig: impact_alone(rig.bot, getattr(rig.bot, where), seconds, rig.objects),
        restore=remove_obstacles,
    )  # fmt: skip


def cases_of_arm() -> list[Case]:
    """Contacts with what nobody knows."""
    return [
        blind("motion into a box that nobody knows", box_ahead(0.1), 3.0),
        blind("fast motion into a box that nobody knows", box_ahead(0.1), 1.5),
        blind("motion into a table that nobody knows", table_below, 2.0, "down"),
    ]


def cases_of_world() -> list[Case]:
    """Obstacles that the planner knows, with forecasts of collision_monitor."""
    world = {"nodes": Nodes.WORLD, "expect": Expect.CLEAR}
    start = {**world, "phase": "start"}
    cases = [
        Case("trajectory into a box of the world", now, known(box_ahead(0.1)), follow(), seconds=4.0, **start),
        Case("fast trajectory into a box of the world", now, known(box_ahead(0.1)), follow(1.5), **start),
        Case("trajectory into a table of the world", now, known(table_below), follow(2.0, "down"), **start),
        Case(
            "box appears 2 cm ahead of a trajectory", tell_planner, box_ahead(0.02), detection=WORLD_CHANGE,
            nodes=Nodes.WORLD,
        ),
    ]  # fmt: skip
    for distance in (0.1, 0.2):
        name = f"box appears {100 * distance:.0f} cm ahead of a"
        cases.append(Case(f"{name} trajectory", tell_planner, box_ahead(distance), **world))
        cases.append(
            Case(f"{name} planned motion", tell_planner, box_ahead(distance), move(velocity_scaling=0.3),
                 may_succeed=True, seconds=6.0, **world)
        )  # fmt: skip
    planned = {"prepare": box_ahead(0.1), "send": move(velocity_scaling=0.3), "may_succeed": True, **world}
    replanning: tuple[tuple[str, Inject], ...] = (
        ("collision_monitor stopped for 1.5 s", stopped("collision_monitor", 1.5)),
        ("planner stopped for 1.5 s", stopped("planner", 1.5)),
        ("controller stopped for 0.3 s", stopped("controller", 0.3)),
        ("sim_bridge stopped for 0.3 s", stopped("sim_bridge", 0.3)),
    )
    cases += [
        Case(name, while_replanning(what), phase="replanning", seconds=6.0, **planned) for name, what in replanning
    ]
    off = Transition.TRANSITION_DEACTIVATE
    cases.append(
        Case("planner deactivated", transition("planner", off), send=move(velocity_scaling=0.3), nodes=Nodes.WORLD,
             expect=Expect.STOP_GENTLY, detection=WORLD_CHANGE, restore=activate("planner"))
    )  # fmt: skip
    cases.append(
        Case("collision_monitor deactivated", transition("collision_monitor", off), nodes=Nodes.WORLD,
             detection=0.5, restore=activate("collision_monitor"))
    )  # fmt: skip
    for phase in ("cruise", "holding"):
        clock = lambda rig: rig.prepare("clock")  # noqa: E731
        cases.append(
            Case("rogue clock: 1 s and 10,000 s at 10 Hz", lambda rig: rig.release(), clock, move(velocity_scaling=0.3),
                 phase, Nodes.WORLD, may_succeed=True)
        )  # fmt: skip
    return cases
