"""pymoveit2, unmodified, on the planner of a simulated arm: each of its documented uses, over DDS."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

from manipapy_core import Robot, kinematics, lie
from manipapy_core.geometry import Box, Checker, RobotBody, World
from ros.suites import TIMEOUT, suite

pytest.importorskip("pybullet", reason="the simulation needs PyBullet: pip install 'manipapy[sim]'")
pymoveit2 = pytest.importorskip("pymoveit2", reason="pip install pymoveit2")
trimesh = pytest.importorskip("trimesh")
MAX = 20.0
"""Timeout of calls that take milliseconds [s], on a busy machine."""


class MovedArm:
    """A simulated arm and a session of pymoveit2 with it."""

    def __init__(self, robot: str, session):
        self.session, self.arm, self.name = session, session.arm, robot
        model = Robot.from_urdf(robot)
        ends = {"panda": ("panda_link0", "panda_hand_tcp"), "ur5": ("base_link", "tool0")}[robot]
        self.chain, self.tip = model.chain(*ends), ends[1]
        self.body = RobotBody.build(model, self.chain)
        self.home = np.array(list(session.description.joint_positions("home", session.description.arm_group_name)))

    @property
    def q(self) -> np.ndarray:
        self.arm.reset_new_joint_state_checker()
        assert self.wait(lambda: self.arm.new_joint_state_available)
        state = self.arm.joint_state
        return np.array([state.position[state.name.index(name)] for name in self.chain.joint_names])

    def wait(self, condition) -> bool:
        deadline = time.monotonic() + TIMEOUT
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.02)
        return condition()

    def target(self, *deltas: float) -> np.ndarray:
        """Home with the first joints moved [rad]."""
        q = self.home.copy()
        q[: len(deltas)] += deltas
        return q

    def executed(self) -> bool:
        return self.arm.wait_until_executed(timeout_sec=TIMEOUT)

    def scene(self):
        assert self.arm.update_planning_scene(timeout_sec=MAX)
        return self.arm.planning_scene

    def object_ids(self) -> set[str]:
        return {item.id for item in self.scene().world.collision_objects}

    def attached_ids(self) -> set[str]:
        return {item.object.id for item in self.scene().robot_state.attached_collision_objects}

    def allow(self, id_: str, allowed: bool) -> bool:
        future = self.arm.allow_collisions(id_, allowed, timeout_sec=MAX)
        assert self.wait(future.done)
        return self.arm.process_allow_collision_future(future)

    def collides(self, trajectory, *boxes) -> bool:
        """By the library itself, in a world with these boxes alone: size and place [m]."""
        world = World()
        for number, (size, place) in enumerate(boxes):
            world.add(str(number), Box(size), lie.pose(translation=place))
        rows = np.array([list(point.positions) for point in trajectory.points])
        return bool(Checker(self.body, world).check(rows).any())


@pytest.fixture(scope="module", params=["panda", "ur5"])
def moved(request, domain):
    robot = request.param
    with suite("--robot", robot, "--namespace", f"/{robot}", "--scene", "", domain=domain) as running:
        running.wait_until_up()
        session = pymoveit2.session.RobotSession(namespace=f"/{robot}", timeout_sec=TIMEOUT)
        try:
            session.arm.max_velocity = session.arm.max_acceleration = 1.0
            session.arm.allowed_planning_time = 5.0
            yield MovedArm(robot, session)
        finally:
            session.close()


def pose_of(T):
    return T[:3, 3].tolist(), lie.rotation_to_quaternion(T[:3, :3]).tolist()


def test_description_has_group_home_and_gripper(moved):
    description = moved.session.description
    assert description.arm_group_name == "arm"
    assert list(description.group("arm").movable_joint_names) == list(moved.chain.joint_names)
    assert len(moved.home) == moved.chain.n
    assert description.gripper_group_name == ("gripper" if moved.name == "panda" else None)


def test_joint_goal_is_planned_and_executed(moved):
    goal = moved.target(0.3, 0.1)
    assert moved.session.move_to_configuration(goal.tolist(), timeout_sec=TIMEOUT)
    np.testing.assert_allclose(moved.q, goal, atol=0.01)


def test_pose_goal_is_reached_through_the_action_and_in_two_steps(moved):
    T = kinematics.forward(moved.chain, moved.target(-0.2, 0.1))
    position, quaternion = pose_of(T)
    moved.arm.move_to_pose(position=position, quat_xyzw=quaternion)
    assert moved.executed(), moved.arm.last_failure()
    np.testing.assert_allclose(kinematics.forward(moved.chain, moved.q)[:3, 3], T[:3, 3], atol=5e-3)

    trajectory = moved.arm.plan(joint_positions=moved.home.tolist(), timeout_sec=MAX)
    np.testing.assert_allclose(trajectory.points[-1].positions, moved.home, atol=1e-6)
    assert moved.arm.execute(trajectory) and moved.executed()
    np.testing.assert_allclose(moved.q, moved.home, atol=0.01)


def test_cartesian_motion_keeps_to_the_line(moved):
    start = moved.q
    T = kinematics.forward(moved.chain, start)
    place = T[:3, 3] + [0.0, 0.08, -0.04]
    _, quaternion = pose_of(T)
    trajectory = moved.arm.plan(position=place.tolist(), quat_xyzw=quaternion, cartesian=True, timeout_sec=MAX)
    rows = np.array([list(point.positions) for point in trajectory.points])
    tips = kinematics.forward(moved.chain, rows)
    along = place - T[:3, 3]
    away = tips[:, :3, 3] - T[:3, 3]
    across = away - np.outer(away @ along, along) / (along @ along)
    assert np.linalg.norm(across, axis=1).max() < 1e-3
    np.testing.assert_allclose(tips[-1, :3, 3], place, atol=1e-3)
    assert np.abs(np.diff(rows, axis=0)).max() < 0.2


def test_kinematics_agree_with_the_library(moved):
    q = moved.target(0.2, 0.15, -0.1)
    T = kinematics.forward(moved.chain, q)
    answer = moved.arm.compute_fk(joint_state=q.tolist(), timeout_sec=MAX)
    np.testing.assert_allclose([answer.pose.position.x, answer.pose.position.y, answer.pose.position.z], T[:3, 3])
    links = moved.arm.compute_fk(q.tolist(), fk_link_names=[moved.chain.base, moved.tip], timeout_sec=MAX)
    assert len(links) == 2
    assert moved.arm.compute_fk(q.tolist(), fk_link_names=["nowhere"], timeout_sec=MAX) is None
    position, quaternion = pose_of(T)
    state = moved.arm.compute_ik(position, quaternion, start_joint_state=moved.home.tolist(), timeout_sec=MAX)
    found = np.array([state.position[list(state.name).index(name)] for name in moved.chain.joint_names])
    np.testing.assert_allclose(kinematics.forward(moved.chain, found), T, atol=1e-5)
    assert moved.arm.compute_ik([5.0, 0.0, 0.0], quaternion, timeout_sec=MAX) is None


def test_objects_are_avoided_carried_allowed_and_cleared(moved):
    arm, T = moved.arm, kinematics.forward(moved.chain, moved.home)
    goal = moved.target(1.6)
    middle = kinematics.forward(moved.chain, moved.target(0.8))[:3, 3]
    size = [0.06, 0.06, 0.12]
    free = arm.plan(joint_positions=goal.tolist(), timeout_sec=MAX)
    assert moved.collides(free, (size, middle))
    arm.add_collision_box(id="box", size=tuple(size), position=middle.tolist(), quat_xyzw=[0.0, 0.0, 0.0, 1.0])
    assert moved.wait(lambda: "box" in moved.object_ids())
    around = arm.plan(joint_positions=goal.tolist(), timeout_sec=MAX)
    assert not moved.collides(around, (size, middle))

    # Where contacts with it are allowed, it is as if it were not there.
    assert moved.allow("box", True)
    assert moved.collides(arm.plan(joint_positions=goal.tolist(), timeout_sec=MAX), (size, middle))
    assert moved.allow("box", False)
    assert not moved.collides(arm.plan(joint_positions=goal.tolist(), timeout_sec=MAX), (size, middle))

    # A goal inside it is refused, with the reason.
    assert arm.plan(joint_positions=moved.target(0.8).tolist(), timeout_sec=MAX) is None
    arm.remove_collision_object("box")
    assert moved.wait(lambda: "box" not in moved.object_ids())

    arm.add_collision_mesh(
        None, "mesh", position=middle.tolist(), quat_xyzw=[0.0, 0.0, 0.0, 1.0], mesh=trimesh.creation.box(size)
    )
    assert moved.wait(lambda: "mesh" in moved.object_ids())
    assert not moved.collides(arm.plan(joint_positions=goal.tolist(), timeout_sec=MAX), (size, middle))
    arm.move_collision("mesh", (T[:3, 3] + [0.0, 0.0, 1.0]).tolist(), [0.0, 0.0, 0.0, 1.0])

    below = T[:3, 3] + T[:3, :3] @ [0.0, 0.0, 0.06]
    arm.add_collision_sphere(id="ball", radius=0.03, position=below.tolist(), quat_xyzw=[0.0, 0.0, 0.0, 1.0])
    assert moved.wait(lambda: "ball" in moved.object_ids())
    arm.attach_collision_object("ball", link_name=moved.tip)
    assert moved.wait(lambda: "ball" in moved.attached_ids())
    assert "ball" not in moved.object_ids()
    assert arm.plan(joint_positions=goal.tolist(), timeout_sec=MAX) is not None
    arm.detach_collision_object("ball")
    assert moved.wait(lambda: "ball" in moved.object_ids())

    future = arm.clear_all_collision_objects(timeout_sec=MAX)
    assert moved.wait(future.done)
    assert arm.process_clear_all_collision_objects_future(future)
    assert not moved.object_ids()


def test_gripper_moves_by_command_and_by_plan(moved):
    """pymoveit2's classes for grippers with its preset names of the panda, the joint that follows included."""
    if moved.name != "panda":
        assert moved.session.description.gripper_group_name is None
        return
    description, preset = moved.session.description.moveit2_gripper_kwargs(), pymoveit2.robots.panda
    assert description["gripper_joint_names"] == ["panda_finger_joint1"]
    names = {
        "gripper_joint_names": preset.gripper_joint_names(),
        "open_gripper_joint_positions": preset.OPEN_GRIPPER_JOINT_POSITIONS,
        "closed_gripper_joint_positions": preset.CLOSED_GRIPPER_JOINT_POSITIONS,
    }
    common = {"node": moved.session.node, "callback_group": moved.session._callback_group}
    command = pymoveit2.GripperCommand(max_effort=20.0, **names, **common)
    planned = pymoveit2.MoveIt2Gripper(gripper_group_name="gripper", **names, **common)
    direct = pymoveit2.MoveIt2Gripper(gripper_group_name="gripper", use_move_group_action=True, **names, **common)

    def done(gripper) -> bool:
        return gripper.wait_until_executed(timeout_sec=TIMEOUT)

    arm = moved.q
    for gripper in (command, planned, direct):
        assert gripper.open() and done(gripper), gripper.last_failure()
        assert moved.wait(lambda gripper=gripper: gripper.is_open)
        assert gripper.close() and done(gripper), gripper.last_failure()
        assert moved.wait(lambda gripper=gripper: gripper.is_closed)
    assert command.move_to_position(0.02) and done(command)
    positions = dict(zip(command.joint_state.name, command.joint_state.position))
    assert positions["panda_finger_joint1"] == pytest.approx(0.02, abs=1e-3)
    assert positions["panda_finger_joint2"] == pytest.approx(0.02, abs=1e-3)
    assert command.move_to_position(1.0) and not done(command)
    assert "travel" in command.last_failure()
    assert planned.move_to_position(1.0) is False
    assert "limits" in planned.last_failure()
    assert command.open() and command.cancel_execution() and not done(command)
    np.testing.assert_allclose(moved.q, arm, atol=0.01)


