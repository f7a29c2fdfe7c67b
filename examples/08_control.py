"""Control without ROS: four laws follow one trajectory, and a sensor fails in the middle of a motion.

Run it: python examples/08_control.py [image.png]
"""

from __future__ import annotations

import sys

import numpy as np

from manipapy_core import Robot
from manipapy_core.control import ArmController, ControllerSettings, SimulatedArm, ValidatedGoal
from manipapy_core.draw import new_figure
from manipapy_core.dynamics import Payload
from manipapy_core.model import Chain
from manipapy_core.trajectory import JointTrajectory

START = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
GOAL = np.array([1.0, -1.0, 1.2, -1.8, -1.2, 0.8])
SECONDS, PERIOD = 2.0, 1e-3
TICKS = round((SECONDS + 0.5) / PERIOD)
UNKNOWN_PAYLOAD = Payload(mass=0.5, com=(0.0, 0.0, 0.05))
"""Held by the arm but unknown to the laws."""
SENSOR_FAILURE = (0.9, 0.95)
"""Interval in which the sensors return NaN [s]."""


def run(
    chain: Chain, law: str, *, payload: Payload | None = None, sensors_fail: bool = False
) -> tuple[ValidatedGoal, np.ndarray, np.ndarray]:
    """The goal, and errors and velocities of all joints, one row per tick."""
    controller = ArmController(chain, ControllerSettings(law=law))
    arm = SimulatedArm(chain, START, payload=payload)
    controller.tick(0.0, arm.q, arm.qd, 0.0)  # the controller needs one measurement before a goal
    zero = np.zeros((2, chain.n))  # given velocities and accelerations select quintic segments
    goal = controller.submit(JointTrajectory([0.0, SECONDS], [START, GOAL], zero, zero))
    errors, velocities = [], []
    for tick in range(1, TICKS):
        now = tick * PERIOD
        failing = sensors_fail and SENSOR_FAILURE[0] < now < SENSOR_FAILURE[1]
        tau = controller.tick(now, np.full(chain.n, np.nan) if failing else arm.q, arm.qd, now)
        # None: no valid measurement for too long; the drives must hold the arm themselves.
        assert tau is not None
        arm.step(tau, PERIOD)
        errors.append(controller.q_ref - arm.q)
        velocities.append(arm.qd.copy())
    return goal, np.array(errors), np.array(velocities)


def main() -> None:
    chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
    figure = new_figure(figsize=(11, 4))
    left, right = figure.subplots(1, 2)
    time = PERIOD * np.arange(1, TICKS)
    for law in ("pd_gravity", "computed_torque", "robust", "adaptive"):
        goal, errors, _ = run(chain, law, payload=UNKNOWN_PAYLOAD)
        worst = 1e3 * np.abs(errors).max(axis=1)
        ended = goal.outcome.text if goal.outcome else "still settling"
        print(f"{law:16s} {1e3 * np.sqrt((errors**2).mean()):6.2f} mrad rms, {worst.max():6.2f} mrad max: {ended}")
        left.plot(time, worst, label=law)
    left.set(xlabel="time [s]", ylabel="largest joint error [mrad]", title="unmodelled payload of 0.5 kg")
    left.legend()

    goal, _, velocities = run(chain, "computed_torque", sensors_fail=True)
    print(f"sensors fail: goal {goal.outcome.status.value}, {goal.outcome.text}")
    print(f"              the arm is at rest: {1e3 * np.abs(velocities[-1]).max():.2f} mrad/s")
    right.plot(time, velocities, label=chain.joint_names)
    right.axvspan(*SENSOR_FAILURE, color="tab:red", alpha=0.3)
    right.set(xlabel="time [s]", ylabel="velocity [rad/s]", title="sensors fail (red): the guard brakes and holds")
    right.legend(fontsize=7)
    figure.tight_layout()
    path = sys.argv[1] if len(sys.argv) > 1 else "control.png"
    figure.savefig(path, dpi=100)
    print("Image:", path)


if __name__ == "__main__":
    main()
