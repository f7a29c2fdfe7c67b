"""An arm that moves quickly before a small camera: it is never an obstacle, and what stands around it always is."""

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
from perception.scenes import Stage, thing

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
    """Where the arm is."""
    return HOME + SWING * np.sin(2.0 * np.pi * TURNS * 1e-9 * time_ns / PERIOD + np.arange(6))


class Watched:
    """The bundled table with a UR5 that swings, and the pipeline that looks at it."""

    def __enter__(self):
        self.robot = Robot.from_urdf("ur5")
        self.stage = Stage().__enter__()
        scene = read_scene("table")
        for item in scene.objects:
            self.stage.world.spawn(item)
        self.things = [item for item in scene.objects if item.mass > 0.0]
        self.stage.world.add_robot(self.robot, T_world_base=scene.T_world_base, q=HOME)
        body = RobotBody.build(self.robot, self.robot.chain("base_link", "tool0"))
        self.pipeline = PerceptionPipeline(STEREO, body=body, settings=SETTINGS)
        return self

    def __exit__(self, *error):
        self.stage.__exit__(*error)

    def look(self, time_ns: int, believed: np.ndarray):
        """What is seen of an instant by a pipeline that believes the arm to be there."""
        content, view = self.stage.world.content_and_view()
        self.stage.mirror.load(content)
        frame = self.stage.mirror.stereo(CAMERA, replace(view, q=dict.fromkeys(view.q, joints(time_ns))))
        return self.pipeline.feed(StereoPair(time_ns, frame.T_base_left, frame.left, frame.right, believed))

    def strangers(self, obstacles, known):
        """Obstacles that are none of the known things."""
        places = np.array([item.T_world_object[:3, 3] for item in known])
        return [o for o in obstacles if np.linalg.norm(places[:, :2] - o.centre[:2], axis=1).min() > 0.06]


def test_an_arm_that_swings_quickly_is_no_obstacle_and_hides_none():
    history = JointHistory()
    for time_ns in range(0, 26 * FRAME_NS, 8_000_000):
        history.add(time_ns, joints(time_ns))
    fastest = np.abs(np.gradient([joints(k * 1_000_000) for k in range(5000)], 1e-3, axis=0)).max()
    assert fastest > 1.2  # rad/s
    with Watched() as watched:
        for number in range(25):
            # Between two samples of the joints, as pictures are.
            time_ns = number * FRAME_NS + 3_000_000
            result = watched.look(time_ns, history.at(time_ns))
            assert result.counts["self"] < result.counts["voxels"] - 500  # the arm is in the picture
            assert not watched.strangers(result.obstacles, watched.things), f"frame {number}\n{result.describe()}"
        assert len(result.obstacles) == len(watched.things) == 5


def test_positions_that_are_late_make_the_arm_an_obstacle():
    """What the test above would find if stamps were not obeyed."""
    with Watched() as watched:
        found = 0
        for number in range(12):
            time_ns = number * FRAME_NS
            result = watched.look(time_ns, joints(time_ns - 300_000_000))
            found += len(watched.strangers((*result.obstacles, *result.candidates), watched.things))
        assert found > 0


def test_positions_are_not_guessed_across_a_gap_that_the_arm_moved_in():
    history = JointHistory(gap=0.1)
    history.add(0, joints(0))
    history.add(300_000_000, joints(300_000_000))
    with pytest.raises(NoConfiguration, match="300 ms between"):
        history.at(150_000_000)
    history.add(900_000_000, joints(300_000_000))  # it stood still meanwhile
    np.testing.assert_allclose(history.at(600_000_000), joints(300_000_000))
    assert not history.wants(901_000_000) and history.wants(905_000_000)


def test_a_box_that_drops_beside_the_moving_arm_is_seen_in_the_second_frame():
    with Watched() as watched:
        for number in range(8):
            if number == 4:
                watched.stage.world.spawn(thing("dropped", BoxGeometry([0.1, 0.1, 0.6]), [0.72, -0.40, 0.3]))
            result = watched.look(number * FRAME_NS, joints(number * FRAME_NS))
            new = watched.strangers(result.obstacles, watched.things)
            assert len(new) == (number >= 5), f"frame {number}\n{result.describe()}"
        (box,) = new
        assert box.centre == pytest.approx([0.72, -0.40, 0.3], abs=0.04)
        assert box.size[2] == pytest.approx(0.6, abs=0.05)
        watched.stage.world.remove("dropped")
        for number in range(8, 12):
            result = watched.look(number * FRAME_NS, joints(number * FRAME_NS))
        assert not watched.strangers(result.obstacles, watched.things)
