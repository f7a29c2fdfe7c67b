"""Poses chosen for a hand-eye calibration, end to end: planned, rendered from there, calibrated; files and commands."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from calibration.board_sets import CAMERA, CHARUCO, pose_error, renderer_of
from manipapy_core import Robot, kinematics, lie
from manipapy_core.calibration import CameraPose, Setup, in_image, load_camera, plan_visits, save_camera
from manipapy_core.calibration.files import write_poses
from manipapy_core.cli.app import app
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, Checker, RobotBody, World
from manipapy_core.model import arm_chain

cv2 = pytest.importorskip("cv2")
HOME = np.array([0.0, -1.4, 1.6, -1.8, -1.57, 0.0])
GUESS = {
    Setup.ON_HAND: (lie.pose(None, [0.0, 0.08, 0.04]), lie.pose(lie.exp_so3([np.pi, 0.0, 0.0]), [-0.55, 0.25, 0.0])),
    Setup.BESIDE: (
        lie.pose(lie.rotation_from_rpy([-1.57, 0.0, -1.57]), [-1.2, 0.1, 0.45]),
        lie.pose(lie.exp_so3([0.0, np.pi, 0.0]), [0.1, -0.06, 0.05]),
    ),
}


@pytest.fixture(scope="module")
def checker():
    robot = Robot.from_urdf("ur5").completed()
    world = World()
    world.add("table", Box((2.0, 2.0, 0.02)), lie.pose(None, [0.0, 0.0, -0.06]))
    return Checker(RobotBody.build(robot, arm_chain(robot)), world)


@pytest.mark.parametrize("setup", Setup)
def test_planned_poses_calibrate_the_camera(checker, setup, tmp_path):
    X_guess, Y_guess = GUESS[setup]
    # Truth is some centimetres and degrees from the guess.
    X, Y = (T @ lie.exp_se3([0.04, -0.03, 0.02, 0.01, -0.015, 0.01]) for T in (X_guess, Y_guess))
    planned = plan_visits(
        checker, HOME, CHARUCO, CAMERA, setup, T_parent_camera=X_guess, T_other_board=Y_guess, count=8, seed=1
    )
    assert len(planned.visits) == 8 and planned.translation_sigma < 1e-3
    rng, names, poses = np.random.default_rng(0), [], []
    for number, visit in enumerate(planned.visits):
        path = visit.motion.path
        assert not checker.check(path).any()
        assert visit.motion.trajectory is not None and np.allclose(path[-1], visit.q)
        T = kinematics.forward(checker.body.chain, visit.q)
        assert np.allclose(T, visit.T_base_hand, atol=1e-4)
        assert in_image(CHARUCO, CAMERA, visit.T_camera_board)
        A = lie.inverse(T) if setup is Setup.ON_HAND else T
        image = renderer_of(CHARUCO).image(lie.inverse(X) @ A @ Y, rng)
        names.append(f"view_{number}.png")
        poses.append(T)
        cv2.imwrite(str(tmp_path / names[-1]), image)
    write_poses(tmp_path, names, poses)
    save_camera(CAMERA, tmp_path / "camera.yaml")

    # The command reads the folder, writes the file, and bringup reads that.
    words = ["calibrate", "hand-eye", str(tmp_path), "--setup", setup.value, "--parent", "link", "--child", "eye"]
    shown = CliRunner().invoke(app, [*words, "--corners", "8x5", "--square", "0.03", "--json"])
    assert shown.exit_code == 0, shown.output
    found = CameraPose.parse(json.loads(shown.stdout)["file"])
    assert (found.parent, found.child) == ("link", "eye")
    translation, rotation = pose_error(found.T_parent_camera, X)
    assert translation < 1.5e-3 and rotation < np.radians(0.15)
    again = CameraPose.parse(found.text())
    assert np.allclose(again.T_parent_camera, found.T_parent_camera, atol=1e-8)
    assert "--frame-id link --child-frame-id eye" in found.static_transform()


def test_board_out_of_reach_is_refused(checker):
    X, Y = GUESS[Setup.ON_HAND]
    far = lie.pose(translation=[5.0, 0.0, 0.0]) @ Y
    with pytest.raises(InputError, match="can be reached"):
        plan_visits(checker, HOME, CHARUCO, CAMERA, Setup.ON_HAND, T_parent_camera=X, T_other_board=far)


def test_camera_files_are_those_of_ros(tmp_path):
    save_camera(CAMERA, tmp_path / "camera.yaml", "eye")
    again = load_camera(tmp_path / "camera.yaml")
    assert np.allclose(again.K, CAMERA.K) and np.allclose(again.D, CAMERA.D) and again.width == CAMERA.width
    (tmp_path / "camera.yaml").write_text("image_width: 640\n")
    with pytest.raises(InputError, match="image_height, camera_matrix"):
        load_camera(tmp_path / "camera.yaml")


@pytest.mark.parametrize("text", ["", "tool0 1 2 3", "tool0 0 0 0 0 0 0 2", "missing.yaml", "tool0 a b c d e f"])
def test_bad_camera_poses_are_refused(text):
    with pytest.raises(InputError):
        CameraPose.parse(text)


def test_board_command_writes_a_board_that_is_found(tmp_path):
    path = tmp_path / "board.png"
    shown = CliRunner().invoke(app, ["calibrate", "board", str(path), "--dpi", "72"])
    assert shown.exit_code == 0, shown.output
    assert len(CHARUCO.detect(cv2.imread(str(path), 0)).ids) == 40
