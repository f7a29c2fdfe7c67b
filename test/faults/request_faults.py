"""Faults of users: a second client, contradicting goals, lifecycle transitions and parameters in motion."""

from __future__ import annotations

import time
from typing import Any

from lifecycle_msgs.msg import Transition
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .case import Case, Expect, Inject, Prepare
from .rig import Rig
from .world_faults import activate, transition

REQUEST = 0.02
"""Time from a request to its effect in the control loop, beside the reaction of the arm [s]."""
NONSENSE: tuple[dict[str, Any], ...] = (
    {"law": "magic"},
    {"speed": -1.0},
    {"speed": float("nan")},
    {"payload__mass": -1.0},
    {"payload__mass": float("inf")},
    {"payload__com": [0.0]},
    {"gains__computed_torque__kp": [-400.0]},
    {"gains__computed_torque__kp": [float("nan")]},
    {"gains__computed_torque__kp": [1.0, 2.0]},
    {"mode": "position"},
    {"mode": "sideways"},
    {"update_rate": 0.0},
)
"""Parameters that a moving controller must refuse."""


def parameters(**changes: Any) -> Inject:
    """Parameters of the controller."""

    def inject(rig: Rig) -> float:
        began = time.monotonic()
        answer = rig.arm.set(**changes)
        if not answer.successful:
            rig.answers.append(answer.reason)
        return began

    return inject


def nonsense(rig: Rig) -> float:
    """Parameters, each of which must be refused."""
    began = time.monotonic()
    for changes in NONSENSE:
        answer = rig.arm.set(**changes)
        assert not answer.successful, f"the controller accepts {changes}"
        rig.answers.append(answer.reason)
    return began


def usual_parameters(rig: Rig) -> None:
    """Undoes a change of law, speed, payload or gains."""
    usual = [
        Parameter("law", value="computed_torque"),
        Parameter("speed", value=1.0),
        Parameter("payload.mass", value=0.0),
        Parameter("gains.computed_torque.kp", Parameter.Type.DOUBLE_ARRAY, []),
    ]
    request = SetParametersAtomically.Request(parameters=[parameter.to_parameter_msg() for parameter in usual])
    answer = rig.peer.call(SetParametersAtomically, rig.arm.controller, "set_parameters_atomically", request)
    assert answer.result.successful, answer.result.reason


def second_goal(where: str, seconds: float) -> Inject:
    """Another client sends a trajectory, while the first is followed."""

    def inject(rig: Rig) -> float:
        began = time.monotonic()
        goal = rig.arm.goal(getattr(rig.bot, where), seconds=seconds, names=rig.bot.joints)
        _, text = rig.outcome(rig.arm.send(goal).get_result_async()) or (0, "")
        rig.answers.append(text)
        return began

    return inject


def fighting_clients(rig: Rig) -> float:
    """Two clients replace each other's goals twenty times a second, from home and to home."""
    began = time.monotonic()
    for number in range(30):
        goal = rig.arm.goal((rig.bot.home, rig.bot.away)[number % 2], seconds=2.0, names=rig.bot.joints)
        rig.arm.send(goal)
        rig.peer.spin_for(0.05)
    return began


def on_topic(topic: str, jump: float | None) -> Inject:
    """A trajectory on a topic: a jump of every joint within 10 ms, or an empty one, which stops the arm."""

    def inject(rig: Rig) -> float:
        publisher = rig.peer.node.create_publisher(JointTrajectory, f"{rig.namespace}/controller/{topic}", 1)
        rig.peer.wait_for(lambda: publisher.get_subscription_count() > 0, "the controller")
        message = JointTrajectory(joint_names=list(rig.bot.joints))
        if jump is not None:
            point = JointTrajectoryPoint(positions=[float(q) + jump for q in rig.newest()[0]])
            point.time_from_start.nanosec = 10_000_000
            message.points.append(point)
        began = time.monotonic()
        publisher.publish(message)
        rig.peer.spin_for(0.5)
        rig.peer.node.destroy_publisher(publisher)
        return began

    return inject


