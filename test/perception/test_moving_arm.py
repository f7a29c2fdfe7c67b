"""A fast arm in front of a low-resolution camera: the arm is never an obstacle, the objects around it always are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from manipapy_core import Robot
from manipapy_core.geometry import RobotBody
from manipapy_core.model import BoxGeometry
from manipapy_core.perception import (
    JointHistory,
    NoConfiguration,
    PerceptionPipeline,
    PerceptionSettings,
    StereoModel,
    StereoPair,
)
from manipapy_core.sim import Pinhole, StereoCamera, look_at, read_scene
from perception.scenes import Stage, scene_object

HOME = np.array([0.0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0.0])
SWING = np.array([0.9, 0.35, 0.3, 0.5, 0.6, 0.8])
TURNS = np.array([1.0, 1.5, 1.0, 1.5, 2.0, 1.0])
PERIOD = 5.0
"""Of the whole swing [s]: the tip moves at up to 1.4 m/s."""
FRAME_NS = 200_000_000
PINHOLE = Pinhole.from_field_of_view(320, 240, 1.2)
CAMERA = StereoCamera(PINHOLE, 0.1, look_at([1.4, 0.0, 0.9], [0.4, 0.0, 0.1]))
STEREO = StereoModel.ideal(320, 240, PINHOLE.fx, PINHOLE.fy, PINHOLE.cx, PINHOLE.cy, 0.1)
SETTINGS = PerceptionSettings(lower=(-1.0, -1.0, -0.1), upper=(1.2, 1.0, 1.2))


def joints(time_ns: int) -> np.ndarray:
    """Joint positions at a time."""
    return HOME + SWING * np.sin(2.0 * np.pi * TURNS * 1e-9 * time_ns / PERIOD + np.arange(6))


class MovingArmScene:
    """The bundled table scene with a moving UR5, and a pipeline."""

    def __enter__(self):
        self.robot = Robot.from_urdf("ur5")
        self.stage = Stage().__enter__()
        scene = read_scene("table")
        for item in scene.objects:
            self.stage.world.spawn(item)
        self.objects = [item for item in scene.objects if item.mass > 0.0]
        self.stage.world.add_robot(self.robot, T_world_base=scene.T_world_base, q=HOME)
        body = RobotBody.build(self.robot, self.robot.chain("base_link", "tool0"))
        self.pipeline = PerceptionPipeline(STEREO, body=body, settings=SETTINGS)
        return self

    def __exit__(self, *error):
        self.stage.__exit__(*error)

    def feed(self, time_ns: int, q: np.ndarray):
        """Result of a frame whose joint positions are assumed to be `q`."""
        content, view = self.stage.world.content_and_view()
        self.stage.replica.load(content)
        frame = self.stage.replica.stereo(CAMERA, replace(view, q=dict.fromkeys(view.q, joints(time_ns))))
        return self.pipeline.feed(StereoPair(time_ns, frame.T_base_left, frame.left, frame.right, q))

    def unknown(self, obstacles, known):
        """Obstacles that are not known objects."""
        places = np.array([item.T_world_object[:3, 3] for item in known])
        return [o for o in obstacles if np.linalg.norm(places[:, :2] - o.centre[:2], axis=1).min() > 0.06]


def test_fast_arm_is_no_obstacle_and_objects_stay():
    history = JointHistory()
    for time_ns in range(0, 26 * FRAME_NS, 8_000_000):
        history.add(time_ns, joints(time_ns))
    fastest = np.abs(np.gradient([joints(k * 1_000_000) for k in range(5000)], 1e-3, axis=0)).max()
    assert fastest > 1.2  # rad/s
    with MovingArmScene() as scene:
        for number in range(25):
            # Between two joint states, as real images.
            time_ns = number * FRAME_NS + 3_000_000
            result = scene.feed(time_ns, history.at(time_ns))
            assert result.counts["self"] < result.counts["voxels"] - 500  # the arm is in the image
            assert not scene.unknown(result.obstacles, scene.objects), f"frame {number}\n{result.describe()}"
        assert len(result.obstacles) == len(scene.objects) == 5


def test_late_joint_positions_make_the_arm_an_obstacle():
    """Shows that the test above depends on the time stamps."""
    with MovingArmScene() as scene:
        found = 0
        for number in range(12):
            time_ns = number * FRAME_NS
            result = scene.feed(time_ns, joints(time_ns - 300_000_000))
            found += len(scene.unknown((*result.obstacles, *result.candidates), scene.objects))
        assert found > 0


def test_joint_positions_are_not_interpolated_across_a_gap_with_motion():
    history = JointHistory(gap=0.1)
    history.add(0, joints(0))
    history.add(300_000_000, joints(300_000_000))
    with pytest.raises(NoConfiguration, match="300 ms between"):
        history.at(150_000_000)
    history.add(900_000_000, joints(300_000_000))  # it stood still
    np.testing.assert_allclose(history.at(600_000_000), joints(300_000_000))
    assert not history.needs_sample(901_000_000) and history.needs_sample(905_000_000)


def test_dropped_box_is_confirmed_in_the_second_frame():
    with MovingArmScene() as scene:
        for number in range(8):
            if number == 4:
                scene.stage.world.spawn(scene_object("dropped", BoxGeometry([0.1, 0.1, 0.6]), [0.72, -0.40, 0.3]))
            result = scene.feed(number * FRAME_NS, joints(number * FRAME_NS))
            new = scene.unknown(result.obstacles, scene.objects)
            assert len(new) == (number >= 5), f"frame {number}\n{result.describe()}"
        (box,) = new
        assert box.centre == pytest.approx([0.72, -0.40, 0.3], abs=0.04)
        assert box.size[2] == pytest.approx(0.6, abs=0.05)
        scene.stage.world.remove("dropped")
        for number in range(8, 12):
            result = scene.feed(number * FRAME_NS, joints(number * FRAME_NS))
        assert not scene.unknown(result.obstacles, scene.objects)
