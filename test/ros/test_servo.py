"""The servo on a simulated arm, as real processes: what the arm does with commands, good and bad ones."""

from __future__ import annotations

import time

import numpy as np
import pytest
from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, TransformStamped, TwistStamped
from manipapy_msgs.msg import CollisionObject
from manipapy_msgs.srv import ChangeWorld
from moveit_msgs.msg import ServoStatus
from moveit_msgs.srv import ServoCommandType
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import Joy
from std_srvs.srv import SetBool
from tf2_msgs.msg import TFMessage

from manipapy_core import Robot, kinematics, lie
from manipapy_ros.client.session import destroy_node
from manipapy_ros.common.conversions import pose_from_matrix
from manipapy_ros.servo.teleop import Pilot, Teleop
from ros_arm import JOINTS, SUCCEEDED, Arm, bring_up, stamp_of

NAMESPACE = "/served"
CHAIN = Robot.from_urdf("ur5").chain("base_link", "tool0")
PERIOD = 0.02
"""Between two commands of a client [s]."""


class ServedArm:
    """A simulated UR5 with controller, planner and servo, and a client that publishes commands."""

    def __init__(self, peer, start):
        self.peer = peer
        self.arm = Arm(peer, start, NAMESPACE)
        sim = ("-p", "use_sim_time:=true", "-r", "/clock:=clock")
        self.planner, self.servo = (start(name, *sim, namespace=NAMESPACE) for name in ("planner", "servo"))
        bring_up(peer, self.planner)
        bring_up(peer, self.servo)
        self.statuses: list[ServoStatus] = []
        peer.node.create_subscription(ServoStatus, f"{NAMESPACE}/servo/status", self.statuses.append, 10)
        self.publishers = {
            name: peer.node.create_publisher(kind, f"{NAMESPACE}/{name}", 1)
            for name, kind in (
                ("servo/twist", TwistStamped),
                ("servo/joint_jog", JointJog),
                ("servo/pose_target", PoseStamped),
                ("servo_node/delta_joint_cmds", JointJog),
                ("joy", Joy),
            )
        }
        for name, publisher in self.publishers.items():
            peer.wait_for(lambda p=publisher: p.get_subscription_count() > 0, f"the servo on {name}")
        peer.wait_for(lambda: bool(self.statuses), "a status of the servo")

    def q(self):
        return self.arm.states.q()

    def tip(self):
        return kinematics.forward(CHAIN, self.q())

    def send(self, name, message, seconds, *, until=None):
        """Publishes a message again and again; returns the texts of the servo meanwhile."""
        self.statuses.clear()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not (until is not None and until()):
            self.publishers[name].publish(message)
            self.peer.spin_for(PERIOD)
        return [status.message for status in self.statuses]

    def change_world(self, operation, at=(0.0, 0.0, 0.0), size=(0.1, 0.1, 0.1)):
        item = CollisionObject(id="box", type="box", dimensions=[float(x) for x in size])
        item.pose = pose_from_matrix(lie.pose(translation=at))
        request = ChangeWorld.Request(operation=operation, object=item)
        answer = self.peer.call(ChangeWorld, self.planner, "change_world", request)
        assert answer.success, answer.message
        time.sleep(0.3)


@pytest.fixture(scope="module")
def served(peer, start_for_module):
    return ServedArm(peer, start_for_module)


@pytest.fixture(autouse=True)
def at_home(served):
    served.arm.states.wait_until_still()
    time.sleep(0.4)
    served.arm.go_home()


def twist(linear=(0.0, 0.0, 0.0), angular=(0.0, 0.0, 0.0), frame=""):
    message = TwistStamped()
    message.header.frame_id = frame
    message.twist.linear.x, message.twist.linear.y, message.twist.linear.z = map(float, linear)
    message.twist.angular.x, message.twist.angular.y, message.twist.angular.z = map(float, angular)
    return message


