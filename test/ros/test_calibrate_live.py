"""Hand-eye calibration of a running arm: it drives to planned poses, and a camera on its hand is rendered live."""

from __future__ import annotations

import array
import json
import os
import signal
import subprocess

import numpy as np
import pytest
from sensor_msgs.msg import CameraInfo, Image, JointState

from calibration.board_sets import CAMERA, CHARUCO, pose_error, renderer_of
from manipapy_core import Robot, kinematics, lie
from manipapy_core.calibration import CameraPose, Setup, plan_visits, write_visits
from manipapy_core.geometry import Checker, RobotBody, World
from manipapy_core.model import arm_chain
from manipapy_ros.common import qos
from ros.suites import MANIPAPY, suite

pytest.importorskip("cv2")
NAMESPACE = "/calibrated"
START = np.array([0.0, -1.4, 1.6, -1.8, -1.57, 0.0])
X = lie.pose(lie.exp_so3([0.05, -0.03, 0.1]), [0.01, 0.07, 0.05])
Y = lie.pose(lie.exp_so3([np.pi, 0.02, 0.0]), [-0.55, 0.25, 0.0])


@pytest.fixture(scope="module")
def chain():
    robot = Robot.from_urdf("ur5").completed()
    return arm_chain(robot), Checker(RobotBody.build(robot, arm_chain(robot)), World())


class RenderedCamera:
    """A camera on the hand: renders the board from where the joint states put the hand."""

    def __init__(self, peer, chain):
        self.chain, self.rng = chain, np.random.default_rng(0)
        self.state: JointState | None = None
        node = peer.node
        node.create_subscription(JointState, f"{NAMESPACE}/joint_states", self._keep, qos.NEWEST)
        self.images = node.create_publisher(Image, "/eye/image_raw", 2)
        self.infos = node.create_publisher(CameraInfo, "/eye/camera_info", 2)

    def _keep(self, message: JointState) -> None:
        self.state = message

    def publish(self) -> None:
        state = self.state
        if state is None:
            return
        known = dict(zip(state.name, state.position))
        T = kinematics.forward(self.chain, np.array([known[name] for name in self.chain.joint_names]))
        pixels = renderer_of(CHARUCO).image(lie.inverse(X) @ lie.inverse(T) @ Y, self.rng)
        image = Image(width=640, height=480, encoding="mono8", step=640, data=array.array("B", pixels.tobytes()))
        info = CameraInfo(width=640, height=480, distortion_model="plumb_bob", d=CAMERA.D.tolist())
        info.k, info.r, info.p = (part.ravel().tolist() for part in (CAMERA.K, CAMERA.R, CAMERA.projection))
        image.header = info.header = state.header
        self.infos.publish(info)
        self.images.publish(image)


@pytest.mark.slow
def test_arm_drives_to_the_poses_and_calibrates_its_camera(domain, peer, chain, tmp_path):
    arm, checker = chain
    rough = {"T_parent_camera": lie.pose(None, [0.0, 0.07, 0.05]), "T_other_board": Y}
    planned = plan_visits(checker, START, CHARUCO, CAMERA, Setup.ON_HAND, count=7, **rough)
    write_visits(tmp_path / "visits.yaml", arm.joint_names, [visit.q for visit in planned.visits])
    camera = RenderedCamera(peer, arm)
    with suite("--mode", "mock", "--namespace", NAMESPACE, domain=domain) as running:
        running.wait_until_up()
        # Not near the joints' limits: late joint states of a busy machine would be steps that the controller refuses.
        words = [*MANIPAPY, "calibrate", "capture", str(tmp_path / "views"), "--topic", "/eye/image_raw",
                 "--visits", str(tmp_path / "visits.yaml"), "--namespace", NAMESPACE, "--speed", "0.4"]  # fmt: skip
        taking = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
        while taking.poll() is None:
            peer.spin_for(0.2)
            camera.publish()
        printed = taking.communicate()[0]
        running.process.send_signal(signal.SIGINT)
        assert running.end() == 0
    assert taking.returncode == 0, printed
    done = subprocess.run(
        [*MANIPAPY, "calibrate", "hand-eye", str(tmp_path / "views"), "--parent", arm.tip, "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, printed + done.stderr
    found = CameraPose.parse(json.loads(done.stdout)["file"])
    translation, rotation = pose_error(found.T_parent_camera, X)
    assert translation < 1.5e-3 and rotation < np.radians(0.15), printed