def hold(rig: Rig) -> float:
    """The service ~/hold."""
    began = time.monotonic()
    rig.answers.append(rig.arm.trigger(rig.arm.controller, "hold").message)
    return began


def description(text: str) -> Inject:
    """Another node publishes a robot description."""

    def inject(rig: Rig) -> float:
        publisher = rig.peer.node.create_publisher(String, f"{rig.namespace}/robot_description", 1)
        began = time.monotonic()
        publisher.publish(String(data=text))
        rig.peer.spin_for(0.5)
        rig.peer.node.destroy_publisher(publisher)
        return began

    return inject


def cleaned_up(node: str) -> tuple[Inject, Prepare]:
    """Deactivated and cleaned up; later configured and activated."""
    off, on = transition(node, Transition.TRANSITION_DEACTIVATE), activate(node)

    def inject(rig: Rig) -> float:
        began = off(rig)
        rig.peer.transition(rig.process(node), Transition.TRANSITION_CLEANUP)
        return began

    def restore(rig: Rig) -> None:
        rig.peer.transition(rig.process(node), Transition.TRANSITION_CONFIGURE)
        on(rig)

    return inject, restore


def cases_of_arm() -> list[Case]:
    """All of them."""
    gently = {"expect": Expect.STOP_GENTLY, "detection": REQUEST}
    rest = {"expect": Expect.REST, "seconds": 4.5}
    off = Transition.TRANSITION_DEACTIVATE
    cases = [
        Case("~/hold", hold, **gently),
        Case("empty trajectory on the topic", on_topic("joint_trajectory", None), **gently),
        Case("second client moves the arm back", second_goal("home", 2.0), **rest),
        Case("second client sends a trajectory that is too fast", second_goal("home", 0.05), may_succeed=True),
        Case("two clients replace each other's goals at 20 Hz", fighting_clients, **rest),
        Case("trajectory with a jump on the topic", on_topic("joint_trajectory", 1.0), may_succeed=True),
        Case("stream with a jump", on_topic("joint_stream", 1.0), may_succeed=True),
        Case("stream with a jump", on_topic("joint_stream", 1.0), phase="holding"),
        Case("robot description that is none", description("<robot/>"), may_succeed=True),
    ]
    for node in ("controller", "sim_bridge"):
        # The controller brings the arm to rest on its path; without the bridge time does not go on.
        stop = gently if node == "controller" else {"detection": REQUEST}
        cases.append(Case(f"{node} deactivated", transition(node, off), restore=activate(node), **stop))
        cases.append(
            Case(
                f"{node} deactivated", transition(node, off), restore=activate(node), phase="holding", may_succeed=True
            )
        )
    clean, restore = cleaned_up("controller")
    cases.append(Case("controller cleaned up", clean, restore=restore, **gently))
    # A change of these is a request and no reason to stop.
    changed = {"expect": Expect.REST, "restore": usual_parameters}
    for law in ("pd", "robust", "joint_impedance", "cartesian_impedance"):
        cases.append(Case(f"law {law} in motion", parameters(law=law), **changed))
    cases.append(
        Case("law gravity_compensation in motion", parameters(law="gravity_compensation"),
             may_succeed=True, restore=usual_parameters)
    )  # fmt: skip
    for phase in ("cruise", "holding"):
        held = {"may_succeed": True, "restore": usual_parameters} if phase == "holding" else changed
        cases += [
            Case("gain kp of 1,000,000", parameters(gains__computed_torque__kp=[1e6]), phase=phase, **held),
            Case("gain kp of 0", parameters(gains__computed_torque__kp=[0.0]), phase=phase, **held),
            Case("payload of 5 kg that is not there", parameters(payload__mass=5.0), phase=phase, **held),
        ]
    return [
        *cases,
        Case("parameters that are nonsense", nonsense, may_succeed=True),
    ]
