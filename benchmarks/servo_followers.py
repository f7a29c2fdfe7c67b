"""What follows the twists of the servo benchmark: the servo of this library, and pink as a peer."""

from __future__ import annotations

import numpy as np
from problems import Array
from servo_scenes import DT, urdf

from manipapy_core.geometry import Checker
from manipapy_core.servoing import ArmServo, ServoSettings, TwistCommand


class Ours:
    """The servo of this library."""

    name = "manipapy"

    def __init__(self, arm: str, checker: Checker, q: Array):
        self._servo = ArmServo(checker, ServoSettings(), q=q)

    def step(self, twist: Array) -> Array:
        return self._servo.step(TwistCommand(twist), DT).q


class Pink:
    """pink: tasks and limits as quadratic programs; the target pose moves with the twist."""

    name = "pink"

    def __init__(self, arm: str, checker: Checker, q: Array):
        import pinocchio as pin
        from pink import Configuration, solve_ik
        from pink.tasks import DampingTask, FrameTask

        self._pin, self._solve, chain = pin, solve_ik, checker.body.chain
        whole = pin.buildModelFromUrdf(urdf(arm))
        others = [whole.getJointId(name) for name in whole.names[1:] if name not in chain.joint_names]
        model = pin.buildReducedModel(whole, others, pin.neutral(whole)) if others else whole
        self._configuration = Configuration(model, model.createData(), np.array(q))
        self._task = FrameTask(chain.tip, position_cost=1.0, orientation_cost=0.3, lm_damping=1e-3)
        self._damping = DampingTask(cost=1e-3)
        self._task.set_target_from_configuration(self._configuration)
        self._tip = chain.tip

    def step(self, twist: Array) -> Array:
        pin, here = self._pin, self._configuration.get_transform_frame_to_world(self._tip)
        target = self._task.transform_target_to_world
        # The target does not run away from an arm that cannot follow.
        if np.linalg.norm(target.translation - here.translation) > 0.02:
            target = here.copy()
        moved = pin.SE3(pin.exp3(DT * twist[:3]) @ target.rotation, target.translation + DT * twist[3:])
        self._task.set_target(moved)
        tasks = [self._task, self._damping]
        velocity = self._solve(self._configuration, tasks, DT, solver="daqp", safety_break=False)
        self._configuration.integrate_inplace(velocity, DT)
        return np.array(self._configuration.q)


Follower = type[Ours] | type[Pink]


def followers() -> list[Follower]:
    """Ours, and the peer if it is installed."""
    try:
        import pink  # noqa: F401
    except ImportError:
        return [Ours]
    return [Ours, Pink]
