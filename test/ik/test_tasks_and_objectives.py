"""Parts of a pose for arms with few joints; something better to do for arms with many."""

from __future__ import annotations

import numpy as np
import pytest

from ik.arms import arm, configurations, inside_limits
from manipapy_core import Robot, ik, kinematics
from manipapy_core.compiler import Task
from manipapy_core.ik import IKStatus
from reference.urdf_writing import joint, link, robot


def serial(axes, limits=(-2.5, 2.5)):
    parts = [link("l0")]
    for i, axis in enumerate(axes, start=1):
        parts += [link(f"l{i}", 1.0)]
        parts += [joint(f"j{i}", "revolute", f"l{i - 1}", f"l{i}", xyz=(0.3, 0, 0), axis=axis, limits=limits)]
    parts += [link("tip"), joint("to_tip", "fixed", f"l{len(axes)}", "tip", xyz=(0.2, 0.05, 0.0))]
    return Robot.from_urdf(robot("serial", *parts)).chain("l0", "tip")


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_position_alone(name):
    chain = arm(name)
    T = kinematics.forward(chain, configurations(chain, 200, seed=1))
    answer = ik.solve_batch(chain, T, task=Task.POSITION)
    assert answer.solved.all() and inside_limits(chain, answer.q)
    assert np.abs(kinematics.forward(chain, answer.q)[:, :3, 3] - T[:, :3, 3]).max() < 1e-6


@pytest.mark.parametrize("axis", [(0, 0, 1), (1, 0, 0), (0.3, -0.4, 0.7)])
def test_position_and_one_axis(axis):
    chain = arm("xarm6")
    T = kinematics.forward(chain, configurations(chain, 200, seed=2))
    answer = ik.solve_batch(chain, T, axis=axis)
    assert answer.solved.all()
    reached = kinematics.forward(chain, answer.q)
    assert np.abs(reached[:, :3, :3] @ axis - T[:, :3, :3] @ axis).max() < 3e-6
    assert np.abs(reached[:, :3, 3] - T[:, :3, 3]).max() < 1e-6
    assert np.abs(reached[:, :3, :3] - T[:, :3, :3]).max() > 0.1  # the turn about the axis was free


def test_three_joints_reach_positions():
    chain = serial([(0, 0, 1), (0, 1, 0), (0, 1, 0)])
    T = kinematics.forward(chain, configurations(chain, 200, seed=3))
    T[:, :3, :3] = np.eye(3)
    assert ik.solve_batch(chain, T, task=Task.POSITION).solved.all()
    whole = ik.solve(chain, T[0])
    assert whole.status in (IKStatus.LEAST_SQUARES, IKStatus.UNREACHABLE, IKStatus.LIMIT_BLOCKED)


def test_a_planar_arm_by_weights():
    chain = serial([(0, 0, 1)] * 3)
    T = kinematics.forward(chain, configurations(chain, 200, seed=4))
    T[:, 2, 3] += 0.3  # out of the plane, which does not count
    answer = ik.solve_batch(chain, T, weights=(0, 0, 1, 1, 1, 0))
    assert answer.solved.all()
    reached = kinematics.forward(chain, answer.q)
    assert np.abs(reached[:, :2, 3] - T[:, :2, 3]).max() < 1e-6
    assert np.abs(reached[:, :3, :3] - T[:, :3, :3]).max() < 3e-6


def test_weights_shift_a_compromise():
    chain = serial([(0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1)])
    T = kinematics.forward(chain, configurations(chain, 1, seed=5)[0])
    T[:3, :3] = np.eye(3)
    careful = ik.solve(chain, T, weights=(0.01, 0.01, 0.01, 1, 1, 1))
    turned = ik.solve(chain, T, weights=(1, 1, 1, 0.01, 0.01, 0.01))
    assert careful.position_error < turned.position_error
    assert careful.orientation_error > turned.orientation_error


@pytest.mark.parametrize("name", ["panda", "iiwa14"])
@pytest.mark.parametrize("kind", ["centre", "manipulability", "near", "clearance"])
def test_redundant_arms_slide_to_the_better_configuration(name, kind):
    chain = arm(name)
    q = 0.6 * configurations(chain, 1, seed=6)[0] + 0.2 * (chain.limits.lower + chain.limits.upper)
    T = kinematics.forward(chain, q)
    objective = {
        "centre": ik.centre_of_limits(chain),
        "manipulability": ik.manipulability(chain),
        "near": ik.near(q),
        "clearance": ik.clearance(lambda rows: kinematics.link_poses(chain, rows)[:, 4, 2, 3]),
    }[kind]
    plain, better = ik.solve(chain, T), ik.solve(chain, T, objective=objective)
    assert better.solved and inside_limits(chain, better.q[None])
    assert np.abs(kinematics.forward(chain, better.q) - T).max() < 1e-6
    assert objective(better.q[None])[0] <= objective(plain.q[None])[0] + 1e-9
    if kind == "near":
        assert np.abs(better.q - q).max() < 1e-2
