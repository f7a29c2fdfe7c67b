"""`plan`: every kind of goal, every failure status, and the guarantees about the trajectory."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from geometry.arms import arm, at
from manipapy_core import InputError, dynamics, kinematics, lie
from manipapy_core.errors import NotFiniteError, ShapeError
from manipapy_core.geometry import Box, Checker, PointCloud, World
from manipapy_core.ik import NotAPose
from manipapy_core.motion import (
    JointGoal,
    NamedGoal,
    Planner,
    PlanPhase,
    PlanStatus,
    PoseGoal,
    RegionGoal,
    TimeLaw,
    plan,
    verify,
)
from manipapy_core.trajectory.bounds import motion_bounds
from motion.scenes import READY, coal_scene, problem


@pytest.fixture(scope="module")
def empty():
    return Checker(arm("panda")[2])


@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_a_pose_behind_obstacles_is_reached_without_touching(robot):
    one = problem(robot, "shelf", 2)
    chain = one.checker.body.chain
    result = plan(one.checker, one.start, PoseGoal(one.T_goal), timeout=60.0)
    assert result.success, result.message
    motion, seen = result.trajectory, result.verification
    np.testing.assert_allclose(kinematics.forward(chain, motion.positions[-1]), one.T_goal, atol=1e-4)
    np.testing.assert_array_equal(motion.positions[0], one.start)
    assert seen.passed and seen.samples > 100
    assert not coal_scene(one).check(motion.positions[::2]).any()
    assert result.goals > (1 if robot == "panda" else 0)
    parts = result.timings
    total = parts.goals + parts.search + parts.smoothing + parts.time_law + parts.verification
    assert 0.5 * parts.total < total <= parts.total


def test_region_named_and_joint_goals(empty):
    chain, ready = empty.body.chain, READY["panda"]
    T = kinematics.forward(chain, ready + 0.3)
    region = plan(empty, ready, RegionGoal(T, position=(0.05, 0.0, 0.02), rotation=(0.0, 0.0, np.pi)), law=None)
    off = lie.inverse(T) @ kinematics.forward(chain, region.path[-1])
    assert np.all(np.abs(off[:3, 3]) <= np.array([0.05, 0.0, 0.02]) + 1e-4)
    assert np.allclose(off[2, :3], [0.0, 0.0, 1.0], atol=1e-3)
    states = {"ready": ready + 0.3, "home": ready}
    np.testing.assert_array_equal(plan(empty, ready, NamedGoal("ready", states), law=None).path[-1], ready + 0.3)
    np.testing.assert_array_equal(plan(empty, ready, JointGoal(ready + 0.3), law=None).path[-1], ready + 0.3)
    with pytest.raises(InputError, match="no joint positions are named 'rdy'; known names: ready, home"):
        plan(empty, ready, NamedGoal("rdy", states))


def test_start_at_the_goal_is_a_motion_that_stays(empty):
    result = plan(empty, READY["panda"], READY["panda"])
    assert result.success and len(result.path) == 2
    np.testing.assert_array_equal(result.trajectory.positions, np.tile(READY["panda"], (2, 1)))


def turned(q, angle):
    """The first joint turned."""
    return q + angle * np.eye(len(q))[0]


def boxed(T) -> Checker:
    world = World()
    world.add("crate", Box([0.1, 0.1, 0.1]), T)
    return Checker(arm("panda")[2], world)


def test_collisions_at_the_ends_are_named(empty):
    chain, ready = empty.body.chain, READY["panda"]
    T = kinematics.forward(chain, ready)
    start = plan(boxed(T), ready, ready + 0.5)
    assert start.status is PlanStatus.START_IN_COLLISION and "crate" in start.message
    assert start.status.moveit_code == -10
    checker = boxed(T)
    goal = plan(checker, turned(ready, 1.5), PoseGoal(T))
    assert goal.status is PlanStatus.GOAL_IN_COLLISION and "crate" in goal.message
    assert goal.trajectory is None


def test_a_start_outside_limits_is_accepted_within_the_tolerance_only(empty):
    chain = empty.body.chain
    q = READY["panda"].copy()
    q[0] = chain.limits.upper[0] + 1e-8
    assert plan(empty, q, READY["panda"]).success
    q[0] = chain.limits.upper[0] + 0.1
    result = plan(empty, q, READY["panda"])
    assert result.status is PlanStatus.START_OUTSIDE_LIMITS
    assert "panda_joint1" in result.message and "move it back" in result.message
    assert plan(empty, READY["panda"], q).status is PlanStatus.GOAL_OUTSIDE_LIMITS


@pytest.mark.parametrize("beyond", [0.0, 5e-7, 5e-6, 9e-5])
def test_a_start_at_a_joint_limit_is_left_inwards(empty, beyond):
    chain = empty.body.chain
    lower, upper = chain.limits.lower, chain.limits.upper
    for joint in range(chain.n):
        for limit, outwards in ((upper[joint], beyond), (lower[joint], -beyond)):
            q = READY["panda"].copy()
            q[joint] = limit + outwards
            if empty.collides(q):
                continue
            for goal in (READY["panda"], np.where(np.arange(7) == joint, limit, READY["panda"] + 0.2)):
                result = plan(empty, q, goal)
                assert result.success, result.message
                rows = result.trajectory.positions
                np.testing.assert_array_equal(rows[0], q)
                np.testing.assert_allclose(rows[-1], goal, atol=1e-12)
                outside = np.maximum(lower - rows, rows - upper).max(axis=1)
                assert outside.max() <= beyond + 1e-9
                assert np.all(np.diff(outside[outside > 1e-9]) <= 1e-9)


def test_a_held_joint_beyond_its_limit_stays(empty):
    chain = empty.body.chain
    q = READY["panda"].copy()
    q[0] = chain.limits.upper[0] + 5e-5
    result = plan(empty, q, READY["panda"] + 0.1, joints=chain.joint_names[1:])
    assert result.success, result.message
    np.testing.assert_allclose(result.trajectory.positions[:, 0], q[0], rtol=0.0, atol=1e-12)


def test_an_unreachable_pose_has_its_own_status(empty):
    T = at(0.0, 0.0, 3.0)
    result = plan(empty, READY["panda"], PoseGoal(T))
    assert result.status is PlanStatus.UNREACHABLE and "mm" in result.message


@pytest.mark.parametrize(
    ("start", "goal", "error"),
    [
        (np.full(7, np.nan), np.zeros(7), NotFiniteError),
        (np.zeros(6), np.zeros(7), ShapeError),
        (np.zeros((2, 7)), np.zeros(7), ShapeError),
        (READY["panda"], [np.inf] + [0.0] * 6, NotFiniteError),
        (READY["panda"], np.zeros((0, 7)), ShapeError),
        (READY["panda"], PoseGoal(2.0 * np.eye(4)), NotAPose),
        (READY["panda"], PoseGoal(np.full((4, 4), np.nan)), InputError),
        (READY["panda"], RegionGoal(np.eye(4), position=(-1.0, 0.0, 0.0)), InputError),
        (READY["panda"], "home", InputError),
    ],
)
def test_invalid_starts_and_goals_are_refused(empty, start, goal, error):
    with pytest.raises(error):
        plan(empty, start, goal)


def test_invalid_options_are_refused(empty):
    ready = READY["panda"]
    for options in ({"timeout": 0.0}, {"velocity_scaling": 0.0}, {"acceleration_scaling": 1.5}, {"cancel": 3}):
        with pytest.raises(InputError):
            plan(empty, ready, ready + 0.1, **options)


def test_scaling_makes_motions_slower(empty):
    ready = READY["panda"]
    full = plan(empty, ready, ready + 0.5).trajectory.times[-1]
    half = plan(empty, ready, ready + 0.5, velocity_scaling=0.5, acceleration_scaling=0.25).trajectory.times[-1]
    assert half == pytest.approx(2.0 * full, rel=0.1)


def test_effort_limits_are_kept(empty):
    chain, ready = empty.body.chain, READY["panda"]
    motion = plan(empty, ready, ready + np.array([0.5, 1.0, 0.3, 0.8, 0.2, 0.4, 0.1]), effort_limits=True).trajectory
    tau = dynamics.inverse_dynamics(chain, motion.positions, motion.velocities, motion.accelerations)
    assert np.all(np.abs(tau) <= chain.limits.effort * (1 + 1e-6))


@pytest.mark.parametrize("phase", PlanPhase)
def test_cancel_ends_every_phase(phase):
    one = problem("panda", "cage", 1)
    cancel = threading.Event()

    def progress(now: PlanPhase, cost: float) -> None:
        if now is phase:
            cancel.set()

    result = plan(one.checker, one.start, PoseGoal(one.T_goal), cancel=cancel, progress=progress, timeout=60.0)
    assert result.status is PlanStatus.CANCELLED and result.trajectory is None
    assert phase.value in result.message and result.status.moveit_code == -7


def test_timeout_is_reported():
    one = problem("panda", "slot", 0)
    result = plan(one.checker, one.start, one.goal, timeout=1e-4)
    assert result.status is PlanStatus.TIMEOUT and "allow more time" in result.message


def test_a_search_checks_its_deadline_between_slices():
    """It is asked at the beginning of a phase, at its end, and before the first slice of a search."""
    one = problem("panda", "slot", 0)
    looks = []

    def enough() -> bool:
        looks.append(len(looks))
        return len(looks) > 3

    result = plan(one.checker, one.start, one.goal, cancel=enough, timeout=60.0)
    assert result.status is PlanStatus.CANCELLED and "search" in result.message and len(looks) == 4


def test_a_large_point_cloud_is_planned_around():
    body = arm("panda")[2]
    rng = np.random.default_rng(0)
    points = rng.uniform([0.35, -0.05, 0.0], [0.7, 0.05, 0.8], (200_000, 3))
    world = World()
    world.add("cloud", PointCloud(points, 0.02))
    checker = Checker(body, world)
    start, goal = turned(READY["panda"], 0.9), turned(READY["panda"], -0.9)
    assert checker.check_edges(start, goal, 0.02)
    result = plan(checker, start, goal, timeout=60.0)
    assert result.success, result.message
    origins = kinematics.link_poses(body.chain, result.trajectory.positions)[..., :3, 3].reshape(-1, 3)
    inside = np.all((origins > [0.35, -0.05, 0.0]) & (origins < [0.7, 0.05, 0.8]), axis=1)
    assert not inside.any()


def test_verification_finds_a_trajectory_through_an_obstacle():
    one = problem("panda", "table", 0)
    blind = plan(Checker(one.checker.body), one.start, one.goal)
    from manipapy_core.motion import PlanningSpace

    space = PlanningSpace.around(one.checker, one.start, one.goal[None])
    seen = verify(blind.trajectory, motion_bounds(one.checker.body.chain), space=space)
    assert not seen.passed and seen.collision_time is not None
    hits = blind.trajectory.times[one.checker.check(blind.trajectory.positions)]
    assert seen.collision_time <= hits[0] and hits[0] - seen.collision_time < 0.011


def test_ruckig_stays_on_the_polyline_and_planners_agree_on_the_ends():
    one = problem("ur5", "table", 1)
    result = plan(one.checker, one.start, one.goal, law=TimeLaw.RUCKIG, timeout=60.0)
    assert result.success
    corners = result.path
    for q in result.trajectory.positions[::10]:
        ways, away = np.diff(corners, axis=0), q - corners[:-1]
        share = np.clip((ways * away).sum(1) / (ways**2).sum(1), 0.0, 1.0)
        assert np.linalg.norm(away - share[:, None] * ways, axis=1).min() < 1e-5


def test_straight_planner_names_the_obstacle():
    one = problem("ur5", "table", 1)
    result = plan(one.checker, one.start, one.goal, planner=Planner.STRAIGHT)
    assert result.status is PlanStatus.NO_PATH and "blocked" in result.message


@pytest.mark.parametrize(("robot", "wanted"), [("panda", 0.01), ("ur5", 0.01), ("ur5", 0.001)])
def test_the_padding_that_is_kept_is_reported(robot, wanted):
    one = problem(robot, "table", 1)
    result = plan(one.checker, one.start, PoseGoal(one.T_goal), padding=wanted, timeout=60.0)
    assert result.success, result.message
    assert 0.0 < result.padding <= wanted + 1e-12
    assert ("instead of" in result.message) == (result.padding < 0.99 * wanted)
    thicker = one.checker.padded(one.checker.padding + 0.9 * result.padding)
    assert not thicker.check(result.path).any()
