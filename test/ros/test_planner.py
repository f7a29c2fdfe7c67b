"""The planner over DDS, beside a simulated arm: motions around objects, the world, and every failure."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import Point32
from manipapy_msgs.action import Move, PlanMotion
from manipapy_msgs.msg import MotionRequest

from manipapy_core import dynamics, kinematics, lie
from manipapy_core.geometry import Box, Checker, World
from manipapy_ros.common.conversions import pose_from_matrix
from ros_arm import ABORTED, HOME, SUCCEEDED
from ros_planner import (
    BAD_REQUESTS,
    LEFT,
    PILLAR_AT,
    PILLAR_SIZE,
    RIGHT,
    PlannedArm,
    Request,
    joints,
    move,
    to,
    to_links,
    to_pose,
    with_fields,
)

RATES = ("velocities", "accelerations")
BLOCK_SIZE = [0.02, 0.02, 0.02]
"""[m]"""


@pytest.fixture(scope="module")
def shared(start_for_module, peer):
    return PlannedArm(peer, start_for_module)


@pytest.fixture
def planned(shared):
    """In an empty world, at RIGHT."""
    shared.change(Request.DETACH)
    assert shared.change(Request.CLEAR).success
    status, result = shared.execute(move(RIGHT))
    assert status == SUCCEEDED, result.text
    return shared


def test_a_plan_goes_around_and_moves_nothing(planned):
    planned.add_pillar()
    before, phases = planned.states.q(), []
    status, result = planned.execute(
        PlanMotion.Goal(request=to(LEFT)), lambda message: phases.append(message.feedback.phase)
    )
    assert (status, result.error_code) == (SUCCEEDED, 1), result.text
    rows = np.array([point.positions for point in result.trajectory.points])
    np.testing.assert_allclose(rows[-1], LEFT, atol=1e-6)
    checker = planned.checker(PILLAR_AT)
    assert not checker.check(rows).any()
    assert checker.check_edges(RIGHT, LEFT, 0.01), "the pillar must stand in the straight way, or this shows nothing"
    np.testing.assert_allclose(planned.states.q(), before, atol=1e-3)
    assert {"search", "time law", "verification"} <= set(phases)


def test_a_motion_arrives_around_an_obstacle(planned):
    planned.add_pillar()
    checker = planned.checker(PILLAR_AT)
    handle = planned.send(move(LEFT))
    seen = []
    planned.states.wait_until(
        lambda state: seen.append(list(state.position)) or abs(state.position[0] - LEFT[0]) < 0.01, "the arm to arrive"
    )
    status, result = planned.arm.outcome(handle)
    assert (status, result.planned) == (SUCCEEDED, 1), result.text
    planned.states.assert_still()
    assert np.abs(planned.states.q() - LEFT).max() < 0.002
    assert len(seen) > 50
    assert not checker.check(np.array(seen)).any()


def test_an_obstacle_that_appears_stops_the_arm_which_then_goes_around(planned):
    checker = planned.checker(PILLAR_AT)
    handle = planned.send(move(LEFT, velocity_scaling=0.3))
    planned.states.wait_until(lambda state: state.position[0] > RIGHT[0] + 0.15, "the arm to be on its way")
    planned.add_pillar()
    seen = []
    planned.states.wait_until(
        lambda state: seen.append(list(state.position)) or abs(state.position[0] - LEFT[0]) < 0.005, "the arm to arrive"
    )
    status, result = planned.arm.outcome(handle)
    assert status == SUCCEEDED, result.text
    assert result.planned >= 2
    assert not checker.check(np.array(seen)).any(), "the arm touched the pillar"
    planned.states.assert_still()


def test_a_goal_that_becomes_blocked_ends_with_a_still_arm(planned):
    tip = kinematics.forward(planned.chain, LEFT)[:3, 3]
    handle = planned.send(move(LEFT, velocity_scaling=0.3))
    planned.states.wait_until(lambda state: state.position[0] > RIGHT[0] + 0.15, "the arm to be on its way")
    planned.add_pillar(at=tip.tolist())
    status, result = planned.arm.outcome(handle)
    assert (status, result.error_code) == (ABORTED, -12)
    assert "pillar" in result.text
    planned.states.wait_until_still()
    planned.states.assert_still()
    assert not planned.checker(tip).collides(planned.states.q())


def test_only_one_motion_at_a_time(planned):
    handle = planned.send(move(LEFT, velocity_scaling=0.3))
    planned.states.wait_until_moving()
    status, result = planned.execute(move(HOME))
    assert status == ABORTED
    assert "another motion" in result.text
    assert planned.arm.outcome(handle)[0] == SUCCEEDED


def test_poses_names_and_straight_lines(planned):
    status, result = planned.execute(Move.Goal(request=MotionRequest(kind=MotionRequest.NAMED, named="home")))
    assert status == SUCCEEDED, result.text
    assert np.abs(planned.states.q() - HOME).max() < 0.002
    T = kinematics.forward(planned.chain, HOME)
    lower = T.copy()
    lower[2, 3] -= 0.1
    straight = to_pose(lower)
    straight.kind = MotionRequest.STRAIGHT
    status, result = planned.execute(PlanMotion.Goal(request=straight))
    assert (status, result.fraction) == (SUCCEEDED, 1.0), result.text
    rows = np.array([point.positions for point in result.trajectory.points])
    tips = kinematics.forward(planned.chain, rows)
    np.testing.assert_allclose(tips[:, :2, 3], np.broadcast_to(T[:2, 3], (len(rows), 2)), atol=1e-3)
    assert tips[-1, 2, 3] == pytest.approx(lower[2, 3], abs=1e-4)
    status, result = planned.execute(Move.Goal(request=to_pose(lower)))
    assert status == SUCCEEDED, result.text
    reached = kinematics.forward(planned.chain, planned.states.q())
    np.testing.assert_allclose(reached, lower, atol=3e-3)


def is_free(planned, rows, at) -> bool:
    """Whether the arm stays half a millimetre away from a block."""
    world = World()
    world.add("block", Box(BLOCK_SIZE), lie.pose(translation=at))
    return not Checker(planned.body, world).padded(5e-4).check(rows).any()


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"planner": "rrt_connect"}, "no use for planner"),
        ({"seed": 3}, "no use for seed"),
        ({"links": ["tool0"]}, "no use for links"),
        ({"time_law": "ruckig"}, "ruckig would stop at every pose"),
    ],
)
def test_a_straight_motion_refuses_options_that_it_cannot_keep(planned, option, reason):
    request = to_pose(kinematics.forward(planned.chain, HOME), **option)
    request.kind = MotionRequest.STRAIGHT
    status, result = planned.execute(PlanMotion.Goal(request=request))
    assert status == ABORTED and reason in result.text
    planned.states.assert_still()


def test_a_straight_motion_keeps_its_padding_time_law_and_effort_limits(planned):
    goal = kinematics.forward(planned.chain, RIGHT)
    goal[0, 3] += 0.2
    request = to_pose(goal, time_law="toppra", effort_limits=True, padding=0.0015)
    request.kind = MotionRequest.STRAIGHT
    status, result = planned.execute(PlanMotion.Goal(request=request))
    assert (status, result.fraction) == (SUCCEEDED, 1.0), result.text
    rows = np.array([point.positions for point in result.trajectory.points])
    rates = (np.array([getattr(point, name) for point in result.trajectory.points]) for name in RATES)
    tau = dynamics.inverse_dynamics(planned.chain, rows, *rates)
    assert (np.abs(tau) <= planned.chain.limits.effort * (1.0 + 1e-6)).all()
    # A block below the middle of the line, so near that only the padded arm touches it.
    x, y, z = kinematics.forward(planned.chain, rows[len(rows) // 2])[:3, 3]
    block = next(at for at in ([x, y, z - d] for d in np.arange(0.0, 0.3, 5e-4)) if is_free(planned, rows, at))
    pose = pose_from_matrix(lie.pose(translation=block))
    assert planned.change(Request.ADD, id="block", type="box", dimensions=BLOCK_SIZE, pose=pose).success
    for padding, expected in ((-1.0, SUCCEEDED), (0.0015, ABORTED)):
        request.padding = padding
        status, result = planned.execute(PlanMotion.Goal(request=request))
        assert status == expected, result.text
    assert "within the padding" in result.text and "block" in result.text and 0.2 < result.fraction < 0.6


def test_poses_of_two_links_at_once(planned):
    poses = kinematics.link_poses(planned.chain, LEFT)
    wanted = {link: poses[planned.chain.link_names.index(link)] for link in ("forearm_link", "tool0")}
    status, result = planned.execute(PlanMotion.Goal(request=to_links(wanted)))
    assert status == SUCCEEDED, result.text
    reached = kinematics.link_poses(planned.chain, result.trajectory.points[-1].positions)
    for link, T in wanted.items():
        np.testing.assert_allclose(reached[planned.chain.link_names.index(link)], T, atol=1e-5)


@pytest.mark.parametrize(
    ("request_", "code", "text"),
    BAD_REQUESTS,
    ids=lambda value: str(value)[:20] if isinstance(value, str) else "",
)
def test_bad_requests_are_answered(shared, request_, code, text):
    status, result = shared.execute(PlanMotion.Goal(request=request_))
    assert status == ABORTED
    assert text in result.text
    assert not result.trajectory.points
    if code is not None:
        assert result.error_code == code


def test_a_goal_in_collision_says_with_what(planned):
    planned.add_pillar(at=kinematics.forward(planned.chain, LEFT)[:3, 3].tolist())
    status, result = planned.execute(PlanMotion.Goal(request=to(LEFT)))
    assert (status, result.error_code) == (ABORTED, -12)
    assert "pillar" in result.text
    status, result = planned.execute(PlanMotion.Goal(request=to(LEFT, may_touch=["pillar"])))
    assert status == SUCCEEDED, result.text


def test_a_start_a_hair_outside_the_limits_is_accepted(planned):
    start = joints([planned.chain.limits.upper[5] + 1e-8], ["wrist_3_joint"])
    status, result = planned.execute(PlanMotion.Goal(request=with_fields(start=start)))
    assert status == SUCCEEDED, result.text


def test_objects_come_move_are_carried_and_go(planned):
    planned.add_pillar()
    elsewhere = pose_from_matrix(lie.pose(translation=[0.0, -0.6, 0.2]))
    assert planned.change(Request.MOVE, id="pillar", pose=elsewhere).success
    (listed,) = planned.listed().objects
    assert (listed.id, listed.type, listed.pose.position.y) == ("pillar", "box", pytest.approx(-0.6))
    cup = {"type": "cylinder", "dimensions": [0.03, 0.1], "pose": pose_from_matrix(lie.pose(translation=[0, 0, 0.06]))}
    answer = planned.change(Request.ATTACH, frame="tool0", touch_links=["wrist_3_link"], **cup)
    assert answer.success, answer.message
    assert [(crate.id, crate.header.frame_id) for crate in planned.listed().attached] == [("crate", "tool0")]
    assert planned.change(Request.DETACH).success
    put = {crate.id: crate for crate in planned.listed().objects}["crate"]
    expected = kinematics.forward(planned.chain, planned.states.q()) @ lie.pose(translation=[0, 0, 0.06])
    assert put.pose.position.x == pytest.approx(expected[0, 3], abs=1e-3)
    assert planned.change(Request.REMOVE, id="pillar").success
    assert [crate.id for crate in planned.listed().objects] == ["crate"]


@pytest.mark.parametrize(
    ("operation", "fields", "text"),
    [
        (Request.ADD, {"type": "box", "dimensions": [0.0, 0.1, 0.1]}, "edge"),
        (Request.ADD, {"type": "box", "dimensions": [0.1]}, "needs 3"),
        (Request.ADD, {"type": "blob"}, "choose one of"),
        (Request.ADD, {"type": "sphere", "dimensions": [float("nan")]}, "finite"),
        (Request.ADD, {"id": "", "type": "sphere", "dimensions": [0.1]}, "not empty"),
        (Request.ADD, {"id": "perceived_1", "type": "sphere", "dimensions": [0.1]}, "reserved"),
        (Request.ADD, {"frame": "moon", "type": "sphere", "dimensions": [0.1]}, "moon"),
        (Request.ADD, {"frame": "tool0", "type": "sphere", "dimensions": [0.1]}, "moves relative to"),
        (Request.ADD, {"type": "convex"}, "no points"),
        (Request.MOVE, {"id": "ghost"}, "ghost"),
        (Request.REMOVE, {"id": "ghost"}, "ghost"),
        (Request.DETACH, {"id": "ghost"}, "ghost"),
        (77, {}, "operation 77"),
    ],
)
def test_bad_changes_of_the_world_are_refused(shared, operation, fields, text):
    before = shared.listed().version
    answer = shared.change(operation, **fields)
    assert not answer.success
    assert text in answer.message
    assert shared.listed().version == before


def test_a_cloud_of_200000_points_is_an_obstacle(planned):
    rng = np.random.default_rng(0)
    points = PILLAR_AT + (rng.uniform(-0.5, 0.5, (200_000, 3)) * PILLAR_SIZE)
    cloud = [Point32(x=x, y=y, z=z) for x, y, z in points.tolist()]
    answer = planned.change(Request.ADD, type="points", points=cloud, dimensions=[0.02])
    assert answer.success, answer.message
    status, result = planned.execute(PlanMotion.Goal(request=to(LEFT)))
    assert status == SUCCEEDED, result.text
    rows = np.array([point.positions for point in result.trajectory.points])
    assert not planned.checker(PILLAR_AT).check(rows).any()
    assert planned.change(Request.REMOVE).success
