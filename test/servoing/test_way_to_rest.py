"""Ways to rest are checked so closely that nothing is missed between two configurations."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from manipapy_core import Robot, kinematics, lie
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, Checker, RobotBody, World
from manipapy_core.geometry.exact import ExactChecker
from manipapy_core.servoing import ArmServo, JointJog, ServoSettings, ServoStatus, stops
from manipapy_core.servoing.near_rows import NearRowSearch
from manipapy_core.servoing.way_to_rest import MOST_SAMPLES, set_weights, variations, way_to_rest

DT = 0.004
ENDS = {"ur5": ("base_link", "tool0"), "panda": ("panda_link0", "panda_hand_tcp")}
HOME = {
    "ur5": np.array([0.0, -1.2, 1.2, -1.57, -1.57, 0.0]),
    "panda": np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
}
ARMS = sorted(HOME)
ALLOWED = np.array([0.001, 0.006, 0.002, 0.0032])
"""Reserve and largest motion, towards objects and between links [m]."""


@functools.cache
def body(arm):
    robot = Robot.from_urdf(arm)
    return RobotBody.build(robot, robot.chain(*ENDS[arm]))


def some_boxes(rng):
    world = World()
    for k in range(12):
        angle = rng.uniform(-np.pi, np.pi)
        where = [rng.uniform(0.4, 0.8) * np.cos(angle), rng.uniform(0.4, 0.8) * np.sin(angle), rng.uniform(0.0, 0.9)]
        world.add(f"box {k}", Box(rng.uniform(0.05, 0.2, 3)), lie.pose(translation=where))
    return world


def moving_state(arm_servo, rng):
    """A state and the next one, both fast."""
    state = np.zeros((3, arm_servo.chain.n))
    state[0] = HOME[arm_servo.chain.robot_name] + rng.uniform(-0.5, 0.5, arm_servo.chain.n)
    state[1] = rng.uniform(-0.4, 0.4, arm_servo.chain.n) * arm_servo.speed
    state[2] = rng.uniform(-0.5, 0.5, arm_servo.chain.n) * arm_servo.acceleration
    out = np.empty_like(state)
    stops.change_velocity(state, state[1], True, arm_servo.acceleration, arm_servo.jerk, DT, out)
    return state, out


def way(arm_servo, search, state, out):
    """Weights and configurations."""
    n = arm_servo.chain.n
    search.rows(state[0])
    levers, *rest = search.gaps
    moved, weights, path = np.empty(n), np.empty(n), np.empty((MOST_SAMPLES, n))
    variations(state, out, arm_servo.acceleration, arm_servo.jerk, DT, moved)
    set_weights(moved, levers.copy(), *rest, ALLOWED, weights)
    count = way_to_rest(state, out, arm_servo.acceleration, arm_servo.jerk, DT, weights, path)
    return moved, path[:count]


@pytest.mark.parametrize("arm", ARMS)
def test_no_point_of_the_arm_moves_farther_between_two_configurations_than_allowed(arm):
    rng, chain = np.random.default_rng(1), body(arm).chain
    world = some_boxes(rng)
    arm_servo = ArmServo(Checker(body(arm), world))
    search = NearRowSearch(body(arm), world.snapshot(), 0.12, 0.05)
    groups, compared = search.scene.arm.groups, 0
    for _ in range(60):
        state, out = moving_state(arm_servo, rng)
        _, path = way(arm_servo, search, state, out)
        critical = [group.name for group, gap in zip(groups, search.gaps[1]) if group.frame > 0 and gap < 0.02]
        dense = np.concatenate([state[None, 0], path])
        poses = dict(zip(chain.link_names, np.moveaxis(kinematics.link_poses(chain, dense), 1, 0)))
        for name in critical:
            points = body(arm).link_spheres[name][:, :3]
            placed = np.einsum("kij,pj->kpi", poses[name][:, :3, :3], points) + poses[name][:, None, :3, 3]
            steps = np.linalg.norm(np.diff(placed, axis=0), axis=2).max(axis=1)
            assert steps[0] <= 0.5 * ALLOWED[1] + 1e-9 and steps[1:].max(initial=0.0) <= ALLOWED[1] + 1e-9
            compared += len(steps)
    assert compared > 50


@pytest.mark.parametrize("arm", ARMS)
def test_between_checked_configurations_no_pair_touches(arm):
    """The proof, by exact distances on a dense grid of ways that the checker calls free."""
    pytest.importorskip("coal")
    rng, found = np.random.default_rng(4), 0
    for _ in range(12):
        world = some_boxes(rng)
        checker = Checker(body(arm), world)
        arm_servo = ArmServo(checker)
        search = NearRowSearch(body(arm), world.snapshot(), 0.12, 0.05)
        state, out = moving_state(arm_servo, rng)
        moved, path = way(arm_servo, search, state, out)
        if checker.padded(0.004, self_padding=1.8e-3).check(path).any():
            continue
        times = np.linspace(0.0, stops.stop_time(out, arm_servo.acceleration, arm_servo.jerk), 60)
        states = np.empty((60, *out.shape))
        stops.sample_stop(out, arm_servo.acceleration, arm_servo.jerk, times, states)
        dense = states[:, 0]
        assert (np.abs(np.diff(dense, axis=0)).sum(axis=0) <= moved + 1e-9).all()
        near = [ExactChecker(body(arm), world).contacts(q)[0].distance for q in dense[::6]]
        assert min(near) > 0.0009 and not checker.check(dense).any()
        found += 1
    assert found > 0


def test_an_arm_becomes_no_faster_than_can_be_checked():
    world = some_boxes(np.random.default_rng(2))
    start = HOME["ur5"]
    for name in list(world.snapshot().objects):
        if Checker(body("ur5"), world, padding=0.03).collides(start):
            world.remove(name)
    arm_servo = ArmServo(Checker(body("ur5"), world), q=start)
    steps = [arm_servo.step(JointJog([3.0, 0.0, 0.0, 3.0, 3.0, 3.0]), DT) for _ in range(300)]
    qdd = np.array([step.qdd for step in steps])
    assert np.abs(np.diff(qdd, axis=0)).max() / DT <= arm_servo.jerk.max() * (1 + 1e-6)
    assert max(np.abs(step.qd).max() for step in steps) > 0.2
    assert not arm_servo._bare.check(np.array([step.q for step in steps])).any()
    rest = [arm_servo.step(None, DT) for _ in range(1500)]
    assert rest[-1].status is ServoStatus.IDLE


def test_a_padding_that_leaves_nothing_between_configurations_is_refused():
    with pytest.raises(InputError, match=r"padding is 0\.0005 m; give at least 0\.002"):
        ServoSettings(padding=0.0005)