def test_orientation_constraint_is_kept_along_the_path(moved):
    q = moved.q
    R = kinematics.forward(moved.chain, q)[:3, :3]
    T = kinematics.forward(moved.chain, moved.target(0.8))
    tolerance = [0.1, 0.1, 3.2]
    moved.arm.set_path_orientation_constraint(
        quat_xyzw=lie.rotation_to_quaternion(R).tolist(), tolerance=tolerance, parameterization=0
    )
    trajectory = moved.arm.plan(joint_positions=moved.target(0.8).tolist(), timeout_sec=MAX)
    assert trajectory is not None, moved.arm.last_failure()
    rows = np.array([list(point.positions) for point in trajectory.points])
    dense = np.concatenate([np.linspace(a, b, 10) for a, b in itertools.pairwise(rows)])
    tips = kinematics.forward(moved.chain, dense)
    # The tip turns about its own z axis alone, so that this axis stays where it was.
    tilt = np.arccos(np.clip(tips[:, :3, 2] @ R[:, 2], -1.0, 1.0))
    assert tilt.max() < 0.1 * np.sqrt(2.0) + 1e-3
    np.testing.assert_allclose(tips[-1, :3, 3], T[:3, 3], atol=1e-3)


def test_cancelled_motion_ends_with_the_arm_at_rest(moved):
    moved.arm.max_velocity = 0.2
    goal = moved.target(1.2)
    before = moved.q
    moved.arm.move_to_configuration(goal.tolist())
    assert moved.wait(lambda: np.abs(moved.q - before).max() > 0.05)
    assert moved.arm.cancel_execution()
    assert not moved.executed()
    assert "PREEMPTED" in moved.arm.last_failure() or "ancel" in moved.arm.last_failure()
    first = moved.q
    time.sleep(0.3)
    np.testing.assert_allclose(moved.q, first, atol=2e-3)
    assert np.abs(first - goal).max() > 0.2
    moved.arm.max_velocity = 1.0
