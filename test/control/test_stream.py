"""A stream of short trajectories, as a servo sends them: joined without a jump, refused where the guard holds."""

from __future__ import annotations

import functools

import numpy as np

from control.arms import AWAY, DT, HOME, UR5, Rig, move
from control.test_execution import is_smooth
from manipapy_core import Robot
from manipapy_core.control import GoalStatus
from manipapy_core.geometry import Checker, RobotBody
from manipapy_core.servoing import ArmServo, TwistCommand
from manipapy_core.trajectory import JointTrajectory

PERIOD = 0.004
FORWARD = TwistCommand([0.0, 0.0, 0.2, 0.08, 0.05, 0.0])


@functools.cache
def checker():
    return Checker(RobotBody.build(Robot.from_urdf("ur5"), UR5))


class Stream:
    """A servo whose trajectories reach the controller some ticks late, and the references of all ticks."""

    def __init__(self, rig):
        self.rig, self.servo, self.begun = rig, ArmServo(checker(), q=HOME["ur5"]), rig.now
        self.sent, self.goals, self.references = 0, [], []

    def run(self, seconds, command=FORWARD, delays=(0,)):
        due = {}
        for tick in range(round(seconds / DT)):
            if command is not None and tick % round(PERIOD / DT) == 0:
                start = self.begun + self.sent * PERIOD
                self.servo.step(command, PERIOD)
                times, states = self.servo.trajectory()
                rows = (np.ascontiguousarray(states[:, row]) for row in range(3))
                late = delays[self.sent % len(delays)]
                due[tick + late] = JointTrajectory(times, *rows, joint_names=UR5.joint_names, start_time=start)
                self.sent += 1
            if tick in due:
                self.goals.append(self.rig.controller.stream(due[tick]))
            self.rig.tick()
            status = self.rig.controller.status()
            self.references.append([status.q_ref, status.qd_ref, status.qdd_ref])
        return self


def rig():
    return Rig.of("ur5").run(0.05)


def test_a_stream_is_followed_without_a_jump_also_when_messages_are_late():
    stream = Stream(rig()).run(1.0, delays=(0, 3, 1, 7, 2, 0, 5))
    references = np.array(stream.references)
    assert is_smooth(references, acceleration=2.0)
    assert np.abs(stream.servo.q - references[-1, 0]).max() < 0.005
    assert np.abs(references[-1, 1]).max() > 0.05, "the arm moves"


def test_the_arm_comes_to_rest_on_the_checked_stop_when_the_stream_ends():
    stream = Stream(rig()).run(1.0)
    rest = stream.servo.stop_path([stream.servo.stop_time])[0, 0]
    stream.run(1.5, command=None)
    references = np.array(stream.references)
    assert is_smooth(references, acceleration=2.0)
    assert np.abs(references[-1, 0] - rest).max() < 1e-4 and not references[-1, 1].any()
    assert stream.goals[-1].outcome.succeeded


def test_a_stream_does_not_take_the_arm_from_a_goal():
    arm = rig()
    goal = arm.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    arm.run(0.1)
    stream = Stream(arm).run(0.1)
    assert goal.outcome is None
    assert all(item.outcome.status is GoalStatus.ABORTED for item in stream.goals[:-1])
    assert "another goal is being executed" in stream.goals[0].outcome.text


def test_a_goal_takes_the_arm_from_a_stream():
    arm = rig()
    stream = Stream(arm).run(0.3)
    goal = arm.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    arm.run(2.5)
    assert goal.outcome.succeeded and stream.goals[-1].outcome.status is GoalStatus.PREEMPTED


def test_a_stream_does_not_end_a_hold_before_it_pauses():
    arm = rig()
    stream = Stream(arm).run(0.4)
    arm.controller.stop("by a test")
    stream.run(0.1)
    assert "by a test" in stream.goals[-2].outcome.text
    arm.controller.reset()
    arm.run(1.0)
    mark = arm.mark()
    stream.servo.reset(arm.q[-1])
    stream.begun, stream.sent = arm.now, 0
    stream.run(0.5)
    assert np.abs(np.array(arm.q[mark:])[-1] - arm.q[mark]).max() > 0.005, "it moves again"


def test_a_stream_is_one_trajectory_for_the_collision_forecast():
    stream = Stream(rig()).run(0.2)
    assert stream.rig.controller._pipeline.execution.number == 1


def test_a_stream_is_not_followed_while_the_controller_is_slowed_down():
    arm = rig()
    stream = Stream(arm).run(0.4)
    arm.controller.set_speed(0.5)
    stream.run(1.2)
    references = np.array(stream.references)
    assert "not followed" in stream.goals[-2].outcome.text
    assert is_smooth(references, acceleration=2.0) and not references[-1, 1].any()