@pytest.mark.parametrize("frame", ["", "tool0", "forearm_link"])
def test_the_tip_moves_along_the_twist_and_stops_when_the_client_is_silent(served, frame):
    before = served.tip()
    link = served.q()
    R = np.eye(3)
    if frame:
        R = kinematics.forward(Robot.from_urdf("ur5").chain("base_link", frame), link[: 3 if frame != "tool0" else 6])
        R = R[:3, :3]
    direction = R.T @ np.array([0.6, 0.0, -0.8])
    served.send("servo/twist", twist(0.1 * direction, frame=frame), 1.0)
    served.arm.states.wait_until_still()
    served.arm.states.assert_still()
    moved = served.tip()[:3, 3] - before[:3, 3]
    assert np.linalg.norm(moved) > 0.03
    if frame != "forearm_link":  # its axes turn while the tip moves
        assert np.linalg.norm(np.cross(moved, [0.6, 0.0, -0.8])) < 0.003


def test_pymoveit2_drives_the_arm_unmodified(served):
    pytest.importorskip("pymoveit2")
    from pymoveit2 import MoveIt2Servo

    node = Node(
        "moveit_client",
        context=served.peer.node.context,
        namespace=NAMESPACE,
        cli_args=["--ros-args", "-r", "/clock:=clock"],
        parameter_overrides=[Parameter("use_sim_time", value=True)],
    )
    served.peer._executor.add_node(node)
    try:
        client = MoveIt2Servo(node, frame_id="base_link", linear_speed=0.1, angular_speed=0.5)
        before = served.tip()[:3, 3]

        def moved():
            client(linear=(0.0, 1.0, 0.0))
            return served.tip()[1, 3] - before[1] > 0.03

        served.peer.wait_for(moved, "the arm to move by pymoveit2's twists")
        served.arm.states.wait_until_still()
        start = served.q()

        def turned():
            client.servo_jog(("wrist_3_joint",), (0.5,))
            return served.q()[5] - start[5] > 0.1

        served.peer.wait_for(turned, "the wrist to turn by pymoveit2's joint jogs")
        served.arm.states.wait_until_still()
        assert np.abs(served.q()[:5] - start[:5]).max() < 2e-3
        client.disable()
        served.peer.spin_for(0.5)
        assert served.peer.call(SetBool, served.servo, "pause", SetBool.Request(data=False)).success
        client.destroy()
    finally:
        served.peer._executor.remove_node(node)
        destroy_node(node)


def test_a_pose_target_is_reached(served):
    T = served.tip() @ lie.pose(lie.exp_so3([0.0, 0.0, 0.3]), [0.03, 0.05, 0.02])
    message = PoseStamped(pose=pose_from_matrix(T))
    message.header.frame_id = "base_link"
    near = lambda: np.linalg.norm(served.tip()[:3, 3] - T[:3, 3]) < 1e-3  # noqa: E731
    served.send("servo/pose_target", message, 20.0, until=near)
    served.arm.states.wait_until_still()
    assert np.linalg.norm(served.tip()[:3, 3] - T[:3, 3]) < 2e-3
    assert np.linalg.norm(lie.log_so3(served.tip()[:3, :3].T @ T[:3, :3])) < 0.01


def test_the_arm_stops_in_front_of_an_obstacle_and_says_what_it_is(served):
    at = served.tip()[:3, 3] + [0.0, 0.15, 0.0]
    served.change_world(ChangeWorld.Request.ADD, at, (0.3, 0.05, 0.3))
    try:
        texts = served.send("servo/twist", twist((0.0, 0.1, 0.0)), 3.0)
        served.arm.states.wait_until_still()
        assert served.tip()[1, 3] < at[1] - 0.025 - 0.004
        assert any("box" in text and text.startswith(("obstacle", "blocked")) for text in texts), texts[-3:]
    finally:
        served.change_world(ChangeWorld.Request.CLEAR)


