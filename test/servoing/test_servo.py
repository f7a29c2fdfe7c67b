"""The servo: limits, obstacles, singularities, stops and bad input, looked at in the motion that it commands."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from geometry.arms import at
from manipapy_core import Robot, kinematics, lie
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, Checker, RobotBody, World
from manipapy_core.geometry.exact import ExactChecker
from manipapy_core.polytopes import Axes
from manipapy_core.servoing import ArmServo, JointJog, PoseTarget, ServoSettings, ServoStatus, TwistCommand, stops
from manipapy_core.servoing.near_rows import NearRowSearch

DT = 0.004
ENDS = {"ur5": ("base_link", "tool0"), "panda": ("panda_link0", "panda_hand_tcp")}
HOME = {
    "ur5": np.array([0.0, -1.2, 1.2, -1.57, -1.57, 0.0]),
    "panda": np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
}
ARMS = sorted(HOME)


@functools.cache
def body(arm):
    robot = Robot.from_urdf(arm)
    return RobotBody.build(robot, robot.chain(*ENDS[arm]))


def servo(arm, world=None, q=None, **settings):
    return ArmServo(Checker(body(arm), world), ServoSettings(**settings), q=HOME[arm] if q is None else q)


def run(servo, command, seconds):
    """The steps of a command."""
    return [servo.step(command, DT) for _ in range(round(seconds / DT))]


def tip(servo):
    return kinematics.forward(servo.chain, servo.q)


def assert_within_limits(servo, steps):
    q, qd, qdd = (np.array([getattr(step, name) for step in steps]) for name in ("q", "qd", "qdd"))
    limits = servo.chain.limits
    assert (q >= limits.lower).all() and (q <= limits.upper).all()
    assert (np.abs(qd) <= servo.speed * (1 + 1e-9)).all()
    assert (np.abs(qdd) <= servo.acceleration * (1 + 1e-9)).all()
    assert (np.abs(np.diff(qdd, axis=0)) / DT <= servo.jerk * (1 + 1e-6)).all()
    # The derivatives belong to the positions: at constant jerk the mean velocity is exact to third order.
    assert np.abs(np.diff(q, axis=0) / DT - 0.5 * (qd[1:] + qd[:-1])).max() < servo.jerk.max() * DT**2


def test_a_stop_keeps_its_limits_and_ends_at_rest():
    rng = np.random.default_rng(0)
    for _ in range(200):
        limit, jerk = rng.uniform(0.5, 20.0, 1), rng.uniform(5.0, 5000.0, 1)
        state = np.array([rng.normal(size=1), rng.normal(size=1), rng.uniform(-1.0, 1.0, 1) * limit])
        times = np.linspace(0.0, stops.stop_time(state, limit, jerk), 4001)
        out = np.empty((len(times), 3, 1))
        stops.sample_stop(state, limit, jerk, times, out)
        q, qd, qdd = out[:, 0, 0], out[:, 1, 0], out[:, 2, 0]
        step = times[1]
        assert np.abs(qdd).max() <= limit[0] * (1 + 1e-9) and abs(qd[-1]) < 1e-9 and abs(qdd[-1]) < 1e-9
        assert np.abs(np.diff(qdd)).max() <= jerk[0] * step * (1 + 1e-6)
        assert q[-1] - q[0] == pytest.approx(np.trapezoid(qd, times), rel=1e-3, abs=1e-4)
        assert qd[-1] - qd[0] == pytest.approx(np.trapezoid(qdd, times), rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("arm", ARMS)
def test_rows_are_the_derivatives_of_distances(arm):
    world, rng = World(), np.random.default_rng(1)
    for k in range(8):
        world.add(f"box {k}", Box(rng.uniform(0.05, 0.2, 3)), lie.pose(translation=rng.uniform(-0.6, 0.6, 3)))
    search = NearRowSearch(body(arm), world.snapshot(), 0.2, 0.2)
    compared = 0
    for _ in range(6):
        q = HOME[arm] + rng.uniform(-0.5, 0.5, len(HOME[arm]))
        found = search.rows(q)
        pairs, rows, distance = found.pair.copy(), found.rows.copy(), found.distance.copy()
        for k, pair in enumerate(pairs):
            slopes = []
            for j in range(len(q)):
                ends = []
                for side in (1e-5, -1e-5):
                    beside = q.copy()
                    beside[j] += side
                    there = search.rows(beside)
                    ends += there.distance[there.pair == pair].tolist()
                slopes.append((ends[0] - ends[1]) / 2e-5 if len(ends) == 2 else np.nan)
            if distance[k] > 0.01 and np.isfinite(slopes).all() and np.allclose(-rows[k], slopes, atol=0.02):
                compared += 1
            elif distance[k] > 0.01 and np.isfinite(slopes).all():
                # Where an edge faces a face the nearest point jumps along it; the slope lies beside.
                assert np.abs(-rows[k] - slopes).max() < 0.2, (search.names(pair), rows[k], slopes)
    assert compared > 20


@pytest.mark.parametrize("arm", ARMS)
def test_random_commands_among_boxes_break_no_limit_and_touch_nothing(arm):
    pytest.importorskip("coal")
    rng, world = np.random.default_rng(5), World()
    start = Checker(body(arm), world, padding=0.03)
    while len(world.snapshot().objects) < 12:
        name, angle = f"box {len(world.snapshot().objects)}", rng.uniform(-np.pi, np.pi)
        where = [0.55 * np.cos(angle), 0.55 * np.sin(angle), rng.uniform(0.0, 0.9)]
        world.add(name, Box(rng.uniform(0.05, 0.2, 3)), at(*where))
        if start.collides(HOME[arm]):
            world.remove(name)
    arm_servo, steps = servo(arm, world), []
    for k in range(32):
        twist = rng.normal(size=6) * [0.8, 0.8, 0.8, 0.3, 0.3, 0.3]
        command = [
            TwistCommand(twist),
            TwistCommand(twist, Axes.TIP),
            JointJog(rng.normal(size=arm_servo.chain.n)),
            None,
        ]
        steps += run(arm_servo, command[k % 4], 0.5)
    assert_within_limits(arm_servo, steps)
    exact = ExactChecker(body(arm), world)
    assert not any(exact.collides(step.q) for step in steps[::10])
    assert any(step.status is ServoStatus.OBSTACLE for step in steps), "obstacles were met"


@pytest.mark.parametrize("arm", ARMS)
def test_the_arm_slides_along_a_wall_and_names_it(arm):
    world = World()
    servo_ = servo(arm, world)
    wall = tip(servo_)[:3, 3] + [0.25, 0.0, 0.0]
    world.add("wall", Box([0.1, 2.0, 2.0]), at(*wall))
    servo_.set_world(world.snapshot())
    before = tip(servo_)[:3, 3]
    steps = run(servo_, TwistCommand([0.0, 0.0, 0.0, 0.15, 0.1, 0.0]), 2.5)
    moved = tip(servo_)[:3, 3] - before
    assert moved[1] > 0.1, "it continues along the wall"
    assert any("wall" in step.text for step in steps if step.status is ServoStatus.OBSTACLE)
    assert not Checker(body(arm), world, padding=0.003).check(np.array([step.q for step in steps])).any()


def test_an_obstacle_that_appears_ahead_stops_the_arm():
    world = World()
    arm = servo("ur5", world)
    run(arm, TwistCommand([0.0, 0.0, 0.0, 0.0, 0.1, 0.0]), 0.8)
    world.add("late", Box([0.4, 0.1, 0.4]), at(*(tip(arm)[:3, 3] + [0.0, 0.2, 0.0])))
    arm.set_world(world.snapshot())
    steps = run(arm, TwistCommand([0.0, 0.0, 0.0, 0.0, 0.1, 0.0]), 4.0)
    assert not Checker(body("ur5"), world).check(np.array([step.q for step in steps])).any()
    assert np.abs(steps[-1].qd).max() < 0.05 and "late" in steps[-1].text


LINES = {
    "wrist": ([0.0, -1.2, 1.5, -0.8, 0.0, 0.3], [0.88, 0.0, -0.47]),
    "wrist, across": ([0.5, -1.8, 1.9, -1.0, 0.0, 0.3], [0.82, 0.45, 0.37]),
    "shoulder": ([0.0, -1.1086, 2.0, -0.5, -1.2, 0.3], [0.98, 0.0, 0.19]),
}


@pytest.mark.parametrize("kind", LINES)
def test_a_line_through_a_singularity_is_followed(kind):
    q, direction = LINES[kind]
    arm, direction = servo("ur5", q=np.array(q)), np.array(direction) / np.linalg.norm(direction)
    run(arm, TwistCommand(np.r_[0.0, 0.0, 0.0, -0.08 * direction]), 1.0)
    run(arm, None, 1.0)
    start, steps, off = tip(arm), [], 0.0
    for _ in range(round(2.5 / DT)):
        steps.append(arm.step(TwistCommand(np.r_[0.0, 0.0, 0.0, 0.08 * direction]), DT))
        moved = tip(arm)[:3, 3] - start[:3, 3]
        off = max(off, np.linalg.norm(np.cross(moved, direction)))
    assert moved @ direction > 0.12 and off < 0.002
    assert_within_limits(arm, steps)


def test_a_stretched_arm_bends_when_it_is_pulled_in():
    arm = servo("ur5", q=np.array([0.0, -1.0, 0.0, -0.5, -1.2, 0.0]))
    inward = np.array([-0.53, -0.05, -0.84])
    start = tip(arm)[:3, 3]
    steps = run(arm, TwistCommand(np.r_[0.0, 0.0, 0.0, 0.1 * inward]), 2.5)
    moved = tip(arm)[:3, 3] - start
    assert moved @ inward > 0.05 and np.linalg.norm(np.cross(moved, inward)) < 0.002
    assert_within_limits(arm, steps)


@pytest.mark.parametrize("side", [-0.01, 0.01])
def test_an_arm_of_little_acceleration_does_not_swing_about_its_path(side):
    arm = servo("ur5", q=np.array([0.0, -1.0 - 0.5 * side, side, -0.5 - 0.5 * side, -1.2, 0.0]))
    inward = np.array([-0.53, -0.05, -0.84]) / np.linalg.norm([-0.53, -0.05, -0.84])
    start, along, off = tip(arm)[:3, 3], [], 0.0
    for _ in range(round(3.0 / DT)):
        arm.step(TwistCommand(np.r_[0.0, 0.0, 0.0, 0.1 * inward]), DT)
        moved = tip(arm)[:3, 3] - start
        along.append(moved @ inward)
        off = max(off, np.linalg.norm(np.cross(moved, inward)))
    assert along[-1] > 0.2 and np.diff(along).min() > -1e-6, "it continues and never back"
    assert off < 0.001


def test_an_impossible_direction_is_reported_as_lost():
    arm = servo("ur5", q=np.array([0.0, -1.0, 0.0, -0.5, -1.2, 0.0]))
    outward = np.array([0.53, 0.05, 0.84])
    steps = run(arm, TwistCommand(np.r_[0.0, 0.0, 0.0, 0.05 * outward]), 1.0)
    assert steps[-1].status in (ServoStatus.SINGULAR, ServoStatus.DIRECTION_LOST)
    assert steps[-1].lost[3:] @ outward > 0.01 and "lost" in steps[-1].text


@pytest.mark.parametrize("arm", ARMS)
def test_silence_ends_in_rest_in_the_direction_of_motion(arm):
    moving = servo(arm)
    run(moving, TwistCommand([0.0, 0.0, 0.0, 0.0, 0.0, 0.15]), 0.8)
    start, expected = tip(moving)[:3, 3], moving.stop_time
    steps = run(moving, None, 1.2 * expected + 0.2)
    assert_within_limits(moving, steps)
    assert moving.at_rest and steps[-1].status is ServoStatus.IDLE
    moved = tip(moving)[:3, 3] - start
    assert moved[2] > 0.0 and np.abs(moved[:2]).max() < 0.002
    held = moving.q
    run(moving, None, 0.2)
    np.testing.assert_array_equal(moving.q, held)


def test_a_trajectory_of_a_cycle_joins_the_last_one_and_ends_at_rest():
    arm = servo("panda")
    run(arm, TwistCommand([0.0, 0.3, 0.0, 0.1, 0.0, 0.0]), 0.5)
    before = np.stack([arm.q, arm.qd])
    arm.step(TwistCommand([0.0, 0.3, 0.0, 0.1, 0.0, 0.0]), DT)
    times, states = arm.trajectory()
    np.testing.assert_array_equal(states[0, :2], before)
    np.testing.assert_array_equal(states[1, 0], arm.q)
    assert times[0] == 0.0 and times[1] == DT and (np.diff(times) > 0.0).all() and not states[-1, 1:].any()


BAD = {
    "nan twist": lambda: TwistCommand([np.nan, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "short twist": lambda: TwistCommand([0.1, 0.0, 0.0]),
    "infinite jog": lambda: JointJog([np.inf, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "nan pose": lambda: PoseTarget(np.full((4, 4), np.nan)),
    "pose without rotation": lambda: PoseTarget(np.diag([2.0, 1.0, 1.0, 1.0])),
    "jog of other joints": lambda: servo("ur5").step(JointJog([0.1, 0.1]), DT),
    "zero time": lambda: servo("ur5").step(None, 0.0),
    "nan state": lambda: servo("ur5", q=np.full(6, np.nan)),
    "negative speed": lambda: ServoSettings(linear_speed=-1.0),
    "security beyond influence": lambda: ServoSettings(security=0.2, influence=0.1),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    with pytest.raises(InputError):
        BAD[case]()


def test_a_twist_beyond_limits_is_scaled_in_its_direction():
    arm = servo("panda")
    start = tip(arm)[:3, 3]
    steps = run(arm, TwistCommand([0.0, 0.0, 0.0, 0.0, 3.0, 4.0]), 0.3)
    assert steps[-1].status is ServoStatus.SCALED and steps[-1].scale == pytest.approx(0.1, rel=0.02)
    moved = tip(arm)[:3, 3] - start
    assert np.linalg.norm(np.cross(moved, [0.0, 0.6, 0.8])) < 0.03 * np.linalg.norm(moved)


def test_a_jog_stops_at_the_position_limit_and_names_the_joint():
    arm = servo("panda")
    velocities = np.zeros(7)
    velocities[6] = 1.5
    steps = run(arm, JointJog(velocities), 3.0)
    limit = arm.chain.limits.upper[6]
    assert limit - 0.02 < arm.q[6] <= limit and steps[-1].status is ServoStatus.JOINT_LIMIT
    assert "panda_joint7" in steps[-1].text
    run(arm, JointJog(-velocities), 1.0)
    assert arm.q[6] < limit - 0.5, "it leaves the limit again"


@pytest.mark.parametrize("arm", ARMS)
def test_a_pose_target_is_reached(arm):
    going = servo(arm)
    target = tip(going) @ lie.pose(lie.exp_so3([0.2, 0.3, -0.4]), [0.05, -0.06, 0.04])
    steps = run(going, PoseTarget(target), 5.0)
    assert steps[-1].status is ServoStatus.REACHED and going.at_rest
    assert np.abs(tip(going) - target).max() < 1e-3
    assert_within_limits(going, steps)


def test_a_moving_target_is_followed_closely():
    arm, speed = servo("panda"), 0.05
    target, lag = tip(arm), []
    for _ in range(round(3.0 / DT)):
        target[1, 3] += speed * DT
        arm.step(PoseTarget(target.copy(), [0.0, 0.0, 0.0, 0.0, speed, 0.0]), DT)
        lag.append(np.linalg.norm(tip(arm)[:3, 3] - target[:3, 3]))
    assert max(lag[500:]) < 0.001


def test_a_target_out_of_reach_is_reported():
    arm = servo("ur5")
    target = tip(arm)
    target[:3, 3] = [1.5, 0.0, 0.5]
    steps = run(arm, PoseTarget(target), 12.0)
    assert np.abs(steps[-1].qd).max() < 0.05
    assert {step.status for step in steps[-50:]} & {ServoStatus.OUT_OF_REACH, ServoStatus.SINGULAR}


def test_free_joints_move_to_the_posture_without_moving_the_tip_off_its_path():
    ends = {}
    for gain in (0.0, 0.8):
        arm = servo(
            "panda", q=HOME["panda"] + [0.6, 0.0, -0.6, 0.0, 0.0, 0.0, 0.0], posture_gain=gain, clearance_gain=0.0
        )
        start = tip(arm)[:3, 3]
        for sign in (1.0, -1.0, 1.0, -1.0):
            run(arm, TwistCommand([0.0, 0.0, 0.0, 0.0, 0.0, sign * 0.05]), 1.0)
            off = tip(arm)[:3, 3] - start
            assert np.abs(off[:2]).max() < 0.001
        ends[gain] = np.linalg.norm(arm.q - arm.posture)
    assert ends[0.8] < ends[0.0] - 0.1


@pytest.mark.parametrize("arm", ARMS)
def test_a_jog_of_one_joint_does_not_carry_the_braking_of_the_others_on(arm):
    moving = servo(arm)
    run(moving, TwistCommand([0.0, 0.0, 0.0, 0.0, 0.1, 0.0]), 0.6)
    while np.abs(moving.qd).max() > 0.01:  # the client is silent, and the arm nearly at rest
        moving.step(None, DT)
    rest = moving.stop_path([moving.stop_time])[0, 0]
    velocity = np.zeros(moving.chain.n)
    velocity[-1] = 0.5
    steps = run(moving, JointJog(velocity), 1.0)
    assert_within_limits(moving, steps)
    assert steps[-1].qd[-1] == pytest.approx(0.5, abs=1e-3)
    others = np.array([step.q[:-1] for step in steps])
    assert np.abs(others - rest[:-1]).max() < 5e-4
