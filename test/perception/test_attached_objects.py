"""Objects that the arm carries are filtered out with it, wherever it goes."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, kinematics, lie
from manipapy_core.errors import InputError
from manipapy_core.geometry import AttachedObject, Box, RobotBody
from manipapy_core.perception import PerceptionPipeline, PerceptionSettings, PointSet, TrackSettings

ROBOT = Robot.from_urdf("ur5")
CHAIN = ROBOT.chain("base_link", "tool0")
BODY = RobotBody.build(ROBOT, CHAIN)
HOME = np.array([0.0, -1.2, 1.4, -1.7, -1.57, 0.0])
SIZE = np.array([0.12, 0.12, 0.2])
T_TIP_BOX = lie.pose(translation=[0.0, 0.0, 0.2])
T_BASE_CAMERA = lie.pose(lie.exp_so3(np.array([np.pi, 0.0, 0.0])), [0.5, 0.0, 1.8])
"""Looks down."""


def surface(T: np.ndarray) -> np.ndarray:
    """Points on the faces of the box [m], shape (points, 3)."""
    cube = np.random.default_rng(0).uniform(-0.5, 0.5, (6000, 3))
    axis = np.abs(cube).argmax(axis=1)
    cube[np.arange(len(cube)), axis] = np.copysign(0.5, cube[np.arange(len(cube)), axis])
    return (cube * SIZE) @ T[:3, :3].T + T[:3, 3]


def obstacles(pipeline: PerceptionPipeline, q: np.ndarray, T_base_box: np.ndarray) -> int:
    """Detected in the last of a few frames."""
    pipeline.reset()
    T_camera = lie.inverse(T_BASE_CAMERA)
    points = surface(T_base_box) @ T_camera[:3, :3].T + T_camera[:3, 3]
    for number in range(3):
        result = pipeline.feed(PointSet(1_000_000_000 + 100_000_000 * number, T_BASE_CAMERA, points, q))
    return len(result.obstacles)


@pytest.mark.parametrize("turn", [0.0, 0.7, -1.1])
def test_a_carried_box_is_no_obstacle_and_one_left_behind_is(turn):
    q = HOME + np.array([turn, 0.1, -0.1, 0.0, 0.2 * turn, 0.0])
    held = kinematics.forward(CHAIN, q) @ T_TIP_BOX
    pipeline = PerceptionPipeline(body=BODY, settings=PerceptionSettings(tracks=TrackSettings(confirm=1)))
    assert obstacles(pipeline, q, held) == 1
    pipeline.carry([AttachedObject("box", Box(SIZE), "tool0", T_TIP_BOX)])
    assert obstacles(pipeline, q, held) == 0
    elsewhere = held.copy()
    elsewhere[:3, 3] += [0.0, 0.35, 0.0]
    assert obstacles(pipeline, q, elsewhere) == 1
    pipeline.carry([])
    assert obstacles(pipeline, q, held) == 1


def test_an_object_on_an_unknown_link_is_refused_and_changes_nothing():
    pipeline = PerceptionPipeline(body=BODY)
    with pytest.raises(InputError, match="hand"):
        pipeline.carry([AttachedObject("box", Box(SIZE), "hand", T_TIP_BOX)])
    pipeline.configure(PerceptionSettings())