BAD = {
    "nan": ("servo/twist", lambda: twist((float("nan"), 0.0, 0.0)), "not finite"),
    "frame": ("servo/twist", lambda: twist((0.1, 0.0, 0.0), frame="nowhere"), "nowhere"),
    "joint": ("servo/joint_jog", lambda: JointJog(joint_names=["knee"], velocities=[0.5]), "knee"),
    "infinite jog": ("servo/joint_jog", lambda: JointJog(joint_names=[JOINTS[0]], velocities=[np.inf]), "not finite"),
    "quaternion": ("servo/pose_target", lambda: pose_with(0.5), "quaternion"),
    "type": (
        "servo_node/delta_joint_cmds",
        lambda: JointJog(joint_names=[JOINTS[0]], velocities=[0.5]),
        "command type",
    ),
}


def pose_with(w):
    message = PoseStamped()
    message.pose.orientation.w = w
    return message


@pytest.mark.parametrize("case", BAD)
def test_a_bad_command_does_not_move_the_arm_and_is_explained(served, case):
    name, message, reason = BAD[case]
    switch = served.peer.node.create_client(ServoCommandType, f"{NAMESPACE}/servo_node/switch_command_type")
    answer = switch.call_async(ServoCommandType.Request(command_type=ServoCommandType.Request.TWIST))
    served.peer.wait_for(answer.done, "the command type")
    before = served.q()
    texts = served.send(name, message(), 0.5)
    assert any(reason in text for text in texts), texts[-3:]
    assert np.abs(served.q() - before).max() < 1e-3
    assert all(status.code == ServoStatus.INVALID for status in served.statuses[-2:])


def test_a_bad_command_in_the_middle_of_a_stream_stops_the_arm(served):
    served.send("servo/twist", twist((0.1, 0.0, 0.0)), 0.5)
    served.send("servo/twist", twist((float("inf"), 0.0, 0.0)), 0.8)
    served.arm.states.wait_until_still()
    served.arm.states.assert_still()


def test_a_stale_stamp_is_refused(served):
    message = twist((0.1, 0.0, 0.0))
    state = served.arm.states.next()
    message.header.stamp.sec = max(int(stamp_of(state)) - 3, 1)
    texts = served.send("servo/twist", message, 0.4)
    assert any("old" in text or "from now" in text for text in texts), texts[-3:]
    served.arm.states.assert_still()


def test_a_second_client_is_ignored_and_reported(served):
    start, jog = served.q(), JointJog(joint_names=[JOINTS[5]], velocities=[0.3])
    served.send("servo/joint_jog", jog, 0.3)
    served.statuses.clear()
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        served.publishers["servo/joint_jog"].publish(jog)
        served.publishers["servo/twist"].publish(twist((0.1, 0.0, 0.0)))
        served.peer.spin_for(PERIOD)
    moved = np.abs(served.q() - start)
    assert moved[5] > 0.05 and moved[:5].max() < 2e-3, "the first client keeps the arm"
    assert any("another client" in status.message for status in served.statuses)


def test_a_twist_beyond_limits_is_scaled_in_its_direction_and_reported(served):
    before = served.tip()[:3, 3]
    texts = served.send("servo/twist", twist((0.0, 1.8, 2.4)), 0.4)
    assert any(text.startswith("scaled") for text in texts), texts[-3:]
    served.arm.states.wait_until_still()
    moved = served.tip()[:3, 3] - before
    assert 0.02 < np.linalg.norm(moved) < 0.6, "faster than 0.5 m/s it does not become"
    assert np.linalg.norm(np.cross(moved, [0.0, 0.6, 0.8])) < 0.005


def test_a_pose_out_of_reach_is_approached_and_reported(served):
    T = served.tip()
    T[:3, 3] = [1.6, 0.0, 0.5]
    message = PoseStamped(pose=pose_from_matrix(T))
    before, words = np.linalg.norm(served.tip()[:3, 3] - T[:3, 3]), ("out of reach", "singular", "direction lost")
    told = lambda: any(status.message.startswith(words) for status in served.statuses)  # noqa: E731
    texts = served.send("servo/pose_target", message, 20.0, until=told)
    assert any(text.startswith(words) for text in texts), texts[-3:]
    assert np.linalg.norm(served.tip()[:3, 3] - T[:3, 3]) < before - 0.1
    served.arm.states.wait_until_still()
    served.arm.states.assert_still()


