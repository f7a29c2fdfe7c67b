"""The planner and what cameras detect: obstacles, tables, margins, and cameras that go silent."""

from __future__ import annotations

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from manipapy_msgs.action import PlanMotion
from manipapy_msgs.msg import ObstacleArray
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter

from manipapy_core import kinematics, lie
from manipapy_core.geometry import Box, Checker, World
from manipapy_core.perception import DetectedPlane, surfaces_of
from manipapy_core.perception.points.seen_area import SeenArea
from manipapy_ros.perception.messages import surfaces_message
from ros_arm import ABORTED, SUCCEEDED
from ros_planner import LEFT, PILLAR_AT, PILLAR_SIZE, RIGHT, Perception, PlannedArm, Request, move, to


@pytest.fixture(scope="module")
def shared(start_for_module, peer):
    return PlannedArm(peer, start_for_module)


@pytest.fixture
def planned(shared):
    """In an empty world, at RIGHT."""
    assert shared.change(Request.CLEAR).success
    status, result = shared.execute(move(RIGHT))
    assert status == SUCCEEDED, result.text
    return shared


def configure(planned, **values) -> None:
    """Parameters of the planner that begin with obstacles."""
    entries = [Parameter(f"obstacles.{name}", value=value).to_parameter_msg() for name, value in values.items()]
    request = SetParametersAtomically.Request(parameters=entries)
    answer = planned.peer.call(SetParametersAtomically, planned.planner, "set_parameters_atomically", request)
    assert answer.result.successful, answer.result.reason


def test_motion_is_refused_until_expected_obstacles_arrive(planned):
    """Without a message on obstacles the world is unknown; planning alone moves nothing and is allowed."""

    configure(planned, expected=True, wait=0.2)
    before = planned.states.q()
    status, result = planned.execute(move(LEFT))
    assert status == ABORTED and "perception is expected" in result.text, result.text
    np.testing.assert_allclose(planned.states.q(), before, atol=1e-3)
    assert planned.execute(PlanMotion.Goal(request=to(LEFT)))[0] == SUCCEEDED
    configure(planned, expected=False)
    assert planned.execute(move(RIGHT - 0.05))[0] == SUCCEEDED
    configure(planned, expected=True)
    Perception(planned).show()
    assert planned.execute(move(RIGHT))[0] == SUCCEEDED
    configure(planned, expected=False, wait=5.0)


def test_a_camera_that_goes_silent_stops_the_arm(planned):
    """Until the obstacles return; the motion is then planned again."""
    perception = Perception(planned)
    configure(planned, expected=True, stale_after=0.5, wait=0.5)
    perception.show()
    handle = planned.send(move(LEFT, velocity_scaling=0.1))
    planned.states.wait_until(
        lambda state: perception.show() or state.position[0] > RIGHT[0] + 0.1, "the arm to be on its way"
    )
    status, result = planned.arm.outcome(handle)
    assert status == ABORTED and "no message on obstacles" in result.text, result.text
    planned.states.assert_still()
    assert planned.states.q()[0] < LEFT[0] - 0.5, "it went on without knowing what is in the way"

    configure(planned, wait=20.0)
    perception.show()
    handle = planned.send(move(LEFT, velocity_scaling=0.1))
    start = planned.states.q()[0]
    planned.states.wait_until(
        lambda state: perception.show() or state.position[0] > start + 0.1, "the arm to be on its way"
    )
    planned.peer.spin_for(2.0)
    planned.states.wait_until_still()
    result = handle.get_result_async()
    planned.peer.wait_for(lambda: perception.show() or result.done(), "the motion to end")
    assert result.result().status == SUCCEEDED, result.result().result.text
    assert result.result().result.planned == 2
    configure(planned, expected=False, stale_after=2.0, wait=5.0)


def test_perceived_obstacle_blocks_the_path(planned):
    perception = Perception(planned)
    perception.show((PILLAR_AT, PILLAR_SIZE))
    status, result = planned.execute(PlanMotion.Goal(request=to(LEFT)))
    assert status == SUCCEEDED, result.text
    rows = np.array([point.positions for point in result.trajectory.points])
    assert not planned.checker(PILLAR_AT).check(rows).any()
    status, result = planned.execute(PlanMotion.Goal(request=to(LEFT, planner="straight")))
    assert status == ABORTED
    perception.show()


def test_perceived_tables_are_objects_of_the_world(planned):
    """The planner keeps them until the message changes; obstacles come and go beside them."""
    table = surfaces_of(
        [DetectedPlane(np.array([0.0, 0.0, 1.0]), -0.4, 100, False, *np.zeros((2, 2)), 1.0, square(0.6))],
        [0.0, 0.0, 1.0],
        max_thickness=0.3,
    )
    message = surfaces_message(table, planned.chain.base, Time())
    publisher = planned.peer.node.create_publisher(ObstacleArray, "surfaces", 1)

    def taken_over(names: list[str]) -> bool:
        publisher.publish(message)
        return [item.id for item in planned.listed().objects] == names

    planned.peer.wait_for(lambda: taken_over(["surface_table_0"]), "the table in the planner's world")
    heights = np.array([point.z for point in planned.listed().objects[0].points])
    assert (heights.min(), heights.max()) == pytest.approx((-0.7, -0.4), abs=1e-6)
    refused = planned.change(Request.ADD, id="surface_mine", type="sphere", dimensions=[0.1])
    assert not refused.success and "reserved" in refused.message
    assert planned.change(Request.CLEAR).success
    planned.peer.wait_for(lambda: taken_over(["surface_table_0"]), "the table, which is still visible")
    message.obstacles = []
    planned.peer.wait_for(lambda: taken_over([]), "the table to be gone")


def square(side: float) -> SeenArea:
    flat = np.mgrid[0:side:0.01, 0:side:0.01].reshape(2, -1).T
    return SeenArea.of(flat, flat.min(axis=0), flat.max(axis=0))


def test_result_reports_the_margin_to_perceived_obstacles(planned):
    status, result = planned.execute(move(RIGHT - 0.05))
    assert status == SUCCEEDED, result.text
    assert result.obstacle_margin == np.inf and "margin" not in result.text, "nothing is perceived"
    perception = Perception(planned)
    perception.show((PILLAR_AT, PILLAR_SIZE))
    status, result = planned.execute(move(LEFT))
    assert status == SUCCEEDED, result.text
    assert result.obstacle_margin == pytest.approx(0.02 * result.planned)
    assert f"margin to perceived obstacles {result.obstacle_margin:.3f} m" in result.text
    perception.show()


def test_result_reports_a_margin_reduced_for_want_of_space(planned):
    size = np.array([0.1, 0.1, 0.1])
    tip = kinematics.forward(planned.chain, LEFT)[:3, 3]
    below = np.array([0.0, 0.0, 1.0])

    def collides(gap: float, margin: float) -> bool:
        world = World()
        world.add("box", Box(size + 2.0 * margin), lie.pose(translation=tip - gap * below))
        return bool(Checker(planned.body, world).collides(LEFT))

    near = next(gap for gap in np.linspace(0.05, 0.3, 126) if not collides(gap, 0.012))
    assert collides(near, 0.018), "the box must be nearer to the goal than the full margin"
    perception = Perception(planned)
    perception.show((tip - near * below, size))
    status, result = planned.execute(move(LEFT, padding=-1.0))
    assert status == SUCCEEDED, result.text
    assert 0.0 < result.obstacle_margin < 0.02
    assert "reduced from 0.020 m to 0.010 m for lack of space" in result.text
    perception.show()