def test_a_frame_that_vanishes_ends_the_motion(served):
    """A frame on tf that is no longer published while the twist in it continues."""
    publisher = served.peer.node.create_publisher(TFMessage, f"{NAMESPACE}/tf", 10)
    frame = TransformStamped(child_frame_id="handle")
    frame.header.frame_id, frame.transform.rotation.w = "base_link", 1.0
    message, before = twist((0.0, 0.1, 0.0), frame="handle"), served.tip()[:3, 3]
    end = time.monotonic() + 20.0
    while np.linalg.norm(served.tip()[:3, 3] - before) < 0.03:
        assert time.monotonic() < end, "the arm does not move along the axes of the frame"
        frame.header.stamp = served.arm.states.next().header.stamp
        publisher.publish(TFMessage(transforms=[frame]))
        served.send("servo/twist", message, PERIOD)
    texts = served.send("servo/twist", message, 1.5)
    served.peer.node.destroy_publisher(publisher)
    assert any("handle" in text for text in texts), texts[-3:]
    served.arm.states.wait_until_still()
    served.arm.states.assert_still()


def test_a_goal_of_the_planner_is_not_disturbed(served):
    q = served.q()
    q[0] += 0.6
    handle = served.arm.send(served.arm.goal(q, seconds=2.0))
    served.arm.states.wait_until_moving()
    texts = served.send("servo/twist", twist((0.1, 0.0, 0.0)), 1.0)
    status, result = served.arm.outcome(handle)
    assert status == SUCCEEDED, result.error_string
    assert any("moved by something else" in text for text in texts), texts[-3:]


def test_a_paused_servo_moves_nothing(served):
    assert served.peer.call(SetBool, served.servo, "pause", SetBool.Request(data=True)).success
    before = served.q()
    texts = served.send("servo/twist", twist((0.1, 0.0, 0.0)), 0.5)
    assert served.peer.call(SetBool, served.servo, "pause", SetBool.Request(data=False)).success
    assert np.abs(served.q() - before).max() < 1e-3 and any("paused" in text for text in texts)


def test_a_joystick_moves_the_arm_while_its_switch_is_held(served):
    before = served.tip()[:3, 3]
    released = Joy(axes=[0.0, 1.0, 0.0, 0.0, 0.0, 0.0], buttons=[0] * 8)
    served.send("joy", released, 0.4)
    assert np.linalg.norm(served.tip()[:3, 3] - before) < 1e-3
    held = Joy(axes=[0.0, 1.0, 0.0, 0.0, 0.0, 0.0], buttons=[0, 0, 0, 0, 1, 0, 0, 0])
    served.send("joy", held, 0.8)
    served.arm.states.wait_until_still()
    moved = served.tip()[:3, 3] - before
    assert moved[0] > 0.03 and np.abs(moved[1:]).max() < 0.003


def test_keys_move_the_arm_while_they_are_held(served):
    node = Node("pilot", context=served.peer.node.context, namespace=NAMESPACE)
    served.peer._executor.add_node(node)
    try:
        teleop, pilot = Teleop(node, "base_link", "tool0", JOINTS), Pilot(speed=0.1)
        before, end = served.tip()[:3, 3], time.monotonic() + 1.5
        while time.monotonic() < end:
            pilot.press("q", time.monotonic())  # up
            teleop.send(pilot)
            served.peer.spin_for(PERIOD)
        pilot.rest(time.monotonic() + 1.0)
        assert pilot.twist is None, "a key that is not held ends the command"
        served.arm.states.wait_until_still()
        moved = served.tip()[:3, 3] - before
        assert moved[2] > 0.03 and np.abs(moved[:2]).max() < 0.003
        assert "servo" not in teleop.status, "the status of the servo is shown"
    finally:
        served.peer._executor.remove_node(node)
        destroy_node(node)
